//! Removal of a factor by its owner.

use http::StatusCode;
use serde_json::json;

use super::{Holder, factor_not_found};
use crate::flows::{Context, deliver};
use crate::store::audit::{Action, Actor};
use crate::store::{Work, factors, users};
use crate::user::Factor;
use crate::{Code, Error, MailKind};

/// Removes a factor of the holder. Sessions that were raised by it fall back to aal1.
///
/// Errors: `insufficient_aal` (422) for a verified factor in a session below aal2.
pub(crate) async fn unenroll(context: &Context<'_>, holder: &Holder, factor: &Factor) -> Result<(), Error> {
    let user = holder.user.id;
    let mut connection = context.auth.database.client().await?;
    let work = Work::begin(&mut connection).await?;
    factors::lock_owner(&work, user).await?;
    let removed = factors::delete(&work, user, factor.id).await?.ok_or_else(factor_not_found)?;
    // The factor's state at its deletion counts: it may have been verified since this request began.
    if removed.is_verified() && !holder.is_aal2 {
        let message = "AAL2 required to unenroll verified factor";
        return Err(Code::InsufficientAal.at(StatusCode::UNPROCESSABLE_ENTITY, message));
    }
    let traits = json!({
        "factor_id": removed.id, "factor_status": removed.status, "session_id": holder.session
    });
    let actor = Actor::User(user);
    context.log(&work, actor, Action::FactorUnenrolled, traits).await?;
    let account = users::find(&work, user).await?;
    work.commit().await?;
    if let Some(account) = account {
        deliver::notify(context, &account, MailKind::MfaFactorUnenrolled, &removed.factor_type).await;
    }
    Ok(())
}
