//! Rows of `auth.sessions`, `auth.refresh_tokens` and `auth.mfa_amr_claims`.

use std::net::IpAddr;
use std::sync::LazyLock;

use database::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::audit::{self, Action};
use super::users::document;
use super::{NO_INSTANCE, Parameter, fetch, interval, owned, text, transaction};
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
    fn user_agent(&self) -> Parameter<'_> {
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

/// What became of a refresh token.
#[derive(Deserialize)]
pub(crate) struct Refreshed {
    pub(crate) verdict: Verdict,
    /// Only with [`Verdict::Rotated`] and [`Verdict::Returned`].
    pub(crate) granted: Option<Granted>,
}

/// How the rules of refresh tokens decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The token was replaced by a new one.
    Rotated,
    /// The token had been replaced, but the client seems to have missed that: it gets the replacement again.
    Returned,
    /// The token was replaced too long ago. If rotation is on, its whole family is revoked now.
    AlreadyUsed,
    UserGone,
    UserBanned,
    SessionGone,
    OauthSession,
    Ended,
    Inactive,
    LowAal,
    Superseded,
}

/// Locks the session of a refresh token, so that parallel refreshes of it take turns. It is a statement of its
/// own because the next one must see what the request that held the lock has written.
const LOCK: &str = "select from auth.sessions s
   where s.id = (select t.session_id from auth.refresh_tokens t where t.token = $1)
   for no key update of s";

/// Exchanges `token` for a session that goes on, `successor` becoming its refresh token if it is rotated.
/// None if the token was never issued or its session was ended.
pub(crate) async fn refresh(
    database: &Database,
    settings: &Settings,
    token: &RefreshToken,
    successor: &RefreshToken,
    client: &Client<'_>,
) -> Result<Option<Refreshed>, Error> {
    let sessions = &settings.sessions;
    let tags = if sessions.tags.is_empty() { None } else { owned(serde_json::json!(sessions.tags)) };
    let parameters = vec![
        text(token.as_str()),
        text(successor.as_str()),
        client.user_agent(),
        owned(client.address),
        owned(settings.audit_log_disabled),
        interval(Some(settings.refresh_token_reuse_interval)),
        owned(settings.refresh_token_rotation),
        interval(sessions.timebox),
        interval(sessions.inactivity_timeout),
        interval(sessions.allow_low_aal),
        owned(sessions.single_per_user),
        tags,
    ];
    let lock = transaction().statement(LOCK, vec![text(token.as_str())]);
    fetch(database, lock.statement(REFRESH.as_str(), parameters)).await
}

static REFRESH: LazyLock<String> = LazyLock::new(refresh_statement);

