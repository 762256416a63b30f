//! Migrations: the platform's own schema, a project's migrations, its seed files, and the login roles' passwords.
//!
//! A [`Migrator`] brings a database up to date. Each file is run in one transaction of its own, which also records it
//! and which holds an advisory lock, so that a file is applied wholly or not at all, and once, however many nodes start
//! at the same moment. A project's history is kept in `supabase_migrations`, in the form of the Supabase CLI; either
//! tool goes on where the other stopped.
//!
//! A file is SQL as it runs on hosted Supabase. What depends on how it is run there is allowed for: a file may bracket
//! itself with `begin` and `commit`, and may ask for extensions that every hosted project has.
//!
//! This module refuses to guess: a file that was changed after it had been applied, or that only `psql` could run, is
//! an error that says so, with file and line.

mod age;
mod apply;
mod error;
mod ledger;
mod passwords;
mod platform;
mod source;
mod split;
mod status;

use std::path::{Path, PathBuf};

use tokio_postgres::Client;

pub use apply::Limits;
pub use error::{Error, StatementError};
pub use passwords::set_role_passwords;
pub use platform::platform_checksum;
pub use status::{Entry, State, Status};

use apply::File;
use ledger::Record;
use platform::PlatformFile;
use source::{Folder, MigrationFile};

/// What a run of migrations did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Names of the files that were run, in order.
    pub applied: Vec<String>,
    /// Names of platform files that were not run because the database had all that they make, as hosted Supabase has.
    pub adopted: Vec<String>,
    /// Names of files in the folder that are not named `<version>_<name>.sql` and were passed over.
    pub ignored: Vec<String>,
    /// Versions that the database has and that no file is known for, from a newer release for example.
    pub unknown: Vec<String>,
    /// Extensions of hosted Supabase that files ask for and that this Postgres lacks. The statements that would make
    /// them were passed over; whatever calls them fails when it does.
    pub missing_extensions: Vec<String>,
}

/// Brings a database up to date, over a connection of an administrator (a superuser, for the platform's schema).
///
/// The connection may go through a pooler in transaction mode. A call that fails leaves it usable, except after
/// [`Error::TooSlow`] and [`Error::Database`].
pub struct Migrator<'a> {
    client: &'a mut Client,
    limits: Limits,
}

