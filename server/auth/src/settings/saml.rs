//! SAML single sign-on.

use std::time::Duration;

use ::settings::{Invalid, Reader, Secret};

::settings::settings! {
    /// SAML single sign-on.
    #[derive(Debug, Clone)]
    pub struct SamlSettings {
        /// Whether users may sign in with SAML.
        #[setting(variables = ["GOTRUE_SAML_ENABLED"])]
        pub enabled: bool = false,
        /// The RSA key of this service: PKCS#1 DER in base64.
        #[setting(variables = ["GOTRUE_SAML_PRIVATE_KEY"])]
        pub private_key: Secret = Secret::default(),
        /// The key that will replace it. The metadata already contains it.
        #[setting(variables = ["GOTRUE_SAML_PRIVATE_KEY_NEXT"])]
        pub private_key_next: Secret = Secret::default(),
        /// The URL of this service in its metadata. The default is the external URL.
        #[setting(variables = ["GOTRUE_SAML_EXTERNAL_URL"])]
        pub external_url: Option<String> = None,
        /// Whether encrypted assertions are accepted.
        #[setting(variables = ["GOTRUE_SAML_ALLOW_ENCRYPTED_ASSERTIONS"])]
        pub allow_encrypted_assertions: bool = false,
        /// How long a sign-in may take at the identity provider.
        #[setting(variables = ["GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD"])]
        pub relay_state_validity: Duration = Duration::from_secs(120),
        /// Whether metadata may be fetched from private addresses and without TLS. Off by default, because otherwise an
        /// administrator's token would give access to the server's internal network. Upstream has no such setting.
        #[setting(variables = ["GOTRUE_SAML_ALLOW_PRIVATE_ADDRESSES"])]
        pub private_addresses: bool = false,
    }
}

impl SamlSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let settings: Self = reader.read()?;
        if settings.enabled && settings.private_key.is_empty() {
            let expected = "an RSA key of at least 2048 bits (PKCS#1 DER in base64) where SAML is enabled";
            return Err(Invalid::new("GOTRUE_SAML_PRIVATE_KEY", expected, &"none"));
        }
        Ok(settings)
    }
}
