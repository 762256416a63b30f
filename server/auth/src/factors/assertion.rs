//! The end of an authentication (WebAuthn Level 3, section 7.2). The checks of the crate `webauthn-rs-core` are not
//! used, because it supports the signatures of only three algorithms.

use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;
use uuid::Uuid;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::internals::AuthenticatorData;
use webauthn_rs_core::proto::{Authentication, CollectedClientData, PublicKeyCredential};

use super::ceremony::Ceremony;
use super::cose::PublicKey;
use super::credential::Credential;
use super::webauthn::{Failure, from_browser};

/// The state that an authenticator reports with a signature.
pub(crate) struct AuthenticatorState {
    pub(crate) sign_count: u32,
    pub(crate) backup_state: bool,
}

/// What a browser answers at the end of an authentication.
pub(crate) struct Assertion(PublicKeyCredential);

impl Assertion {
    pub(crate) fn parse(response: &Value) -> Result<Self, Failure> {
        from_browser(response).map(Assertion)
    }

    pub(crate) fn credential_id(&self) -> &[u8] {
        &self.0.raw_id
    }

    /// Returns the user that the credential was created for, if the authenticator names one.
    pub(crate) fn user(&self) -> Option<Uuid> {
        let handle = self.0.get_user_unique_id()?;
        std::str::from_utf8(handle).ok()?.parse().ok()
    }

    /// Returns whether the authenticator names a user other than `id`.
    pub(crate) fn names_other_user_than(&self, id: Uuid) -> bool {
        let tells = self.0.get_user_unique_id().is_some_and(|handle| !handle.is_empty());
        tells && self.user() != Some(id)
    }

    /// Returns whether it ends `ceremony` and was made with `credential`, for the site `rp_id` on a page of `origins`.
    /// A counter that went backwards is refused: two authenticators hold the same key, and one of them is a copy.
    pub(super) fn verify(
        &self,
        ceremony: &Ceremony,
        credential: &Credential,
        rp_id: &str,
        origins: &[Url],
    ) -> Result<AuthenticatorState, WebauthnError> {
        let response = &self.0.response;
        if self.credential_id() != credential.id || !ceremony.allows(&credential.id) {
            return Err(WebauthnError::CredentialNotFound);
        }
        check_client_data(&response.client_data_json, ceremony, origins)?;
        let data = response.authenticator_data.as_slice();
        if !data.starts_with(&Sha256::digest(rp_id)) {
            return Err(WebauthnError::InvalidRPIDHash);
        }
        let parsed = AuthenticatorData::<Authentication>::try_from(data)?;
        if !parsed.user_present {
            return Err(WebauthnError::UserNotPresent);
        }
        if ceremony.demands_verification() && !parsed.user_verified {
            return Err(WebauthnError::UserNotVerified);
        }
        if parsed.backup_eligible != credential.flags.backup_eligible {
            return Err(WebauthnError::CredentialBackupEligibilityInconsistent);
        }
        if parsed.backup_state && !parsed.backup_eligible {
            return Err(WebauthnError::CredentialMayNotBeHardwareBound);
        }
        let key = PublicKey::parse(&credential.public_key).ok_or(WebauthnError::COSEKeyInvalidType)?;
        let message = [data, &Sha256::digest(&response.client_data_json)].concat();
        if !key.verify(&message, &response.signature) {
            return Err(WebauthnError::AuthenticationFailure);
        }
        let known = credential.authenticator.sign_count;
        if (parsed.counter > 0 || known > 0) && parsed.counter <= known {
            return Err(WebauthnError::CredentialPossibleCompromise);
        }
        Ok(AuthenticatorState { sign_count: parsed.counter, backup_state: parsed.backup_state })
    }
}

fn check_client_data(json: &[u8], ceremony: &Ceremony, origins: &[Url]) -> Result<(), WebauthnError> {
    let client_data: CollectedClientData =
        serde_json::from_slice(json).map_err(WebauthnError::ParseJSONFailure)?;
    if client_data.type_ != "webauthn.get" {
        return Err(WebauthnError::InvalidClientDataType);
    }
    if !ceremony.has_challenge(&client_data.challenge) {
        return Err(WebauthnError::MismatchedChallenge);
    }
    if !origins.iter().any(|allowed| is_same_origin(&client_data.origin, allowed)) {
        return Err(WebauthnError::InvalidRPOrigin);
    }
    match client_data.cross_origin {
        Some(true) => Err(WebauthnError::CredentialCrossOrigin),
        _ => Ok(()),
    }
}

/// Returns whether `origin` is the `allowed` one. Apps have origins that are no tuple, such as
/// `android:apk-key-hash:…`; these must be exactly equal.
fn is_same_origin(origin: &Url, allowed: &Url) -> bool {
    match origin.origin().is_tuple() {
        true => origin.origin() == allowed.origin(),
        false => origin == allowed,
    }
}
