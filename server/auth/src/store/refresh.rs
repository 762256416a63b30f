//! The exchange of a refresh token, in one round trip.
//!
//! One statement locks, one rules and acts. That the rules are in SQL is what saves the second round trip; each is
//! one line of `ruling`, and what it leads to is one CTE of `changes`.

use std::sync::LazyLock;

use database::Database;
use serde::Deserialize;

use super::audit::{self, Action};
use super::sessions::{Client, Granted, amr, session_document};
use super::users::document;
use super::{NO_INSTANCE, fetch, interval, owned, text, transaction};
use crate::flows::RefreshToken;
use crate::{Error, Settings};

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
    /// The token's user was deleted.
    UserGone,
    /// The user is banned.
    UserBanned,
    /// The token belongs to no session.
    SessionGone,
    /// The session is an OAuth client's, who has to prove who it is elsewhere.
    OauthSession,
    /// `not_after` or the time box has passed.
    Ended,
    /// The last refresh was too long ago.
    Inactive,
    /// The user has a second factor and did without it for too long.
    LowAal,
    /// A newer session of the user took this one's place.
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
        interval(Some(settings.security.refresh_token_reuse_interval)),
        owned(settings.security.refresh_token_rotation),
        interval(sessions.timebox),
        interval(sessions.inactivity_timeout),
        interval(sessions.allow_low_aal),
        owned(sessions.single_per_user),
        tags,
    ];
    let lock = transaction().statement(LOCK, vec![text(token.as_str())]);
    fetch(database, lock.statement(REFRESH.as_str(), parameters)).await
}

static REFRESH: LazyLock<String> = LazyLock::new(|| format!("with {}, {} {}", ruling(), changes(), answer()));

/// CTEs that find the token with all that matters to it, up to `ruling`, one row with the verdict.
fn ruling() -> String {
    format!(
        "token as (
           select * from auth.refresh_tokens where token = $1
         ), account as (
           select u.* from auth.users u join token on u.id = token.user_id::uuid
         ), session as (
           select s.*, coalesce(s.refreshed_at at time zone 'utc', greatest(s.created_at, token.updated_at)) as last_refresh
           from auth.sessions s join token on s.id = token.session_id
         ), active as (
           select r.token, r.parent from auth.refresh_tokens r join session on r.session_id = session.id
           where not r.revoked order by r.id desc limit 1
         ), {newer}, ruling as (
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
         )",
        newer = newer(),
    )
}

/// CTE `newer`: another valid session of the same user and kind that was refreshed later.
fn newer() -> String {
    let tag = |session: &str| {
        format!("case when $12::jsonb ? {session}.tag then {session}.tag else $12::jsonb ->> 0 end")
    };
    format!(
        "newer as (
           select from session
           join auth.sessions o on o.user_id = session.user_id and o.id <> session.id
           cross join lateral (select coalesce(o.refreshed_at at time zone 'utc', o.created_at) as at) as refreshed
           where refreshed.at > session.last_refresh
             and ({other}) is not distinct from ({own})
             and coalesce(now() <= o.not_after, true)
             and coalesce(now() <= o.created_at + $8::interval, true)
             and coalesce(now() <= refreshed.at + $9::interval, true)
           limit 1
         )",
        other = tag("o"),
        own = tag("session"),
    )
}

/// CTEs that carry out what `ruling` says.
fn changes() -> String {
    let log =
        |name, action, actors| audit::entry(name, action, actors, "$5::boolean", "host($4::inet)", "null");
    format!(
        "replaced as (
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
         ), {refreshed}, {revoked}",
        refreshed = log("refreshed", Action::TokenRefreshed, "refresher"),
        revoked = log("revoked", Action::TokenRevoked, "rotator"),
    )
}

/// The query for the document of [`Refreshed`].
fn answer() -> String {
    format!(
        "select jsonb_build_object('verdict', ruling.verdict, 'granted', case
           when ruling.verdict in ('rotated', 'returned') then jsonb_build_object(
             'user', (select {user} from account),
             'session', (select {session} from session),
             'refresh_token', coalesce((select token from successor), (select token from active)),
             'amr', {amr}
           )
         end)
         from ruling",
        user = document("account"),
        session = session_document("session"),
        amr = amr("(select id from session)"),
    )
}
