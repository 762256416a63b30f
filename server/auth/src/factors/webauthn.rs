//! WebAuthn's two ceremonies from the relying party's side (Level 3, sections 7.1 and 7.2). What is verified, and in
//! which order, is crate `webauthn-rs-core`'s; which options this service offers is decided here.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::internals::AuthenticatorData;
use webauthn_rs_core::proto::{
    AttestationFormat, AuthenticationState, AuthenticatorTransport, COSEKey, Credential as CoreCredential,
    ParsedAttestation, ParsedAttestationData, PublicKeyCredential, RegisterPublicKeyCredential,
    RegisteredExtensions, Registration, RegistrationState, UserVerificationPolicy,
};

use super::credential::{Authenticator, Credential, Flags};
use crate::{Error, Settings, WebauthnSettings};

/// Options tell in milliseconds of 32 bits how long the browser may take.
const LONGEST_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// This site, as authenticators know it.
pub(crate) struct RelyingParty {
    /// What is wrong with the settings, if they make no relying party.
    core: Result<WebauthnCore, String>,
}

/// Whose credential is created.
pub(crate) struct Owner {
    pub(crate) id: Uuid,
    /// What tells accounts of one person apart; not empty.
    pub(crate) name: String,
    pub(crate) display_name: String,
}

/// A ceremony that has begun.
pub(crate) struct Started {
    /// What the browser's `navigator.credentials` takes as `publicKey`.
    pub(crate) options: Value,
    /// What the end of the ceremony is judged by; stays here.
    pub(crate) state: Value,
}

/// Why a ceremony failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The answer is not of the form that browsers give it.
    #[error("{0}")]
    Malformed(serde_json::Error),
    /// It is not what was asked for, or not signed by the right key.
    #[error("{0}")]
    Refused(WebauthnError),
    /// The credential was made for somebody else.
    #[error("the authenticator tells of another user")]
    OtherUser,
    /// This service is at fault.
    #[error("{0}")]
    Internal(Error),
}

/// What an authenticator says when it has signed.
pub(crate) struct Signed {
    pub(crate) sign_count: u32,
    pub(crate) backup_state: bool,
}

impl RelyingParty {
    /// Settings that make no relying party are told when somebody needs one: most projects never do.
    pub(crate) fn new(settings: &Settings) -> RelyingParty {
        RelyingParty { core: core(&settings.webauthn, &settings.site_url) }
    }

    fn core(&self) -> Result<&WebauthnCore, Error> {
        self.core.as_ref().map_err(|cause| Error::Internal(format!("WebAuthn is not set up: {cause}")))
    }

    /// Begins the creation of a credential by an authenticator that has none of `known`. `is_discoverable` if it must
    /// do without being told who its owner is.
    pub(crate) fn start_registration(
        &self,
        owner: &Owner,
        is_discoverable: bool,
        known: &[Credential],
    ) -> Result<Started, Error> {
        // The handle is the text of the id, as upstream has it, so that its passkeys find their owners here.
        let handle = owner.id.to_string();
        let known = known.iter().map(|credential| credential.id.clone()).collect();
        let core = self.core()?;
        let builder =
            core.new_challenge_register_builder(handle.as_bytes(), &owner.name, &owner.display_name);
        let builder = builder.map_err(internal)?;
        let builder = builder.require_resident_key(is_discoverable).exclude_credentials(Some(known));
        let (options, state) = core.generate_challenge_register(builder).map_err(internal)?;
        Ok(Started { options: to_json(&options.public_key)?, state: to_json(&state)? })
    }

