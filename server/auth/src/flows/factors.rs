//! Second factors: how they are enrolled, challenged, verified and removed.

pub(crate) mod admin;
pub(crate) mod challenge;
pub(crate) mod enroll;
pub(crate) mod recovery_codes;
pub(crate) mod unenroll;
pub(crate) mod verify;
mod verify_webauthn;

use http::StatusCode;
use uuid::Uuid;

use crate::error::refusals;
use crate::factors::FactorType;
use crate::factors::webauthn::Owner;
use crate::flows::bearer::Bearer;
use crate::store::model::user::{Factor, User};
use crate::{Code, Error, FactorSettings, Settings};

/// Longest name of a factor in bytes. Postgres cannot index much more.
const LONGEST_NAME: usize = 1024;

/// Returns a user who may have second factors: neither anonymous nor without a session.
///
/// Errors: `no_authorization` (403), `session_not_found`.
pub(crate) fn holder(bearer: Bearer) -> Result<Holder, Error> {
    if bearer.is_anonymous() {
        let message = "Anonymous user not allowed to perform these actions";
        return Err(Code::NoAuthorization.at(StatusCode::FORBIDDEN, message));
    }
    let session = bearer.session_id().ok_or_else(refusals::session_gone)?;
    Ok(Holder { is_aal2: bearer.is_aal2(), user: bearer.user, session })
}

/// A user who may have second factors.
pub(crate) struct Holder {
    pub(crate) user: User,
    pub(crate) session: Uuid,
    /// Whether a factor was shown in the session.
    pub(crate) is_aal2: bool,
}

impl Holder {
    /// Returns the holder's factor with `id` as it stands in a path.
    ///
    /// Errors: `validation_failed` (404) for what is no UUID, `mfa_factor_not_found` for a factor of another user.
    pub(crate) fn factor(&self, id: &str) -> Result<&Factor, Error> {
        find(&self.user, id)
    }
}

/// Returns the factor of `user` with `id` as it stands in a path.
///
/// Errors: `validation_failed` (404) for what is no UUID, `mfa_factor_not_found`.
pub(crate) fn find<'a>(user: &'a User, id: &str) -> Result<&'a Factor, Error> {
    let id: Uuid = id.parse().map_err(|_| refusals::id_not_uuid("factor_id must be an UUID"))?;
    user.factors.iter().find(|factor| factor.id == id).ok_or_else(factor_not_found)
}

fn factor_not_found() -> Error {
    Code::MfaFactorNotFound.because("Factor not found")
}

/// Checks that a factor can have this name.
///
/// Errors: `validation_failed`.
fn check_name(name: &str) -> Result<(), Error> {
    if name.len() > LONGEST_NAME || name.contains('\0') {
        return Err(Error::validation(format!("friendly_name must be at most {LONGEST_NAME} bytes of text")));
    }
    Ok(())
}

pub(crate) fn factor_type(name: &str) -> Result<FactorType, Error> {
    FactorType::of_name(name)
        .ok_or_else(|| Error::validation("factor_type needs to be totp, phone, or webauthn"))
}

/// Returns what the settings allow with factors of a kind.
fn allowed(settings: &Settings, factor_type: FactorType) -> FactorSettings {
    let mfa = &settings.mfa;
    match factor_type {
        FactorType::Totp => mfa.totp,
        FactorType::Phone => mfa.phone.enabled,
        FactorType::Webauthn => mfa.webauthn,
    }
}

/// Returns whether one of `factors` can be shown at a sign-in without a recovery code, which are never all that a user
/// has.
fn has_usable_device(settings: &Settings, factors: &[Factor]) -> bool {
    let verified = factors.iter().filter(|factor| factor.is_verified());
    verified
        .filter_map(|factor| FactorType::of_name(&factor.factor_type))
        .any(|kind| allowed(settings, kind).verify)
}

/// Checks that factors of this type can be verified.
///
/// Errors: `mfa_<kind>_verify_not_enabled`.
pub(crate) fn require_verifiable(settings: &Settings, factor_type: FactorType) -> Result<(), Error> {
    let (code, name) = match factor_type {
        FactorType::Totp => (Code::MfaTotpVerifyNotEnabled, "TOTP"),
        FactorType::Phone => (Code::MfaPhoneVerifyNotEnabled, "Phone"),
        FactorType::Webauthn => (Code::MfaWebauthnVerifyNotEnabled, "WebAuthn"),
    };
    match allowed(settings, factor_type).verify {
        true => Ok(()),
        false => Err(code.because(format!("MFA verification is disabled for {name}"))),
    }
}

/// Returns the name by which its owner recognizes an account: the address, else the number, else the id.
pub(crate) fn account_name(user: &User) -> String {
    let names = [&user.email, &user.phone];
    names.into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_else(|| user.id.to_string())
}

/// Returns whose credential an authenticator is to make.
pub(crate) fn owner(user: &User) -> Owner {
    let name = account_name(user);
    let display_name = user.user_metadata["name"].as_str().filter(|name| !name.is_empty());
    Owner { id: user.id, display_name: display_name.unwrap_or(&name).to_owned(), name }
}
