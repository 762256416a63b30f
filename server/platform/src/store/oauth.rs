//! Clients of the authorization server for agents, and what operators have granted them.

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Changes, bytes, document_of, json, optional};
use crate::Error;
use crate::console::array_of;

/// The most clients that are kept. Anybody can register clients, so a new one pushes out the one that was used least
/// recently of those that no operator has granted anything.
const MOST_CLIENTS: &str = "1000";

/// A client.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
}

/// What an operator has granted, for one exchange.
#[derive(Debug, Deserialize)]
pub(crate) struct Grant {
    pub(crate) client: String,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: String,
    pub(crate) scopes: Option<Vec<String>>,
    /// The token of the operator, with which everything ends that was granted with it.
    pub(crate) parent: Uuid,
}

/// Registers a client; clients that were not used for a month, and those beyond the limit, are removed. Returns whether
/// there was room for it.
pub(crate) async fn register(database: &Database, id: &str, client: &Client) -> Result<bool, Error> {
    let clean = "delete from basalt_platform.oauth_clients where used_at < now() - interval '30 days' or id in ( \
                   select id from basalt_platform.oauth_clients as client \
                    where not exists (select from basalt_platform.access_tokens where access_tokens.client = client.id) \
                    order by used_at desc offset $1::bigint - 1)";
    let sql = "insert into basalt_platform.oauth_clients (id, name, redirect_uris) \
               select $1, $2, array(select pg_catalog.jsonb_array_elements_text($3::jsonb)) \
                where (select count(*) from basalt_platform.oauth_clients) < $4::bigint returning 'true'";
    let parameters = vec![text(id), text(&client.name), json(&client.redirect_uris), text(MOST_CLIENTS)];
    let changes = Changes::new().and(clean, vec![text(MOST_CLIENTS)]).and(sql, parameters);
    Ok(!changes.commit::<bool>(database).await?.is_empty())
}

/// Returns the client `id`, and notes that it is used.
pub(crate) async fn client(database: &Database, id: &str) -> Result<Option<Client>, Error> {
    let sql = "update basalt_platform.oauth_clients set used_at = now() where id = $1 \
               returning pg_catalog.json_build_object('name', name, 'redirect_uris', redirect_uris)";
    document_of(database, sql, vec![text(id)]).await
}

/// Keeps a grant for ten minutes, under the hash of its code.
pub(crate) async fn grant(database: &Database, code: &[u8], grant: &Grant) -> Result<(), Error> {
    let sql = "insert into basalt_platform.oauth_grants (hash, client, redirect_uri, challenge, scopes, parent) \
               values ($1::bytea, $2, $3, $4, $5::text[], $6::uuid)";
    let parent = grant.parent.to_string();
    let scopes = grant.scopes.as_deref().map(array_of);
    let parameters = vec![
        bytes(code),
        text(&grant.client),
        text(&grant.redirect_uri),
        text(&grant.challenge),
        optional(scopes.as_deref()),
        text(&parent),
    ];
    super::documents::<Value>(database, sql, parameters).await.map(drop)
}

/// Takes the grant of a code, which is worth nothing after that.
pub(crate) async fn take_grant(database: &Database, code: &[u8]) -> Result<Option<Grant>, Error> {
    let sql = "delete from basalt_platform.oauth_grants where hash = $1::bytea \
               returning case when created_at > now() - interval '10 minutes' then \
                 pg_catalog.json_build_object('client', client, 'redirect_uri', redirect_uri, \
                   'challenge', challenge, 'scopes', scopes, 'parent', parent) end";
    Ok(document_of::<Option<Grant>>(database, sql, vec![bytes(code)]).await?.flatten())
}

/// Keeps the access token of a grant for an hour, and its refresh token for 30 days. `code` is the hash of its code.
pub(crate) async fn issue(
    database: &Database,
    grant: &Grant,
    code: &[u8],
    name: &str,
    (hash, hint): (&[u8], &str),
    refresh: &[u8],
) -> Result<(), Error> {
    let clean =
        "delete from basalt_platform.access_tokens where client is not null and refresh_expires_at < now()";
    let sql = "insert into basalt_platform.access_tokens \
                 (name, hash, hint, scopes, expires_at, client, parent, refresh_hash, refresh_expires_at, spent_hash) \
               values ($1, $2::bytea, $3, $4::text[], now() + interval '1 hour', $5, $6::uuid, $7::bytea, \
                 now() + interval '30 days', $8::bytea) returning 'null'";
    let parent = grant.parent.to_string();
    let scopes = grant.scopes.as_deref().map(array_of);
    let parameters = vec![
        text(name),
        bytes(hash),
        text(hint),
        optional(scopes.as_deref()),
        text(&grant.client),
        text(&parent),
        bytes(refresh),
        bytes(code),
    ];
    Changes::new().and(clean, Vec::new()).and(sql, parameters).commit::<Value>(database).await.map(drop)
}

/// Exchanges a refresh token of `client` for new tokens, which end when the ones before would have ended. Returns
/// whether it was valid; it is worth nothing after that.
pub(crate) async fn refresh(
    database: &Database,
    (client, old): (&str, &[u8]),
    (hash, hint): (&[u8], &str),
    refresh: &[u8],
) -> Result<bool, Error> {
    let sql = "update basalt_platform.access_tokens set hash = $3::bytea, hint = $4, \
                 expires_at = least(now() + interval '1 hour', refresh_expires_at), refresh_hash = $5::bytea, \
                 spent_hash = $2::bytea \
                where refresh_hash = $2::bytea and client = $1 and refresh_expires_at > now() \
                  and not exists (select from basalt_platform.access_tokens as operator \
                    where operator.id = access_tokens.parent and operator.expires_at <= now()) returning 'true'";
    let parameters = vec![text(client), bytes(old), bytes(hash), text(hint), bytes(refresh)];
    Ok(!Changes::new().and(sql, parameters).commit::<bool>(database).await?.is_empty())
}

/// Revokes the token that was got for the code or the refresh token with this hash: somebody uses it again, so somebody
/// has stolen it (OAuth 2.1, sections 4.1.3 and 4.3.1).
pub(crate) async fn revoke_spent(database: &Database, hash: &[u8]) -> Result<(), Error> {
    let sql = "delete from basalt_platform.access_tokens where spent_hash = $1::bytea returning 'null'";
    Changes::new().and(sql, vec![bytes(hash)]).commit::<Value>(database).await.map(drop)
}

/// Revokes the token, or the pair of the refresh token, with this hash, if it was granted to a client.
pub(crate) async fn revoke(database: &Database, hash: &[u8]) -> Result<(), Error> {
    let sql = "delete from basalt_platform.access_tokens \
                where client is not null and $1::bytea in (hash, refresh_hash) returning 'null'";
    Changes::new().and(sql, vec![bytes(hash)]).commit::<Value>(database).await.map(drop)
}
