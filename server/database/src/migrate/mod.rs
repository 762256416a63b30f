//! Migrations: the platform's own schema, a project's migrations, its seed files, and the login roles' passwords.
//!
//! A [`Migrator`] brings a database up to date. Each file is run in one transaction of its own, which also records it
//! and which holds an advisory lock, so that a file is applied wholly or not at all, and once, however many nodes start
//! at the same moment. A project's history is kept in `supabase_migrations`, in the form of the Supabase CLI; either
//! tool goes on where the other stopped.
//!
//! A file is SQL as it runs on hosted Supabase, in a session as a new one of the administrator's would be. What depends
//! on how it is run there is allowed for: a file may bracket itself with `begin` and `commit`, may ask for extensions
//! that every hosted project has, may be what `pg_dump` wrote, and may hold statements that refuse to be run in a
//! transaction, between which it is then applied step by step.
//!
//! A file that was changed after it had been applied is told of and not run again; one that only `psql` could run is an
//! error that says so, with file and line. See `docs/decisions/0036`.

mod age;
mod apply;
mod auth_alone;
mod error;
mod file;
mod ledger;
mod passwords;
mod platform;
mod project;
mod source;
mod split;
mod status;

use std::path::{Path, PathBuf};

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient};

pub use apply::Limits;
pub use error::{Error, StatementError};
pub use passwords::set_role_passwords;
pub use platform::platform_checksum;
pub use status::{Entry, State, Status};

use file::File;
use ledger::Record;
use platform::PlatformFile;
use project::Target;
use source::Folder;

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
    /// Names of files that were edited after they had been applied. They were not run again.
    pub changed: Vec<String>,
    /// Names of those of the applied files whose version is older than one that the database had before.
    pub out_of_order: Vec<String>,
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

    /// Whether this database was set up by Basalt before: whether it has the table that records the platform's files.
    pub async fn is_own(&self) -> Result<bool, Error> {
        ledger::is_marked(&*self.client).await
    }

    /// Applies the files of `schema/platform`, which are part of this binary: what hosted Supabase already has.
    ///
    /// Errors: [`Error::Older`] as [`Self::obstacle`] says; [`Error::PlatformChanged`] if this binary's files differ from
    /// those that the database was made with, and all that running a file can meet.
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

    /// Makes the tables of schema `auth` where they are missing or of an older release, as a role that owns the schema and may do nothing else:
    /// nothing is written anywhere else, and no ledger but the one of Supabase Auth is kept. Returns whether there was
    /// anything to do.
    ///
    /// Errors: [`Error::Older`] for tables that are older than October 2022 and hold accounts, or that belong to another
    /// role; [`Error::Busy`], [`Error::Database`], [`Error::TooSlow`].
    pub async fn auth_alone(&mut self) -> Result<bool, Error> {
        let limits = self.limits;
        apply::bounded("schema auth", &limits, auth_alone::migrate(self.client, &limits)).await
    }

    /// Applies the migrations of a project: the files `<version>_<name>.sql` of `folder`, in the order of their names.
    /// A folder that does not exist has none.
    ///
    /// What the Supabase CLI has applied counts as applied, whatever the file says now, since the CLI keeps no
    /// checksum. A file with an older version than the last applied one is applied, too: branches get merged. One that
    /// was edited after it had been applied is left alone; the report names it.
    ///
    /// Errors: [`Error::SameVersion`], [`Error::Unreadable`], and all that running a file can meet.
    pub async fn project(&mut self, folder: &Path) -> Result<Report, Error> {
        let folder = Folder::read(folder).await?;
        self.ensure_ledger().await?;
        let records = ledger::project(&*self.client).await?;
        let known = |version: &str| folder.migrations.iter().any(|file| file.version == version);
        let mut report = Report { unknown: unknown(&records, known), ..Report::default() };
        let newest = records.keys().max().cloned().unwrap_or_default();
        for file in &folder.migrations {
            if let Some(record) = records.get(&file.version) {
                if record.checksum.as_ref().is_some_and(|applied| *applied != source::checksum(&file.sql)) {
                    report.changed.push(file.file.clone());
                }
                continue;
            }
            let outcome = project::apply(self.client, &self.limits, Target::Migration(file));
            report.add(&file.file, apply::bounded(&file.file, &self.limits, outcome).await?);
            if file.version < newest {
                report.out_of_order.push(file.file.clone());
            }
        }
        report.ignored = folder.ignored;
        report.log("project");
        Ok(report)
    }

    /// Runs those of `files`, in their order, that this database has not seen. They lie in the project's folder `root`,
    /// and are recorded by their path below it, as the Supabase CLI records them.
    ///
    /// A file that was edited after it had been run is left alone, as the Supabase CLI has it; the report names it.
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
            if let Some(applied) = recorded.get(&path) {
                if *applied != hash {
                    report.changed.push(path);
                }
                continue;
            }
            let target = Target::Seed { path: &path, sql: &sql, hash: &hash };
            let outcome = project::apply(self.client, &self.limits, target);
            report.add(&path, apply::bounded(&path, &self.limits, outcome).await?);
        }
        report.log("seed");
        Ok(report)
    }

    /// Why [`Self::platform`] cannot bring schemas `auth` and `storage` up to date that another service has made, and what
    /// to do; `None` if nothing is in the way. Nothing is written.
    pub async fn obstacle(&mut self) -> Result<Option<String>, Error> {
        Ok(age::Age::of(&*self.client).await?.obstacle())
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
        for file in &self.out_of_order {
            tracing::warn!(file, "applied, though the database has a newer {what} migration");
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
        Some(condition) => {
            let doing = "see whether the database has a part of the platform already";
            holds(&transaction, condition, &[], doing).await?
        }
        None => false,
    };
    let mut missing_extensions = Vec::new();
    if !adopted {
        parsed.run(&transaction, &parsed.statements, &mut missing_extensions).await?;
        apply::restore_session(&transaction).await?;
    }
    let record = Record { name: file.name().to_owned(), checksum: Some(file.checksum()), adopted };
    ledger::record_platform(&transaction, file.version(), &record).await?;
    transaction.commit().await.map_err(Error::database("commit a migration"))?;
    Ok(if adopted { Outcome::Adopted } else { Outcome::Ran { missing_extensions } })
}

/// Whether `condition`, an expression in SQL, holds in the database. `doing` is for the error.
async fn holds(
    client: &impl GenericClient,
    condition: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
    doing: &'static str,
) -> Result<bool, Error> {
    let row = client.query_typed_one(&format!("select {condition}"), parameters).await;
    Ok(row.map_err(Error::database(doing))?.get(0))
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