impl<'a> Migrator<'a> {
    /// A migrator with the default [`Limits`].
    pub fn new(client: &'a mut Client) -> Self {
        Self { client, limits: Limits::default() }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Applies the files of `schema/platform`, which are part of this binary: what hosted Supabase already has.
    ///
    /// Errors: [`Error::Older`] as [`Self::obstacle`] says; [`Error::PlatformChanged`] if this binary's files differ from those that the database was made with, and
    /// all that running a file can meet.
    pub async fn platform(&mut self) -> Result<Report, Error> {
        if let Some(obstacle) = self.obstacle().await? {
            return Err(Error::Older(obstacle));
        }
        self.ensure_ledger().await?;
        let records = ledger::platform(&*self.client).await?;
        let mut report = Report { unknown: unknown(&records, is_platform), ..Report::default() };
        for file in platform::FILES {
            if let Some(record) = records.get(file.version()) {
                unchanged_platform(file, record)?;
                continue;
            }
            let outcome = apply_platform(self.client, &self.limits, file);
            report.add(file.file, apply::bounded(file.file, &self.limits, outcome).await?);
        }
        report.log("platform");
        Ok(report)
    }

    /// Applies the migrations of a project: the files `<version>_<name>.sql` of `folder`, in the order of their names.
    /// A folder that does not exist has none.
    ///
    /// What the Supabase CLI has applied counts as applied, whatever the file says now, since the CLI keeps no
    /// checksum. A file with an older version than the last applied one is applied, too: branches get merged.
    ///
    /// Errors: [`Error::Changed`], [`Error::SameVersion`], [`Error::Unreadable`], and all that running a file can meet.
    pub async fn project(&mut self, folder: &Path) -> Result<Report, Error> {
        let folder = Folder::read(folder).await?;
        self.ensure_ledger().await?;
        let records = ledger::project(&*self.client).await?;
        let known = |version: &str| folder.migrations.iter().any(|file| file.version == version);
        let mut report = Report { unknown: unknown(&records, known), ..Report::default() };
        for file in &folder.migrations {
            if let Some(record) = records.get(&file.version) {
                unchanged(&file.file, record, &source::checksum(&file.sql))?;
                continue;
            }
            let outcome = apply_project(self.client, &self.limits, file);
            report.add(&file.file, apply::bounded(&file.file, &self.limits, outcome).await?);
        }
        report.ignored = folder.ignored;
        report.log("project");
        Ok(report)
    }

    /// Runs those of `files`, in their order, that this database has not seen in their present form. They lie in the
    /// project's folder `root`, and are recorded by their path below it, as the Supabase CLI records them.
    ///
    /// A changed seed file is run again, so it has to be written to be run twice (`on conflict do nothing`).
    ///
    /// Errors: [`Error::Unreadable`], and all that running a file can meet.
    pub async fn seed(&mut self, root: &Path, files: &[PathBuf]) -> Result<Report, Error> {
        if files.is_empty() {
            return Ok(Report::default());
        }
        self.ensure_ledger().await?;
        let recorded = ledger::seeds(&*self.client).await?;
        let mut report = Report::default();
        for file in files {
            let sql = source::read_text(&root.join(file)).await?;
            let (path, hash) = (seed_path(root, file), source::digest(sql.as_bytes()));
            if recorded.get(&path) == Some(&hash) {
                continue;
            }
            let outcome = apply_seed(self.client, &self.limits, &path, &sql, &hash);
            report.add(&path, apply::bounded(&path, &self.limits, outcome).await?);
        }
        report.log("seed");
        Ok(report)
    }

    /// Why [`Self::platform`] cannot bring schemas `auth` and `storage` up to date that another service has made, and what
    /// to do; `None` if nothing is in the way. Nothing is written.
    pub async fn obstacle(&mut self) -> Result<Option<String>, Error> {
        age::obstacle(self.client).await
    }

    /// What is applied, what is pending and what was changed since; nothing is written. `folder` is that of
    /// [`Self::project`].
    pub async fn status(&mut self, folder: &Path) -> Result<Status, Error> {
        status::read(self.client, &Folder::read(folder).await?).await
    }

    async fn ensure_ledger(&mut self) -> Result<(), Error> {
        if ledger::exists(&*self.client).await? {
            return Ok(());
        }
        let limits = self.limits;
        apply::bounded("the tables that record migrations", &limits, async {
            let transaction = apply::begin(self.client, &limits).await?;
            ledger::create(&transaction).await?;
            transaction.commit().await.map_err(Error::database("create the tables that record migrations"))
        })
        .await
    }
}

impl Report {
    fn add(&mut self, file: &str, outcome: Outcome) {
        match outcome {
            Outcome::Ran { missing_extensions } => {
                self.applied.push(file.to_owned());
                self.missing_extensions.extend(missing_extensions);
            }
            Outcome::Adopted => self.adopted.push(file.to_owned()),
            Outcome::AlreadyThere => {}
        }
    }

