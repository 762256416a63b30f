//! Rows of `auth.mfa_factors` and `auth.mfa_challenges`.

use std::net::IpAddr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Executor, Work, documents, interval, owned, text, text_unless_empty};
use crate::Error;
use crate::factors::credential::Credential;
use crate::factors::{FactorType, recovery_code};
use crate::store::model::user::Factor;

/// How long it is remembered that a code was used: longer than any code is right.
const CODE_LIFE: Duration = Duration::from_secs(300);

/// Locks the factors of `user` against changes by other requests until the transaction ends. It is a separate statement
/// because the next one must see what the previous holder of the lock has written.
pub(crate) async fn lock_owner(work: &Work, user: Uuid) -> Result<(), Error> {
    let sql = "select from auth.users where id = $1::uuid for no key update";
    work.change(sql, vec![owned(user)]).await.map(drop)
}

/// Deletes the user's unverified factors that are older than `expiry` and were never challenged.
pub(crate) async fn delete_expired(work: &Work, user: Uuid, expiry: Duration) -> Result<(), Error> {
    let sql = "delete from auth.mfa_factors f
       where f.user_id = $1::uuid and f.status <> 'verified' and f.created_at + $2::interval < now()
         and not exists (select from auth.mfa_challenges c where c.factor_id = f.id)";
    work.change(sql, vec![owned(user), interval(Some(expiry))]).await.map(drop)
}

/// Deletes the user's unverified factor with the number `phone`.
pub(crate) async fn delete_unverified_phone(work: &Work, user: Uuid, phone: &str) -> Result<(), Error> {
    let sql = "delete from auth.mfa_factors f
       where f.user_id = $1::uuid and f.phone = $2 and f.status <> 'verified'";
    work.change(sql, vec![owned(user), text(phone)]).await.map(drop)
}

/// Returns the factors of `user`, oldest first.
pub(crate) async fn list(executor: &impl Executor, user: Uuid) -> Result<Vec<Factor>, Error> {
    let sql = format!(
        "select coalesce(jsonb_agg({factor} order by f.created_at, f.id), '[]')
         from auth.mfa_factors f where f.user_id = $1::uuid",
        factor = documents::factor("f"),
    );
    Ok(executor.read(&sql, vec![owned(user)]).await?.unwrap_or_default())
}

/// A factor that is to be enrolled.
pub(crate) struct NewFactor<'a> {
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    pub(crate) factor_type: FactorType,
    pub(crate) friendly_name: &'a str,
    /// Of [`FactorType::Totp`], as it is stored; empty for the others, since upstream cannot read null.
    pub(crate) secret: &'a str,
    /// Of [`FactorType::Phone`]: digits only.
    pub(crate) phone: &'a str,
}

/// Stores an unverified factor.
pub(crate) async fn insert(work: &Work, factor: &NewFactor<'_>) -> Result<(), Error> {
    let sql = "insert into auth.mfa_factors
         (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret, phone)
       values ($1::uuid, $2::uuid, $3, $4::auth.factor_type, 'unverified', now(), now(), $5, $6)";
    let parameters = vec![
        owned(factor.id),
        owned(factor.user_id),
        text(factor.friendly_name),
        text(factor.factor_type.name()),
        text(factor.secret),
        text_unless_empty(factor.phone),
    ];
    work.change(sql, parameters).await.map(drop)
}

/// A challenge that is to be made.
pub(crate) struct NewChallenge<'a> {
    pub(crate) id: Uuid,
    pub(crate) factor_id: Uuid,
    /// Who is challenged.
    pub(crate) address: IpAddr,
    /// Of [`FactorType::Phone`]: the code, as it is stored; empty for the others, since upstream cannot read null.
    pub(crate) code: &'a str,
    /// Of [`FactorType::Webauthn`]: the state of the ceremony.
    pub(crate) ceremony: Option<&'a Value>,
    /// The shortest time since the factor's last challenge.
    pub(crate) frequency: Option<Duration>,
    /// How long it may be answered.
    pub(crate) expiry: Duration,
}

