//! WebAuthn's two ceremonies from the relying party's side (Level 3, sections 7.1 and 7.2). What is verified at the end
//! of a registration, and in which order, is crate `webauthn-rs-core`'s; which options this service offers is decided
//! here.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::internals::AuthenticatorData;
use webauthn_rs_core::proto::{
    AuthenticatorTransport, COSEAlgorithm, ParsedAttestationData, RegisterPublicKeyCredential, Registration,
    RegistrationState, UserVerificationPolicy,
};

use super::assertion::{Assertion, AuthenticatorState};
use super::ceremony::Ceremony;
use super::credential::{Authenticator, Credential, Flags};
use crate::{Error, Settings, WebauthnSettings};

/// The time-out in options is in milliseconds and has 32 bits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// This site, as authenticators know it.
pub(crate) struct RelyingParty {
    /// Or what is wrong with the settings, if they make no relying party.
    site: Result<Site, String>,
}

struct Site {
    core: WebauthnCore,
    rp_id: String,
    origins: Vec<Url>,
}

/// Whose credential is created.
pub(crate) struct Owner {
    pub(crate) id: Uuid,
    /// The name of the account, for people who have several; not empty.
    pub(crate) name: String,
    pub(crate) display_name: String,
}

/// A started ceremony: the options for the browser and the state to be kept.
pub(crate) struct StartedCeremony {
    /// What the browser's `navigator.credentials` takes as `publicKey`.
    pub(crate) options: Value,
    /// The state that the end of the ceremony is verified against; not sent to the browser.
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
    /// The credential was created for another user.
    #[error("the authenticator tells of another user")]
    OtherUser,
    /// The ceremony began with a release of this service that kept something else.
    #[error("the ceremony is unreadable: {0}")]
    Unreadable(serde_json::Error),
    /// This service is at fault.
    #[error("{0}")]
    Internal(Error),
}

impl RelyingParty {
    /// Reads the settings. An error in them is stored until a relying party is needed: most projects never need one.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { site: site(&settings.webauthn, &settings.site_url) }
    }

    fn site(&self) -> Result<&Site, Error> {
        self.site.as_ref().map_err(|cause| Error::Internal(format!("WebAuthn is not set up: {cause}")))
    }

    /// Begins the creation of a credential by an authenticator that has none of `known`. `is_discoverable` if it must
    /// identify its owner itself.
    pub(crate) fn start_registration(
        &self,
        owner: &Owner,
        is_discoverable: bool,
        known: &[Credential],
    ) -> Result<StartedCeremony, Error> {
        // The handle is the text of the id, as upstream has it, so that its passkeys find their owners here.
        let handle = owner.id.to_string();
        let known = known.iter().map(|credential| credential.id.clone()).collect();
        let Site { core, rp_id, .. } = self.site()?;
        let builder =
            core.new_challenge_register_builder(handle.as_bytes(), &owner.name, &owner.display_name);
        let builder = builder.map_err(internal)?;
        let builder = builder.require_resident_key(is_discoverable).exclude_credentials(Some(known));
        let (options, _) = core.generate_challenge_register(builder).map_err(internal)?;
        let options = options.public_key;
        let algorithms: Vec<_> =
            options.pub_key_cred_params.iter().map(|offered| i128::from(offered.alg)).collect();
        let state = Ceremony::new(&options.challenge, rp_id, Some(&handle), &[], &algorithms);
        Ok(StartedCeremony { options: to_json(&options)?, state: to_json(&state)? })
    }

    /// Ends the creation of a credential.
    pub(crate) fn finish_registration(&self, state: Value, response: &Value) -> Result<Credential, Failure> {
        let ceremony = parse_ceremony(state)?;
        let response: RegisterPublicKeyCredential = from_browser(response)?;
        let core = &self.site().map_err(Failure::Internal)?.core;
        let state = registration_state(core, &ceremony).map_err(Failure::Internal)?;
        let credential = core.register_credential(&response, &state, None).map_err(Failure::Refused)?;
        let (aaguid, public_key) =
            attested_key(&response.response.attestation_object).map_err(Failure::Refused)?;
        let known = |transport: &AuthenticatorTransport| *transport != AuthenticatorTransport::Unknown;
        let transports = response.response.transports.unwrap_or_default().into_iter().filter(known);
        Ok(Credential {
            id: credential.cred_id,
            public_key,
            attestation_type: attestation_type(&credential.attestation.data).to_owned(),
            transports: transports.map(|transport| transport.to_string()).collect(),
            flags: Flags {
                // The library refuses credentials without this flag.
                user_present: true,
                user_verified: credential.user_verified,
                backup_eligible: credential.backup_eligible,
                backup_state: credential.backup_state,
            },
            authenticator: Authenticator { aaguid, sign_count: credential.counter },
        })
    }

    /// Begins an authentication, with any discoverable credential or with one of `allowed`, which `owner` has.
    pub(crate) fn start_authentication(
        &self,
        owner: Option<Uuid>,
        allowed: &[Credential],
    ) -> Result<StartedCeremony, Error> {
        let policy = Some(UserVerificationPolicy::Preferred);
        let site = self.site()?;
        let builder = site.core.new_challenge_authenticate_builder(Vec::new(), policy).map_err(internal)?;
        let (options, _) = site.core.generate_challenge_authenticate(builder).map_err(internal)?;
        let options = options.public_key;
        let owner = owner.map(|owner| owner.to_string());
        let state = Ceremony::new(&options.challenge, &site.rp_id, owner.as_deref(), allowed, &[]);
        let mut options = to_json(&options)?;
        if let Some(options) = options.as_object_mut() {
            options.remove("allowCredentials");
            if !allowed.is_empty() {
                let allowed: Vec<_> = allowed.iter().map(Credential::descriptor).collect();
                options.insert("allowCredentials".to_owned(), allowed.into());
            }
        }
        Ok(StartedCeremony { options, state: to_json(&state)? })
    }

    /// Ends an authentication that must have been made with `credential`.
    pub(crate) fn finish_authentication(
        &self,
        state: Value,
        assertion: &Assertion,
        credential: &Credential,
    ) -> Result<AuthenticatorState, Failure> {
        let ceremony = parse_ceremony(state)?;
        let site = self.site().map_err(Failure::Internal)?;
        assertion.verify(&ceremony, credential, &site.rp_id, &site.origins).map_err(Failure::Refused)
    }
}

