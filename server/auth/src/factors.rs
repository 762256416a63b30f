//! Cryptography of second factors and passkeys: TOTP, WebAuthn and recovery codes.

pub(crate) mod aaguid;
pub(crate) mod assertion;
mod ceremony;
mod cose;
pub(crate) mod credential;
pub(crate) mod recovery_code;
pub(crate) mod totp;
pub(crate) mod webauthn;

use serde::{Deserialize, Serialize};

::settings::words! {
    /// A kind of second factor that is challenged, by its name in requests, responses and the enum `auth.factor_type`.
    /// There is one more, recovery codes ([`recovery_code`]), which are shown without a challenge.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum FactorType {
        /// One-time passwords of an app (RFC 6238).
        Totp = "totp",
        /// Codes by text message.
        Phone = "phone",
        /// A security key.
        Webauthn = "webauthn",
    }
}

impl FactorType {
    /// Returns what claim `amr` calls an authentication with such a factor.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "mfa/phone",
            Self::Webauthn => "mfa/webauthn",
        }
    }
}
