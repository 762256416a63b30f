//! Recovery codes: a set of them replaces, one at a time, a factor that its owner has lost.
//!
//! They are hashed and compared before the user's factors are locked, since that takes long. What it takes them for is
//! looked at again afterwards.

use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::enroll::check_rules;
use super::verify::ask_hook;
use super::{Holder, check_name, has_usable_device};
use crate::factors::recovery_code::{self, KIND, METHOD};
use crate::flows::access_token::Session;
use crate::flows::services::Factors;
use crate::flows::{Context, deliver, session};
use crate::store::audit::{Action, Actor};
use crate::store::model::user::Factor;
use crate::store::recovery_codes::{self, CodeSet};
use crate::store::{self, factors, sessions, users};
use crate::{Code, Error, MailKind};

/// The name of a set that its owner gives none.
const NAME: &str = "Recovery codes";

/// Codes that were just made. They are shown once: only their hashes are kept.
pub(crate) struct NewCodes {
    pub(crate) factor: Uuid,
    pub(crate) friendly_name: String,
    pub(crate) codes: Vec<String>,
}

/// Returns the holder's set.
///
/// Errors: `mfa_factor_not_found` if there is none.
pub(crate) async fn status(context: &Context<'_, Factors>, holder: &Holder) -> Result<CodeSet, Error> {
    let found = recovery_codes::find(&context.services.database, holder.user.id).await?;
    found.ok_or_else(not_enrolled)
}

/// Gives the holder a set of codes, with a factor called `name`.
///
/// Errors: `mfa_recovery_codes_enroll_not_enabled`; `insufficient_aal` below aal2; `validation_failed` for the name;
/// `mfa_verified_factor_exists` if there is a set; `mfa_factor_name_conflict`, `too_many_enrolled_mfa_factors`;
/// `mfa_recovery_codes_sole_factor` without another factor that can be used.
pub(crate) async fn generate(
    context: &Context<'_, Factors>,
    holder: &Holder,
    name: &str,
) -> Result<NewCodes, Error> {
    require_enrollable(context)?;
    require_aal2(holder, "AAL2 required to generate recovery codes")?;
    check_name(name)?;
    let name = if name.trim().is_empty() { NAME } else { name };
    check_may_have_codes(context, holder, name, &holder.user.factors)?;
    let (codes, hashes) = new_codes(context).await?;
    let (user, factor) = (holder.user.id, Uuid::new_v4());
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    factors::delete_expired(&work, user, context.services.settings.mfa.factor_expiry).await?;
    check_may_have_codes(context, holder, name, &factors::list(&work, user).await?)?;
    recovery_codes::insert(&work, user, factor, name, &hashes).await?;
    let traits = json!({ "factor_id": factor, "count": codes.len() });
    context.log(&work, Actor::User(user), Action::RecoveryCodesGenerated, traits).await?;
    let account = users::find(&work, user).await?;
    work.commit().await?;
    if let Some(account) = account {
        deliver::notify(&context.delivery(), &account, MailKind::MfaFactorEnrolled, KIND).await;
    }
    Ok(NewCodes { factor, friendly_name: name.to_owned(), codes })
}

/// Gives the holder other codes in the place of all there are. Wrong ones are forgotten.
///
/// Errors: `mfa_recovery_codes_enroll_not_enabled`; `insufficient_aal` below aal2; `mfa_factor_not_found`.
pub(crate) async fn regenerate(context: &Context<'_, Factors>, holder: &Holder) -> Result<NewCodes, Error> {
    require_enrollable(context)?;
    require_aal2(holder, "AAL2 required to regenerate recovery codes")?;
    status(context, holder).await?;
    let (codes, hashes) = new_codes(context).await?;
    let user = holder.user.id;
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    recovery_codes::lock(&work, user).await?.ok_or_else(not_enrolled)?;
    let set = recovery_codes::find(&work, user).await?.ok_or_else(not_enrolled)?;
    recovery_codes::replace(&work, set.id, &hashes).await?;
    let traits = json!({ "factor_id": set.factor, "count": codes.len() });
    context.log(&work, Actor::User(user), Action::RecoveryCodesRegenerated, traits).await?;
    work.commit().await?;
    Ok(NewCodes { factor: set.factor, friendly_name: set.friendly_name, codes })
}

/// Uses one of the holder's codes up, however it is typed, and raises the session to aal2. The other sessions below
/// that end.
///
/// Errors: `mfa_recovery_codes_verify_not_enabled`; `validation_failed` for no code; `mfa_verification_failed` for a
/// wrong and a used one, and without a set; `mfa_recovery_codes_locked` after several of these;
/// `mfa_verification_rejected` by the project's hook, after which all sessions end.
pub(crate) async fn verify(
    context: &Context<'_, Factors>,
    holder: &Holder,
    typed: &str,
) -> Result<Session, Error> {
    if !context.services.settings.mfa.recovery_codes.enabled.verify {
        let message = "MFA verification is disabled for recovery codes";
        return Err(Code::MfaRecoveryCodesVerifyNotEnabled.because(message));
    }
    let code = recovery_code::normalized(typed);
    if code.is_empty() {
        return Err(Error::validation("Code needs to be non-empty"));
    }
    let set =
        recovery_codes::find(&context.services.database, holder.user.id).await?.ok_or_else(wrong_code)?;
    if set.is_locked {
        return Err(locked());
    }
    let hashes = set.unused.iter().map(|unused| unused.hash.clone()).collect();
    let place = context.services.hasher.find_code(code, hashes).await?;
    let found = place.and_then(|place| set.unused.get(place)).map(|unused| unused.id);
    ask_hook(context, holder, (set.factor, KIND), found.is_some()).await?;
    use_code(context, holder, set.factor, found).await
}