    /// Ends the creation of a credential.
    pub(crate) fn finish_registration(&self, state: Value, response: &Value) -> Result<Credential, Failure> {
        let state: RegistrationState = stored(state)?;
        let response: RegisterPublicKeyCredential = from_browser(response)?;
        let core = self.core().map_err(Failure::Internal)?;
        let credential = core.register_credential(&response, &state, None).map_err(Failure::Refused)?;
        let (aaguid, public_key) =
            attested(&response.response.attestation_object).map_err(Failure::Refused)?;
        let known = |transport: &AuthenticatorTransport| *transport != AuthenticatorTransport::Unknown;
        let transports = response.response.transports.unwrap_or_default().into_iter().filter(known);
        Ok(Credential {
            id: credential.cred_id,
            public_key,
            attestation_type: attestation_type(&credential.attestation.data).to_owned(),
            transports: transports.map(|transport| transport.to_string()).collect(),
            flags: Flags {
                // It would have been refused otherwise.
                user_present: true,
                user_verified: credential.user_verified,
                backup_eligible: credential.backup_eligible,
                backup_state: credential.backup_state,
            },
            authenticator: Authenticator { aaguid, sign_count: credential.counter },
        })
    }

    /// Begins an authentication, with any discoverable credential or with one of `allowed`.
    pub(crate) fn start_authentication(&self, allowed: &[Credential]) -> Result<Started, Error> {
        let policy = Some(UserVerificationPolicy::Preferred);
        let core = self.core()?;
        let builder = core.new_challenge_authenticate_builder(Vec::new(), policy).map_err(internal)?;
        let (options, state) = core.generate_challenge_authenticate(builder).map_err(internal)?;
        let mut options = to_json(&options.public_key)?;
        if let Some(options) = options.as_object_mut() {
            options.remove("allowCredentials");
            if !allowed.is_empty() {
                let allowed: Vec<_> = allowed.iter().map(Credential::descriptor).collect();
                options.insert("allowCredentials".to_owned(), allowed.into());
            }
        }
        Ok(Started { options, state: to_json(&state)? })
    }

    /// Ends an authentication that must have been made with `credential`. A counter that went backwards is refused:
    /// two authenticators hold the same key, and one of them is a copy.
    pub(crate) fn finish_authentication(
        &self,
        state: Value,
        assertion: &Assertion,
        credential: &Credential,
    ) -> Result<Signed, Failure> {
        let state: AuthenticationState = stored(state)?;
        let credential = core_credential(credential).map_err(Failure::Refused)?;
        let core = self.core().map_err(Failure::Internal)?;
        let result = core.authenticate_single_credential(&assertion.0, &state, &credential);
        let result = result.map_err(Failure::Refused)?;
        Ok(Signed { sign_count: result.counter(), backup_state: result.backup_state() })
    }
}

/// What a browser answers at the end of an authentication.
pub(crate) struct Assertion(PublicKeyCredential);

impl Assertion {
    pub(crate) fn parse(response: &Value) -> Result<Assertion, Failure> {
        from_browser(response).map(Assertion)
    }

    pub(crate) fn credential_id(&self) -> &[u8] {
        &self.0.raw_id
    }

    /// The user that the authenticator made the credential for, if it tells.
    pub(crate) fn user(&self) -> Option<Uuid> {
        let handle = self.0.get_user_unique_id()?;
        std::str::from_utf8(handle).ok()?.parse().ok()
    }

    /// Whether the authenticator tells of a user other than `id`.
    pub(crate) fn is_of_other_than(&self, id: Uuid) -> bool {
        let tells = self.0.get_user_unique_id().is_some_and(|handle| !handle.is_empty());
        tells && self.user() != Some(id)
    }
}

/// Errors: what is wrong with the settings.
fn core(settings: &WebauthnSettings, site_url: &str) -> Result<WebauthnCore, String> {
    let site = || Url::parse(site_url).map_err(|error| format!("SITE_URL {site_url:?} is no URL: {error}"));
    let id = match &settings.rp_id {
        Some(id) => id.clone(),
        None => site()?.host_str().unwrap_or_default().to_owned(),
    };
    let origin = |text: &String| {
        Url::parse(text).map_err(|error| format!("WEBAUTHN_RP_ORIGINS has {text:?}, no URL: {error}"))
    };
    let origins = match settings.rp_origins.as_slice() {
        [] => vec![site()?],
        origins => origins.iter().map(origin).collect::<Result<_, _>>()?,
    };
    let name = settings.rp_display_name.as_ref().unwrap_or(&id);
    let patience = settings.challenge_expiry.min(LONGEST_PATIENCE);
    Ok(WebauthnCore::new_unsafe_experts_only(name, &id, origins, patience, None, None))
}

