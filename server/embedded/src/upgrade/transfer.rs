//! Copies roles and databases from one running cluster to another, with Postgres' own programs.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use postgres_protocol::password::scram_sha_256;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::super::DATABASE;
use super::super::binaries::{Binaries, client_folders, version_of};
use super::super::error::Error;
use super::super::log::last_lines;
use super::super::setup::Credentials;
use super::super::superuser::Superuser;
use super::super::version::Version;
use super::TEMPLATE;
use postgres::conninfo::Conninfo;
use postgres::quote_literal;

/// The programs that are needed.
const PROGRAMS: [&str; 3] = ["pg_dump", "pg_dumpall", "pg_restore"];

/// How long the copy of one database may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How many of the last lines of a failed program's output an error shows.
const LOG_LINES: usize = 20;

/// A running cluster, with the parameters to connect to it as the superuser.
pub(super) struct ClusterConnection<'a> {
    /// The cluster's folder.
    pub(super) cluster: &'a Path,
    pub(super) socket_dir: &'a Path,
    pub(super) port: u16,
    pub(super) credentials: &'a Credentials,
    pub(super) password_file: PathBuf,
}

impl ClusterConnection<'_> {
    async fn connect(&self, database: &str) -> Result<Client, Error> {
        let folder = self.socket_dir.to_string_lossy();
        let Credentials { superuser, superuser_password, .. } = self.credentials;
        let password = superuser_password.expose();
        let uri = Conninfo::login(&folder, self.port, superuser.name(), password, database).to_uri();
        let (client, connection) = tokio_postgres::connect(&uri, NoTls).await.map_err(self.failed())?;
        // This task ends when the client is dropped.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Returns the cluster's superuser.
    pub(super) fn superuser(&self) -> Superuser {
        self.credentials.superuser
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

    /// Returns the first column of the rows that `query` returns in `database`.
    pub(super) async fn list(&self, database: &str, query: &str) -> Result<Vec<String>, Error> {
        let messages = self.connect(database).await?.simple_query(query).await.map_err(self.failed())?;
        let values = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(values.collect())
    }

    /// Returns the names of all databases except `template0`, which cannot have been changed.
    ///
    /// Errors: if there are databases that cannot be dumped.
    pub(super) async fn databases(&self) -> Result<Vec<String>, Error> {
        let others = "select datname from pg_database where datname <> 'template0' and";
        let closed = self.list(DATABASE, &format!("{others} not datallowconn")).await?;
        if !closed.is_empty() {
            let status = "these databases do not allow connections, so they cannot be copied";
            return Err(Error::ended("the upgrade", self.cluster, status, closed.join("\n")));
        }
        self.list(DATABASE, &format!("{others} datallowconn order by datname")).await
    }
}

/// A folder with the programs that dump and restore.
pub(super) struct DumpPrograms(PathBuf);

impl DumpPrograms {
    /// Finds programs that can dump the old server for the new one: of a version from the old one's to the new one's.
    ///
    /// Errors: [`Error::NoDump`].
    pub(super) async fn find([old, new]: [&Binaries; 2]) -> Result<Self, Error> {
        let (from, to) = (old.version().major, new.version().major);
        for folder in client_folders([new, old]) {
            if PROGRAMS.iter().any(|name| !folder.join(name).is_file()) {
                continue;
            }
            if let Ok(Version { major, .. }) = version_of(&folder.join(PROGRAMS[0])).await
                && (from..=to).contains(&major)
            {
                return Ok(Self(folder));
            }
        }
        Err(Error::NoDump { from, to })
    }

    /// Copies roles, their passwords, settings and memberships.
    pub(super) async fn copy_roles(
        &self,
        old: &ClusterConnection<'_>,
        new: &ClusterConnection<'_>,
    ) -> Result<(), Error> {
        let mut dump = self.command("pg_dumpall", old);
        dump.args(["--globals-only", "--no-tablespaces", "--database", DATABASE]);
        let run = timeout(LIMIT, dump.stdout(Stdio::piped()).output());
        let output =
            run.await.map_err(|_| timed_out())?.map_err(Error::io("run", &self.0.join("pg_dumpall")))?;
        if !output.status.success() {
            return Err(self.failed(old, "pg_dumpall", output.status, &output.stderr));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // The superuser exists already, and backslash commands are for psql.
        let created = format!("CREATE ROLE {};", new.superuser().name());
        let is_statement = |line: &&str| {
            *line != created
                && !["\\restrict ", "\\unrestrict "].iter().any(|command| line.starts_with(command))
        };
        // What a superuser grants is recorded as granted by the one that `initdb` made.
        let [old_grantor, new_grantor] =
            [old, new].map(|cluster| format!(" GRANTED BY {};", cluster.superuser().name()));
        let statements = text.split('\n').filter(is_statement).map(|line| {
            let granted = line.strip_suffix(&*old_grantor);
            granted.map_or(line.to_owned(), |grant| format!("{grant}{new_grantor}"))
        });
        // The old cluster may have a role of this name, with other rights and another password.
        let Credentials { superuser, superuser_password, .. } = new.credentials;
        let verifier = quote_literal(&scram_sha_256(superuser_password.expose().as_bytes()));
        let rights = format!("alter role {} with superuser login password {verifier};", superuser.name());
        let statements = statements.chain([rights]).collect::<Vec<_>>();
        new.execute(TEMPLATE, &statements.join("\n")).await
    }

    /// Copies the database `name`, which is created unless it is the template.
    pub(super) async fn copy_database(
        &self,
        name: &str,
        old: &ClusterConnection<'_>,
        new: &ClusterConnection<'_>,
    ) -> Result<(), Error> {
        let mut dump = self.command("pg_dump", old);
        // Uncompressed, since it is restored at once. In quotes, since a name that contains `=` would be parsed as a
        // connection string.
        let database = format!("dbname='{}'", name.replace('\\', r"\\").replace('\'', r"\'"));
        dump.args(["--format=custom", "--compress=0", "--no-tablespaces", "--dbname", &database]);
        let mut restore = self.command("pg_restore", new);
        restore.args(["--exit-on-error", "--no-tablespaces", "--dbname", TEMPLATE]);
        if name != TEMPLATE {
            restore.arg("--create");
        }
        let io_error = |program: &str| {
            let path = self.0.join(program);
            move |error| Error::io("run", &path)(error)
        };
        let mut dumping = dump.stdout(Stdio::piped()).spawn().map_err(io_error("pg_dump"))?;
        let dumped = dumping.stdout.take().map_or_else(|| Ok(Stdio::null()), TryInto::try_into);
        let restoring =
            restore.stdin(dumped.map_err(io_error("pg_dump"))?).spawn().map_err(io_error("pg_restore"))?;
        // This closes this process's end of the pipe, so that pg_dump fails if pg_restore has ended.
        drop(restore);
        let both = async { tokio::join!(restoring.wait_with_output(), dumping.wait_with_output()) };
        let (restored, dumped) = timeout(LIMIT, both).await.map_err(|_| timed_out())?;
        let (restored, dumped) =
            (restored.map_err(io_error("pg_restore"))?, dumped.map_err(io_error("pg_dump"))?);
        // If pg_restore fails, pg_dump fails too, so pg_restore's status is the one to report.
        for (program, output) in [("pg_restore", &restored), ("pg_dump", &dumped)] {
            if !output.status.success() {
                let messages = [dumped.stderr.as_slice(), &restored.stderr].concat();
                return Err(self.failed(new, program, output.status, &messages));
            }
        }
        Ok(())
    }

    /// Returns the command of one of the programs, connected to `cluster`.
    fn command(&self, program: &str, cluster: &ClusterConnection<'_>) -> Command {
        let mut command = Command::new(self.0.join(program));
        // Variables such as PGOPTIONS are set for other servers.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                command.env_remove(name);
            }
        }
        command.arg("--host").arg(cluster.socket_dir).args(["--port", &cluster.port.to_string()]);
        command.args(["--username", cluster.superuser().name(), "--no-password"]);
        command.env("PGPASSFILE", &cluster.password_file).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn failed(
        &self,
        cluster: &ClusterConnection<'_>,
        program: &'static str,
        status: ExitStatus,
        messages: &[u8],
    ) -> Error {
        let log = last_lines(&String::from_utf8_lossy(messages), LOG_LINES);
        Error::ended(program, cluster.cluster, &status.to_string(), log)
    }
}

fn timed_out() -> Error {
    Error::Timeout { what: "the copy of a database", limit: LIMIT, log: String::new() }
}
