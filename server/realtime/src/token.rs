//! Tokens of sockets and channels.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokens::{ApiKeys, Keys, Verified, Verifier, now};

use crate::settings::RequiredClaims;

/// A token that was valid when it was checked.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// The token as text, to recognize it when the client sends it again.
    pub(crate) token: Arc<str>,
    pub(crate) verified: Arc<Verified>,
    /// Unix seconds.
    pub(crate) expires_at: i64,
}

impl Access {
    /// Returns the Postgres role that the holder acts as.
    pub(crate) fn role(&self) -> &str {
        self.verified.role().unwrap_or_default()
    }

    /// Returns the claims as JSON text.
    pub(crate) fn claims(&self) -> &str {
        &self.verified.json
    }

    /// Returns the error that the token has expired; `None` while it is valid.
    pub(crate) fn expiry(&self) -> Option<TokenError> {
        let age = now() - self.expires_at;
        (age >= 0).then_some(TokenError::Expired(age))
    }
}

/// Why a token is refused. The texts are upstream's, which clients compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// It expired so many seconds ago.
    #[error("Token has expired {0} seconds ago")]
    Expired(i64),
    /// A claim is absent.
    #[error("Fields `role` and `exp` are required in JWT")]
    MissingClaims,
    /// `exp` is no number.
    #[error("Token expiration time is invalid")]
    InvalidExpiry,
    /// It is not a JSON Web Token.
    #[error("The token provided is not a valid JWT")]
    Malformed,
    /// Its signature does not match.
    #[error("Failed to validate JWT signature")]
    Signature,
    /// No key fits its algorithm and key ID.
    #[error("Failed to generate JWT signer{}, check your JWT secret or JWKS configuration", key_id(.0))]
    Signer(Option<String>),
}

fn key_id(id: &Option<String>) -> String {
    id.as_ref().map(|id| format!(" for key ID (kid) \"{id}\"")).unwrap_or_default()
}

impl TokenError {
    /// Returns the code in the reply to a refused join.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Expired(_) | Self::MissingClaims | Self::InvalidExpiry => "InvalidJWTToken",
            Self::Malformed => "MalformedJWT",
            Self::Signature => "JwtSignatureError",
            Self::Signer(_) => "JwtSignerError",
        }
    }
}

/// The verifier of tokens and API keys.
#[derive(Clone)]
pub(crate) struct Tokens {
    keys: Keys,
    verifier: Verifier,
    required_claims: Arc<RequiredClaims>,
}

impl Tokens {
    pub(crate) fn new(keys: Keys, verifier: Verifier, required_claims: RequiredClaims) -> Self {
        // Upstream looks at `exp` alone.
        Self { keys, verifier: verifier.ignoring_beginning(), required_claims: Arc::new(required_claims) }
    }

    /// Checks an API key: a token, or an opaque key, for which the token of its role stands.
    pub(crate) fn check_key(&self, key: &str) -> Result<Access, TokenError> {
        if !ApiKeys::is_opaque(key) {
            return self.check(key);
        }
        let keys = self.keys.api_keys();
        let token = keys.identify(key).and_then(|kind| keys.token_for(kind));
        self.check(token.ok_or(TokenError::Malformed)?)
    }

    /// Checks a token.
    pub(crate) fn check(&self, token: &str) -> Result<Access, TokenError> {
        let token = tidy(token);
        let verified = self.verifier.verify(&token).map_err(|error| refusal(&error, &token))?;
        let expires_at = match (verified.claims.get("exp"), verified.claims.get("role")) {
            (Some(_), Some(_)) => expiry(&verified.claims).ok_or(TokenError::InvalidExpiry)?,
            _ => return Err(TokenError::MissingClaims),
        };
        let has = |(name, value): (&String, &Value)| verified.claims.get(name) == Some(value);
        if !self.required_claims.0.iter().all(has) {
            return Err(TokenError::Malformed);
        }
        let access = Access { token: token.into(), verified, expires_at };
        access.expiry().map_or(Ok(access), Err)
    }
}

/// Removes white space and percent-escapes from `token`.
fn tidy(token: &str) -> String {
    let decoded = percent_decode_str(token).decode_utf8_lossy();
    decoded.chars().filter(|character| !character.is_whitespace()).collect()
}

fn refusal(error: &tokens::Error, token: &str) -> TokenError {
    use tokens::Error;
    match error {
        Error::Signature => TokenError::Signature,
        Error::UnsupportedAlgorithm(_) | Error::NoSuitableKey => TokenError::Signer(
            part(token, 0).and_then(|header| header.get("kid").and_then(Value::as_str).map(str::to_owned)),
        ),
        Error::Expired => {
            let expired = part(token, 1).and_then(|claims| expiry(claims.as_object()?));
            TokenError::Expired(expired.map_or(0, |expired| now() - expired))
        }
        Error::ClaimType("exp") => TokenError::InvalidExpiry,
        _ => TokenError::Malformed,
    }
}

/// Decodes a part of a token without checking the signature.
fn part(token: &str, index: usize) -> Option<Value> {
    let part = token.split('.').nth(index)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

fn expiry(claims: &serde_json::Map<String, Value>) -> Option<i64> {
    let exp = claims.get("exp")?;
    exp.as_i64().or_else(|| exp.as_f64().map(|seconds| seconds.round() as i64))
}
