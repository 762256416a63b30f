//! One-time tokens: the hashes of codes that were sent, in `auth.one_time_tokens` and, as upstream keeps them, in
//! the user's row.

use uuid::Uuid;

use super::users::Account;
use super::{Executor, Work, documents, owned, text};
use crate::Error;

pub(crate) use super::pending_code::{Kind, PendingCode};

/// Stores that a code with `hash` was just sent to `address`; the previous one becomes invalid.
pub(crate) async fn put(
    executor: &impl Executor,
    user: Uuid,
    kind: Kind,
    hash: &str,
    address: &str,
) -> Result<Account, Error> {
    let sql = format!(
        "with token as (
           insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to, created_at, updated_at)
           values (gen_random_uuid(), $1::uuid, '{column}', $2, lower($3), now(), now())
           on conflict (user_id, token_type) do update set id = excluded.id, token_hash = excluded.token_hash,
             relates_to = excluded.relates_to, created_at = now(), updated_at = now()
         )
         update auth.users u set {column} = $2, {sent_at} = now(), updated_at = now()
         where u.id = $1::uuid returning {account}",
        column = kind.name(),
        sent_at = kind.sent_at(),
        account = documents::account("u"),
    );
    let account = executor.change_returning(&sql, vec![owned(user), text(hash), text(address)]).await?;
    account.ok_or_else(|| Error::Internal("the user of a new code is gone".to_owned()))
}

/// Returns the user who was sent the code with `hash`, if it is one of `kinds` and still open; the user's row stays
/// locked until the transaction ends, so that one of several uses of the code wins.
pub(crate) async fn find_user(
    executor: &impl Executor,
    kinds: &[Kind],
    hash: &str,
) -> Result<Option<Account>, Error> {
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    // The lock may have waited for the request that used the code up: what counts is the row after that.
    let condition: Vec<_> = kinds.iter().map(|column| format!("u.{column} = $1")).collect();
    let sql = format!(
        "select {account} from auth.users u
         where u.id = (
             select t.user_id from auth.one_time_tokens t
             where t.token_hash = $1 and t.token_type = any (string_to_array($2, ',')::auth.one_time_token_type[])
             limit 1
           )
           and ({condition}) and not u.is_sso_user
         for update of u",
        account = documents::account("u"),
        condition = condition.join(" or "),
    );
    executor.change_returning(&sql, vec![text(hash), owned(kinds.join(","))]).await
}

/// Returns the users of `audience` who were sent a code of one of `kinds` to `address` last, those of the newest codes
/// only. Their rows stay locked until the transaction ends, so that codes are compared one after the other.
pub(crate) async fn find_users_by_address(
    work: &Work,
    kinds: &[Kind],
    address: &str,
    audience: &str,
) -> Result<Vec<Account>, Error> {
    const MOST_USERS: u32 = 100;
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    let sql = format!(
        "with locked as materialized (
           select u.* from auth.users u
           where u.id in (
               select t.user_id from auth.one_time_tokens t
               where t.relates_to = lower($1)
                 and t.token_type = any (string_to_array($2, ',')::auth.one_time_token_type[])
               order by t.created_at desc limit {MOST_USERS}
             )
             and u.aud = $3 and not u.is_sso_user
           order by u.id for update of u
         )
         select coalesce(jsonb_agg({account}), '[]') from locked",
        account = documents::account("locked"),
    );
    let parameters = vec![text(address), owned(kinds.join(",")), text(audience)];
    Ok(work.change_returning(&sql, parameters).await?.unwrap_or_default())
}

/// Invalidates one code.
pub(crate) async fn clear(executor: &impl Executor, user: Uuid, kind: Kind) -> Result<(), Error> {
    let sql = format!(
        "with gone as (
           delete from auth.one_time_tokens where user_id = $1::uuid and token_type = '{column}'
         )
         update auth.users set {column} = '', updated_at = now() where id = $1::uuid",
        column = kind.name(),
    );
    executor.change(&sql, vec![owned(user)]).await.map(drop)
}

/// Invalidates all codes of a user.
pub(crate) async fn clear_all(executor: &impl Executor, user: Uuid) -> Result<(), Error> {
    let blank: Vec<_> = Kind::ALL.iter().map(|kind| format!("{} = ''", kind.name())).collect();
    let sql = format!(
        "with gone as (
           delete from auth.one_time_tokens where user_id = $1::uuid
         )
         update auth.users set {} where id = $1::uuid",
        blank.join(", "),
    );
    executor.change(&sql, vec![owned(user)]).await.map(drop)
}