/// Returns the site of the relying party.
///
/// Errors: what is wrong with the settings.
fn site(settings: &WebauthnSettings, site_url: &str) -> Result<Site, String> {
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
    let timeout = settings.challenge_expiry.min(MAX_TIMEOUT);
    let core = WebauthnCore::new_unsafe_experts_only(name, &id, origins.clone(), timeout, None, None);
    Ok(Site { core, rp_id: id, origins })
}

/// Returns `ceremony` in the form that crate `webauthn-rs-core` takes. The crate creates such states only with a new
/// challenge, so this function creates one and replaces its members.
fn registration_state(core: &WebauthnCore, ceremony: &Ceremony) -> Result<RegistrationState, Error> {
    let builder = core.new_challenge_register_builder(b"-", "-", "-").map_err(internal)?;
    let (_, template) = core.generate_challenge_register(builder).map_err(internal)?;
    let algorithms: Vec<_> =
        ceremony.algorithms().filter_map(|algorithm| COSEAlgorithm::try_from(algorithm).ok()).collect();
    let policy = match ceremony.demands_verification() {
        true => UserVerificationPolicy::Required,
        false => UserVerificationPolicy::Preferred,
    };
    let mut state = to_json(&template)?;
    state["challenge"] = ceremony.challenge().into();
    state["credential_algorithms"] = to_json(&algorithms)?;
    state["policy"] = to_json(&policy)?;
    serde_json::from_value(state).map_err(|error| Error::Internal(format!("WebAuthn: {error}")))
}

fn internal(error: WebauthnError) -> Error {
    Error::Internal(format!("WebAuthn: {error}"))
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::Internal(error.to_string()))
}

/// Reads what was stored at the beginning of a ceremony.
fn parse_ceremony(state: Value) -> Result<Ceremony, Failure> {
    serde_json::from_value(state).map_err(Failure::Unreadable)
}

/// Returns the part of a verified browser's answer that is stored: the members that were verified, in base64url.
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
pub(super) fn from_browser<T: DeserializeOwned>(response: &Value) -> Result<T, Failure> {
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

/// Returns the make and the public key in an attestation object (Level 3, section 6.5).
fn attested_key(attestation_object: &[u8]) -> Result<(Uuid, Vec<u8>), WebauthnError> {
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

/// Returns the name of an attestation type in the FIDO Metadata Service, which upstream stores.
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
