//! Removal of a factor by its owner.

use http::StatusCode;
use serde_json::json;

use super::{Holder, factor_not_found, has_usable_device};
use crate::factors::recovery_code;
use crate::flows::services::Factors;
use crate::flows::{Context, deliver};
use crate::store::audit::{Action, Actor};
use crate::store::model::user::Factor;
use crate::store::{self, factors, users};
use crate::{Code, Error, MailKind};

/// Removes a factor of the holder. Sessions that were raised by it fall back to aal1.
///
/// Errors: `validation_failed` (422) for recovery codes, which have an endpoint of their own; `insufficient_aal` (422)
/// for a verified factor in a session below aal2; `mfa_recovery_codes_sole_factor` for the last one beside recovery
/// codes.
pub(crate) async fn unenroll(
    context: &Context<'_, Factors>,
    holder: &Holder,
    factor: &Factor,
) -> Result<(), Error> {
    let user = holder.user.id;
    if factor.factor_type == recovery_code::KIND {
        let message =
            "Recovery codes cannot be unenrolled with this endpoint, use DELETE /factors/recovery-codes";
        return Err(Code::ValidationFailed.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user).await?;
    let removed = factors::delete(&work, user, factor.id).await?.ok_or_else(factor_not_found)?;
    // The factor's state at its deletion counts: it may have been verified since this request began.
    if removed.is_verified() && !holder.is_aal2 {
        let message = "AAL2 required to unenroll verified factor";
        return Err(Code::InsufficientAal.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    if removed.is_verified() {
        let others = factors::list(&work, user).await?;
        let has_codes = others.iter().any(|other| other.factor_type == recovery_code::KIND);
        if has_codes && !has_usable_device(&context.services.settings, &others) {
            let message = "Recovery codes cannot be the only verified factor. Please enroll another factor before \
                           unenrolling this one or delete your recovery codes.";
            return Err(Code::MfaRecoveryCodesSoleFactor.because(message));
        }
    }
    let traits = json!({
        "factor_id": removed.id, "factor_status": removed.status, "session_id": holder.session
    });
    let actor = Actor::User(user);
    context.log(&work, actor, Action::FactorUnenrolled, traits).await?;
    let account = users::find(&work, user).await?;
    work.commit().await?;
    if let Some(account) = account {
        deliver::notify(&context.delivery(), &account, MailKind::MfaFactorUnenrolled, &removed.factor_type)
            .await;
    }
    Ok(())
}
