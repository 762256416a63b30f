//! `basalt db dump`, with the flags of `supabase db dump`: writes schema, rows or roles of a database as SQL that
//! another project can run, by `pg_dump` and `pg_dumpall`.
//!
//! Source: the Supabase CLI, `internal/db/dump`, `pkg/migration/dump.go`; `db dump --help` of version 3.1.

mod filter;

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use postgres::Client;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::super::source::{Source, Target};
use super::program::{self, CLIENT_PACKAGES};
use super::schemas::{INTERNAL, WITHOUT_DATA};
use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// How long a dump may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The tables that record what the services themselves have set up.
const RECORDS: [&str; 3] = ["auth.schema_migrations", "storage.migrations", "supabase_functions.migrations"];

/// Arguments of `db dump`.
#[derive(Debug, Args)]
pub(in super::super) struct Arguments {
    /// Print the command that would be run
    #[arg(long)]
    dry_run: bool,
    /// Write only rows, including users and what storage knows of its objects
    #[arg(long, conflicts_with_all = ["role_only", "keep_comments"])]
    data_only: bool,
    /// Write rows as `copy` in place of `insert`, which is faster to read
    #[arg(long, requires = "data_only")]
    use_copy: bool,
    /// Tables whose rows are left out, as schema.table
    #[arg(long, short = 'x', requires = "data_only", value_delimiter = ',', value_name = "TABLES")]
    exclude: Vec<String>,
    /// Write only the cluster's roles, without passwords
    #[arg(long, conflicts_with = "schema")]
    role_only: bool,
    /// Keep comments, and what is left out, as comments
    #[arg(long)]
    keep_comments: bool,
    /// The file to write [default: standard output]
    #[arg(long, short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only these schemas, separated by commas [default: those that are not the platform's]
    #[arg(long, short = 's', value_delimiter = ',', value_name = "SCHEMAS")]
    schema: Vec<String>,
    #[command(flatten)]
    source: Source,
}

/// What is dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Schema,
    Data,
    Roles,
}

impl Kind {
    fn program(self) -> &'static str {
        if self == Self::Roles { "pg_dumpall" } else { "pg_dump" }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Schema => "schemas",
            Self::Data => "data",
            Self::Roles => "roles",
        }
    }
}

impl Arguments {
    fn kind(&self) -> Kind {
        match (self.data_only, self.role_only) {
            (true, _) => Kind::Data,
            (_, true) => Kind::Roles,
            _ => Kind::Schema,
        }
    }

    /// Returns the flags of the program that dumps.
    fn flags(&self) -> Vec<String> {
        let flag = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
        let mut flags = vec!["--quote-all-identifier".to_owned(), "--no-password".to_owned()];
        match self.kind() {
            Kind::Roles => {
                flags.extend(["--roles-only", "--no-role-passwords", "--no-comments"].map(str::to_owned));
            }
            Kind::Schema => {
                flags.push("--schema-only".to_owned());
                match self.schema.is_empty() {
                    true => flags.extend(flag("--exclude-schema", &INTERNAL.join("|"))),
                    false => flags.extend(flag("--schema", &self.schema.join("|"))),
                }
            }
            Kind::Data => {
                flags.push("--data-only".to_owned());
                match self.schema.is_empty() {
                    true => flags.extend(flag("--exclude-schema", &WITHOUT_DATA.join("|"))),
                    false => flags.extend(flag("--schema", &self.schema.join("|"))),
                }
                let named = self.exclude.iter().map(|table| format!("\"{}\"", table.replace('.', "\".\"")));
                for table in RECORDS.map(str::to_owned).into_iter().chain(named) {
                    flags.extend(flag("--exclude-table", &table));
                }
                if !self.use_copy {
                    flags.extend(["--column-inserts", "--rows-per-insert=100000"].map(str::to_owned));
                }
            }
        }
        flags
    }
}

/// Writes the dump.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let target = arguments.source.target(settings)?;
    let kind = arguments.kind();
    if arguments.dry_run {
        console::note("DRY RUN: *only* printing the pg_dump script to console.");
        let words = arguments.flags();
        let words = words.iter().map(|word| console::shell_word(word));
        let line = std::iter::once(kind.program().into()).chain(words).collect::<Vec<_>>().join(" ");
        console::print(line);
        return Ok(());
    }
    target.attached(async |backend| dump(&target, backend, &arguments).await).await
}

