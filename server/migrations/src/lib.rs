//! Migrations: the platform's own schema, a project's migrations, its seed files, and the login roles' passwords.
//!
//! A [`Migrator`] brings a database up to date. Each file is run in a transaction of its own, which also records it, so
//! that it is applied completely or not at all. An advisory lock ensures that it is applied only once, even if several
//! nodes start at the same moment. A project's history is kept in `supabase_migrations`, in the format of the Supabase
//! CLI; either tool can continue where the other stopped.
//!
//! A file is SQL as it runs on hosted Supabase, in a session with the settings of a new one. A file may create
//! extensions that every hosted project has, and may be the output of `pg_dump`. If it commits before its last
//! statement, or contains statements that Postgres does not run in a transaction, it is applied in several steps, and
//! recorded with the last.
//!
//! A file that was changed after it had been applied is reported and not run again. A file that only `psql` could run
//! is an error with file and line. See `docs/decisions/0036-each-migration-runs-once-in-a-transaction.md`.

mod age;
mod apply;
mod auth_only;
mod error;
mod exposure;
pub mod extensions;
mod file;
mod kept_extension;
mod ledger;
mod newer_dump;
mod passwords;
mod platform;
mod privileged;
mod project;
mod repair;
mod source;
mod split;
pub mod statement_statistics;
mod status;
pub mod vault;

use std::path::{Path, PathBuf};

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient};

pub use apply::Limits;
pub use error::{Error, StatementError};
pub use exposure::{expose_new_tables, exposes_new_tables};
pub use file::creates_own_trigger;
pub use passwords::set_role_passwords;
pub use platform::platform_checksum;
pub use privileged::{with_privileges, with_privileges_or_as_it_is};
pub use source::digest;
pub use split::{SplitError, Statement, split};
pub use status::{Entry, State, Status};

use file::File;
use ledger::Record;
use platform::PlatformFile;
use project::Target;
use source::{Folder, MigrationFile};

/// The result of a run of migrations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Names of the files that were run, in order.
    pub applied: Vec<String>,
    /// Names of platform files that were not run because the database had everything that they create, as hosted
    /// Supabase has.
    pub adopted: Vec<String>,
    /// Names of files in the folder that are not named `<version>_<name>.sql` and were skipped.
    pub ignored: Vec<String>,
    /// Versions that the database has and for which there is no file, for example those of a newer release.
    pub unknown: Vec<String>,
    /// Extensions of hosted Supabase that files create and that this Postgres does not have. The statements that create
    /// them were skipped; statements and functions that need them fail.
    pub missing_extensions: Vec<String>,
    /// Names of files that were edited after they had been applied. They were not run again.
    pub changed: Vec<String>,
    /// Names of the applied files whose version is older than one that the database had before.
    pub out_of_order: Vec<String>,
    /// Schemas of the platform that were missing in a database that Basalt had set up, and have been created again.
    pub repaired: Vec<String>,
}

/// Brings a database up to date, over an administrator's connection (for the platform's schema, a superuser's).
///
/// The connection may go through a pooler in transaction mode, unless there are files that are applied in several
/// steps. It stays usable after an error, except after [`Error::TooSlow`] and [`Error::Database`].
pub struct Migrator<'a> {
    client: &'a mut Client,
    limits: Limits,
    /// Whether only the Supabase CLI's tables are created where they are missing.
    history_only: bool,
}

impl<'a> Migrator<'a> {
    /// Returns a migrator with the default [`Limits`].
    pub fn new(client: &'a mut Client) -> Self {
        Self { client, limits: Limits::default(), history_only: false }
    }

    /// Keeps the project's history as the Supabase CLI does: Basalt's own tables are written where they exist, and not
    /// created. For databases that belong to another server, such as a project of hosted Supabase.
    #[must_use]
    pub fn history_only(mut self) -> Self {
        self.history_only = true;
        self
    }

