//! API keys that were created while the server runs, in addition to those that follow from its secret.

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Changes, bytes, documents, json, optional};
use crate::Error;

/// A key.
#[derive(Debug, Deserialize)]
pub(crate) struct ApiKeyRow {
    pub(crate) id: Uuid,
    /// `publishable` or `secret`.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// The first characters.
    pub(crate) prefix: String,
    /// SHA-256, hexadecimal.
    pub(crate) hash: String,
    /// The key, sealed, in base64.
    pub(crate) sealed: String,
    pub(crate) template: Option<Value>,
    pub(crate) inserted_at: String,
    pub(crate) updated_at: String,
}

const COLUMNS: &str = "pg_catalog.json_build_object('id', id, 'kind', kind, 'name', name, \
     'description', description, 'prefix', prefix, 'hash', pg_catalog.encode(hash, 'hex'), \
     'sealed', pg_catalog.translate(pg_catalog.encode(sealed, 'base64'), E'\\n', ''), 'template', template, \
     'inserted_at', inserted_at, 'updated_at', updated_at)";

/// A key to be kept.
pub(crate) struct NewApiKey<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) prefix: &'a str,
    pub(crate) hash: &'a [u8],
    pub(crate) sealed: &'a [u8],
    pub(crate) template: &'a Value,
}

/// Returns the keys of a project, oldest first.
pub(crate) async fn list(database: &Database, project: &str) -> Result<Vec<ApiKeyRow>, Error> {
    let sql = format!(
        "select {COLUMNS} from basalt_platform.api_keys where project = $1 order by api_keys.inserted_at"
    );
    documents(database, &sql, vec![text(project)]).await
}

/// Keeps a new key; `None` if there is one of that name.
pub(crate) async fn create(
    database: &Database,
    project: &str,
    key: &NewApiKey<'_>,
) -> Result<Option<ApiKeyRow>, Error> {
    let sql = format!(
        "insert into basalt_platform.api_keys (project, kind, name, description, prefix, hash, sealed, template) \
         values ($1, $2, $3, $4, $5, $6::bytea, $7::bytea, $8::jsonb) \
         on conflict (project, name) do nothing returning {COLUMNS}"
    );
    let parameters = vec![
        text(project),
        text(key.kind),
        text(key.name),
        optional(key.description),
        text(key.prefix),
        bytes(key.hash),
        bytes(key.sealed),
        json(key.template),
    ];
    Ok(Changes::new().and(&sql, parameters).commit(database).await?.into_iter().next())
}

/// Changes the name or the description of a key, and returns it; `None` if there is no such key, or another one has that
/// name. What is `None` stays; `Some(None)` removes a description.
pub(crate) async fn update(
    database: &Database,
    project: &str,
    id: Uuid,
    name: Option<&str>,
    description: Option<Option<&str>>,
) -> Result<Option<ApiKeyRow>, Error> {
    let sql = format!(
        "update basalt_platform.api_keys set name = coalesce($3, name), \
           description = case when $5::boolean then $4 else description end, updated_at = now() \
          where project = $1 and id = $2::uuid and not exists ( \
            select from basalt_platform.api_keys other \
             where other.project = $1 and other.name = $3 and other.id <> $2::uuid) returning {COLUMNS}"
    );
    let id = id.to_string();
    let is_described = description.is_some().to_string();
    let parameters =
        vec![text(project), text(&id), optional(name), optional(description.flatten()), text(&is_described)];
    Ok(Changes::new().and(&sql, parameters).commit(database).await?.into_iter().next())
}

/// Deletes a key, which is valid no more, and returns it.
pub(crate) async fn delete(database: &Database, project: &str, id: Uuid) -> Result<Option<ApiKeyRow>, Error> {
    let sql = format!(
        "delete from basalt_platform.api_keys where project = $1 and id = $2::uuid returning {COLUMNS}"
    );
    let id = id.to_string();
    let changes = Changes::new().and(&sql, vec![text(project), text(&id)]);
    Ok(changes.commit(database).await?.into_iter().next())
}
