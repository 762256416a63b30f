//! Settings that were changed over the interface. Secrets among them are sealed.

use std::collections::{BTreeMap, BTreeSet};

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::{Value, json};
use settings::{Managed, Secret};
use tokens::ValueSeal;

use super::{Changes, documents, json as parameter};
use crate::Error;

/// A managed setting as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ManagedSetting {
    /// Its key in `config.toml`, or its variable.
    pub name: String,
    /// Its value; `None` for a secret.
    pub value: Option<String>,
    /// When it was changed, as text.
    pub changed_at: String,
    /// The name of the token with which it was changed.
    pub changed_by: String,
}

/// The only project of the server.
const PROJECT: &str = "(select ref from basalt_platform.projects order by created_at limit 1)";

/// All rows as one text, which differs after every change.
const STATE: &str = "coalesce((select pg_catalog.md5(pg_catalog.string_agg(pg_catalog.concat(name, value, changed_at), '' \
     order by name)) from basalt_platform.settings), '')";

/// Managed settings, and what tells whether they have changed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) settings: Managed,
    /// Their names, also of those that cannot be opened.
    names: BTreeSet<String>,
    state: String,
}

impl Snapshot {
    /// Reports whether the setting that is called `name` is managed.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

#[derive(Deserialize)]
struct Rows {
    rows: BTreeMap<String, Value>,
    state: String,
}

/// Returns the managed settings. A secret that cannot be opened is left out, and logged.
pub(crate) async fn read(database: &Database, seal: &ValueSeal) -> Result<Snapshot, Error> {
    let sql = format!(
        "select pg_catalog.json_build_object('state', {STATE}, 'rows', \
           coalesce((select pg_catalog.json_object_agg(name, value) from basalt_platform.settings \
                      where project = {PROJECT}), '{{}}'))"
    );
    let found: Option<Rows> = super::document_of(database, &sql, Vec::new()).await?;
    let Some(Rows { rows, state }) = found else { return Ok(Snapshot::default()) };
    let names = rows.keys().cloned().collect();
    let opened = rows.into_iter().filter_map(|(name, value)| {
        let text = match &value["sealed"] {
            Value::String(sealed) => seal.open_base64(sealed, &bound(&name)),
            _ => value.as_str().map(str::to_owned),
        };
        if text.is_none() {
            tracing::error!(
                setting = name,
                "the managed setting was sealed with other keys, and is left out"
            );
        }
        Some((name, Secret::from(text?)))
    });
    Ok(Snapshot { settings: opened.collect(), names, state })
}

/// A change of one setting: its new text, or `None` to reset it, and whether it is a secret.
pub(crate) type Change = (Option<String>, bool);

/// Writes changes, all or none, for the token that is called `who`. Returns whether that was done: not if other changes
/// came in between since `snapshot` was read.
pub(crate) async fn write(
    database: &Database,
    seal: &ValueSeal,
    who: &str,
    changes: &BTreeMap<String, Change>,
    snapshot: &Snapshot,
) -> Result<bool, Error> {
    let mut rows = Vec::new();
    for (name, (value, is_secret)) in changes {
        let value = match value {
            Some(value) if *is_secret => {
                json!({ "sealed": data_encoding::BASE64.encode(&crate::seal::seal(seal, value, &bound(name))?) })
            }
            value => json!(value),
        };
        rows.push(json!({ "name": name, "value": value }));
    }
    let lock = "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('basalt_platform.settings'))";
    let sql = format!(
        "with asked as (select name, value from pg_catalog.jsonb_to_recordset($1::jsonb) as a (name text, value jsonb) \
                         where {STATE} = $3), \
              reset as (delete from basalt_platform.settings as s using asked \
                         where s.name = asked.name and coalesce(asked.value, 'null') = 'null'), \
              set as (insert into basalt_platform.settings (project, name, value, changed_by) \
                      select {PROJECT}, name, value, $2 from asked where coalesce(value, 'null') <> 'null' \
                      on conflict (project, name) do update set value = excluded.value, changed_at = now(), \
                        changed_by = excluded.changed_by) \
         select pg_catalog.to_json(pg_catalog.count(*)) from asked"
    );
    let parameters = vec![parameter(&rows), text(who), text(&snapshot.state)];
    let written =
        Changes::new().and(lock, Vec::new()).and(&sql, parameters).commit::<usize>(database).await?;
    Ok(written.first().is_some_and(|count| *count == changes.len()))
}

/// Returns the managed settings as operators see them, by name.
pub(crate) async fn list(database: &Database) -> Result<Vec<ManagedSetting>, Error> {
    let sql = "select pg_catalog.json_build_object('name', name, 'changed_by', changed_by, \
                 'changed_at', changed_at::timestamptz(0)::text, \
                 'value', case when pg_catalog.jsonb_typeof(value) = 'string' then value #>> '{}' end) \
                from basalt_platform.settings order by name";
    documents(database, sql, Vec::new()).await
}

/// Removes the managed setting that is called `name`, or all of them, and returns the names of those that there were.
pub(crate) async fn reset(database: &Database, name: Option<&str>) -> Result<Vec<String>, Error> {
    let sql = "delete from basalt_platform.settings where $1::text is null or name = $1 \
               returning pg_catalog.to_json(name)";
    Changes::new().and(sql, vec![super::optional(name)]).commit(database).await
}

/// Returns those of `schemas`, which are separated by commas, that do not exist.
pub(crate) async fn missing_schemas(database: &Database, schemas: &str) -> Result<Vec<String>, Error> {
    let sql = "select pg_catalog.to_json(pg_catalog.btrim(name)) \
                from pg_catalog.unnest(pg_catalog.string_to_array($1, ',')) as name \
               where pg_catalog.btrim(name) <> '' \
                 and pg_catalog.btrim(name) not in (select nspname from pg_catalog.pg_namespace)";
    documents(database, sql, vec![text(schemas)]).await
}

/// Returns what a sealed setting is bound to, which no secret of functions is.
fn bound(name: &str) -> String {
    format!("setting {name}")
}
