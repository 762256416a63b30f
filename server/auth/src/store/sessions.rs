//! Rows of `auth.sessions`, `auth.refresh_tokens` and `auth.mfa_amr_claims`.

use std::sync::LazyLock;

use uuid::Uuid;

use super::audit::{self, Action};
use super::{Executor, NO_INSTANCE, Parameter, Work, documents, interval, owned, text};
use crate::store::model::client::Client;
use crate::store::model::session::{GrantedSession, LogoutScope, Method};
use crate::{Error, Settings};

impl Client<'_> {
    /// Returns header `User-Agent` as a parameter, null without one.
    pub(super) fn user_agent(&self) -> Parameter<'_> {
        text(self.user_agent.filter(|agent| !agent.is_empty())?)
    }
}

/// Returns the authentication methods of session `id`, newest first.
pub(crate) async fn methods(executor: &impl Executor, id: Uuid) -> Result<Vec<Method>, Error> {
    let sql = format!("select {}", documents::amr("$1::uuid"));
    Ok(executor.read(&sql, vec![owned(id)]).await?.unwrap_or_default())
}

/// Returns whether session `id` has not ended by its own end or the longest life of sessions; `None` if there is none.
pub(crate) async fn validity(
    executor: &impl Executor,
    settings: &Settings,
    id: Uuid,
) -> Result<Option<bool>, Error> {
    let sql = "select to_jsonb(
        coalesce(now() <= s.not_after, true)
        and coalesce(now() <= s.created_at + $2::interval, true)
        and coalesce(now() <= coalesce(s.refreshed_at at time zone 'utc', s.created_at) + $3::interval, true)
      ) from auth.sessions s where s.id = $1::uuid";
    let sessions = &settings.sessions;
    let parameters = vec![owned(id), interval(sessions.timebox), interval(sessions.inactivity_timeout)];
    executor.read(sql, parameters).await
}

/// A session to be stored.
pub(crate) struct NewSession<'a> {
    /// The id that the session gets.
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    /// The authentication method: an entry of claim `amr`.
    pub(crate) method: &'a str,
    /// The first refresh token.
    pub(crate) token: &'a str,
    /// What signs refresh tokens of the second format, encrypted if keys are; `None` for the first.
    pub(crate) token_key: Option<&'a str>,
    /// Which of [`SessionSettings::tags`](crate::SessionSettings::tags) it has.
    pub(crate) tag: Option<&'a str>,
    /// When it ends at the latest, in RFC 3339.
    pub(crate) not_after: Option<&'a str>,
    /// The OAuth client that the session is for, and the scopes that it may have.
    pub(crate) oauth_client: Option<(Uuid, &'a str)>,
    /// The provider in the audit log's entry; `None` if something else than a login is logged.
    pub(crate) login: Option<&'a str>,
}

static BEGIN: LazyLock<String> = LazyLock::new(|| {
    let traits = "json_build_object('provider', $6::text)";
    format!(
        "with account as (
           update auth.users set last_sign_in_at = now(), updated_at = now() where id = $1::uuid returning *
         ), session as (
           insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, ip, tag, not_after,
             oauth_client_id, scopes, refresh_token_hmac_key, refresh_token_counter)
           select $8::uuid, account.id, now(), now(), 'aal1', $3, $4::inet, $9, $10::timestamptz,
             $11::uuid, $12, $13::text, case when $13::text is not null then 0 end
           from account
           returning *
         ), token as (
           insert into auth.refresh_tokens
             (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
           select {NO_INSTANCE}, $2, session.user_id::text, false, now(), now(), '', session.id from session
           where $13::text is null
         ), amr as (
           insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
           select gen_random_uuid(), session.id, now(), now(), $5 from session
           returning authentication_method as method, floor(extract(epoch from updated_at))::bigint as timestamp
         ), {login}
         select jsonb_build_object(
           'user', {user}, 'session', {session}, 'refresh_token', $2::text,
           'amr', jsonb_build_array(to_jsonb(amr))
         )
         from account, session, amr",
        login = audit::entry("login", Action::Login, "account", "$7::boolean", "host($4::inet)", traits),
        user = documents::user("account"),
        session = documents::session("session"),
    )
});

/// Begins a session. `None` if the user is gone.
pub(crate) async fn begin(
    executor: &impl Executor,
    settings: &Settings,
    opening: &NewSession<'_>,
    client: &Client<'_>,
) -> Result<Option<GrantedSession>, Error> {
    let (oauth_client, scopes) = opening.oauth_client.unzip();
    let parameters = vec![
        owned(opening.user_id),
        text(opening.token),
        client.user_agent(),
        owned(client.address),
        text(opening.method),
        opening.login.and_then(text),
        owned(settings.audit_log_disabled || opening.login.is_none()),
        owned(opening.id),
        opening.tag.and_then(text),
        opening.not_after.and_then(text),
        oauth_client.and_then(owned),
        scopes.and_then(text),
        opening.token_key.and_then(text),
    ];
    executor.change_returning(BEGIN.as_str(), parameters).await
}

/// A session whose user has just been verified by a second factor.
pub(crate) struct StepUp<'a> {
    pub(crate) session_id: Uuid,
    /// The authentication method: `totp`, `mfa/phone`, `mfa/webauthn` or `mfa/recovery_code`.
    pub(crate) method: &'a str,
    pub(crate) factor_id: Uuid,
    /// The refresh token that replaces all earlier ones; of the first format.
    pub(crate) token: &'a str,
}

