//! Refresh tokens of the second format: a counter in the session's row, signed with a key of the session.

use std::sync::LazyLock;

use super::{SESSION_RULES, newer_cte, result, touched_cte};
use crate::store::audit::{self, Action};

/// Locks the session, so that parallel refreshes of it take turns.
pub(super) const LOCK: &str = "select from auth.sessions s where s.id = $1::uuid for no key update of s";

/// Parameters: the session's id, the token's counter, the shared ones, what is signed, its signature (both in
/// hexadecimal), whether replaced tokens may always be used, and whether the signature was found right already, since
/// Postgres cannot read an encrypted key.
pub(super) static STATEMENT: LazyLock<String> = LazyLock::new(|| {
    let log = audit::entry(
        "refreshed",
        Action::TokenRefreshed,
        "refresher",
        "$5::boolean",
        "host($4::inet)",
        "null",
    );
    format!(
        "with {ruling}, {touched}, ended as (
           delete from auth.sessions s using session, ruling
           where s.id = session.id and ruling.verdict = 'already_used' and $7::boolean
         ), refresher as (
           select account.* from account, ruling where ruling.verdict in ('rotated', 'returned')
         ), {log} {result}",
        ruling = ruling(),
        touched = touched_cte(
            "refresh_token_counter = s.refresh_token_counter + case ruling.verdict when 'rotated' then 1 else 0 end"
        ),
        result = result("null::text"),
    )
});

/// Returns the CTEs that find the session if the token's signature is right, up to `ruling`, one row with the verdict.
fn ruling() -> String {
    format!(
        "signer as (
           select s.id, decode(translate(s.refresh_token_hmac_key, '-_', '+/') || '=', 'base64') as key
           from auth.sessions s
           where s.id = $1::uuid and s.refresh_token_hmac_key ~ '^[A-Za-z0-9_-]{{43}}$'
         ), session as (
           select s.*, coalesce(s.refreshed_at at time zone 'utc', s.created_at) as last_refresh
           from auth.sessions s left join signer on s.id = signer.id
           where s.id = $1::uuid and s.refresh_token_counter is not null
             and ($17::boolean or substring({hmac} from 1 for 16) = decode($15, 'hex'))
         ), account as (
           select u.* from auth.users u join session on u.id = session.user_id
         ), {newer}, reuse as (
           select session.refresh_token_counter - $2::bigint as behind, concat_ws(',',
             case when now() - session.last_refresh < $6::interval then 'concurrent-refresh' end,
             case when session.refresh_token_counter - $2::bigint = 1 then 'fail-to-save' end,
             case when $16::boolean then 'always-allow' end
           ) as causes from session
         ), ruling as (
           select case when reuse.behind > 0 then reuse.causes else '' end as causes, case {SESSION_RULES}
             when reuse.behind < 0 then 'not_issued'
             when reuse.behind = 0 then 'rotated'
             when reuse.causes <> '' then 'returned'
             else 'already_used'
           end as verdict
           from session left join account on true cross join reuse
         )",
        newer = newer_cte(),
        hmac = hmac("signer.key", "decode($14, 'hex')"),
    )
}

/// Returns a SQL expression: HMAC-SHA-256 (RFC 2104) of `message` with a `key` of 32 bytes. Postgres has the hash built
/// in, but no HMAC without an extension.
fn hmac(key: &str, message: &str) -> String {
    let pad = |byte: u8| {
        format!(
            "(select string_agg(set_byte('\\x00', 0, (case when n < 32 then get_byte({key}, n) else 0 end) # {byte}), '' order by n)
              from generate_series(0, 63) n)"
        )
    };
    format!("sha256({} || sha256({} || {message}))", pad(0x5c), pad(0x36))
}