/// The outcome of creating a challenge.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChallengeOutcome {
    /// It was stored and expires at this time, in Unix seconds.
    Until(i64),
    /// The factor's last challenge was too short a time ago; seconds to wait.
    Wait(f64),
}

/// Stores a challenge, unless the last one was too short a time ago. `None` if the factor is gone.
pub(crate) async fn challenge(
    work: &Work,
    challenge: &NewChallenge<'_>,
) -> Result<Option<ChallengeOutcome>, Error> {
    // The clock instead of the transaction's time: the column is unique over all factors.
    let sql = "with challenged as (
         update auth.mfa_factors f set last_challenged_at = clock_timestamp()
         where f.id = $2::uuid
           and coalesce(f.last_challenged_at + $3::interval < now(), true)
         returning f.id
       ), made as (
         insert into auth.mfa_challenges (id, factor_id, created_at, ip_address, otp_code, web_authn_session_data)
         select $1::uuid, challenged.id, now(), $4::inet, $5, $6::jsonb from challenged
         returning created_at
       )
       select case
         when made.created_at is not null then
           jsonb_build_object('until', floor(extract(epoch from made.created_at + $7::interval))::bigint)
         else jsonb_build_object('wait', extract(epoch from
           coalesce(f.last_challenged_at + $3::interval - now(), $3::interval)))
       end
       from auth.mfa_factors f left join made on true where f.id = $2::uuid";
    let parameters = vec![
        owned(challenge.id),
        owned(challenge.factor_id),
        interval(challenge.frequency),
        owned(challenge.address),
        text(challenge.code),
        challenge.ceremony.and_then(owned),
        interval(Some(challenge.expiry)),
    ];
    work.change_returning(sql, parameters).await
}

/// A challenge that is being answered, with the data that the answer is verified against.
#[derive(Deserialize)]
pub(crate) struct Challenge {
    pub(crate) is_used: bool,
    /// Whether it was made for another address.
    pub(crate) is_elsewhere: bool,
    pub(crate) is_expired: bool,
    /// As stored; of [`FactorType::Phone`].
    pub(crate) code: Option<String>,
    /// Of [`FactorType::Webauthn`].
    pub(crate) ceremony: Option<Value>,
    /// The factor's, as stored; of [`FactorType::Totp`].
    pub(crate) secret: Option<String>,
    /// What [`use_challenge`] noted with the factor's challenges of late.
    pub(crate) used: Vec<String>,
    /// The factor's; of a verified [`FactorType::Webauthn`].
    pub(crate) credential: Option<Credential>,
}

/// Returns challenge `id` of `factor`, answered from `address`.
pub(crate) async fn find_challenge(
    executor: &impl Executor,
    factor: Uuid,
    id: Uuid,
    address: IpAddr,
    expiry: Duration,
) -> Result<Option<Challenge>, Error> {
    let sql = "select jsonb_build_object(
         'is_used', c.verified_at is not null,
         'is_elsewhere', c.ip_address <> $3::inet,
         'is_expired', c.created_at + $4::interval < now(),
         'code', c.otp_code,
         'ceremony', c.web_authn_session_data,
         'secret', f.secret,
         'credential', f.web_authn_credential,
         'used', (
           select coalesce(jsonb_agg(u.otp_code), '[]') from auth.mfa_challenges u
           where u.factor_id = f.id and u.otp_code <> '' and u.verified_at + $5::interval > now()
         )
       )
       from auth.mfa_challenges c join auth.mfa_factors f on f.id = c.factor_id
       where c.id = $2::uuid and f.id = $1::uuid";
    let parameters =
        vec![owned(factor), owned(id), owned(address), interval(Some(expiry)), interval(Some(CODE_LIFE))];
    executor.read(sql, parameters).await
}

