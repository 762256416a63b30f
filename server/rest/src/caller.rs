//! The caller: the role that a request's transaction runs as, and the claims that it sees.

use gateway::number_of;
use serde_json::Value;
use tokens::Verifier;

use crate::error::{Error, JwtError};
use crate::settings::Settings;

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The role of its transaction.
    pub(crate) role: String,
    /// `request.jwt.claims`: the token's payload with the role as `role`, or only the role of an anonymous caller.
    pub(crate) claims: String,
    /// Whether it is more than the anonymous role.
    pub(crate) is_authenticated: bool,
    /// The author of its writes: the same number on all nodes and in all sessions of a user (claim `sub`), or for all
    /// callers of a role if tokens name no user. Two authors may have the same number.
    pub(crate) author: u64,
}

impl Identity {
    /// Returns the caller whose token is `bearer`, once that is verified; without one it is the anonymous role.
    ///
    /// Errors: `PGRST300` for a token where there is no key to verify it with, `PGRST301` and `PGRST303` for a token
    /// that is refused, `PGRST302` when there is neither a token that names a role nor an anonymous role.
    pub(crate) fn new(
        bearer: Option<&str>,
        verifier: Option<&Verifier>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let anonymous = settings.db_anon_role.as_deref();
        let Some(bearer) = bearer else {
            let role = anonymous.ok_or(Error::Jwt(JwtError::Required))?;
            let claims = format!("{{\"role\":{}}}", Value::from(role));
            return Ok(Self {
                role: role.to_owned(),
                claims,
                is_authenticated: false,
                author: number_of(role),
            });
        };
        let verifier = verifier.ok_or(Error::Jwt(JwtError::NoKey))?;
        let verified = verifier.verify(bearer).map_err(|error| jwt_error(&error))?;
        let role = match settings.jwt_role_claim_key.find(&verified.claims).as_deref() {
            Some(Value::String(role)) => role.clone(),
            // No role has such a name, which will be Postgres' error.
            Some(other) => other.to_string(),
            None => anonymous.ok_or(Error::Jwt(JwtError::Required))?.to_owned(),
        };
        let claims = if verified.role() == Some(&*role) {
            verified.json.to_string()
        } else {
            let mut claims = verified.claims.clone();
            claims.insert("role".to_owned(), role.as_str().into());
            Value::Object(claims).to_string()
        };
        let is_authenticated = Some(role.as_str()) != anonymous;
        let author = number_of(verified.claims.get("sub").and_then(Value::as_str).unwrap_or(&role));
        Ok(Self { role, claims, is_authenticated, author })
    }
}

/// Returns the error for a token that was refused.
fn jwt_error(error: &tokens::Error) -> Error {
    let message = error.to_string();
    Error::Jwt(if error.is_about_claims() {
        JwtError::Claims(message)
    } else {
        JwtError::Undecodable { message, details: error.details() }
    })
}
