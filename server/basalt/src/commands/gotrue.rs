//! `basalt gotrue`: auth on a database of Supabase's, with the arguments, the files and the variables of Supabase
//! Auth's binary, `auth` (formerly `gotrue`), which it replaces.
//!
//! The service is at `/`, without API keys; nothing is written to disk, and in the database only schema `auth` is
//! changed, so that the login role needs no right except owning that schema.

use clap::{Args, Subcommand};
use gateway::{Gateway, Nodes};
use postgres::Database;
use settings::Variables;
use tokens::Keys;
use tokio_util::sync::CancellationToken;

use super::block_on;
use crate::error::Error;
use crate::logging;
use crate::server::{self, BoundListener};
use crate::settings::{GotrueFiles, GotrueSettings};

/// Arguments of `gotrue`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: GotrueFiles,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create missing tables and serve, as without a subcommand
    Serve,
}

/// Runs the command in a process that has `variables`, with a log in `format`.
pub(super) fn run(
    Arguments { files, command: None | Some(Command::Serve) }: Arguments,
    variables: &Variables,
    format: logging::Format,
) -> Result<(), Error> {
    let settings = GotrueSettings::load(&files, variables);
    let settings = settings.inspect_err(|_| logging::start(format, None, variables))?;
    logging::start(format, settings.log_level.as_deref(), variables);
    block_on(serve(settings))
}

/// Creates missing tables and serves until SIGINT or SIGTERM.
async fn serve(settings: GotrueSettings) -> Result<(), Error> {
    logging::log_warnings(&settings.warnings);
    let keys = Keys::from_settings(settings.keys.clone())?;
    let stop = server::begin()?;
    let database = Database::connect(settings.database.clone()).await?;

    let served = tokio::select! {
        migrated = migrate(&database) => match migrated {
            Ok(()) => serve_port(settings, keys, &database, &stop).await,
            Err(error) => Err(error),
        },
        () = stop.cancelled() => Ok(()),
    };

    database.close().await;
    served
}

/// Creates the tables of schema `auth` that are missing.
async fn migrate(database: &Database) -> Result<(), Error> {
    let mut client = database.client().await?;
    migrations::Migrator::new(&mut client).auth_only().await?;
    Ok(())
}

async fn serve_port(
    settings: GotrueSettings,
    keys: Keys,
    database: &Database,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let handles = auth::Handles::new(database.clone(), keys, &Nodes::default(), &settings.auth);
    let handles = handles.map_err(Error::service("auth"))?;
    let service = auth::service(settings.auth, &handles).map_err(Error::service("auth"))?;
    let layered = Gateway::without_keys(settings.gateway).open("auth", service);
    // As with upstream, several processes may listen on the port.
    let listening = server::listen("Auth API", &settings.address, true).await?;
    let BoundListener { acceptor, endpoint: _endpoint } = listening;
    // Links in mails and redirects of providers are opened with GET, so any request may write.
    server::serve(acceptor, layered.exposing(auth::EXPOSED_HEADERS), |_| true, stop).await;
    Ok(())
}
