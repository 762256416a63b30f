//! `basalt serve --only auth` with Supabase Auth's environment: a replacement for its binary, `auth` (formerly
//! `gotrue`).
//!
//! The service is at `/`, without API keys; nothing is written to disk, and in the database only schema `auth` is
//! changed, so that the login role needs no right except owning that schema.

use gateway::{Gateway, Nodes};
use postgres::Database;
use tokens::Keys;
use tokio_util::sync::CancellationToken;

use super::LIMITS;
use super::drop_in::{BoundListener, listen};
use super::signals;
use crate::error::Error;
use crate::settings::AuthDropIn;
use crate::{accept, logging};

/// Creates missing tables and serves until SIGINT or SIGTERM.
pub(in crate::commands) async fn run(settings: AuthDropIn) -> Result<(), Error> {
    accept::raise_file_limit();
    logging::log_warnings(&settings.warnings);
    let keys = Keys::from_settings(settings.keys.clone())?;
    let stop = signals::listen()?;
    let database = Database::connect(settings.database.clone()).await?;
    let served = serve(&settings, keys, &database, stop).await;
    database.close().await;
    served
}

async fn serve(
    settings: &AuthDropIn,
    keys: Keys,
    database: &Database,
    stop: CancellationToken,
) -> Result<(), Error> {
    tokio::select! {
        migrated = migrate(database) => migrated?,
        () = stop.cancelled() => return Ok(()),
    }
    let service = auth::service(settings.auth.clone(), database.clone(), keys, &Nodes::default())
        .map_err(Error::service("auth"))?;
    let face = Gateway::without_keys(settings.gateway.clone()).open("auth", service);
    // As with upstream, several processes may listen on the port.
    let BoundListener { acceptor, endpoint: _endpoint } = listen("Auth API", &settings.address, true).await?;
    // Links in mails and redirects of providers are opened with GET, so any request may write.
    accept::serve(acceptor, face.exposing(auth::EXPOSED_HEADERS), |_| true, stop, LIMITS).await;
    Ok(())
}

async fn migrate(database: &Database) -> Result<(), Error> {
    let mut client = database.client().await?;
    migrations::Migrator::new(&mut client).auth_only().await?;
    Ok(())
}
