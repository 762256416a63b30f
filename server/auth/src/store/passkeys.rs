//! Rows of `auth.webauthn_credentials` and `auth.webauthn_challenges`.

use std::time::Duration;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::users::Account;
use super::{Executor, Work, documents, interval, owned, text};
use crate::Error;
use crate::factors::credential::Credential;

::settings::words! {
    /// A ceremony of passkeys.
    pub(crate) enum Ceremony {
        Registration = "registration",
        Authentication = "authentication",
    }
}

/// Stores the state of a ceremony of `user` (`None` if the user is not known yet). Returns its expiry in Unix seconds.
pub(crate) async fn start(
    executor: &impl Executor,
    id: Uuid,
    user: Option<Uuid>,
    ceremony: Ceremony,
    state: &Value,
    expiry: Duration,
) -> Result<i64, Error> {
    // Anybody may begin ceremonies, so each of them clears away some that were never ended.
    let sql = "with cleared as (
         delete from auth.webauthn_challenges where id in (
           select id from auth.webauthn_challenges where expires_at < now() - interval '1 hour'
           order by expires_at limit 10 for update skip locked
         )
       )
       insert into auth.webauthn_challenges (id, user_id, challenge_type, session_data, created_at, expires_at)
       values ($1::uuid, $2::uuid, $3, $4::jsonb, now(), now() + $5::interval)
       returning to_jsonb(floor(extract(epoch from expires_at))::bigint)";
    let parameters =
        vec![owned(id), user.and_then(owned), text(ceremony.name()), owned(state), interval(Some(expiry))];
    let until = executor.change_returning(sql, parameters).await?;
    until.ok_or_else(|| Error::Internal("a ceremony was not stored".to_owned()))
}

/// The state of a ceremony that is being finished.
#[derive(Deserialize)]
pub(crate) struct StartedCeremony {
    pub(crate) state: Value,
    pub(crate) is_expired: bool,
}

/// Takes a ceremony away, so that one of several answers to it counts. `None` if it was taken, or is not such a one of
/// `user`.
pub(crate) async fn take(
    executor: &impl Executor,
    id: Uuid,
    user: Option<Uuid>,
    ceremony: Ceremony,
) -> Result<Option<StartedCeremony>, Error> {
    let sql = "delete from auth.webauthn_challenges
       where id = $1::uuid and challenge_type = $2 and user_id is not distinct from $3::uuid
       returning jsonb_build_object('state', session_data, 'is_expired', expires_at < now())";
    executor.change_returning(sql, vec![owned(id), text(ceremony.name()), user.and_then(owned)]).await
}

/// A passkey.
#[derive(Deserialize)]
pub(crate) struct Passkey {
    pub(crate) id: Uuid,
    /// Empty if it has none.
    pub(crate) friendly_name: String,
    pub(crate) created_at: String,
    pub(crate) last_used_at: Option<String>,
    pub(crate) credential: Credential,
}

/// Returns the passkeys of `user`, oldest first.
pub(crate) async fn list(executor: &impl Executor, user: Uuid) -> Result<Vec<Passkey>, Error> {
    let sql = format!(
        "select coalesce(jsonb_agg({passkey} order by c.created_at, c.id), '[]')
         from auth.webauthn_credentials c where c.user_id = $1::uuid",
        passkey = documents::passkey("c"),
    );
    Ok(executor.read(&sql, vec![owned(user)]).await?.unwrap_or_default())
}

/// Stores a passkey of `user`. Fails with a violation of `webauthn_credentials_credential_id_key` if it is stored
/// already.
pub(crate) async fn insert(
    work: &Work,
    user: Uuid,
    friendly_name: &str,
    credential: &Credential,
) -> Result<Passkey, Error> {
    let sql = format!(
        "insert into auth.webauthn_credentials as c (user_id, credential_id, public_key, attestation_type, aaguid,
           sign_count, transports, backup_eligible, backed_up, friendly_name, created_at, updated_at)
         values ($1::uuid, decode($2, 'hex'), decode($3, 'hex'), $4, $5::uuid, $6::bigint, $7::jsonb, $8::boolean,
           $9::boolean, $10, now(), now())
         returning {passkey}",
        passkey = documents::passkey("c"),
    );
    let parameters = vec![
        owned(user),
        owned(HEXLOWER.encode(&credential.id)),
        owned(HEXLOWER.encode(&credential.public_key)),
        text(&credential.attestation_type),
        owned(credential.authenticator.aaguid),
        owned(credential.authenticator.sign_count),
        owned(serde_json::json!(credential.transports)),
        owned(credential.flags.backup_eligible),
        owned(credential.flags.backup_state),
        text(friendly_name),
    ];
    let passkey = work.change_returning(&sql, parameters).await?;
    passkey.ok_or_else(|| Error::Internal("a passkey was not stored".to_owned()))
}

/// A passkey and its owner.
#[derive(Deserialize)]
pub(crate) struct OwnedPasskey {
    pub(crate) passkey: Passkey,
    pub(crate) account: Account,
}

/// Returns the passkey with `credential_id`, if it is that of `owner`.
pub(crate) async fn find(
    executor: &impl Executor,
    credential_id: &[u8],
    owner: Uuid,
) -> Result<Option<OwnedPasskey>, Error> {
    let sql = format!(
        "select jsonb_build_object('passkey', {passkey}, 'account', {account})
         from auth.webauthn_credentials c join auth.users u on u.id = c.user_id
         where c.credential_id = decode($1, 'hex') and u.id = $2::uuid and u.deleted_at is null",
        passkey = documents::passkey("c"),
        account = documents::account("u"),
    );
    executor.read(&sql, vec![owned(HEXLOWER.encode(credential_id)), owned(owner)]).await
}

/// Stores that passkey `id` was used and how far its signature counter has come. False if another signature has come
/// further, or the passkey is gone.
pub(crate) async fn set_used(
    work: &Work,
    id: Uuid,
    sign_count: u32,
    backup_state: bool,
) -> Result<bool, Error> {
    let sql = "update auth.webauthn_credentials
       set sign_count = $2::bigint, backed_up = $3::boolean, last_used_at = now(), updated_at = now()
       where id = $1::uuid and ($2::bigint = 0 or sign_count < $2::bigint)";
    let parameters = vec![owned(id), owned(sign_count), owned(backup_state)];
    Ok(work.change(sql, parameters).await? == 1)
}

/// Gives passkey `id` of `user` a name. `None` if there is none.
pub(crate) async fn rename(
    work: &Work,
    user: Uuid,
    id: Uuid,
    friendly_name: &str,
) -> Result<Option<Passkey>, Error> {
    let sql = format!(
        "update auth.webauthn_credentials as c set friendly_name = $3, updated_at = now()
         where c.id = $2::uuid and c.user_id = $1::uuid returning {passkey}",
        passkey = documents::passkey("c"),
    );
    work.change_returning(&sql, vec![owned(user), owned(id), text(friendly_name)]).await
}

/// Deletes passkey `id` of `user`. False if there is none.
pub(crate) async fn delete(work: &Work, user: Uuid, id: Uuid) -> Result<bool, Error> {
    let sql = "delete from auth.webauthn_credentials where id = $2::uuid and user_id = $1::uuid";
    Ok(work.change(sql, vec![owned(user), owned(id)]).await? == 1)
}