async fn dump(target: &Target, backend: &Backend, arguments: &Arguments) -> Result<(), Error> {
    let kind = arguments.kind();
    let major = backend.with_project(async |project| server_major(&project.client().await?).await).await?;
    let folder = target.settings.database.binaries.as_deref();
    let program = embedded::find_client(kind.program(), folder, major).await.ok_or_else(|| {
        Error::Advice(format!(
            "{} {major} or newer was not found on PATH or in the system's usual folders: an older one cannot dump this \
             server. {CLIENT_PACKAGES}",
            kind.program()
        ))
    })?;
    let mut command = program::client(&program, backend.project_login());
    command.args(arguments.flags());
    console::note(format_args!("Dumping {} from {} database...", kind.noun(), target.kind()));
    let written = write(command, arguments);
    timeout(LIMIT, written).await.unwrap_or_else(|_| {
        let hours = LIMIT.as_secs() / 3600;
        Err(Error::Advice(format!("{} did not end within {hours} hours", kind.program())))
    })
}

/// Returns the major version of the server.
async fn server_major(client: &Client) -> Result<u32, Error> {
    let sql = "select pg_catalog.current_setting('server_version_num')::int / 10000";
    let row = client.query_one(sql, &[]).await.map_err(postgres::Error::from)?;
    Ok(row.get::<_, i32>(0).unsigned_abs())
}

/// Runs the program and writes what it prints, without what another project cannot run.
async fn write(mut command: Command, arguments: &Arguments) -> Result<(), Error> {
    let kind = arguments.kind();
    let io = |error| Error::io(format!("run {}", kind.program()))(error);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(io)?;
    let Some(output) = child.stdout.take() else {
        return Err(Error::Advice(format!("{} has no output", kind.program())));
    };
    if kind == Kind::Data {
        return write_data(child, output, arguments).await;
    }
    let mut text = String::new();
    BufReader::new(output).read_to_string(&mut text).await.map_err(io)?;
    check(kind, child).await?;
    // Where schemas are named, the Supabase CLI keeps what the dump says about them.
    let internal = if arguments.schema.is_empty() { INTERNAL } else { &[] };
    let filtered = match kind {
        Kind::Roles => {
            filter::roles(&text, arguments.keep_comments).map(|roles| format!("{roles}RESET ALL;\n"))
        }
        _ => filter::schema(&text, internal, arguments.keep_comments),
    };
    let filtered = filtered.map_err(|refused| Error::Advice(format!("the dump has {}", refused.problem)))?;
    let mut file = open(arguments)?;
    finish(&mut *file, filtered.as_bytes())
}

/// Writes rows while they are dumped.
async fn write_data(child: Child, output: ChildStdout, arguments: &Arguments) -> Result<(), Error> {
    let mut file = open(arguments)?;
    let mut lines = filter::DataLines::default();
    let mut output = BufReader::new(output);
    let writing = || Error::io("write the dump");
    // Triggers would change rows that are restored as they are.
    file.write_all(b"SET session_replication_role = replica;\n\n").map_err(writing())?;
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).await.map_err(Error::io("read the dump"))? > 0 {
        file.write_all(&lines.line(&line)).map_err(writing())?;
        line.clear();
    }
    check(Kind::Data, child).await?;
    finish(&mut *file, b"RESET ALL;\n")
}

async fn check(kind: Kind, mut child: Child) -> Result<(), Error> {
    let status = child.wait().await.map_err(Error::io(format!("run {}", kind.program())))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Advice(format!("{} failed ({status}); its message is above", kind.program()))),
    }
}

/// Opens what is written to: the file, or standard output.
fn open(arguments: &Arguments) -> Result<Box<dyn Write>, Error> {
    let Some(path) = &arguments.file else { return Ok(Box::new(std::io::stdout())) };
    let file =
        std::fs::File::create(path).map_err(Error::io(format!("open dump file {}", path.display())))?;
    Ok(Box::new(std::io::BufWriter::new(file)))
}

fn finish(file: &mut dyn Write, last: &[u8]) -> Result<(), Error> {
    file.write_all(last).and_then(|()| file.flush()).map_err(Error::io("write the dump"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(line: &str) -> Result<Arguments, clap::Error> {
        let words = std::iter::once("dump").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.arguments)
    }

    #[test]
    fn the_flags_of_the_supabase_cli_are_accepted() {
        for line in [
            "",
            "--local -f schema.sql",
            "--data-only --use-copy -x auth.users,public.a -f data.sql",
            "--role-only --keep-comments",
            "--remote=postgresql://h/d -s public,app --dry-run",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
        for line in ["--use-copy", "-x a.b", "--data-only --role-only", "--role-only -s public"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn tables_are_named_as_they_are_written() {
        let flags = parsed("--data-only -x public.Goods").unwrap().flags().join(" ");
        assert!(flags.contains("--exclude-table \"public\".\"Goods\""), "{flags}");
        assert!(flags.contains("--exclude-table auth.schema_migrations"), "{flags}");
    }
}
