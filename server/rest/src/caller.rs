//! Who calls: the role that a request's transaction runs as, and the claims that it sees.

use poem::http::{HeaderMap, header};
use serde_json::Value;
use tokens::Verifier;

use crate::error::{Error, JwtError};
use crate::settings::Settings;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The role of its transaction.
    pub role: String,
    /// `request.jwt.claims`: the token's payload, or only the role of an anonymous caller.
    pub claims: String,
    /// Whether it is more than the anonymous role.
    pub is_authenticated: bool,
}

impl Identity {
    /// Verifies `bearer`; without one the caller is the anonymous role.
    ///
    /// Errors: `PGRST300` for a token that nothing is there to verify with, `PGRST301` and `PGRST303` for a token that is refused, `PGRST302` when there is neither a token
    /// that names a role nor an anonymous role.
    pub fn new(
        bearer: Option<&str>,
        verifier: Option<&Verifier>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let anonymous = settings.db_anon_role.as_deref();
        let Some(bearer) = bearer else {
            let role = anonymous.ok_or(Error::Jwt(JwtError::Required))?;
            let claims = format!("{{\"role\":{}}}", Value::from(role));
            return Ok(Self { role: role.to_owned(), claims, is_authenticated: false });
        };
        let verifier = verifier.ok_or(Error::Jwt(JwtError::NoKey))?;
        let verified = verifier.verify(bearer).map_err(|error| refused(&error))?;
        let (role, claims) = match settings.jwt_role_claim_key.find(&verified.claims) {
            Some(Value::String(role)) => (role.clone(), verified.json.to_string()),
            // Whatever else it is, no role is called so, which Postgres will say.
            Some(other) => (other.to_string(), verified.json.to_string()),
            None => {
                let role = anonymous.ok_or(Error::Jwt(JwtError::Required))?;
                let mut claims = verified.claims.clone();
                claims.insert("role".to_owned(), role.into());
                (role.to_owned(), Value::Object(claims).to_string())
            }
        };
        let is_authenticated = Some(role.as_str()) != anonymous;
        Ok(Self { role, claims, is_authenticated })
    }
}

fn refused(error: &tokens::Error) -> Error {
    let message = error.to_string();
    Error::Jwt(if error.is_about_claims() {
        JwtError::Claims(message)
    } else {
        JwtError::Undecodable { message, details: error.details() }
    })
}

/// The token of an `Authorization: Bearer` header, for requests that did not come through the gateway. The scheme's
/// case does not matter (RFC 9110, section 11.1).
pub(crate) fn bearer_of(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearers_are_read_from_the_header() {
        let header = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, header::HeaderValue::from_static(value));
            bearer_of(&headers).map(str::to_owned)
        };
        assert_eq!(header("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(header("bearer  abc "), Some("abc".to_owned()));
        assert_eq!(header("Bearer"), Some(String::new()));
        assert_eq!(header("Basic abc"), None);
    }
}
