//! The exchange of a refresh token, in one round trip.
//!
//! One statement locks the session, the next applies the rules. The rules are in SQL because that saves a second round
//! trip. Each rule is one line of a CTE `ruling`, and its effect is one CTE after it. There is a pair of statements for
//! each format of tokens; what they share is here.

mod counted;
mod rows;

use postgres::Database;
use serde::Deserialize;
use uuid::Uuid;

use super::{Parameter, documents, fetch, interval, owned, text, transaction};
use crate::secrets::refresh_token::{Key, RefreshToken};
use crate::store::model::client::Client;
use crate::store::model::session::GrantedSession;
use crate::{Error, Settings};

/// The result of exchanging a refresh token.
#[derive(Deserialize)]
pub(crate) struct RefreshResult {
    pub(crate) verdict: RefreshVerdict,
    /// Why a token was accepted that had been replaced, for operators; empty if it had not.
    #[serde(default)]
    pub(crate) causes: String,
    /// Only with [`RefreshVerdict::Rotated`] and [`RefreshVerdict::Returned`].
    pub(crate) granted: Option<GrantedSession>,
}

/// The decision of the rules of refresh tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefreshVerdict {
    /// The token was replaced by a new one.
    Rotated,
    /// The token had been replaced, but the client seems to have missed that: it gets the replacement again.
    Returned,
    /// The token was replaced too long ago. If rotation is on, its whole family is revoked now.
    AlreadyUsed,
    /// The token counts further than the service ever did.
    NotIssued,
    /// The token's user was deleted.
    UserGone,
    /// The user is banned.
    UserBanned,
    /// The token belongs to no session.
    SessionGone,
    /// The session is an OAuth client's, who has to prove who it is; or another client's.
    OauthSession,
    /// An OAuth client has proved who it is, but the session is no client's.
    PlainSession,
    /// `not_after` or the time box has passed.
    Ended,
    /// The last refresh was too long ago.
    Inactive,
    /// The user has a second factor and did without it for too long.
    LowAal,
    /// A newer session of the user took this one's place.
    Superseded,
}

/// Exchanges `token` for a session that goes on; `oauth_client` is the client that has proved who it is, if one has.
/// The signature of a token of the second format is checked here unless it was found right already (`is_checked`).
/// `None` if the token was never issued or its session was ended.
pub(crate) async fn refresh(
    database: &Database,
    settings: &Settings,
    token: &RefreshToken,
    is_checked: bool,
    oauth_client: Option<Uuid>,
    client: &Client<'_>,
) -> Result<Option<RefreshResult>, Error> {
    let successor = RefreshToken::generate();
    let key = Key::generate();
    let (lock, statement, first, last) = match token {
        RefreshToken::Row(token) => {
            let security = &settings.security;
            let upgrades = if security.refresh_token_algorithm == 2 {
                security.refresh_token_upgrade_percentage
            } else {
                0
            };
            let first = [text(token), text(&successor)];
            (rows::LOCK, rows::STATEMENT.as_str(), first, vec![owned(upgrades), text(key.as_str())])
        }
        RefreshToken::Counted(token) => {
            let last = vec![
                owned(token.signed_hex()),
                owned(token.signature_hex()),
                owned(settings.security.refresh_token_allow_reuse),
                owned(is_checked),
            ];
            let first = [owned(token.session), owned(token.counter)];
            (counted::LOCK, counted::STATEMENT.as_str(), first, last)
        }
    };
    // All is looked up by keys, so one plan serves every token. Left to itself, Postgres plans again each time, which
    // takes longer than the statement: it counts the rules that settings switch off among the costs of a kept plan.
    let transaction = transaction().setting("plan_cache_mode", "force_generic_plan");
    let lock = transaction.statement(lock, vec![first[0].clone()]);
    let mut parameters = Vec::from(first);
    parameters.extend(shared_parameters(settings, oauth_client, client));
    parameters.extend(last);
    fetch(database, lock.statement(statement, parameters)).await
}

/// Returns parameters 3 to 13 of both statements.
fn shared_parameters<'a>(
    settings: &Settings,
    oauth_client: Option<Uuid>,
    client: &'a Client<'_>,
) -> [Parameter<'a>; 11] {
    let (sessions, security) = (&settings.sessions, &settings.security);
    let tags = if sessions.tags.is_empty() { None } else { owned(serde_json::json!(sessions.tags)) };
    [
        client.user_agent(),
        owned(client.address),
        owned(settings.audit_log_disabled),
        interval(Some(security.refresh_token_reuse_interval)),
        owned(security.refresh_token_rotation),
        interval(sessions.timebox),
        interval(sessions.inactivity_timeout),
        interval(sessions.allow_low_aal),
        owned(sessions.single_per_user),
        tags,
        oauth_client.and_then(owned),
    ]
}

/// Lines of a `case` that refuse a session which must not go on, whatever the token is.
const SESSION_RULES: &str = "
  when account.id is null then 'user_gone'
  when account.banned_until > now() then 'user_banned'
  when session.id is null then 'session_gone'
  when now() > session.not_after or now() > session.created_at + $8::interval then 'ended'
  when now() > session.last_refresh + $9::interval then 'inactive'
  when now() > session.created_at + $10::interval and coalesce(session.aal, 'aal1') = 'aal1' and exists (
    select from auth.mfa_factors f where f.user_id = account.id and f.status = 'verified'
  ) then 'low_aal'
  when session.oauth_client_id is null and $13::uuid is not null then 'plain_session'
  when session.oauth_client_id is distinct from $13::uuid then 'oauth_session'
  when $11::boolean and exists (select from newer) then 'superseded'";

/// Returns CTE `newer`: another valid session of the same user and kind that was refreshed later.
fn newer_cte() -> String {
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

/// Returns CTE `touched`: the session after the refresh, with `assignments` besides those of every refresh.
fn touched_cte(assignments: &str) -> String {
    format!(
        "touched as (
           update auth.sessions s
           set refreshed_at = now() at time zone 'utc', updated_at = now(), user_agent = $3, ip = $4::inet, {assignments}
           from session, ruling where s.id = session.id and ruling.verdict in ('rotated', 'returned')
           returning s.*
         )"
    )
}

/// Returns the query for the document of [`RefreshResult`]. `token` is a SQL expression: the refresh token to return,
/// null for the one of the second format that the session stands at.
fn result(token: &str) -> String {
    format!(
        "select jsonb_build_object('verdict', ruling.verdict, 'causes', ruling.causes, 'granted', case
           when ruling.verdict in ('rotated', 'returned') then jsonb_build_object(
             'user', (select {user} from account),
             'session', (select {session} from touched),
             'refresh_token', {token},
             'amr', {amr}
           )
         end)
         from ruling",
        user = documents::user("account"),
        session = documents::session("touched"),
        amr = documents::amr("(select id from session)"),
    )
}