fn refresh_statement() -> String {
    let valid = |s: &str, refreshed: &str| {
        format!(
            "coalesce(now() <= {s}.not_after, true) and coalesce(now() <= {s}.created_at + $8::interval, true)
             and coalesce(now() <= {refreshed} + $9::interval, true)"
        )
    };
    let tag = |s: &str| format!("case when $12::jsonb ? {s}.tag then {s}.tag else $12::jsonb ->> 0 end");
    format!(
        "with token as (
           select * from auth.refresh_tokens where token = $1
         ), account as (
           select u.* from auth.users u join token on u.id = token.user_id::uuid
         ), session as (
           select s.*, coalesce(s.refreshed_at at time zone 'utc', greatest(s.created_at, token.updated_at)) as last_refresh
           from auth.sessions s join token on s.id = token.session_id
         ), active as (
           select r.token, r.parent from auth.refresh_tokens r join session on r.session_id = session.id
           where not r.revoked order by r.id desc limit 1
         ), newer as (
           select from session join auth.sessions o on o.user_id = session.user_id and o.id <> session.id
           where {other_valid} and coalesce(o.refreshed_at at time zone 'utc', o.created_at) > session.last_refresh
             and ({other_tag}) is not distinct from ({own_tag})
           limit 1
         ), ruling as (
           select case
             when account.id is null then 'user_gone'
             when account.banned_until > now() then 'user_banned'
             when session.id is null then 'session_gone'
             when session.oauth_client_id is not null then 'oauth_session'
             when now() > session.not_after or now() > session.created_at + $8::interval then 'ended'
             when now() > session.last_refresh + $9::interval then 'inactive'
             when now() > session.created_at + $10::interval and coalesce(session.aal, 'aal1') = 'aal1' and exists (
               select from auth.mfa_factors f where f.user_id = account.id and f.status = 'verified'
             ) then 'low_aal'
             when $11::boolean and exists (select from newer) then 'superseded'
             when not token.revoked then 'rotated'
             when active.parent = token.token then 'returned'
             when now() <= token.updated_at + $6::interval then 'rotated'
             else 'already_used'
           end as verdict
           from token left join account on true left join session on true left join active on true
         ), replaced as (
           update auth.refresh_tokens r set revoked = true, updated_at = now()
           from token, ruling where r.id = token.id and not r.revoked and ruling.verdict = 'rotated'
         ), family as (
           update auth.refresh_tokens r set revoked = true, updated_at = now()
           from token, ruling
           where r.session_id = token.session_id and not r.revoked and ruling.verdict = 'already_used' and $7::boolean
         ), successor as (
           insert into auth.refresh_tokens
             (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
           select {NO_INSTANCE}, $2, token.user_id, false, now(), now(), token.token, token.session_id
           from token, ruling where ruling.verdict = 'rotated'
           returning token
         ), touched as (
           update auth.sessions s
           set refreshed_at = now() at time zone 'utc', updated_at = now(), user_agent = $3, ip = $4::inet
           from session, ruling where s.id = session.id and ruling.verdict in ('rotated', 'returned')
         ), refresher as (
           select account.* from account, ruling where ruling.verdict in ('rotated', 'returned')
         ), rotator as (
           select account.* from account, ruling where ruling.verdict = 'rotated'
         ), {refreshed}, {revoked}
         select jsonb_build_object('verdict', ruling.verdict, 'granted', case
           when ruling.verdict in ('rotated', 'returned') then jsonb_build_object(
             'user', (select {user} from account),
             'session', (select {session} from session),
             'refresh_token', coalesce((select token from successor), (select token from active)),
             'amr', coalesce((
               select jsonb_agg(jsonb_build_object(
                 'method', a.authentication_method, 'timestamp', floor(extract(epoch from a.updated_at))::bigint
               ) order by a.updated_at desc)
               from auth.mfa_amr_claims a join session on a.session_id = session.id
             ), '[]')
           )
         end)
         from ruling",
        other_valid = valid("o", "coalesce(o.refreshed_at at time zone 'utc', o.created_at)"),
        other_tag = tag("o"),
        own_tag = tag("session"),
        refreshed = audit::entry("refreshed", Action::TokenRefreshed, "refresher", "$5::boolean", "host($4::inet)", "null"),
        revoked = audit::entry("revoked", Action::TokenRevoked, "rotator", "$5::boolean", "host($4::inet)", "null"),
        user = document("account"),
        session = session_document("session"),
    )
}

/// Ends sessions of user `id`, together with their refresh tokens. Without a `session` of its own every scope
/// means all of them.
pub(crate) async fn end(
    database: &Database,
    settings: &Settings,
    id: Uuid,
    session: Option<Uuid>,
    scope: Scope,
    client: &Client<'_>,
) -> Result<(), Error> {
    let which = match (scope, session) {
        (Scope::Global, _) | (_, None) => "($2::uuid is null or true)",
        (Scope::Local, Some(_)) => "s.id = $2::uuid",
        (Scope::Others, Some(_)) => "s.id <> $2::uuid",
    };
    let sql = format!(
        "with account as (
           select * from auth.users where id = $1::uuid
         ), ended as (
           delete from auth.sessions s where s.user_id = $1::uuid and {which}
         ), {logout}
         select",
        logout = audit::entry("logout", Action::Logout, "account", "$3::boolean", "host($4::inet)", "null"),
    );
    let parameters =
        vec![owned(id), session.and_then(owned), owned(settings.audit_log_disabled), owned(client.address)];
    database.run(&transaction().statement(sql, parameters)).await?;
    Ok(())
}
