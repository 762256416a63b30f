//! Rows of `auth.sessions`, `auth.refresh_tokens` and `auth.mfa_amr_claims`.

use std::net::IpAddr;
use std::sync::LazyLock;

use database::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::audit::{self, Action};
use super::users::document;
use super::{NO_INSTANCE, Parameter, fetch, owned, text, transaction};
use crate::flows::{RefreshToken, Scope};
use crate::user::User;
use crate::{Error, Settings};

/// A row of `auth.sessions`, as far as tokens tell of it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// Unix seconds.
    pub(crate) created_at: f64,
}

/// A SQL expression: what [`Session`] reads from the row of `auth.sessions` named `alias`.
pub(super) fn session_document(alias: &str) -> String {
    format!("jsonb_build_object('id', {alias}.id, 'created_at', extract(epoch from {alias}.created_at))")
}

/// How and when a session was authenticated: an entry of claim `amr`.
#[derive(Debug, Clone, serde::Serialize, Deserialize)]
pub(crate) struct Method {
    pub(crate) method: String,
    /// Unix seconds.
    pub(crate) timestamp: i64,
    /// Which provider vouched for the user, for SAML sign-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<String>,
}

/// Where a session is used from.
pub(crate) struct Client<'a> {
    pub(crate) user_agent: Option<&'a str>,
    pub(crate) address: IpAddr,
}

impl Client<'_> {
    pub(super) fn user_agent(&self) -> Parameter<'_> {
        text(self.user_agent.filter(|agent| !agent.is_empty())?)
    }
}

/// A session as it stands after sign-in or refresh.
#[derive(Deserialize)]
pub(crate) struct Granted {
    pub(crate) user: User,
    pub(crate) session: Session,
    /// Newest first.
    pub(crate) amr: Vec<Method>,
    pub(crate) refresh_token: String,
}

static BEGIN: LazyLock<String> = LazyLock::new(|| {
    let traits = "json_build_object('provider', $6::text)";
    format!(
        "with account as (
           update auth.users set last_sign_in_at = now(), updated_at = now() where id = $1::uuid returning *
         ), session as (
           insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, ip)
           select gen_random_uuid(), account.id, now(), now(), 'aal1', $3, $4::inet from account
           returning *
         ), token as (
           insert into auth.refresh_tokens
             (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
           select {NO_INSTANCE}, $2, session.user_id::text, false, now(), now(), '', session.id from session
           returning token
         ), amr as (
           insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
           select gen_random_uuid(), session.id, now(), now(), $5 from session
           returning authentication_method as method, floor(extract(epoch from updated_at))::bigint as timestamp
         ), {login}
         select jsonb_build_object(
           'user', {user}, 'session', {session}, 'refresh_token', token.token,
           'amr', jsonb_build_array(to_jsonb(amr))
         )
         from account, session, token, amr",
        login = audit::entry("login", Action::Login, "account", "$7::boolean", "host($4::inet)", traits),
        user = document("account"),
        session = session_document("session"),
    )
});

/// Begins a session of user `id` that was authenticated by `method` with the address of `provider`, and whose
/// first refresh token is `token`. None if the user is gone.
pub(crate) async fn begin(
    database: &Database,
    settings: &Settings,
    id: Uuid,
    (method, provider): (&str, &str),
    token: &RefreshToken,
    client: &Client<'_>,
) -> Result<Option<Granted>, Error> {
    let parameters = vec![
        owned(id),
        text(token.as_str()),
        client.user_agent(),
        owned(client.address),
        text(method),
        text(provider),
        owned(settings.audit_log_disabled),
    ];
    fetch(database, transaction().statement(BEGIN.as_str(), parameters)).await
}

static END: LazyLock<String> = LazyLock::new(|| {
    format!(
        "with account as (
           select * from auth.users where id = $1::uuid
         ), ended as (
           delete from auth.sessions s
           where s.user_id = $1::uuid
             and ($2::uuid is null or $3 = 'global' or (s.id = $2::uuid) = ($3 = 'local'))
         ), {logout}
         select",
        logout = audit::entry("logout", Action::Logout, "account", "$4::boolean", "host($5::inet)", "null"),
    )
});

/// Ends sessions of user `id`, together with their refresh tokens. Without a `session` of the caller's own, every
/// scope means all of them.
pub(crate) async fn end(
    database: &Database,
    settings: &Settings,
    id: Uuid,
    session: Option<Uuid>,
    scope: Scope,
    client: &Client<'_>,
) -> Result<(), Error> {
    let parameters = vec![
        owned(id),
        session.and_then(owned),
        text(scope.name()),
        owned(settings.audit_log_disabled),
        owned(client.address),
    ];
    database.run(&transaction().statement(END.as_str(), parameters)).await?;
    Ok(())
}