/// CTE `live`: the refresh tokens of CTE `session` that are not revoked. Written out before the newest is taken from
/// it, since the planner may think it cheaper to walk all tokens there are backwards than to sort a session's few.
pub(super) const LIVE_TOKENS: &str = "live as materialized (
    select r.id, r.token, r.parent from auth.refresh_tokens r join session on r.session_id = session.id
    where not r.revoked
  )";

static STEP_UP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "with session as (
           update auth.sessions set aal = 'aal2', factor_id = $2::uuid, updated_at = now(),
             refresh_token_counter = refresh_token_counter + 2
           where id = $1::uuid returning *
         ), account as (
           update auth.users u set last_sign_in_at = now(), updated_at = now()
           from session where u.id = session.user_id returning u.*
         ), {LIVE_TOKENS}, parent as (
           select token from live order by id desc limit 1
         ), replaced as (
           update auth.refresh_tokens r set revoked = true, updated_at = now()
           from session where r.session_id = session.id and not r.revoked
         ), successor as (
           insert into auth.refresh_tokens
             (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
           select {NO_INSTANCE}, $3, session.user_id::text, false, now(), now(), (select token from parent), session.id
           from session where session.refresh_token_hmac_key is null
         ), claim as (
           insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
           select gen_random_uuid(), session.id, now(), now(), $4 from session
           on conflict (session_id, authentication_method) do update set updated_at = now()
           returning authentication_method as method, floor(extract(epoch from updated_at))::bigint as timestamp
         )
         select jsonb_build_object(
           'user', {user}, 'session', {session}, 'refresh_token', case when session.refresh_token_hmac_key is null then $3::text end,
           'amr', (select jsonb_build_array(to_jsonb(claim)) from claim) || jsonb_path_query_array(
             {amr}, '$[*] ? (@.method != $method)', jsonb_build_object('method', $4::text)
           )
         )
         from account, session",
        user = documents::user("account"),
        session = documents::session("session"),
        amr = documents::amr("session.id"),
    )
});

/// Raises a session to aal2 and replaces its refresh token. `None` if the session is gone.
pub(crate) async fn step_up(
    executor: &impl Executor,
    step: &StepUp<'_>,
) -> Result<Option<GrantedSession>, Error> {
    let parameters = vec![owned(step.session_id), owned(step.factor_id), text(step.token), text(step.method)];
    executor.change_returning(STEP_UP.as_str(), parameters).await
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

/// Returns the key of session `id`'s refresh tokens as it is stored; `None` if there is no session, or if it has no
/// key.
pub(crate) async fn token_key(executor: &impl Executor, id: Uuid) -> Result<Option<String>, Error> {
    let sql = "select to_jsonb(refresh_token_hmac_key) from auth.sessions
       where id = $1::uuid and refresh_token_hmac_key is not null";
    executor.read(sql, vec![owned(id)]).await
}

/// Stores the same key of session `id`'s refresh tokens encrypted with another key, unless another request has done so.
pub(crate) async fn reseal_token_key(
    executor: &impl Executor,
    id: Uuid,
    stored: &str,
    sealed: &str,
) -> Result<(), Error> {
    let sql = "update auth.sessions set refresh_token_hmac_key = $3
       where id = $1::uuid and refresh_token_hmac_key = $2";
    executor.change(sql, vec![owned(id), text(stored), text(sealed)]).await.map(drop)
}

/// Locks session `id` against refreshing, raising and ending by other requests until the transaction ends. False if it
/// has ended. It is a separate statement because the next one must see what the previous holder of the lock has
/// written.
pub(crate) async fn lock(work: &Work, id: Uuid) -> Result<bool, Error> {
    let sql = "select from auth.sessions where id = $1::uuid for no key update";
    Ok(work.change(sql, vec![owned(id)]).await? == 1)
}

/// Ends the sessions of user `id` below aal2, except `kept`.
pub(crate) async fn end_below_aal2(work: &Work, id: Uuid, kept: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.sessions
       where user_id = $1::uuid and id <> $2::uuid and coalesce(aal, 'aal1') < 'aal2'";
    work.change(sql, vec![owned(id), owned(kept)]).await.map(drop)
}

/// Ends session `id`, if it is one of an OAuth client.
pub(crate) async fn end_of_client(work: &Work, id: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.sessions where id = $1::uuid and oauth_client_id is not null";
    work.change(sql, vec![owned(id)]).await.map(drop)
}

/// Ends the sessions of user `id`, all or all but `kept`, without an entry in the audit log.
pub(crate) async fn end_others(executor: &impl Executor, id: Uuid, kept: Option<Uuid>) -> Result<(), Error> {
    let sql = "delete from auth.sessions where user_id = $1::uuid and ($2::uuid is null or id <> $2::uuid)";
    executor.change(sql, vec![owned(id), kept.and_then(owned)]).await.map(drop)
}

/// Ends sessions of user `id`, together with their refresh tokens. Without a `session` of the caller's own, every
/// scope means all of them. Access tokens that were issued for them are refused by this service at once, by others when
/// they expire.
pub(crate) async fn end(
    executor: &impl Executor,
    settings: &Settings,
    id: Uuid,
    session: Option<Uuid>,
    scope: LogoutScope,
    client: &Client<'_>,
) -> Result<(), Error> {
    let parameters = vec![
        owned(id),
        session.and_then(owned),
        text(scope.name()),
        owned(settings.audit_log_disabled),
        owned(client.address),
    ];
    executor.change(END.as_str(), parameters).await.map(drop)
}
