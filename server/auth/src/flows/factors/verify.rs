//! Verification of a challenge, which raises the session to aal2.

use http::StatusCode;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Holder, factor_not_found, require_verifiable, verify_webauthn};
use crate::delivery::hooks::AttemptDecision;
use crate::error::refusals;
use crate::factors::FactorType;
use crate::factors::assertion::AuthenticatorState;
use crate::factors::credential::Credential;
use crate::factors::totp::Secret;
use crate::flows::access_token::Session;
use crate::flows::services::Factors;
use crate::flows::{Context, deliver, session};
use crate::store::audit::{Action, Actor};
use crate::store::factors::{self, Challenge};
use crate::store::model::user::Factor;
use crate::store::sessions;
use crate::store::{self, Work, users};
use crate::{Code, Error, HookName, MailKind, SmsProvider};

/// What the holder of a factor answers.
pub(crate) struct Answer {
    pub(crate) challenge: Uuid,
    /// Of TOTP and phone factors.
    pub(crate) code: String,
    /// Of security keys.
    pub(crate) webauthn: Option<WebauthnAnswer>,
}

/// What a browser has got from a security key.
pub(crate) struct WebauthnAnswer {
    /// `create` or `request`.
    pub(crate) ceremony: String,
    pub(crate) response: Option<Value>,
}

/// The proof that an answer is right, with the data to store.
pub(super) enum Proof {
    /// The code was right.
    Code {
        /// The secret of a TOTP factor, if it is to be stored again.
        stale_secret: Option<String>,
        /// Names the code of a TOTP factor, which is good once (RFC 6238, section 5.2); empty for others.
        used: String,
    },
    /// A new security key was registered.
    Registration { credential: Credential, response: Value },
    /// A known security key has signed.
    Assertion { authenticator: AuthenticatorState, response: Value },
}

/// Verifies `factor` by the answer to a challenge and raises the holder's session to aal2. The other sessions below
/// that end, and so do other attempts to enrol a factor of this kind.
///
/// Errors: `validation_failed`, `mfa_<kind>_verify_not_enabled`, `mfa_factor_not_found` (422) for an unknown challenge,
/// `mfa_ip_address_mismatch` for one that was made for another address, `mfa_challenge_expired` for a late and a used
/// one, `over_request_rate_limit` after ten wrong codes, `mfa_verification_failed` for a wrong answer and a used code,
/// after which the challenge stays open, and `mfa_verification_rejected` by the project's hook, after which all
/// sessions end.
pub(crate) async fn verify(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
    answer: &Answer,
) -> Result<Session, Error> {
    let factor_type = super::factor_type(&factor.factor_type)?;
    if answer.code.is_empty() && factor_type != FactorType::Webauthn {
        return Err(Error::validation("Code needs to be non-empty"));
    }
    require_verifiable(&context.services.settings, factor_type)?;
    if factor_type == FactorType::Webauthn {
        verify_webauthn::check_form(answer)?;
    }
    let challenge = open_challenge(context, factor, answer.challenge).await?;
    // Security keys have no codes that could be guessed.
    if factor_type != FactorType::Webauthn && !context.services.limits.take_factor_try(factor.id).await? {
        return Err(refusals::over_request_rate_limit());
    }
    let proof = match factor_type {
        FactorType::Totp => check_totp(context, factor, &challenge, &answer.code)?,
        FactorType::Phone => check_phone(context, factor, answer, &challenge).await?,
        FactorType::Webauthn => verify_webauthn::check(context, holder, factor, &challenge, answer)?,
    };
    ask_hook(context, holder, (factor.id, &factor.factor_type), proof.is_some()).await?;
    let proof = proof.ok_or_else(|| wrong_answer(factor_type))?;
    raise_session(context, holder, (factor, factor_type), answer.challenge, proof).await
}

fn wrong_answer(factor_type: FactorType) -> Error {
    Code::MfaVerificationFailed.because(match factor_type {
        FactorType::Totp => "Invalid TOTP code entered",
        FactorType::Phone => "Invalid MFA Phone code entered",
        FactorType::Webauthn => "The security key's answer does not fit the challenge",
    })
}

/// Returns the challenge, if it may be answered.
async fn open_challenge(
    context: &Context<'_, Factors>,
    factor: &Factor,
    id: Uuid,
) -> Result<Challenge, Error> {
    let expiry = context.services.settings.mfa.challenge_expiry;
    let challenge =
        factors::find_challenge(&context.services.database, factor.id, id, context.client.address, expiry)
            .await?;
    let challenge = challenge.ok_or_else(|| {
        let message = "MFA factor with the provided challenge ID not found";
        Code::MfaFactorNotFound.at(StatusCode::UNPROCESSABLE_ENTITY, message)
    })?;
    if challenge.is_used {
        return Err(already_used(id));
    }
    if challenge.is_elsewhere {
        return Err(Code::MfaIpAddressMismatch.because("Challenge and verify IP addresses mismatch."));
    }
    if challenge.is_expired {
        factors::delete_challenge(&context.services.database, id).await?;
        let message = format!(
            "MFA challenge {id} has expired, verify against another challenge or create a new challenge."
        );
        return Err(Code::MfaChallengeExpired.because(message));
    }
    Ok(challenge)
}

/// Returns the refusal of a challenge that was answered before. Its code is that of an expired one, because clients do
/// the same about both.
fn already_used(challenge: Uuid) -> Error {
    let message = format!("MFA challenge {challenge} has already been verified, create a new challenge.");
    Code::MfaChallengeExpired.because(message)
}

