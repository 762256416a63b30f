//! Cryptography of second factors and passkeys: TOTP and WebAuthn.

pub(crate) mod aaguid;
pub(crate) mod assertion;
mod ceremony;
mod cose;
pub(crate) mod credential;
pub(crate) mod totp;
pub(crate) mod webauthn;

use serde::{Deserialize, Serialize};

/// A kind of second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FactorType {
    /// One-time passwords of an app (RFC 6238).
    Totp,
    /// Codes by text message.
    Phone,
    /// A security key.
    Webauthn,
}

impl FactorType {
    /// Returns the name in requests, answers and the enum `auth.factor_type`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "phone",
            Self::Webauthn => "webauthn",
        }
    }

    /// Returns the kind with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Totp, Self::Phone, Self::Webauthn].into_iter().find(|factor_type| factor_type.name() == name)
    }

    /// Returns what claim `amr` calls an authentication with such a factor.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::Phone => "mfa/phone",
            Self::Webauthn => "mfa/webauthn",
        }
    }
}
