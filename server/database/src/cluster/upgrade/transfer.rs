//! Copies roles and databases from one running cluster to another, by Postgres' own programs.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::super::DATABASE;
use super::super::binaries::{Binaries, Version, client_folders, version_of};
use super::super::error::Error;
use super::super::initdb::last_lines;
use super::{SUPERUSER, TEMPLATE};
use crate::conninfo::Conninfo;

/// What is run.
const NAMES: [&str; 3] = ["pg_dump", "pg_dumpall", "pg_restore"];

/// How long the copy of one database may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How many lines of what failed are told.
const TOLD: usize = 20;

/// A running cluster, as its superuser reaches it.
pub(super) struct End<'a> {
    /// Its folder.
    pub(super) cluster: &'a Path,
    pub(super) socket_dir: &'a Path,
    pub(super) port: u16,
    pub(super) password: &'a str,
    pub(super) password_file: PathBuf,
}

impl End<'_> {
    async fn connect(&self, database: &str) -> Result<Client, Error> {
        let folder = self.socket_dir.to_string_lossy();
        let uri = Conninfo::login(&folder, self.port, SUPERUSER, self.password, database).to_uri();
        let (client, connection) = tokio_postgres::connect(&uri, NoTls).await.map_err(self.failed())?;
        // Ends with the client.
        tokio::spawn(connection);
        Ok(client)
    }

    fn failed(&self) -> impl FnOnce(tokio_postgres::Error) -> Error {
        |error| {
            let log = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
            Error::ended("the upgrade", self.cluster, "Postgres refused a statement", log)
        }
    }

    /// Runs `statements` in `database`.
    pub(super) async fn execute(&self, database: &str, statements: &str) -> Result<(), Error> {
        self.connect(database).await?.batch_execute(statements).await.map_err(self.failed())
    }

    /// The first column of what `query` finds in `database`.
    pub(super) async fn list(&self, database: &str, query: &str) -> Result<Vec<String>, Error> {
        let messages = self.connect(database).await?.simple_query(query).await.map_err(self.failed())?;
        let values = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(values.collect())
    }

    /// The names of all databases but `template0`, which nobody can have changed.
    ///
    /// Errors: where there are some that cannot be dumped.
    pub(super) async fn databases(&self) -> Result<Vec<String>, Error> {
        let others = "select datname from pg_database where datname <> 'template0' and";
        let closed = self.list(DATABASE, &format!("{others} not datallowconn")).await?;
        if !closed.is_empty() {
            let status = "these databases take no connections, and would not be copied";
            return Err(Error::ended("the upgrade", self.cluster, status, closed.join("\n")));
        }
        self.list(DATABASE, &format!("{others} datallowconn order by datname")).await
    }
}

/// The programs that dump and restore.
pub(super) struct Programs(PathBuf);

impl Programs {
    /// Those that can dump from the first of `servers` for the second: of neither's version, or of one between.
    ///
    /// Errors: [`Error::NoDump`].
    pub(super) async fn find([old, new]: [&Binaries; 2]) -> Result<Self, Error> {
        let (from, to) = (old.version().major, new.version().major);
        for folder in client_folders([new, old]) {
            if NAMES.iter().any(|name| !folder.join(name).is_file()) {
                continue;
            }
            if let Ok(Version { major, .. }) = version_of(&folder.join(NAMES[0])).await
                && (from..=to).contains(&major)
            {
                return Ok(Self(folder));
            }
        }
        Err(Error::NoDump { from, to })
    }

    /// Copies roles, their passwords, settings and memberships.
    pub(super) async fn copy_roles(&self, old: &End<'_>, new: &End<'_>) -> Result<(), Error> {
        let mut dump = self.command("pg_dumpall", old);
        dump.args(["--globals-only", "--no-tablespaces", "--database", DATABASE]);
        let run = timeout(LIMIT, dump.stdout(Stdio::piped()).output());
        let output = run.await.map_err(|_| late())?.map_err(Error::io("run", &self.0.join("pg_dumpall")))?;
        if !output.status.success() {
            return Err(self.failed(old, "pg_dumpall", output.status, &output.stderr));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // The superuser is there already, and commands to psql are none to Postgres.
        let is_for_postgres = |line: &&str| {
            *line != format!("CREATE ROLE {SUPERUSER};")
                && !["\\restrict ", "\\unrestrict "].iter().any(|command| line.starts_with(command))
        };
        let statements: Vec<&str> = text.split('\n').filter(is_for_postgres).collect();
        new.execute(TEMPLATE, &statements.join("\n")).await
    }

    /// Copies the database `name`, which is made by that unless it is the template.
    pub(super) async fn copy_database(&self, name: &str, old: &End<'_>, new: &End<'_>) -> Result<(), Error> {
        let mut dump = self.command("pg_dump", old);
        // Uncompressed: it is read at once. In quotes, as a name with `=` in it would be taken for more than a name.
        let database = format!("dbname='{}'", name.replace('\\', r"\\").replace('\'', r"\'"));
        dump.args(["--format=custom", "--compress=0", "--no-tablespaces", "--dbname", &database]);
        let mut restore = self.command("pg_restore", new);
        restore.args(["--exit-on-error", "--no-tablespaces", "--dbname", TEMPLATE]);
        if name != TEMPLATE {
            restore.arg("--create");
        }
        let unable = |program: &str| {
            let path = self.0.join(program);
            move |error| Error::io("run", &path)(error)
        };
        let mut dumping = dump.stdout(Stdio::piped()).spawn().map_err(unable("pg_dump"))?;
        let dumped = dumping.stdout.take().map_or_else(|| Ok(Stdio::null()), TryInto::try_into);
        let restoring =
            restore.stdin(dumped.map_err(unable("pg_dump"))?).spawn().map_err(unable("pg_restore"))?;
        // With our end of the pipe: where the restoring has ended, the dumping must not wait for a reader.
        drop(restore);
        let both = async { tokio::join!(restoring.wait_with_output(), dumping.wait_with_output()) };
        let (restored, dumped) = timeout(LIMIT, both).await.map_err(|_| late())?;
        let (restored, dumped) =
            (restored.map_err(unable("pg_restore"))?, dumped.map_err(unable("pg_dump"))?);
        // Where the restoring has ended, so has the dumping, for want of a reader.
        for (program, output) in [("pg_restore", &restored), ("pg_dump", &dumped)] {
            if !output.status.success() {
                let said = [dumped.stderr.as_slice(), &restored.stderr].concat();
                return Err(self.failed(new, program, output.status, &said));
            }
        }
        Ok(())
    }

    /// One of the programs, connected to `end`.
    fn command(&self, program: &str, end: &End<'_>) -> Command {
        let mut command = Command::new(self.0.join(program));
        // What a person has set for other servers, PGOPTIONS say, is not meant for these.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        command.arg("--host").arg(end.socket_dir).args(["--port", &end.port.to_string()]);
        command.args(["--username", SUPERUSER, "--no-password"]);
        command.env("PGPASSFILE", &end.password_file).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn failed(&self, end: &End<'_>, program: &'static str, status: ExitStatus, said: &[u8]) -> Error {
        let log = last_lines(&String::from_utf8_lossy(said), TOLD);
        Error::ended(program, end.cluster, &status.to_string(), log)
    }
}

fn late() -> Error {
    Error::Timeout { what: "the copy of a database", limit: LIMIT, log: String::new() }
}
