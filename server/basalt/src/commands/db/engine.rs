//! The engine that compares databases: pg-delta, which is part of the Supabase CLI from version 3 and needs no Docker
//! if both databases are named by URLs. The CLI is run as a program of its own.
//!
//! Source: `supabase db diff --help`, `supabase db pull --help` of version 3.1. See
//! `docs/decisions/0083-the-clis-engine-compares-databases.md`.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use postgres::conninfo::Conninfo;
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use super::program;
use crate::backend::Backend;
use crate::error::Error;
use crate::settings::Settings;

/// The oldest version that compares without Docker.
const OLDEST: u32 = 3;

/// How long a comparison may take, and how long the CLI may take to tell its version.
const LIMIT: Duration = Duration::from_secs(600);
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// How many of the last lines of the CLI's messages an error shows.
const LINES: usize = 20;

/// The settings of the folder that the CLI runs in. It takes a database on its own stack's port for its own, and looks
/// for a container; nothing else listens on this port.
const CONFIG: &str = "project_id = \"basalt\"\n[db]\nport = 9\n";

/// The Supabase CLI of the project or of this machine.
#[derive(Debug)]
pub(super) struct Engine(PathBuf);

/// What the CLI prints as JSON.
#[derive(Deserialize)]
struct Difference {
    diff: String,
}

impl Engine {
    /// Finds the CLI: the one of the setting, of the project's `node_modules` or of a folder above it, or on `PATH`.
    ///
    /// Errors: if there is none, or only an older one.
    pub(super) async fn find(settings: &Settings) -> Result<Self, Error> {
        let install = "Basalt compares databases with the engine of the Supabase CLI, version 3 or newer. Install it in the \
             project, `npm install --save-dev supabase`, or name it with BASALT_SUPABASE_CLI. It needs no Docker for that";
        let found = match &settings.migrations.supabase_cli {
            Some(named) => Some(named.clone()),
            None => places(&settings.project.root).find(|path| path.is_file()),
        };
        let path =
            found.ok_or_else(|| Error::Advice(format!("the Supabase CLI was not found. {install}")))?;
        let mut command = Command::new(&path);
        command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(VERSION_LIMIT, command.output()).await;
        let output = output.ok().and_then(Result::ok).map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&output);
        let major =
            text.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
        match major {
            Some(major) if major >= OLDEST => Ok(Self(path)),
            Some(_) => {
                Err(Error::Advice(format!("{} has version {}. {install}", path.display(), text.trim())))
            }
            None => Err(Error::Advice(format!("{} does not tell its version. {install}", path.display()))),
        }
    }

    /// Returns the SQL that makes of the schema of `from` that of `to`; empty if there is no difference.
    pub(super) async fn diff(
        &self,
        settings: &Settings,
        from: &Backend,
        to: &Backend,
        schemas: &[String],
    ) -> Result<String, Error> {
        let folder = Folder::create(settings, &[from, to])?;
        let [from, to] = [from, to].map(url);
        let words =
            ["--output-format", "json", "db", "diff", "--from", &from?, "--to", &to?].map(str::to_owned);
        let output = self.run(&folder, words, schemas).await?;
        let difference: Difference = serde_json::from_slice(&output.stdout)
            .map_err(|error| Error::Advice(format!("the answer of the Supabase CLI: {error}")))?;
        Ok(difference.diff)
    }

    /// Writes the schema of `of` as files, each with one object, and calls `take` with their folder.
    pub(super) async fn export(
        &self,
        settings: &Settings,
        of: &Backend,
        schemas: &[String],
        take: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let folder = Folder::create(settings, &[of])?;
        let remote = format!("--remote={}", url(of)?);
        let words = ["db", "pull", "--declarative", &remote, "--yes"].map(str::to_owned);
        self.run(&folder, words, schemas).await?;
        take(&folder.0.join("supabase").join(crate::declared::FOLDER))
    }

    async fn run(
        &self,
        folder: &Folder,
        words: impl IntoIterator<Item = String>,
        schemas: &[String],
    ) -> Result<Output, Error> {
        let mut command = Command::new(&self.0);
        program::forget_other_servers(&mut command);
        command.args(words).arg("--workdir").arg(&folder.0);
        if !schemas.is_empty() {
            command.arg("--schema").arg(schemas.join(","));
        }
        for name in ["SUPABASE_WORKDIR", "SUPABASE_PROJECT_ID", "SUPABASE_EXPERIMENTAL"] {
            command.env_remove(name);
        }
        command.env("PGPASSFILE", folder.passwords()).env("NO_COLOR", "1").env("CI", "1");
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(LIMIT, command.output()).await.map_err(|_| {
            Error::Advice(format!("the Supabase CLI did not end within {} minutes", LIMIT.as_secs() / 60))
        })?;
        let output = output.map_err(Error::io(format!("run {}", self.0.display())))?;
        if output.status.success() {
            return Ok(output);
        }
        let messages = [output.stderr.as_slice(), &output.stdout].concat();
        let messages = String::from_utf8_lossy(&messages);
        let lines: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        Err(Error::Advice(format!("the Supabase CLI failed ({}):\n{last}", output.status)))
    }
}

/// Returns where the CLI may be.
fn places(root: &Path) -> impl Iterator<Item = PathBuf> {
    let packages = root.ancestors().map(|folder| folder.join("node_modules/.bin/supabase"));
    let packages: Vec<PathBuf> = packages.collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).map(|folder| folder.join("supabase")).collect();
    packages.into_iter().chain(folders)
}

/// Returns the database's URL without the password, which every user could read in a list of processes.
fn url(backend: &Backend) -> Result<String, Error> {
    let login: Conninfo = backend.client_uri()?.parse()?;
    Ok(crate::uri::without_password(&login).0.to_uri())
}

/// The folder that the CLI runs in, with a file of passwords. It is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn create(settings: &Settings, databases: &[&Backend]) -> Result<Self, Error> {
        use std::io::Write as _;
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        let path = settings.data_dir.join(format!("compare-{}", std::process::id()));
        let path = std::path::absolute(path).map_err(Error::io("find the data folder"))?;
        let mut passwords = String::new();
        for database in databases {
            passwords.push_str(&password_line(&database.client_uri()?.parse()?));
        }
        let folder = Self(path);
        let write = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.0.join("supabase"))?;
            std::fs::write(folder.0.join("supabase/config.toml"), CONFIG)?;
            let mut options = std::fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(folder.passwords())?;
            file.write_all(passwords.as_bytes())
        };
        write().map_err(Error::io("prepare the comparison"))?;
        Ok(folder)
    }

    fn passwords(&self) -> PathBuf {
        self.0.join("pgpass")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: it is in the data folder, which only this user can read.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the line of a database in a file of passwords. Source: PostgreSQL documentation, section 34.16.
fn password_line(login: &Conninfo) -> String {
    let field = |name| login.get(name).unwrap_or("*").replace('\\', "\\\\").replace(':', "\\:");
    let fields = ["host", "port", "dbname", "user", "password"].map(field);
    format!("{}\n", fields.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_escaped() {
        let login: Conninfo = "postgresql://me:a%3Ab%5Cc@h:5433/d".parse().unwrap();
        assert_eq!(password_line(&login), "h:5433:d:me:a\\:b\\\\c\n");
    }

    #[test]
    fn the_projects_own_cli_is_the_first() {
        let first = places(Path::new("/a/b")).take(2).collect::<Vec<_>>();
        assert_eq!(first, ["/a/b", "/a"].map(|folder| Path::new(folder).join("node_modules/.bin/supabase")));
    }
}
