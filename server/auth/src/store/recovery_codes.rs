//! Rows of `auth.mfa_recovery_code_sets` and `auth.mfa_recovery_codes`. A user has at most one set, which belongs to a
//! factor of its own.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{Executor, Work, interval, owned, text};
use crate::Error;
use crate::factors::recovery_code::KIND;

/// The recovery codes of a user.
#[derive(Deserialize)]
pub(crate) struct CodeSet {
    pub(crate) id: Uuid,
    /// The id of its factor.
    pub(crate) factor: Uuid,
    pub(crate) friendly_name: String,
    /// Whether no code counts at the moment.
    pub(crate) is_locked: bool,
    /// How many codes there are, with the used ones.
    pub(crate) total: usize,
    pub(crate) unused: Vec<UnusedCode>,
}

/// A code that was not used yet.
#[derive(Deserialize)]
pub(crate) struct UnusedCode {
    pub(crate) id: Uuid,
    pub(crate) hash: String,
}

/// A set that another request cannot change meanwhile.
#[derive(Deserialize)]
pub(crate) struct LockedSet {
    pub(crate) id: Uuid,
    /// Whether no code counts at the moment.
    pub(crate) is_locked: bool,
}

/// Returns a SQL expression: whether no code of set `s` counts at the moment.
const IS_LOCKED: &str = "coalesce(clock_timestamp() < s.verification_locked_until, false)";

/// Returns the set of `user`, if there is one.
pub(crate) async fn find(executor: &impl Executor, user: Uuid) -> Result<Option<CodeSet>, Error> {
    let sql = format!(
        "select jsonb_build_object(
           'id', s.id, 'factor', f.id, 'friendly_name', coalesce(f.friendly_name, ''), 'is_locked', {IS_LOCKED},
           'total', (select count(*) from auth.mfa_recovery_codes c where c.mfa_recovery_code_set_id = s.id),
           'unused', (
             select coalesce(
               jsonb_agg(jsonb_build_object('id', c.id, 'hash', c.code_hash) order by c.created_at, c.id), '[]')
             from auth.mfa_recovery_codes c where c.mfa_recovery_code_set_id = s.id and c.consumed_at is null
           )
         )
         from auth.mfa_recovery_code_sets s join auth.mfa_factors f on f.id = s.mfa_factor_id
         where s.user_id = $1::uuid"
    );
    executor.read(&sql, vec![owned(user)]).await
}

/// Locks the set of `user` until the transaction ends, also against the Supabase Auth service beside this one, which
/// locks no more than this row.
pub(crate) async fn lock(work: &Work, user: Uuid) -> Result<Option<LockedSet>, Error> {
    let sql = format!(
        "select jsonb_build_object('id', s.id, 'is_locked', {IS_LOCKED})
         from auth.mfa_recovery_code_sets s where s.user_id = $1::uuid for update"
    );
    work.change_returning(&sql, vec![owned(user)]).await
}

/// Stores a set of codes with the hashes `hashes` for `user`, with its verified factor.
pub(crate) async fn insert(
    work: &Work,
    user: Uuid,
    factor: Uuid,
    friendly_name: &str,
    hashes: &[String],
) -> Result<(), Error> {
    let sql = format!(
        "with factor as (
           insert into auth.mfa_factors
             (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret)
           values ($1::uuid, $2::uuid, $3, '{KIND}', 'verified', now(), now(), '')
         ), code_set as (
           insert into auth.mfa_recovery_code_sets (id, user_id, mfa_factor_id)
           values (gen_random_uuid(), $2::uuid, $1::uuid) returning id
         )
         insert into auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash)
         select gen_random_uuid(), code_set.id, hash
         from code_set, jsonb_array_elements_text($4::jsonb) as hash"
    );
    let parameters = vec![owned(factor), owned(user), text(friendly_name), owned(json!(hashes))];
    work.change(&sql, parameters).await.map(drop)
}

/// Puts codes with the hashes `hashes` in the place of those of set `id`, of which all count again.
pub(crate) async fn replace(work: &Work, id: Uuid, hashes: &[String]) -> Result<(), Error> {
    let sql = "with gone as (
         delete from auth.mfa_recovery_codes where mfa_recovery_code_set_id = $1::uuid
       )
       insert into auth.mfa_recovery_codes (id, mfa_recovery_code_set_id, code_hash)
       select gen_random_uuid(), $1::uuid, hash from jsonb_array_elements_text($2::jsonb) as hash";
    work.change(sql, vec![owned(id), owned(json!(hashes))]).await?;
    unlock(work, id).await.map(drop)
}

/// Uses code `code` of set `id` up. False if another request has done so.
pub(crate) async fn consume(work: &Work, id: Uuid, code: Uuid) -> Result<bool, Error> {
    let sql = "update auth.mfa_recovery_codes set consumed_at = now()
       where id = $2::uuid and mfa_recovery_code_set_id = $1::uuid and consumed_at is null";
    Ok(work.change(sql, vec![owned(id), owned(code)]).await? == 1)
}

/// Counts a wrong code of set `id`. After `most` of them in a row no code counts for `pause`; afterwards they are
/// counted from the beginning.
pub(crate) async fn count_failure(work: &Work, id: Uuid, most: u32, pause: Duration) -> Result<(), Error> {
    let sql = "update auth.mfa_recovery_code_sets s
       set failed_verification_count = counted.failures, updated_at = now(),
         verification_locked_until = case when counted.failures >= $2::int then clock_timestamp() + $3::interval end
       from (
         select id, case when verification_locked_until is null then failed_verification_count else 0 end + 1 as failures
         from auth.mfa_recovery_code_sets where id = $1::uuid
       ) counted
       where s.id = counted.id";
    let parameters = vec![owned(id), owned(most), interval(Some(pause))];
    work.change(sql, parameters).await.map(drop)
}

/// Forgets the wrong codes of set `id`. Returns how many codes are left.
pub(crate) async fn unlock(work: &Work, id: Uuid) -> Result<usize, Error> {
    let sql = "with unlocked as (
         update auth.mfa_recovery_code_sets
         set failed_verification_count = 0, verification_locked_until = null, updated_at = now()
         where id = $1::uuid
       )
       select to_jsonb(count(*)) from auth.mfa_recovery_codes
       where mfa_recovery_code_set_id = $1::uuid and consumed_at is null";
    Ok(work.change_returning(sql, vec![owned(id)]).await?.unwrap_or_default())
}
