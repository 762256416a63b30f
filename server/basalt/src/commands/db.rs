//! `basalt db`: what the Supabase CLI does with a database, and upgrades and hardens the project's.

mod diff;
mod difference;
mod dump;
mod engine;
mod lint;
mod program;
mod pull;
mod push;
mod schemas;
pub(super) mod test;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use embedded::{Cluster, GapNotice, Hardening, Upgrade};

pub(super) use program::CLIENT_PACKAGES;

use super::serve;
use crate::backend::{self, Backend, reset};
use crate::console;
use crate::error::Error;
use crate::settings::{Settings, display_path};

/// Arguments of `db`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Reset the project's database, and apply its migrations, its seed and the files of its buckets again
    ///
    /// Deletes everything in the database, and all uploaded files; keys and settings stay. A server that runs on it
    /// keeps running. With DATABASE_URL this works for a database that Basalt has set up, if its user may drop and
    /// create databases.
    Reset(ResetArguments),
    /// Write schema, rows or roles of a database as SQL that another project can run
    ///
    /// With the flags of `supabase db dump`, without Docker. Needs pg_dump of the server's major version or a newer
    /// one.
    Dump(dump::Arguments),
    /// Show what a database, or the declared schemas, have beyond the project's migrations, or write it as a migration
    ///
    /// With the flags of `supabase db diff`, without Docker. With files in supabase/schemas, their difference from the
    /// migrations; else that of the project's database. Needs the Supabase CLI 3, whose engine compares.
    Diff(diff::Arguments),
    /// Write what a database has beyond the project's migrations as a migration, and record it there
    ///
    /// With the flags of `supabase db pull`, without Docker. Needs the Supabase CLI 3, whose engine compares.
    Pull(pull::Arguments),
    /// Apply the project's pending migrations to a database
    ///
    /// With the flags of `supabase db push`, and the same history.
    Push(push::Arguments),
    /// Check functions in PL/pgSQL
    ///
    /// With the flags and the JSON of `supabase db lint`. Needs the extension plpgsql_check.
    Lint(lint::Arguments),
    /// Run the tests of supabase/tests, which are written with pgTAP
    ///
    /// As `supabase test db` does. Needs psql and the extension pgtap.
    Test(test::Arguments),
    /// Upgrade the embedded Postgres' database to a newer major version
    ///
    /// For a data folder of an older Postgres than the one that `serve` would start. Needs the programs of both
    /// versions, and pg_dump, pg_dumpall and pg_restore. The old database is kept beside the new one. Stop the server
    /// first.
    Upgrade(UpgradeArguments),
    /// Take the rights of a superuser from `postgres`, as on hosted Supabase
    ///
    /// For a data folder of a release in which `postgres` was the superuser. Copies the database into a new one whose
    /// superuser is `supabase_admin`, which needs pg_dump, pg_dumpall and pg_restore. The old database is kept beside
    /// the new one. Stop the server first.
    Harden,
}

/// Arguments of `db reset`.
#[derive(Debug, Args)]
pub(super) struct ResetArguments {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Apply only the migrations
    #[arg(long)]
    no_seed: bool,
}

/// Arguments of `db upgrade`.
#[derive(Debug, Args)]
pub(super) struct UpgradeArguments {
    /// The folder with the programs of the old version [default: searched on this machine]
    #[arg(long, value_name = "DIR")]
    old_bin: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    match arguments {
        Arguments::Reset(arguments) => reset(settings, arguments).await,
        Arguments::Dump(arguments) => dump::run(settings, arguments).await,
        Arguments::Diff(arguments) => diff::run(settings, arguments).await,
        Arguments::Pull(arguments) => pull::run(settings, arguments).await,
        Arguments::Push(arguments) => push::run(settings, arguments).await,
        Arguments::Lint(arguments) => lint::run(settings, arguments).await,
        Arguments::Test(arguments) => test::run(settings, arguments).await,
        Arguments::Upgrade(arguments) => upgrade(&settings, arguments).await,
        Arguments::Harden => harden(&settings).await,
    }
}

async fn reset(mut settings: Settings, arguments: ResetArguments) -> Result<(), Error> {
    let ResetArguments { yes, no_seed } = arguments;
    settings.seed.enabled &= !no_seed;
    Backend::attached(&settings, async |backend| reset_and_fill(&settings, backend, yes).await).await
}

