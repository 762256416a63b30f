//! Restore points as the command line makes them.

use postgres::Database;

use crate::error::Error;
use crate::store::restore_points::{self, RestorePoint};

/// Gives the present moment of `database` a name, which it takes from an earlier one. Of a longer name than
/// [`restore_points::LONGEST_NAME`] the beginning is used.
///
/// Errors: those of the database, as a sentence.
pub async fn create_restore_point(database: &Database, name: &str) -> Result<RestorePoint, String> {
    let name: String = name.chars().take(restore_points::LONGEST_NAME).collect();
    restore_points::create(database, &name).await.map_err(Error::described)
}
