//! Proof Key for Code Exchange (RFC 7636): only the client that began a flow can exchange its code.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{Code, Error};

/// Begins hashes of one-time tokens whose link ends in a code instead of a session.
pub(crate) const PREFIX: &str = "pkce_";

/// What a client that uses PKCE sends along when a flow begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    text: String,
    method: Method,
}

/// How a challenge is derived from its verifier (RFC 7636, section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    S256,
    Plain,
}

impl Method {
    fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "s256" => Some(Self::S256),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }
}

impl Challenge {
    /// Returns the challenge of a request; `None` if the request uses no PKCE.
    ///
    /// Errors: `validation_failed` for only one of the two, an unknown method, fewer than 43 or more than 128
    /// characters, and characters that RFC 7636 does not know.
    pub(crate) fn parse(challenge: Option<&str>, method: Option<&str>) -> Result<Option<Self>, Error> {
        let (text, method) = match (challenge.unwrap_or_default(), method.unwrap_or_default()) {
            ("", "") => return Ok(None),
            (text, method) if !text.is_empty() && !method.is_empty() => (text, method),
            _ => {
                return Err(Error::validation("PKCE flow requires code_challenge_method and code_challenge"));
            }
        };
        if !(43..=128).contains(&text.len()) {
            return Err(Error::validation("code challenge has to be between 43 and 128 characters"));
        }
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'-');
        if !text.bytes().all(known) {
            return Err(Error::validation(
                "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes",
            ));
        }
        let method = Method::parse(method)
            .ok_or_else(|| Error::validation(format!("unsupported code_challenge method {method:?}")))?;
        Ok(Some(Self { text: text.to_owned(), method }))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns `s256` or `plain`.
    pub(crate) fn method(&self) -> &'static str {
        match self.method {
            Method::S256 => "s256",
            Method::Plain => "plain",
        }
    }
}

/// Checks that the stored `challenge` was derived from `verifier` by `method`.
///
/// Errors: `bad_code_verifier`.
pub(crate) fn verify(challenge: &str, method: &str, verifier: &str) -> Result<(), Error> {
    let expected = match Method::parse(method) {
        Some(Method::S256) => URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())),
        Some(Method::Plain) => verifier.to_owned(),
        None => return Err(Code::BadCodeVerifier.because("code challenge method not supported")),
    };
    if bool::from(expected.as_bytes().ct_eq(challenge.as_bytes())) {
        return Ok(());
    }
    Err(Code::BadCodeVerifier.because("code challenge does not match previously saved code verifier"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn a_verifier_matches_its_own_challenge_only() {
        assert!(verify(CHALLENGE, "s256", VERIFIER).is_ok());
        assert!(verify(VERIFIER, "plain", VERIFIER).is_ok());
        assert!(verify(CHALLENGE, "s256", CHALLENGE).is_err());
        assert!(verify(CHALLENGE, "plain", VERIFIER).is_err());
        assert!(verify("", "s256", "").is_err());
    }

    #[test]
    fn challenges_are_whole_or_absent() {
        assert_eq!(Challenge::parse(None, Some("")).unwrap(), None);
        assert_eq!(Challenge::parse(Some(CHALLENGE), Some("S256")).unwrap().unwrap().method(), "s256");
        let bad = [
            (CHALLENGE, ""),
            ("", "s256"),
            (CHALLENGE, "md5"),
            ("short", "plain"),
            ("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM=", "s256"),
        ];
        for (challenge, method) in bad {
            assert!(Challenge::parse(Some(challenge), Some(method)).is_err(), "{challenge} {method}");
        }
        assert!(Challenge::parse(Some(&"a".repeat(129)), Some("plain")).is_err());
    }
}