/// Deletes challenge `id`.
pub(crate) async fn delete_challenge(executor: &impl Executor, id: Uuid) -> Result<(), Error> {
    let sql = "delete from auth.mfa_challenges where id = $1::uuid";
    executor.change(sql, vec![owned(id)]).await.map(drop)
}

/// Uses challenge `id` up and notes `code`, which names the code of a TOTP factor and is empty for others, so that no
/// other challenge of the factor takes the same one. `None` if another request has used the challenge, false if another
/// has used the code. The factor's owner is locked.
pub(crate) async fn use_challenge(work: &Work, id: Uuid, code: &str) -> Result<Option<bool>, Error> {
    let sql = "with used as (
         update auth.mfa_challenges c set verified_at = now(), otp_code = coalesce($2, c.otp_code)
         where c.id = $1::uuid and c.verified_at is null returning c.factor_id
       )
       select to_jsonb($2::text is null or not exists (
         select from auth.mfa_challenges u
         where u.factor_id = used.factor_id and u.otp_code = $2 and u.verified_at + $3::interval > now()
       )) from used";
    let parameters = vec![owned(id), text_unless_empty(code), interval(Some(CODE_LIFE))];
    work.change_returning(sql, parameters).await
}

/// The credential of a factor of type `webauthn`.
#[derive(Deserialize)]
pub(crate) struct FactorCredential {
    pub(crate) factor_id: Uuid,
    pub(crate) credential: Credential,
}

/// Returns the verified security keys of `user`.
pub(crate) async fn credentials(
    executor: &impl Executor,
    user: Uuid,
) -> Result<Vec<FactorCredential>, Error> {
    let sql = "select coalesce(jsonb_agg(
         jsonb_build_object('factor_id', f.id, 'credential', f.web_authn_credential)), '[]')
       from auth.mfa_factors f
       where f.user_id = $1::uuid and f.status = 'verified' and f.web_authn_credential is not null";
    Ok(executor.read(sql, vec![owned(user)]).await?.unwrap_or_default())
}

/// Marks factor `id` as verified. True if it was not before, `None` if it is gone.
pub(crate) async fn confirm(work: &Work, id: Uuid) -> Result<Option<bool>, Error> {
    let sql = "with before as (
         select status from auth.mfa_factors where id = $1::uuid
       ), confirmed as (
         update auth.mfa_factors set status = 'verified', updated_at = now()
         where id = $1::uuid and status <> 'verified'
       )
       select to_jsonb(before.status <> 'verified') from before";
    work.change_returning(sql, vec![owned(id)]).await
}

/// Deletes the unverified factors of one kind.
pub(crate) async fn delete_unverified(work: &Work, user: Uuid, factor_type: FactorType) -> Result<(), Error> {
    let sql = "delete from auth.mfa_factors
       where user_id = $1::uuid and factor_type = $2::auth.factor_type and status <> 'verified'";
    work.change(sql, vec![owned(user), text(factor_type.name())]).await.map(drop)
}

/// Stores another secret, as it is to be stored.
pub(crate) async fn set_secret(work: &Work, id: Uuid, secret: &str) -> Result<(), Error> {
    let sql = "update auth.mfa_factors set secret = $2, updated_at = now() where id = $1::uuid";
    work.change(sql, vec![owned(id), text(secret)]).await.map(drop)
}

/// Stores the credential that makes factor `id` complete. False if it is complete already.
pub(crate) async fn set_credential(work: &Work, id: Uuid, credential: &Credential) -> Result<bool, Error> {
    let sql = "update auth.mfa_factors
       set web_authn_credential = $2::jsonb, web_authn_aaguid = $3::uuid, updated_at = now()
       where id = $1::uuid and status <> 'verified'";
    let parameters = vec![owned(id), owned(json!(credential)), owned(credential.authenticator.aaguid)];
    Ok(work.change(sql, parameters).await? == 1)
}