    fn log(&self, what: &str) {
        for file in &self.applied {
            tracing::info!(file, "applied {what} migration");
        }
        for file in &self.adopted {
            tracing::info!(file, "the database has this part of the platform already");
        }
        for file in &self.ignored {
            tracing::warn!(file, "passed over: a migration is named <version>_<name>.sql");
        }
        for extension in &self.missing_extensions {
            tracing::warn!(extension, "this Postgres has no such extension: passed over");
        }
        for version in &self.unknown {
            tracing::warn!(version, "the database has a {what} migration that no file here is known for");
        }
    }
}

enum Outcome {
    Ran {
        missing_extensions: Vec<String>,
    },
    Adopted,
    /// Another process was faster.
    AlreadyThere,
}

async fn apply_platform(client: &mut Client, limits: &Limits, file: &PlatformFile) -> Result<Outcome, Error> {
    let parsed = File::parse(file.file, file.sql)?;
    let transaction = apply::begin(client, limits).await?;
    if let Some(record) = ledger::platform(&transaction).await?.get(file.version()) {
        return unchanged_platform(file, record).map(|()| Outcome::AlreadyThere);
    }
    let adopted = match file.skip_condition() {
        Some(condition) => holds(&transaction, condition).await?,
        None => false,
    };
    let mut missing_extensions = Vec::new();
    if !adopted {
        missing_extensions = parsed.run(&transaction).await?;
        apply::restore_session(&transaction).await?;
    }
    let record = Record { name: file.name().to_owned(), checksum: Some(file.checksum()), adopted };
    ledger::record_platform(&transaction, file.version(), &record).await?;
    transaction.commit().await.map_err(Error::database("commit a migration"))?;
    Ok(if adopted { Outcome::Adopted } else { Outcome::Ran { missing_extensions } })
}

async fn apply_project(client: &mut Client, limits: &Limits, file: &MigrationFile) -> Result<Outcome, Error> {
    let parsed = File::parse(&file.file, &file.sql)?;
    let checksum = source::checksum(&file.sql);
    let transaction = apply::begin(client, limits).await?;
    if let Some(record) = ledger::project(&transaction).await?.get(&file.version) {
        return unchanged(&file.file, record, &checksum).map(|()| Outcome::AlreadyThere);
    }
    let missing_extensions = parsed.run(&transaction).await?;
    apply::restore_session(&transaction).await?;
    let statements: Vec<&str> = parsed.statements.iter().map(|statement| statement.text).collect();
    ledger::record_project(&transaction, &file.version, &file.name, &statements, &checksum).await?;
    transaction.commit().await.map_err(Error::database("commit a migration"))?;
    Ok(Outcome::Ran { missing_extensions })
}

async fn apply_seed(
    client: &mut Client,
    limits: &Limits,
    path: &str,
    sql: &str,
    hash: &str,
) -> Result<Outcome, Error> {
    let parsed = File::parse(path, sql)?;
    let transaction = apply::begin(client, limits).await?;
    if ledger::seeds(&transaction).await?.get(path).is_some_and(|recorded| recorded == hash) {
        return Ok(Outcome::AlreadyThere);
    }
    let missing_extensions = parsed.run(&transaction).await?;
    apply::restore_session(&transaction).await?;
    ledger::record_seed(&transaction, path, hash).await?;
    transaction.commit().await.map_err(Error::database("commit a seed file"))?;
    Ok(Outcome::Ran { missing_extensions })
}

async fn holds(transaction: &tokio_postgres::Transaction<'_>, condition: &str) -> Result<bool, Error> {
    let rows = transaction
        .query_typed(&format!("select {condition}"), &[])
        .await
        .map_err(Error::database("see whether the database has a part of the platform already"))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// Errors: [`Error::PlatformChanged`] if `record` says that another text was applied.
fn unchanged_platform(file: &PlatformFile, record: &Record) -> Result<(), Error> {
    match &record.checksum {
        Some(recorded) if *recorded != file.checksum() => {
            Err(Error::PlatformChanged { file: file.file.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Errors: [`Error::Changed`] if `record` says that another text was applied.
fn unchanged(file: &str, record: &Record, checksum: &str) -> Result<(), Error> {
    match &record.checksum {
        Some(recorded) if recorded != checksum => Err(Error::Changed {
            file: file.to_owned(),
            recorded: recorded.clone(),
            found: checksum.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn unknown(records: &ledger::Records, known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut versions: Vec<String> = records.keys().filter(|version| !known(version)).cloned().collect();
    versions.sort();
    versions
}

fn is_platform(version: &str) -> bool {
    platform::FILES.iter().any(|file| file.version() == version)
}

/// The path of a seed file below the project's folder, with forward slashes on every system.
fn seed_path(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    let below = below.strip_prefix(".").unwrap_or(below);
    below.to_string_lossy().replace('\\', "/")
}
