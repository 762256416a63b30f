//! Rows of `auth.oauth_consents`: what users have allowed clients to know of them.

use std::sync::LazyLock;

use serde::Deserialize;
use uuid::Uuid;

use super::audit::{self, Action};
use super::oauth_clients::OauthClient;
use super::{Executor, Work, documents, owned, text};
use crate::store::model::client::Client;
use crate::store::model::user::timestamp;
use crate::{Error, Settings};

/// A client that a user has admitted.
#[derive(Debug, Deserialize)]
pub(crate) struct Grant {
    pub(crate) client: OauthClient,
    /// Separated by blanks.
    pub(crate) scopes: String,
    #[serde(deserialize_with = "timestamp")]
    pub(crate) granted_at: Option<String>,
}

/// Returns the scopes that `user` has granted to `client`, separated by blanks; `None` if none are.
pub(crate) async fn scopes(work: &Work, user: Uuid, client: Uuid) -> Result<Option<String>, Error> {
    let sql = "select to_jsonb(c.scopes) from auth.oauth_consents c
       where c.user_id = $1::uuid and c.client_id = $2::uuid and c.revoked_at is null";
    work.read(sql, vec![owned(user), owned(client)]).await
}

/// Grants `scopes` to `client` in the name of `user`, in place of what was granted before.
pub(crate) async fn grant(work: &Work, user: Uuid, client: Uuid, scopes: &str) -> Result<(), Error> {
    let sql = "insert into auth.oauth_consents (id, user_id, client_id, scopes, granted_at)
       values (gen_random_uuid(), $1::uuid, $2::uuid, $3, now())
       on conflict (user_id, client_id)
       do update set scopes = excluded.scopes, granted_at = excluded.granted_at, revoked_at = null";
    work.change(sql, vec![owned(user), owned(client), text(scopes)]).await.map(drop)
}

/// Returns the clients that `user` has admitted and that still exist, the latest first.
pub(crate) async fn list(executor: &impl Executor, user: Uuid) -> Result<Vec<Grant>, Error> {
    let sql = format!(
        "select coalesce(jsonb_agg(
           jsonb_build_object('client', {client}, 'scopes', g.scopes, 'granted_at', g.granted_at)
           order by g.granted_at desc, g.id
         ), '[]')
         from auth.oauth_consents g join auth.oauth_clients c on c.id = g.client_id and c.deleted_at is null
         where g.user_id = $1::uuid and g.revoked_at is null",
        client = documents::oauth_client("c"),
    );
    Ok(executor.read(&sql, vec![owned(user)]).await?.unwrap_or_default())
}

static REVOKE: LazyLock<String> = LazyLock::new(|| {
    let traits = "json_build_object('oauth_client_id', $2::uuid, 'action', 'revoke_oauth_grant')";
    let actors = "(select u.* from auth.users u join revoked on revoked.user_id = u.id)";
    format!(
        "with revoked as (
           update auth.oauth_consents set revoked_at = now()
           where user_id = $1::uuid and client_id = $2::uuid and revoked_at is null returning user_id, client_id
         ), ended as (
           delete from auth.sessions s using revoked
           where s.user_id = revoked.user_id and s.oauth_client_id = revoked.client_id
         ), {log}
         select to_jsonb(count(*)) from revoked",
        log =
            audit::entry("log", Action::TokenRevoked, actors, "$3::boolean", "host($4::inet)", traits),
    )
});

/// Takes back what `user` has granted to `oauth_client` and ends the sessions that it has for them. False if nothing
/// was granted.
pub(crate) async fn revoke(
    executor: &impl Executor,
    settings: &Settings,
    user: Uuid,
    oauth_client: Uuid,
    client: &Client<'_>,
) -> Result<bool, Error> {
    let parameters =
        vec![owned(user), owned(oauth_client), owned(settings.audit_log_disabled), owned(client.address)];
    let revoked: Option<u64> = executor.change_returning(REVOKE.as_str(), parameters).await?;
    Ok(revoked.unwrap_or_default() > 0)
}