    /// Sets other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Reports whether Basalt has set up this database: whether it has the table that records the platform's files.
    pub async fn is_own(&self) -> Result<bool, Error> {
        ledger::has_platform_table(&*self.client).await
    }

    /// Applies the files of `schema/platform`, which are part of this binary. They create what hosted Supabase has. If
    /// a schema that they had created is missing, it is created again, empty.
    ///
    /// Errors: [`Error::OutdatedSchemas`] if there is an [`Self::obstacle`]; [`Error::PlatformChanged`] if this
    /// binary's files differ from those that were applied to the database; all errors of running a file.
    pub async fn platform(&mut self) -> Result<Report, Error> {
        if let Some(obstacle) = self.obstacle().await? {
            return Err(Error::OutdatedSchemas(obstacle));
        }
        let repaired = self.repair().await?;
        self.ensure_ledger().await?;
        let records = ledger::platform(&*self.client).await?;
        let mut report = Report { unknown: unknown(&records, is_platform), repaired, ..Report::default() };
        for file in platform::FILES {
            if let Some(record) = records.get(file.version()) {
                check_unchanged(file, record)?;
                continue;
            }
            let outcome = apply_platform(self.client, &self.limits, file);
            report.add(file.file, apply::bounded(file.file, &self.limits, outcome).await?);
        }
        let limits = self.limits;
        let statistics = statement_statistics::ensure(self.client, &limits);
        apply::bounded("the extension pg_stat_statements", &limits, statistics).await?;
        self.share_with_postgres().await?;
        report.log("platform");
        Ok(report)
    }

    /// Creates schemas of the platform again that somebody has dropped, and returns their names.
    async fn repair(&mut self) -> Result<Vec<String>, Error> {
        if repair::missing(&*self.client).await?.is_empty() {
            return Ok(Vec::new());
        }
        let limits = self.limits;
        match apply::bounded("the platform's schemas", &limits, repair::run(self.client, &limits)).await? {
            repair::Repair::Done(schemas) => Ok(schemas.into_iter().map(str::to_owned).collect()),
            repair::Repair::Foreign(refused) => {
                tracing::warn!(
                    "the records of what Basalt has created in this database were dropped, and it is not as Basalt left it: \
                     {refused}"
                );
                repair::remove_watches(&*self.client).await?;
                Ok(Vec::new())
            }
        }
    }