async fn reset_and_fill(settings: &Settings, backend: &Backend, yes: bool) -> Result<(), Error> {
    let keys = backend::keys(settings)?;
    let logins = reset::run(settings, backend, &keys, yes).await?;
    serve::fill_buckets(settings, backend, logins, &keys).await?;
    console::print("The database has been reset: migrations, seed and buckets are applied.");
    Ok(())
}

async fn upgrade(settings: &Settings, arguments: UpgradeArguments) -> Result<(), Error> {
    check_embedded(settings, "upgrade")?;
    let folder = display_path(&settings.data_dir);
    let old_bin = arguments.old_bin.map(std::path::absolute).transpose();
    let old_bin = old_bin.map_err(Error::io("find the folder of --old-bin"))?;
    let gap = || expect_gap(settings);
    let gap = has_backups(settings).then_some(&gap as GapNotice<'_>);
    match Cluster::upgrade(backend::options(settings), old_bin.as_deref(), gap).await? {
        Upgrade::NoCluster => console::print(format_args!("Nothing to do: {folder} has no database yet.")),
        Upgrade::Current(version) => {
            console::print(format_args!(
                "Nothing to do: the database in {folder} already has the version of Postgres {version}."
            ));
        }
        Upgrade::Done { from, to, kept } => {
            console::print(format_args!(
                "The database in {folder} has been upgraded to Postgres {to}. The old one, of Postgres {from}, is kept in {}: \
                 delete that folder once you do not want to go back.",
                display_path(&kept)
            ));
            tell_way_back(settings);
        }
    }
    Ok(())
}

/// Reports whether the project has begun to make backups, and still does.
fn has_backups(settings: &Settings) -> bool {
    let folder = &settings.data_dir;
    settings.backup.target.is_some() && backup::has_key(folder) && !backup::is_copy(folder)
}

/// Has the next start make a backup, since the log has a gap: also if the copy of the cluster fails or is killed.
fn expect_gap(settings: &Settings) -> std::io::Result<()> {
    backup::want_backup(&settings.data_dir).map_err(std::io::Error::other)
}

/// Says how to go back with the backups, if there are some.
fn tell_way_back(settings: &Settings) {
    if !has_backups(settings) {
        return;
    }
    let now = backup::Moment::now();
    console::print(format_args!(
        "The backups reach back behind it: `basalt restore --to \"{now}\" --data-dir NEW`, with POSTGRES_BIN for the old \
         version, brings the old database back. The next start makes a backup of the new one."
    ));
}

async fn harden(settings: &Settings) -> Result<(), Error> {
    check_embedded(settings, "harden")?;
    let folder = display_path(&settings.data_dir);
    let gap = || expect_gap(settings);
    let gap = has_backups(settings).then_some(&gap as GapNotice<'_>);
    match Cluster::harden(backend::options(settings), gap).await? {
        Hardening::NoCluster => console::print(format_args!(
            "Nothing to do: {folder} has no database yet, and a new one is hardened from its beginning."
        )),
        Hardening::Current => console::print(format_args!(
            "Nothing to do: postgres is not the superuser of the database in {folder}."
        )),
        Hardening::Done { kept } => {
            console::print(format_args!(
                "The superuser of the database in {folder} is supabase_admin now, and postgres has the rights that it has on \
             hosted Supabase. The old database is kept in {}: delete that folder once you do not want to go back.",
                display_path(&kept)
            ));
            tell_way_back(settings);
        }
    }
    Ok(())
}

/// Checks that the database is the embedded one.
///
/// Errors: if `DATABASE_URL` names another one; `action` is what cannot be done with it.
fn check_embedded(settings: &Settings, action: &str) -> Result<(), Error> {
    if settings.database.url.is_none() {
        return Ok(());
    }
    Err(Error::Advice(format!(
        "DATABASE_URL names a server that Basalt does not run, and cannot {action}. For the database in the data folder, \
         unset DATABASE_URL"
    )))
}

/// Returns the error that the database does not have the extension `name`; `need` says what it is for.
fn missing_extension(name: &str, need: &str) -> Error {
    Error::Advice(format!(
        "{need} the extension {name}, which this Postgres does not have. {}",
        migrations::extensions::remedy(name)
    ))
}
