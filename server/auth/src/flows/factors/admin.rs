//! Administration of users' factors.

use serde_json::json;

use super::{check_name, factor_not_found};
use crate::flows::Context;
use crate::flows::bearer::Admin;
use crate::flows::services::Factors;
use crate::store::audit::{Action, Actor};
use crate::store::model::address;
use crate::store::model::user::{Factor, User};
use crate::store::{self, factors};
use crate::{Code, Error};

/// What is to change; empty texts leave it as it is.
pub(crate) struct FactorChange {
    pub(crate) friendly_name: String,
    /// Of phone factors alone.
    pub(crate) phone: String,
}

/// Changes a factor of `user`.
///
/// Errors: `validation_failed` for a bad number, `mfa_factor_name_conflict` for what another factor of the user has.
pub(crate) async fn update(
    context: &Context<'_, Factors>,
    admin: &Admin,
    user: &User,
    factor: &Factor,
    change: &FactorChange,
) -> Result<Factor, Error> {
    let name = change.friendly_name.as_str();
    check_name(name)?;
    let phone = match factor.factor_type.as_str() {
        "phone" if !change.phone.is_empty() => address::phone(&change.phone)?,
        _ => String::new(),
    };
    let work = store::begin(&context.services.database).await?;
    let changed = factors::update(&work, user.id, factor.id, name, &phone).await;
    let changed = changed.map_err(as_conflict)?.ok_or_else(factor_not_found)?;
    let traits = json!({ "user_id": user.id, "factor_id": factor.id, "factor_type": factor.factor_type });
    context.log(&work, admin.actor(), Action::FactorUpdated, traits).await?;
    work.commit().await?;
    Ok(changed)
}

/// Removes a factor of `user`; sessions that were raised by it fall back to aal1.
pub(crate) async fn delete(
    context: &Context<'_, Factors>,
    user: &User,
    factor: &Factor,
) -> Result<Factor, Error> {
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, user.id).await?;
    let removed = factors::delete(&work, user.id, factor.id).await?.ok_or_else(factor_not_found)?;
    let traits = json!({ "user_id": user.id, "factor_id": factor.id });
    let actor = Actor::User(user.id);
    context.log(&work, actor, Action::FactorDeleted, traits).await?;
    work.commit().await?;
    Ok(removed)
}

/// Converts a unique violation of a name or number into the matching refusal.
fn as_conflict(error: Error) -> Error {
    let unique = ["mfa_factors_user_friendly_name_unique", "unique_phone_factor_per_user"];
    match unique.into_iter().any(|constraint| error.violates(constraint)) {
        true => Code::MfaFactorNameConflict.because("Another factor of this user has that name or number"),
        false => error,
    }
}
