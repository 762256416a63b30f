//! Secrets of functions, sealed.

use std::collections::BTreeMap;

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::{Value, json};
use tokens::ValueSeal;

use super::{Changes, documents, json as parameter};
use crate::Error;

/// A secret without its value.
#[derive(Debug, Deserialize)]
pub(crate) struct SecretRow {
    pub(crate) name: String,
    /// The SHA-256 of the value, hexadecimal.
    pub(crate) digest: String,
    /// When it was set (RFC 3339).
    pub(crate) updated_at: String,
}

/// A sealed value.
#[derive(Deserialize)]
struct SealedRow {
    name: String,
    /// In base64.
    sealed: String,
}

/// Returns the secrets of a project, by name.
pub(crate) async fn list(database: &Database, project: &str) -> Result<Vec<SecretRow>, Error> {
    let sql = "select pg_catalog.json_build_object('name', name, 'digest', digest, 'updated_at', updated_at) \
                from basalt_platform.secrets where project = $1 order by name";
    documents(database, sql, vec![text(project)]).await
}

/// Returns the values of the secrets of a project. One that cannot be opened is left out, and logged.
pub(crate) async fn values(
    database: &Database,
    project: &str,
    seal: &ValueSeal,
) -> Result<BTreeMap<String, String>, Error> {
    let sql = "select pg_catalog.json_build_object('name', name, \
                 'sealed', pg_catalog.translate(pg_catalog.encode(sealed, 'base64'), E'\\n', '')) \
                from basalt_platform.secrets where project = $1";
    let rows: Vec<SealedRow> = documents(database, sql, vec![text(project)]).await?;
    let opened = rows.into_iter().filter_map(|row| {
        let value = seal.open_base64(&row.sealed, &row.name);
        if value.is_none() {
            tracing::error!(secret = row.name, "the secret was sealed with other keys, and is left out");
        }
        Some((row.name, value?))
    });
    Ok(opened.collect())
}

/// Sets secrets, all or none. Of several values with one name, the last is set.
pub(crate) async fn set(
    database: &Database,
    project: &str,
    secrets: &[(String, String)],
    seal: &ValueSeal,
) -> Result<(), Error> {
    let mut rows = Vec::new();
    let last: BTreeMap<&String, &String> = secrets.iter().map(|(name, value)| (name, value)).collect();
    for (name, value) in last {
        rows.push(json!({
            "name": name,
            "sealed": data_encoding::HEXLOWER.encode(&crate::seal::seal(seal, value, name)?),
            "digest": crate::seal::digest(value),
        }));
    }
    let sql = "insert into basalt_platform.secrets (project, name, sealed, digest) \
               select $1, s.name, pg_catalog.decode(s.sealed, 'hex'), s.digest \
                 from pg_catalog.jsonb_to_recordset($2::jsonb) as s (name text, sealed text, digest text) \
               on conflict (project, name) do update \
                 set sealed = excluded.sealed, digest = excluded.digest, updated_at = now() returning 'null'";
    Changes::new().and(sql, vec![text(project), parameter(&rows)]).commit::<Value>(database).await.map(drop)
}

/// Deletes secrets; names that there are none of are passed over.
pub(crate) async fn delete(database: &Database, project: &str, names: &[String]) -> Result<(), Error> {
    let sql = "delete from basalt_platform.secrets where project = $1 \
                and name in (select pg_catalog.jsonb_array_elements_text($2::jsonb)) returning 'null'";
    Changes::new().and(sql, vec![text(project), parameter(&names)]).commit::<Value>(database).await.map(drop)
}
