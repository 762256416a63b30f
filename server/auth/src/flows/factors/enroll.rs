//! Enrollment of a factor. It takes effect once it is verified.

use serde_json::json;
use uuid::Uuid;

use super::{Holder, account_name, allowed, check_name, factor_type};
use crate::factors::{FactorType, totp};
use crate::flows::Context;
use crate::flows::services::Factors;
use crate::store;
use crate::store::audit::{Action, Actor};
use crate::store::factors::{self, NewFactor};
use crate::store::model::address;
use crate::store::model::user::Factor;
use crate::{Code, Error};

/// What a client asks for; absent fields are empty.
pub(crate) struct Enrollment {
    pub(crate) factor_type: String,
    pub(crate) friendly_name: String,
    /// What a TOTP app calls this site; the site's host if empty.
    pub(crate) issuer: String,
    pub(crate) phone: String,
}

/// A factor that was enrolled.
pub(crate) struct EnrolledFactor {
    pub(crate) id: Uuid,
    pub(crate) factor_type: FactorType,
    pub(crate) totp: Option<Totp>,
}

/// What sets up a TOTP app.
pub(crate) struct Totp {
    /// An SVG document.
    pub(crate) qr_code: String,
    pub(crate) secret: String,
    pub(crate) uri: String,
}

/// Enrols a factor of `holder`.
///
/// Errors: `validation_failed`, `mfa_<kind>_enroll_not_enabled`, `mfa_verified_factor_exists` for a number twice,
/// `mfa_factor_name_conflict`, `too_many_enrolled_mfa_factors`, `insufficient_aal`.
pub(crate) async fn enroll(
    context: &Context<'_, Factors>,
    holder: &Holder,
    enrollment: &Enrollment,
) -> Result<EnrolledFactor, Error> {
    let kind = factor_type(&enrollment.factor_type)?;
    require_enrollable(context, kind)?;
    check_name(&enrollment.friendly_name)?;
    let phone = match kind {
        FactorType::Phone if enrollment.phone.is_empty() => {
            return Err(Error::validation("Phone number required to enroll Phone factor"));
        }
        FactorType::Phone => address::phone(&enrollment.phone)?,
        _ => String::new(),
    };
    let totp = match kind {
        FactorType::Totp => Some(totp(context, holder, &enrollment.issuer)?),
        _ => None,
    };
    let id = Uuid::new_v4();
    let secret = match &totp {
        Some(totp) => context.services.settings.encryption.seal(id, &totp.secret)?,
        None => String::new(),
    };
    let factor = NewFactor {
        id,
        user_id: holder.user.id,
        factor_type: kind,
        friendly_name: &enrollment.friendly_name,
        secret: &secret,
        phone: &phone,
    };
    store(context, holder, &factor).await?;
    Ok(EnrolledFactor { id, factor_type: kind, totp })
}

fn require_enrollable(context: &Context<'_, Factors>, factor_type: FactorType) -> Result<(), Error> {
    let (code, name) = match factor_type {
        FactorType::Totp => (Code::MfaTotpEnrollNotEnabled, "TOTP"),
        FactorType::Phone => (Code::MfaPhoneEnrollNotEnabled, "Phone"),
        FactorType::Webauthn => (Code::MfaWebauthnEnrollNotEnabled, "WebAuthn"),
    };
    match allowed(&context.services.settings, factor_type).enroll {
        true => Ok(()),
        false => Err(code.because(format!("MFA enroll is disabled for {name}"))),
    }
}

fn totp(context: &Context<'_, Factors>, holder: &Holder, issuer: &str) -> Result<Totp, Error> {
    let issuer = match issuer {
        "" => site_host(&context.services.settings.site_url)?,
        issuer => issuer.to_owned(),
    };
    let secret = totp::Secret::generate();
    let uri = secret.uri(&issuer, &account_name(&holder.user));
    let qr_code = totp::qr_code(&uri).ok_or_else(|| {
        Error::validation("issuer is too long for a QR code, which holds about 2,900 bytes")
    })?;
    Ok(Totp { qr_code, secret: secret.to_base32(), uri })
}

/// Returns the host of the site, with its port if it has one.
fn site_host(site_url: &str) -> Result<String, Error> {
    let site = url::Url::parse(site_url);
    let site = site.map_err(|error| Error::Internal(format!("SITE_URL {site_url:?} is no URL: {error}")))?;
    let host = site.host_str().unwrap_or_default();
    Ok(site.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Stores the factor if the rules allow it one more.
async fn store(context: &Context<'_, Factors>, holder: &Holder, factor: &NewFactor<'_>) -> Result<(), Error> {
    let settings = &context.services.settings;
    let work = store::begin(&context.services.database).await?;
    factors::lock_owner(&work, factor.user_id).await?;
    factors::delete_expired(&work, factor.user_id, settings.mfa.factor_expiry).await?;
    let mut others = factors::list(&work, factor.user_id).await?;
    if factor.factor_type == FactorType::Phone {
        if others.iter().any(|other| other.phone == factor.phone && other.is_verified()) {
            let message = "A verified phone factor already exists, unenroll the existing factor to continue";
            return Err(Code::MfaVerifiedFactorExists.because(message));
        }
        factors::delete_unverified_phone(&work, factor.user_id, factor.phone).await?;
        others.retain(|other| other.phone != factor.phone);
    }
    check_rules(context, holder, factor.friendly_name, &others)?;
    factors::insert(&work, factor).await?;
    let traits = json!({ "factor_id": factor.id, "factor_type": factor.factor_type });
    let actor = Actor::User(factor.user_id);
    context.log(&work, actor, Action::FactorInProgress, traits).await?;
    Ok(work.commit().await?)
}

/// Checks that the rules allow a factor called `name` beside `others`.
///
/// Errors: `mfa_factor_name_conflict`, `too_many_enrolled_mfa_factors`, `insufficient_aal`.
pub(super) fn check_rules(
    context: &Context<'_, Factors>,
    holder: &Holder,
    name: &str,
    others: &[Factor],
) -> Result<(), Error> {
    let mfa = &context.services.settings.mfa;
    if others.iter().any(|other| other.name() == name) {
        let message = format!("A factor with the friendly name {name:?} for this user already exists");
        return Err(Code::MfaFactorNameConflict.because(message));
    }
    let verified = others.iter().filter(|other| other.is_verified()).count();
    if others.len() >= mfa.max_enrolled_factors || verified >= mfa.max_verified_factors {
        let message = "Maximum number of verified factors reached, unenroll to continue";
        return Err(Code::TooManyEnrolledMfaFactors.because(message));
    }
    if verified > 0 && !holder.is_aal2 {
        return Err(Code::InsufficientAal.because("AAL2 required to enroll a new factor"));
    }
    Ok(())
}