fn check_totp(
    context: &Context<'_, Factors>,
    factor: &Factor,
    challenge: &Challenge,
    code: &str,
) -> Result<Option<Proof>, Error> {
    let stored = challenge.secret.as_deref().unwrap_or_default();
    let opened = context.services.settings.encryption.open(factor.id, stored)?;
    let secret = Secret::parse(&opened.text)
        .ok_or_else(|| Error::Internal(format!("the secret of factor {} is not base32", factor.id)))?;
    let stale_secret = opened.is_stale.then(|| opened.text.into_owned());
    let step = secret.verify(code, OffsetDateTime::now_utc());
    let used = step.map(|step| format!("totp:{step}")).filter(|used| !challenge.used.contains(used));
    Ok(used.map(|used| Proof::Code { stale_secret, used }))
}

async fn check_phone(
    context: &Context<'_, Factors>,
    factor: &Factor,
    answer: &Answer,
    challenge: &Challenge,
) -> Result<Option<Proof>, Error> {
    let settings = &context.services.settings;
    let by_hook = context.services.hooks.is_on(HookName::SendSms);
    let is_right = match settings.sms.provider {
        // It generates the codes itself.
        Some(SmsProvider::TwilioVerify { .. }) if !by_hook => {
            context.services.delivery.messages.provider_accepts(&factor.phone, &answer.code).await?
        }
        _ => {
            let stored = challenge.code.as_deref().unwrap_or_default();
            let opened = settings.encryption.open(answer.challenge, stored)?;
            !stored.is_empty() && bool::from(opened.text.as_bytes().ct_eq(answer.code.as_bytes()))
        }
    };
    Ok(is_right.then(|| Proof::Code { stale_secret: None, used: String::new() }))
}

/// Lets the project's hook refuse the attempt with a factor of this id and kind.
///
/// Errors: `mfa_verification_rejected`, after which all sessions have ended.
pub(super) async fn ask_hook(
    context: &Context<'_, Factors>,
    holder: &Holder,
    subject: (Uuid, &str),
    is_right: bool,
) -> Result<(), Error> {
    match context.services.hooks.mfa_verification(holder.user.id, subject, is_right, &context.client).await? {
        AttemptDecision::Continue => Ok(()),
        AttemptDecision::Reject { message, .. } => {
            sessions::end_others(&context.services.database, holder.user.id, None).await?;
            Err(Code::MfaVerificationRejected.because(message))
        }
    }
}

/// Uses the challenge up and raises the session.
async fn raise_session(
    context: &Context<'_, Factors>,
    holder: &Holder,
    (factor, factor_type): (&Factor, FactorType),
    challenge: Uuid,
    proof: Proof,
) -> Result<Session, Error> {
    let user = holder.user.id;
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    // A refresh that is under way ends first, so that its token is among those that are replaced.
    sessions::lock(&work, holder.session).await?;
    let code = if let Proof::Code { used, .. } = &proof { used.as_str() } else { "" };
    match factors::use_challenge(&work, challenge, code).await? {
        Some(true) => {}
        Some(false) => return Err(wrong_answer(factor_type)),
        None => return Err(already_used(challenge)),
    }
    if matches!(proof, Proof::Code { .. }) {
        context.services.limits.forget_factor_tries(&work, factor.id).await?;
    }
    store_proof(context, &work, factor, challenge, proof).await?;
    let is_new = factors::confirm(&work, factor.id).await?.ok_or_else(factor_not_found)?;
    factors::delete_unverified(&work, user, factor_type).await?;
    sessions::end_below_aal2(&work, user, holder.session).await?;
    let traits = json!({ "factor_id": factor.id, "challenge_id": challenge, "factor_type": factor_type });
    let actor = Actor::User(user);
    context.log(&work, actor, Action::VerificationAttempted, traits).await?;
    context.log(&work, actor, Action::TokenRevoked, Value::Null).await?;
    let method = factor_type.method();
    let session = session::step_up(
        &context.services.sessions,
        &work,
        holder.session,
        factor.id,
        method,
        &context.client,
    )
    .await?;
    let account = if is_new { users::find(&work, user).await? } else { None };
    work.commit().await?;
    if let Some(account) = account {
        deliver::notify(&context.delivery(), &account, MailKind::MfaFactorEnrolled, factor_type.name()).await;
    }
    Ok(session)
}

/// Stores what the next verification needs to know of this one.
async fn store_proof(
    context: &Context<'_, Factors>,
    work: &Work,
    factor: &Factor,
    challenge: Uuid,
    proof: Proof,
) -> Result<(), Error> {
    match proof {
        Proof::Code { stale_secret: None, .. } => Ok(()),
        Proof::Code { stale_secret: Some(secret), .. } => {
            let sealed = context.services.settings.encryption.seal(factor.id, &secret)?;
            factors::set_secret(work, factor.id, &sealed).await
        }
        Proof::Registration { credential, response } => {
            if !factors::set_credential(work, factor.id, &credential).await? {
                return Err(wrong_answer(FactorType::Webauthn));
            }
            factors::set_last_ceremony(work, factor.id, challenge, "create", &response).await
        }
        Proof::Assertion { authenticator: AuthenticatorState { sign_count, backup_state }, response } => {
            if !factors::set_sign_count(work, factor.id, sign_count, backup_state).await? {
                return Err(wrong_answer(FactorType::Webauthn));
            }
            factors::set_last_ceremony(work, factor.id, challenge, "request", &response).await
        }
    }
}