    /// Returns the schemas of the platform that are missing, though Basalt has set up this database; the next
    /// [`Self::platform`] creates them again. Nothing is written.
    pub async fn missing_schemas(&self) -> Result<Vec<&'static str>, Error> {
        repair::missing(&*self.client).await
    }

    /// Creates the tables of schema `auth` if they are missing, or updates those of an older release, as the role that
    /// owns the schema. Nothing is written outside of it, and only Supabase Auth's own records are kept. Reports
    /// whether there was anything to do.
    ///
    /// Errors: [`Error::OutdatedSchemas`] for tables that are older than October 2022 and contain accounts, or that
    /// belong to another role; [`Error::Busy`], [`Error::Database`], [`Error::TooSlow`].
    pub async fn auth_only(&mut self) -> Result<bool, Error> {
        let limits = self.limits;
        apply::bounded("schema auth", &limits, auth_only::migrate(self.client, &limits)).await
    }

    /// Applies the migrations of a project: the files `<version>_<name>.sql` of `folder`, in the order of their names.
    /// A folder that does not exist has none.
    ///
    /// A file that the Supabase CLI has applied counts as applied even if it has been changed since, because the CLI
    /// keeps no checksum. A file with an older version than the last applied one is applied, too, as happens when
    /// branches are merged. A file that was changed after it had been applied is not run again; the report names it.
    ///
    /// Errors: [`Error::SameVersion`], [`Error::Unreadable`], and all errors of running a file.
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

    /// Runs those of `files`, in their order, that have not been run on this database. They are in the project's folder
    /// `root` and are recorded with their path relative to it, as the Supabase CLI records them.
    ///
    /// As with the Supabase CLI, a file that was changed after it had been run is not run again; the report names it.
    ///
    /// Errors: [`Error::Unreadable`], and all errors of running a file.
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

    /// Runs a file of a declared schema, in one transaction, and does not record it. An extension that it creates may
    /// exist.
    ///
    /// Errors: [`Error::Unreadable`], and all errors of running a file.
    pub async fn declare(&mut self, root: &Path, file: &Path) -> Result<(), Error> {
        let sql = source::read_text(&root.join(file)).await?;
        let (path, limits) = (seed_path(root, file), self.limits);
        apply::bounded(&path, &limits, project::declare(self.client, &limits, &path, &sql)).await
    }

    /// Returns those of `files` that have not been run on this database; see [`Self::seed`]. Nothing is written.
    ///
    /// Errors: [`Error::Database`].
    pub async fn pending_seed(&mut self, root: &Path, files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let recorded = ledger::seeds(&*self.client).await?;
        let is_pending = |file: &&PathBuf| !recorded.contains_key(&seed_path(root, file));
        Ok(files.iter().filter(is_pending).cloned().collect())
    }

    /// Records the files of `folder` that have one of `versions` as applied, without running them.
    ///
    /// Errors: [`Error::SameVersion`], [`Error::Unreadable`], [`Error::Unsuitable`] for a file that cannot be run here,
    /// [`Error::Busy`], [`Error::Database`], [`Error::TooSlow`].
    pub async fn record(&mut self, folder: &Path, versions: &[String]) -> Result<(), Error> {
        let folder = Folder::read(folder).await?;
        self.ensure_ledger().await?;
        let limits = self.limits;
        for file in folder.migrations.iter().filter(|file| versions.contains(&file.version)) {
            let recorded = project::record(self.client, &limits, Target::Migration(file));
            apply::bounded(&file.file, &limits, recorded).await?;
        }
        Ok(())
    }

    /// Applies one migration that is no file: `sql`, which is recorded as `version` and `name`. Reports whether it was
    /// applied; if the version is recorded already, it is not.
    ///
    /// Errors: all errors of running a file.
    pub async fn apply(&mut self, version: &str, name: &str, sql: &str) -> Result<bool, Error> {
        self.ensure_ledger().await?;
        let (limits, file) = (self.limits, MigrationFile::new(version, name, sql));
        let outcome = project::apply(self.client, &limits, Target::Migration(&file));
        let outcome = apply::bounded(&file.file, &limits, outcome).await?;
        Ok(matches!(outcome, Outcome::Applied { .. }))
    }

    /// Records one migration that is no file as applied, without running it.
    ///
    /// Errors: as of [`Self::record`].
    pub async fn record_one(&mut self, version: &str, name: &str, sql: &str) -> Result<(), Error> {
        self.ensure_ledger().await?;
        let (limits, file) = (self.limits, MigrationFile::new(version, name, sql));
        let recorded = project::record(self.client, &limits, Target::Migration(&file));
        apply::bounded(&file.file, &limits, recorded).await
    }

    /// Says why [`Self::platform`] cannot update the schemas `auth` and `storage` of Supabase's own services, and what
    /// to do; `None` if it can. Nothing is written.
    pub async fn obstacle(&mut self) -> Result<Option<String>, Error> {
        Ok(age::Age::read(&*self.client).await?.obstacle())
    }

    /// Returns which files are applied, pending or changed. Nothing is written. `folder` is that of [`Self::project`].
    pub async fn status(&mut self, folder: &Path) -> Result<Status, Error> {
        status::read(self.client, &Folder::read(folder).await?).await
    }

    /// Lets the role `postgres` of a cluster with another superuser write the project's history, and create the
    /// extensions that it may.
    async fn share_with_postgres(&mut self) -> Result<(), Error> {
        if !ledger::has_other_superuser(&*self.client).await? {
            return Ok(());
        }
        let limits = self.limits;
        apply::bounded("the rights of role postgres", &limits, async {
            let transaction = apply::begin(self.client, &limits).await?;
            ledger::share_with_postgres(&transaction).await?;
            transaction.commit().await.map_err(Error::database("share the records of migrations"))
        })
        .await
    }

    async fn ensure_ledger(&mut self) -> Result<(), Error> {
        let exists = match self.history_only {
            true => ledger::has_history(&*self.client).await?,
            false => ledger::exists(&*self.client).await?,
        };
        if exists {
            return Ok(());
        }
        let (limits, history_only) = (self.limits, self.history_only);
        apply::bounded("the tables that record migrations", &limits, async {
            let transaction = apply::begin(self.client, &limits).await?;
            match history_only {
                true => ledger::create_history(&transaction).await?,
                false => ledger::create(&transaction).await?,
            }
            transaction.commit().await.map_err(Error::database("create the tables that record migrations"))
        })
        .await
    }
}

