//! Managed settings as a start reads them, and as the command line lists and resets them.

use postgres::Database;
use settings::Managed;
use tokens::Keys;

use crate::error::Error;
use crate::store::settings::{self as store, ManagedSetting};

/// Returns the settings that were changed over the platform interface. One that this server cannot open is left out,
/// and logged.
///
/// Errors: those of the database, as a sentence.
pub async fn managed_settings(database: &Database, keys: &Keys) -> Result<Managed, String> {
    let snapshot = store::read(database, &crate::seal::of(keys)).await.map_err(Error::described)?;
    Ok(snapshot.settings)
}

/// Returns what was changed over the platform interface, by name. Errors: those of the database, as a sentence.
pub async fn list_settings(database: &Database) -> Result<Vec<ManagedSetting>, String> {
    store::list(database).await.map_err(Error::described)
}

/// Takes back the change of the setting that is called `name`, or all changes, on running servers, too. Returns the
/// names of those that there were. Errors: those of the database, as a sentence.
pub async fn reset_settings(database: &Database, name: Option<&str>) -> Result<Vec<String>, String> {
    store::reset(database, name).await.map_err(Error::described)
}
