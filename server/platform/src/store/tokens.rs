//! Access tokens. Only their hashes are kept.

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Changes, bytes, document_of, documents, json, optional};
use crate::Error;
use crate::console::array_of;

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AccessToken {
    /// Its id.
    pub id: Uuid,
    /// Who it is for, as the one who made it has said.
    pub name: String,
    /// The beginning of the token, by which its owner recognizes it.
    pub hint: String,
    /// The names of its scopes; `None` for all.
    pub scopes: Option<Vec<String>>,
    /// When it was made, as text.
    pub created_at: String,
    /// When it ends, as text; `None` for never.
    pub expires_at: Option<String>,
    /// When it was used last, as text, give or take a minute.
    pub used_at: Option<String>,
    /// Whether an operator has granted it to an agent.
    pub is_granted: bool,
}

/// The columns of a token as a document.
const COLUMNS: &str = "pg_catalog.json_build_object('id', id, 'name', name, 'hint', hint, 'scopes', scopes, \
     'created_at', created_at::timestamptz(0)::text, 'expires_at', expires_at::timestamptz(0)::text, \
     'used_at', used_at::timestamptz(0)::text, 'is_granted', client is not null)";

/// The condition of a token that has not expired, and neither has the one of the operator who has granted it.
pub(super) const VALID: &str = "(expires_at is null or expires_at > now()) and not exists (\
     select from basalt_platform.access_tokens as operator \
      where operator.id = access_tokens.parent and operator.expires_at <= now())";

/// Returns the token with this hash that has not expired, and notes that it is used.
pub(crate) async fn find(database: &Database, hash: &[u8]) -> Result<Option<AccessToken>, Error> {
    let sql = format!(
        "with used as (update basalt_platform.access_tokens set used_at = now() where hash = $1::bytea \
           and (used_at is null or used_at < now() - interval '1 minute')) \
         select {COLUMNS} from basalt_platform.access_tokens where hash = $1::bytea and {VALID}"
    );
    document_of(database, &sql, vec![bytes(hash)]).await
}

/// Reports whether there is a token that has not expired.
pub(crate) async fn exist(database: &Database) -> Result<bool, Error> {
    let sql = format!("select exists (select from basalt_platform.access_tokens where {VALID})::text");
    Ok(document_of(database, &sql, Vec::new()).await?.unwrap_or(false))
}

/// Reports whether the token `id` is there and has not expired.
pub(crate) async fn is_valid(database: &Database, id: Uuid) -> Result<bool, Error> {
    let sql = format!(
        "select exists (select from basalt_platform.access_tokens where id = $1::uuid and {VALID})::text"
    );
    let id = id.to_string();
    Ok(document_of(database, &sql, vec![text(&id)]).await?.unwrap_or(false))
}

/// Who makes and revokes tokens, in the audit log: somebody on the server's machine.
const COMMAND_LINE: &str = "command line";

/// Keeps a new token, and says so in the audit log. `lifetime` is an interval of Postgres, such as `30 days`.
///
/// Returns `None` for a lifetime that ends at once. Errors: also the database's, if it is none.
pub(crate) async fn create(
    database: &Database,
    name: &str,
    hash: &[u8],
    hint: &str,
    scopes: Option<&[String]>,
    lifetime: Option<&str>,
) -> Result<Option<AccessToken>, Error> {
    let sql = format!(
        "with made as (insert into basalt_platform.access_tokens (name, hash, hint, scopes, expires_at) \
           select $1, $2::bytea, $3, $4::text[], now() + $5::interval \
            where $5::interval is null or now() + $5::interval > now() returning *), \
         noted as (insert into basalt_platform.audit_log (token, name, action, detail) \
           select id, '{COMMAND_LINE}', 'tokens.create', pg_catalog.jsonb_build_object( \
             'name', name, 'hint', hint, 'scopes', scopes, 'expires_at', expires_at) from made) \
         select {COLUMNS} from made"
    );
    let scopes = scopes.map(array_of);
    let parameters =
        vec![text(name), bytes(hash), text(hint), optional(scopes.as_deref()), optional(lifetime)];
    Ok(Changes::new().and(&sql, parameters).commit(database).await?.into_iter().next())
}

/// Returns all tokens, oldest first.
pub(crate) async fn list(database: &Database) -> Result<Vec<AccessToken>, Error> {
    documents(
        database,
        &format!("select {COLUMNS} from basalt_platform.access_tokens order by access_tokens.created_at"),
        Vec::new(),
    )
    .await
}

/// Removes the token whose id, name or hint is `which`, if that is one, says so in the audit log, and returns what was
/// removed.
pub(crate) async fn revoke(database: &Database, which: &str) -> Result<Vec<AccessToken>, Error> {
    let sql = format!(
        "with gone as (delete from basalt_platform.access_tokens where $1 in (id::text, name, hint) returning *), \
         noted as (insert into basalt_platform.audit_log (token, name, action, detail) \
           select id, '{COMMAND_LINE}', 'tokens.revoke', pg_catalog.jsonb_build_object('name', name, 'hint', hint) \
           from gone) \
         select {COLUMNS} from gone"
    );
    Changes::new().and(&sql, vec![text(which)]).commit(database).await
}

/// Appends a line to the audit log: who has done what, from where.
pub(crate) async fn audit(
    database: &Database,
    (token, name): (Uuid, &str),
    address: &str,
    project: &str,
    action: &str,
    detail: &Value,
) -> Result<(), Error> {
    let sql = "insert into basalt_platform.audit_log (token, name, address, project, action, detail) \
               values ($1::uuid, $2, $3::inet, $4, $5, $6::jsonb)";
    let token = token.to_string();
    let parameters = vec![text(&token), text(name), text(address), text(project), text(action), json(detail)];
    documents::<Value>(database, sql, parameters).await.map(drop)
}