/// Stores how far the signature counter of factor `id` has come. False if another signature has come further.
pub(crate) async fn set_sign_count(
    work: &Work,
    id: Uuid,
    sign_count: u32,
    backup_state: bool,
) -> Result<bool, Error> {
    let sql = "update auth.mfa_factors
       set web_authn_credential = jsonb_set(
             jsonb_set(web_authn_credential, '{authenticator,signCount}', to_jsonb($2::bigint)),
             '{flags,backupState}', to_jsonb($3::boolean)),
           updated_at = now()
       where id = $1::uuid
         and ($2::bigint = 0 or (web_authn_credential #>> '{authenticator,signCount}')::bigint < $2::bigint)";
    let parameters = vec![owned(id), owned(sign_count), owned(backup_state)];
    Ok(work.change(sql, parameters).await? == 1)
}

/// Stores the answer to challenge `challenge` as the last one that factor `id` has verified.
pub(crate) async fn set_last_ceremony(
    work: &Work,
    id: Uuid,
    challenge: Uuid,
    ceremony: &str,
    response: &Value,
) -> Result<(), Error> {
    let sql = "update auth.mfa_factors f
       set last_webauthn_challenge_data = jsonb_build_object(
             'challenge', jsonb_strip_nulls(jsonb_build_object(
               'challenge_id', c.id, 'factor_id', c.factor_id, 'created_at', c.created_at,
               'verified_at', c.verified_at, 'ip_address', host(c.ip_address),
               'web_authn_session_data', c.web_authn_session_data)),
             'type', $3::text, 'credential_response', $4::jsonb),
           updated_at = now()
       from auth.mfa_challenges c where f.id = $1::uuid and c.id = $2::uuid";
    let parameters = vec![owned(id), owned(challenge), text(ceremony), owned(response)];
    work.change(sql, parameters).await.map(drop)
}

/// Changes what an administrator may change; empty texts leave it as it is.
pub(crate) async fn update(
    work: &Work,
    user: Uuid,
    id: Uuid,
    friendly_name: &str,
    phone: &str,
) -> Result<Option<Factor>, Error> {
    let sql = format!(
        "update auth.mfa_factors f
         set friendly_name = coalesce($3, f.friendly_name), phone = coalesce($4, f.phone), updated_at = now()
         where f.id = $2::uuid and f.user_id = $1::uuid
         returning {factor}",
        factor = documents::factor("f"),
    );
    let parameters = vec![owned(user), owned(id), text_unless_empty(friendly_name), text_unless_empty(phone)];
    work.change_returning(&sql, parameters).await
}

/// Deletes factor `id` of `user`; sessions that were raised by it fall back to aal1. `None` if it is gone.
pub(crate) async fn delete(work: &Work, user: Uuid, id: Uuid) -> Result<Option<Factor>, Error> {
    let sql = format!(
        "with gone as (
           delete from auth.mfa_factors f where f.id = $2::uuid and f.user_id = $1::uuid returning f.*
         ), lowered as (
           update auth.sessions s set aal = 'aal1', factor_id = null, updated_at = now()
           from gone where s.user_id = gone.user_id and s.factor_id = gone.id
           returning s.id
         ), forgotten as (
           delete from auth.mfa_amr_claims a using lowered, gone
           where a.session_id = lowered.id and a.authentication_method = {method}
         )
         select {factor} from gone",
        method = amr_method("gone.factor_type"),
        factor = documents::factor("gone"),
    );
    work.change_returning(&sql, vec![owned(user), owned(id)]).await
}

/// Returns a SQL expression: what claim `amr` calls an authentication with a factor of the type in the expression
/// `factor_type`.
fn amr_method(factor_type: &str) -> String {
    let challenged = FactorType::ALL.iter().map(|kind| (kind.name(), kind.method()));
    let all = challenged.chain([(recovery_code::KIND, recovery_code::METHOD)]);
    let cases: Vec<String> = all.map(|(kind, method)| format!("when '{kind}' then '{method}'")).collect();
    format!("case {factor_type} {} end", cases.join(" "))
}
