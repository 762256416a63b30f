//! Errors of tokens and keys.

use std::path::PathBuf;

/// Why a token was refused. The texts are those that PostgREST's clients compare with (`docs/references/errors.rst` of
/// PostgREST, codes PGRST301 and PGRST303).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The credential is present but contains no token.
    #[error("Empty JWT is sent in Authorization header")]
    Empty,
    /// A signed token has three dot-separated parts (RFC 7515, section 7.1); this one has as many as stated.
    #[error("Expected 3 parts in JWT; got {0}")]
    Parts(usize),
    /// The named part is not base64url-encoded JSON of the right shape.
    #[error("JWT cryptographic operation failed")]
    Malformed(&'static str),
    /// `alg` is `none`, unknown, or missing. Holds the name in the token.
    #[error("Wrong or unsupported encoding algorithm")]
    UnsupportedAlgorithm(String),
    /// No key fits both the token's `kid` and its `alg`, such as a key of one type with an algorithm of another (RFC
    /// 8725, section 3.1).
    #[error("No suitable key or wrong key type")]
    NoSuitableKey,
    /// The signature was not made with one of the project's keys.
    #[error("No suitable key or wrong key type")]
    Signature,
    /// The payload is not a JSON object.
    #[error("Parsing claims failed")]
    Claims,
    /// `exp` is in the past by more than the leeway.
    #[error("JWT expired")]
    Expired,
    /// `nbf` is in the future by more than the leeway.
    #[error("JWT not yet valid")]
    NotYetValid,
    /// `iat` is in the future by more than the leeway.
    #[error("JWT issued at future")]
    IssuedInFuture,
    /// `aud` contains only other audiences.
    #[error("JWT not in audience")]
    Audience,
    /// The named claim has a type that RFC 7519, section 4.1 does not allow.
    #[error("The JWT '{0}' claim must be {kind}", kind = claim_kind(.0))]
    ClaimType(&'static str),
}

impl Error {
    /// Returns whether the token itself is genuine and only its claims are the reason of the refusal (PostgREST's
    /// PGRST303, in contrast to PGRST301 for tokens that cannot be trusted at all).
    pub fn is_about_claims(&self) -> bool {
        matches!(
            self,
            Self::Claims
                | Self::Expired
                | Self::NotYetValid
                | Self::IssuedInFuture
                | Self::Audience
                | Self::ClaimType(_)
        )
    }

    /// Returns the details of the error, without keys and signatures.
    pub fn details(&self) -> Option<String> {
        match self {
            Self::UnsupportedAlgorithm(name) if name.eq_ignore_ascii_case("none") => {
                Some("JWT is unsecured but expected 'alg' was not 'none'".to_owned())
            }
            Self::UnsupportedAlgorithm(name) => {
                Some(format!("JWT is signed with unsupported algorithm '{name}'"))
            }
            Self::NoSuitableKey => Some("No suitable key was found to decode the JWT".to_owned()),
            Self::Signature => Some("None of the keys was able to decode the JWT".to_owned()),
            _ => None,
        }
    }
}

fn claim_kind(claim: &str) -> &'static str {
    if claim == "aud" { "a string or an array of strings" } else { "a number" }
}

/// Why the keys could not be loaded or used. Never holds key material.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key file could not be read, written or made private.
    #[error(
        "cannot use the key file {path}: {source}; it must be readable and writable by the server's user"
    )]
    File {
        /// The file concerned.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The key file exists but its content is not that of a key file.
    #[error(
        "the key file {path} is damaged: {reason}; restore it from a backup, or move it away to start with new keys \
         (which ends every session and changes the API keys)"
    )]
    Damaged {
        /// The file concerned.
        path: PathBuf,
        /// What was expected there.
        reason: String,
    },
    /// A setting contains a key that cannot be used.
    #[error("{setting}: {reason}")]
    Setting {
        /// The setting's name in its documentation.
        setting: &'static str,
        /// What was expected and what was found.
        reason: String,
    },
    /// The claims could not be converted to JSON, or the key could not sign.
    #[error("cannot sign a token: {0}")]
    Sign(String),
}

impl KeyError {
    pub(crate) fn setting(setting: &'static str, reason: impl Into<String>) -> Self {
        Self::Setting { setting, reason: reason.into() }
    }
}
