//! Refresh tokens of the first format: one row of `auth.refresh_tokens` each.

use std::sync::LazyLock;

use super::{SESSION_RULES, newer_cte, result, touched_cte};
use crate::store::NO_INSTANCE;
use crate::store::audit::{self, Action};
use crate::store::sessions::LIVE_TOKENS;

/// Locks the session of a refresh token, so that parallel refreshes of it take turns. It is a statement of its
/// own because the next one must see what the request that held the lock has written.
pub(super) const LOCK: &str = "select from auth.sessions s
   where s.id = (select t.session_id from auth.refresh_tokens t where t.token = $1)
   for no key update of s";

/// Parameters: the token, its successor, the shared ones, how many sessions of a hundred change to the second format,
/// and the key that such a session gets.
pub(super) static STATEMENT: LazyLock<String> = LazyLock::new(|| {
    let token = "case when (select due from upgrade) then null
        else coalesce((select token from successor), (select token from active)) end";
    format!("with {}, {} {}", ruling(), changes(), result(token))
});

/// Returns the CTEs that find the token with all that matters to it, up to `ruling`, one row with the verdict.
fn ruling() -> String {
    format!(
        "token as (
           select * from auth.refresh_tokens where token = $1
         ), account as (
           select u.* from auth.users u join token on u.id = token.user_id::uuid
         ), session as (
           select s.*, coalesce(s.refreshed_at at time zone 'utc', greatest(s.created_at, token.updated_at)) as last_refresh
           from auth.sessions s join token on s.id = token.session_id
         ), {LIVE_TOKENS}, active as (
           select token, parent from live order by id desc limit 1
         ), issued as materialized (
           select r.id, r.parent from auth.refresh_tokens r join session on r.session_id = session.id
         ), latest as (
           select parent from issued order by id desc limit 1
         ), {newer}, ruling as (
           select '' as causes, case {SESSION_RULES}
             when not token.revoked then 'rotated'
             -- Read in here and not joined: tokens that were not used before need neither.
             when (select parent from active) = token.token then 'returned'
             -- It was replaced by one of the second format that was not used yet.
             when session.refresh_token_counter = 0 and (select parent from latest) = token.token then 'returned'
             when now() <= token.updated_at + $6::interval then 'rotated'
             else 'already_used'
           end as verdict
           from token left join account on true left join session on true
         ), upgrade as (
           -- The same sessions on every node: identifiers are random.
           select ruling.verdict = 'rotated' and get_byte(uuid_send(session.id), 0) * 100 / 256 < $14::integer as due
           from ruling, session
         )",
        newer = newer_cte(),
    )
}

/// Returns the CTEs that carry out what `ruling` says.
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
           select {NO_INSTANCE}, $2, token.user_id, upgrade.due, now(), now(), token.token, token.session_id
           from token, ruling, upgrade where ruling.verdict = 'rotated'
           returning token
         ), {touched}, refresher as (
           select account.* from account, ruling where ruling.verdict in ('rotated', 'returned')
         ), rotator as (
           select account.* from account, ruling where ruling.verdict = 'rotated'
         ), {refreshed}, {revoked}",
        touched = touched_cte(
            "refresh_token_hmac_key =
               case when (select due from upgrade) then coalesce(s.refresh_token_hmac_key, $15)
                 else s.refresh_token_hmac_key end,
             refresh_token_counter =
               case when (select due from upgrade) then coalesce(s.refresh_token_counter + 1, 0)
                 else s.refresh_token_counter end"
        ),
        refreshed = log("refreshed", Action::TokenRefreshed, "refresher"),
        revoked = log("revoked", Action::TokenRevoked, "rotator"),
    )
}