impl Report {
    fn add(&mut self, file: &str, outcome: Outcome) {
        match outcome {
            Outcome::Applied { missing_extensions } => {
                self.applied.push(file.to_owned());
                self.missing_extensions.extend(missing_extensions);
            }
            Outcome::Adopted => self.adopted.push(file.to_owned()),
            Outcome::AlreadyApplied => {}
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
            tracing::warn!(file, "skipped: the name of a migration is <version>_<name>.sql");
        }
        for file in &self.out_of_order {
            tracing::warn!(file, "applied, though the database has a newer {what} migration");
        }
        for extension in &self.missing_extensions {
            tracing::warn!(extension, "skipped: this Postgres does not have the extension");
        }
        for schema in &self.repaired {
            tracing::warn!(
                schema,
                "the schema was missing and has been created again, empty: somebody has dropped it"
            );
        }
        for version in &self.unknown {
            tracing::warn!(version, "the database has a {what} migration without a file here");
        }
    }
}

/// Runs `sql` as one file of a project that is not recorded: what the role `postgres` may not do itself, such as
/// creating an extension, is done for it. `name` is the file's in errors.
///
/// Errors: [`Error::Unsuitable`] and those of running a file.
pub async fn run_as_project(client: &Client, name: &str, sql: &str) -> Result<(), Error> {
    let file = File { is_project: true, ..File::parse(name, sql)? };
    file.run(client, &file.statements, &mut Vec::new()).await
}

enum Outcome {
    Applied {
        missing_extensions: Vec<String>,
    },
    Adopted,
    /// Another process has applied it in the meantime.
    AlreadyApplied,
}

async fn apply_platform(client: &mut Client, limits: &Limits, file: &PlatformFile) -> Result<Outcome, Error> {
    let parsed = File::parse(file.file, file.sql)?;
    let transaction = apply::begin(client, limits).await?;
    if let Some(record) = ledger::platform(&transaction).await?.get(file.version()) {
        return check_unchanged(file, record).map(|()| Outcome::AlreadyApplied);
    }
    let adopted = match file.skip_condition() {
        Some(condition) => {
            let doing = "check whether the database has a part of the platform already";
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
    Ok(if adopted { Outcome::Adopted } else { Outcome::Applied { missing_extensions } })
}

/// Reports whether `condition`, an SQL expression, is true in the database. `doing` names the operation in errors.
async fn holds(
    client: &impl GenericClient,
    condition: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
    doing: &'static str,
) -> Result<bool, Error> {
    let row = client.query_typed_one(&format!("select {condition}"), parameters).await;
    Ok(row.map_err(Error::database(doing))?.get(0))
}

/// Checks that `file` has not changed since it was applied. Errors: [`Error::PlatformChanged`].
fn check_unchanged(file: &PlatformFile, record: &Record) -> Result<(), Error> {
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

/// Returns the path of a seed file relative to the project's folder, with forward slashes on every system.
fn seed_path(root: &Path, file: &Path) -> String {
    let below = file.strip_prefix(root).unwrap_or(file);
    let below = below.strip_prefix(".").unwrap_or(below);
    below.to_string_lossy().replace('\\', "/")
}
