//! The identity of the project.

use postgres::{Database, text};
use serde::Deserialize;

use super::document_of;
use crate::Error;

/// A project of this server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ProjectRow {
    /// Its reference: 20 lowercase letters.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// Its name.
    pub(crate) name: String,
    /// When it was made (RFC 3339).
    pub(crate) created_at: String,
}

const COLUMNS: &str = "pg_catalog.json_build_object('ref', ref, 'name', name, 'created_at', created_at)";

/// Returns the project of this server. If there is none yet, it is made with this reference and name.
pub(crate) async fn find_or_create(
    database: &Database,
    reference: &str,
    name: &str,
) -> Result<ProjectRow, Error> {
    let insert = "insert into basalt_platform.projects (ref, name) select $1, $2 \
                   where not exists (select from basalt_platform.projects) on conflict do nothing";
    super::documents::<serde_json::Value>(database, insert, vec![text(reference), text(name)]).await?;
    let select = format!("select {COLUMNS} from basalt_platform.projects order by created_at limit 1");
    let found = document_of(database, &select, Vec::new()).await?;
    found.ok_or_else(|| Error::Internal("the project's row is missing".to_owned()))
}

/// Renames the project.
pub(crate) async fn rename(database: &Database, reference: &str, name: &str) -> Result<(), Error> {
    let sql = "update basalt_platform.projects set name = $2 where ref = $1 returning 'null'";
    super::documents::<serde_json::Value>(database, sql, vec![text(reference), text(name)]).await.map(drop)
}

/// Makes `reference` the project's, as the settings say. What belongs to the project follows.
pub(crate) async fn set_reference(database: &Database, old: &str, reference: &str) -> Result<(), Error> {
    let sql = "update basalt_platform.projects set ref = $2 where ref = $1";
    super::documents::<serde_json::Value>(database, sql, vec![text(old), text(reference)]).await.map(drop)
}