/// Counts a wrong code (`None`), or uses up the right one and raises the session.
async fn use_code(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: Uuid,
    code: Option<Uuid>,
) -> Result<Session, Error> {
    let (user, settings) = (holder.user.id, &context.services.settings.mfa.recovery_codes);
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    // A refresh that is under way ends first, so that its token is among those that are replaced.
    sessions::lock(&work, holder.session).await?;
    let set = recovery_codes::lock(&work, user).await?.ok_or_else(wrong_code)?;
    if set.is_locked {
        return Err(locked());
    }
    let is_consumed = match code {
        Some(code) => recovery_codes::consume(&work, set.id, code).await?,
        None => false,
    };
    if !is_consumed {
        // A code that another request has used since it was compared counts as a wrong one.
        recovery_codes::count_failure(&work, set.id, settings.max_verify_attempts, settings.lockout_duration)
            .await?;
        work.commit().await?;
        return Err(wrong_code());
    }
    let remaining = recovery_codes::unlock(&work, set.id).await?;
    sessions::end_below_aal2(&work, user, holder.session).await?;
    let (actor, traits) = (Actor::User(user), json!({ "factor_id": factor, "remaining": remaining }));
    context.log(&work, actor, Action::RecoveryCodesVerified, traits).await?;
    context.log(&work, actor, Action::TokenRevoked, Value::Null).await?;
    let session =
        session::step_up(&context.services.sessions, &work, holder.session, factor, METHOD, &context.client)
            .await?;
    work.commit().await?;
    Ok(session)
}

/// Removes the holder's set with its factor, whose id is returned. Sessions that were raised by it fall back to aal1.
///
/// Errors: `insufficient_aal` below aal2; `mfa_factor_not_found`.
pub(crate) async fn unenroll(context: &Context<'_, Factors>, holder: &Holder) -> Result<Uuid, Error> {
    require_aal2(holder, "AAL2 required to delete recovery codes")?;
    let user = holder.user.id;
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    let others = factors::list(&work, user).await?;
    let factor = others.iter().find(|factor| factor.factor_type == KIND).ok_or_else(not_enrolled)?.id;
    factors::delete(&work, user, factor).await?.ok_or_else(not_enrolled)?;
    let traits = json!({ "factor_id": factor });
    context.log(&work, Actor::User(user), Action::RecoveryCodesDeleted, traits).await?;
    let account = users::find(&work, user).await?;
    work.commit().await?;
    if let Some(account) = account {
        deliver::notify(&context.delivery(), &account, MailKind::MfaFactorUnenrolled, KIND).await;
    }
    Ok(factor)
}

fn require_enrollable(context: &Context<'_, Factors>) -> Result<(), Error> {
    if context.services.settings.mfa.recovery_codes.enabled.enroll {
        return Ok(());
    }
    Err(Code::MfaRecoveryCodesEnrollNotEnabled.because("MFA enroll is disabled for recovery codes"))
}

fn require_aal2(holder: &Holder, message: &'static str) -> Result<(), Error> {
    if holder.is_aal2 { Ok(()) } else { Err(Code::InsufficientAal.because(message)) }
}

/// Checks that somebody with these factors may have codes called `name`.
fn check_may_have_codes(
    context: &Context<'_, Factors>,
    holder: &Holder,
    name: &str,
    factors: &[Factor],
) -> Result<(), Error> {
    if factors.iter().any(|factor| factor.factor_type == KIND) {
        let message = "Recovery codes are already enrolled for this user, use regenerate to rotate them";
        return Err(Code::MfaVerifiedFactorExists.because(message));
    }
    check_rules(context, holder, name, factors)?;
    if !has_usable_device(&context.services.settings, factors) {
        let message = "At least one other verified factor is required to generate recovery codes";
        return Err(Code::MfaRecoveryCodesSoleFactor.because(message));
    }
    Ok(())
}

/// Returns new codes and their hashes.
async fn new_codes(context: &Context<'_, Factors>) -> Result<(Vec<String>, Vec<String>), Error> {
    let settings = &context.services.settings.mfa.recovery_codes;
    let codes: Vec<String> =
        (0..settings.count).map(|_| recovery_code::generate(settings.code_length)).collect();
    let hashes = context.services.hasher.hash_codes(codes.clone()).await?;
    Ok((codes, hashes))
}

fn not_enrolled() -> Error {
    Code::MfaFactorNotFound.at(StatusCode::NOT_FOUND, "The user has not enrolled recovery codes")
}

fn wrong_code() -> Error {
    Code::MfaVerificationFailed.because("Invalid recovery code entered")
}

fn locked() -> Error {
    Code::MfaRecoveryCodesLocked.because("Too many failed verification attempts, try again later")
}
