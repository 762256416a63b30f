use std::time::Duration;

use super::Secret;

/// SAML single sign-on.
#[derive(Debug, Clone)]
pub struct SamlSettings {
    /// Whether there is any (`SAML_ENABLED`). Default false.
    pub enabled: bool,
    /// The service provider's RSA key, PKCS#1 DER in base64 (`SAML_PRIVATE_KEY`). Default none: empty.
    pub private_key: Secret,
    /// The key that will replace it, published in advance (`SAML_PRIVATE_KEY_NEXT`). Default none: empty.
    pub private_key_next: Secret,
    /// URL of this service in metadata (`SAML_EXTERNAL_URL`). Default none: the external URL.
    pub external_url: Option<String>,
    /// Takes encrypted assertions (`SAML_ALLOW_ENCRYPTED_ASSERTIONS`). Default false.
    pub allow_encrypted_assertions: bool,
    /// How long a sign-in may take at the identity provider (`SAML_RELAY_STATE_VALIDITY_PERIOD`).
    /// Default two minutes.
    pub relay_state_validity: Duration,
    /// Lets metadata be fetched from private networks, and without TLS (`SAML_ALLOW_PRIVATE_ADDRESSES`, which upstream
    /// does not have). Default false: an administrator's token must not open the network that this server stands in.
    pub private_addresses: bool,
}

impl Default for SamlSettings {
    fn default() -> SamlSettings {
        SamlSettings {
            enabled: false,
            private_key: Secret::default(),
            private_key_next: Secret::default(),
            external_url: None,
            allow_encrypted_assertions: false,
            relay_state_validity: Duration::from_secs(120),
            private_addresses: false,
        }
    }
}