fn internal(error: WebauthnError) -> Error {
    Error::Internal(format!("WebAuthn: {error}"))
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::Internal(error.to_string()))
}

/// Reads what this service has stored at the beginning of a ceremony.
fn stored<T: DeserializeOwned>(state: Value) -> Result<T, Failure> {
    let state = serde_json::from_value(state);
    state.map_err(|error| {
        Failure::Internal(Error::Internal(format!("a stored ceremony is unreadable: {error}")))
    })
}

/// What is worth keeping of a browser's answer that was verified: the members that were, which are base64url.
pub(crate) fn verified_members(response: &Value) -> Value {
    let members = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
    let kept = members.into_iter().filter_map(|name| {
        let value = response["response"].get(name).filter(|value| value.is_string())?;
        Some((name.to_owned(), value.clone()))
    });
    let kept: serde_json::Map<_, _> = kept.collect();
    json!({ "id": response["rawId"], "rawId": response["rawId"], "type": "public-key", "response": kept })
}

/// Reads what a browser has answered. Some libraries pad base64url, which the standard does not.
fn from_browser<T: DeserializeOwned>(response: &Value) -> Result<T, Failure> {
    let mut response = response.clone();
    let unpad = |value: &mut Value| {
        if let Value::String(text) = value {
            text.truncate(text.trim_end_matches('=').len());
        }
    };
    if let Some(raw_id) = response.get_mut("rawId") {
        unpad(raw_id);
    }
    if let Some(Value::Object(members)) = response.get_mut("response") {
        members.values_mut().for_each(unpad);
    }
    serde_json::from_value(response).map_err(Failure::Malformed)
}

/// Make and public key in an attestation object (Level 3, section 6.5).
fn attested(attestation_object: &[u8]) -> Result<(Uuid, Vec<u8>), WebauthnError> {
    #[derive(serde::Deserialize)]
    struct AttestationObject<'a> {
        #[serde(rename = "authData", borrow)]
        auth_data: &'a [u8],
    }
    let object: AttestationObject<'_> =
        serde_cbor_2::from_slice(attestation_object).map_err(WebauthnError::ParseCBORFailure)?;
    let data = AuthenticatorData::<Registration>::try_from(object.auth_data)?;
    let attested = data.acd.ok_or(WebauthnError::MissingAttestationCredentialData)?;
    let key = serde_cbor_2::to_vec(&attested.credential_pk).map_err(WebauthnError::ParseCBORFailure)?;
    Ok((Uuid::from_bytes(attested.aaguid), key))
}

/// The name of an attestation type in the FIDO Metadata Service, which upstream stores.
const fn attestation_type(data: &ParsedAttestationData) -> &'static str {
    match data {
        ParsedAttestationData::Basic(_) => "basic_full",
        ParsedAttestationData::Self_ => "basic_surrogate",
        ParsedAttestationData::AttCa(_) => "attca",
        ParsedAttestationData::AnonCa(_) => "anonca",
        ParsedAttestationData::ECDAA => "ecdaa",
        ParsedAttestationData::None | ParsedAttestationData::Uncertain => "none",
    }
}

fn core_credential(credential: &Credential) -> Result<CoreCredential, WebauthnError> {
    let key: serde_cbor_2::Value =
        serde_cbor_2::from_slice(&credential.public_key).map_err(WebauthnError::ParseCBORFailure)?;
    Ok(CoreCredential {
        cred_id: credential.id.clone(),
        cred: COSEKey::try_from(&key)?,
        counter: credential.authenticator.sign_count,
        transports: None,
        user_verified: false,
        backup_eligible: credential.flags.backup_eligible,
        backup_state: credential.flags.backup_state,
        // Verification of the user is preferred, never demanded: not even of those who once did it.
        registration_policy: UserVerificationPolicy::Preferred,
        extensions: RegisteredExtensions::none(),
        attestation: ParsedAttestation::default(),
        attestation_format: AttestationFormat::None,
    })
}
