//! A verified token: its claims, and the checks of its times.

use std::fmt;

use serde_json::{Map, Value};

use crate::Error;

/// Seconds by which clocks may differ (PostgREST's `jwt` checks allow the same).
const LEEWAY: i64 = 30;

/// A token with a valid signature.
pub struct Verified {
    /// The payload.
    pub claims: Map<String, Value>,
    /// The payload as compact JSON text, ready for the setting `request.jwt.claims`.
    pub json: Box<str>,
    expires: Option<i64>,
    not_before: Option<i64>,
    issued_at: Option<i64>,
    audience: Vec<Box<str>>,
}

impl Verified {
    /// Parses the payload of a token.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, Error> {
        let claims: Map<String, Value> = serde_json::from_slice(payload).map_err(|_| Error::Claims)?;
        let json = serde_json::to_string(&claims).map_err(|_| Error::Claims)?.into_boxed_str();
        Ok(Self {
            expires: time(&claims, "exp")?,
            not_before: time(&claims, "nbf")?,
            issued_at: time(&claims, "iat")?,
            audience: audience(&claims)?,
            claims,
            json,
        })
    }

    /// Checks whether the token is valid at `now` (Unix seconds) for a service with the audience `expected`. A service
    /// without an audience accepts every audience, and a token whose `aud` is an empty array is for every service. With
    /// `ignores_beginning`, `nbf` and `iat` are ignored.
    pub(crate) fn check(
        &self,
        now: i64,
        expected: Option<&str>,
        ignores_beginning: bool,
    ) -> Result<(), Error> {
        if self.expires.is_some_and(|expires| now.saturating_sub(LEEWAY) > expires) {
            return Err(Error::Expired);
        }
        let horizon = now.saturating_add(LEEWAY);
        let begins_later = |time: Option<i64>| !ignores_beginning && time.is_some_and(|time| horizon < time);
        if begins_later(self.not_before) {
            return Err(Error::NotYetValid);
        }
        if begins_later(self.issued_at) {
            return Err(Error::IssuedInFuture);
        }
        match expected {
            Some(name) if !self.audience.is_empty() && self.audience.iter().all(|aud| **aud != *name) => {
                Err(Error::Audience)
            }
            _ => Ok(()),
        }
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.claims.get(claim).and_then(Value::as_str)
    }

    /// Returns the claim `iss`, the issuer.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.text("iss")
    }

    /// Returns the claim `role`, the Postgres role that the caller acts as.
    pub fn role(&self) -> Option<&str> {
        self.text("role")
    }

    /// Returns the claim `sub`, the user's id.
    pub fn subject(&self) -> Option<&str> {
        self.text("sub")
    }

    /// Returns the claim `session_id`, the session that the token was issued for.
    pub fn session_id(&self) -> Option<&str> {
        self.text("session_id")
    }

    /// Returns the claim `exp` in Unix seconds.
    pub fn expires_at(&self) -> Option<i64> {
        self.expires
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The other claims contain addresses and names of people.
        f.debug_struct("Verified")
            .field("role", &self.role())
            .field("sub", &self.subject())
            .finish_non_exhaustive()
    }
}

/// Returns a NumericDate (RFC 7519, section 2) without its fraction. An explicit null counts as absent.
fn time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<i64>, Error> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64));
            seconds.map(Some).ok_or(Error::ClaimType(name))
        }
    }
}

fn audience(claims: &Map<String, Value>) -> Result<Vec<Box<str>>, Error> {
    let wrong = Error::ClaimType("aud");
    match claims.get("aud") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(name)) => Ok(vec![name.as_str().into()]),
        Some(Value::Array(names)) => {
            names.iter().map(|name| name.as_str().map(Box::from).ok_or(wrong.clone())).collect()
        }
        Some(_) => Err(wrong),
    }
}
