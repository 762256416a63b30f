//! `basalt db`.

use clap::{Args, Subcommand};

use super::serve;
use crate::backend::{self, Backend, reset};
use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// What `db` takes.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Make the project's database anew: its migrations, its seed and the files of its buckets
    ///
    /// Deletes everything that is in the database, and what was uploaded; keys and settings stay. A server that runs on it
    /// keeps running. With DATABASE_URL this works for a database that Basalt has set up, if its user may drop and create
    /// databases.
    Reset(ResetArguments),
}

/// What `db reset` takes.
#[derive(Debug, Args)]
pub(super) struct ResetArguments {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Apply the migrations alone
    #[arg(long)]
    no_seed: bool,
}

/// Runs the command.
pub(super) async fn run(mut settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let Arguments::Reset(ResetArguments { yes, no_seed }) = arguments;
    settings.seed.enabled &= !no_seed;
    let backend = Backend::attach_or_start(&settings).await?;
    let result = work(&settings, &backend, yes).await;
    backend.stop().await;
    result
}

async fn work(settings: &Settings, backend: &Backend, yes: bool) -> Result<(), Error> {
    let keys = backend::keys(settings)?;
    let logins = reset::run(settings, backend, &keys, yes).await?;
    serve::fill_buckets(settings, backend, logins, &keys).await?;
    console::print("The database is as new: migrations, seed and buckets are applied.");
    Ok(())
}
