//! Who may manage the server: holders of access tokens.

mod failures;
mod scopes;

use std::net::IpAddr;

use data_encoding::HEXLOWER;
use gateway::{Bearer, Caller};
use http::StatusCode;
use poem::Request;
use postgres::Database;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use scopes::Scope;

pub(crate) use failures::Failures;
pub(crate) use scopes::{parse as parse_scopes, words as scope_words};

use crate::Error;
use crate::store::tokens::{self, AccessToken};

/// The beginning of an access token, and the number of hexadecimal digits behind it. Source: the Supabase CLI, which
/// accepts no other form.
const PREFIX: &str = "sbp_";
const DIGITS: usize = 40;
/// What follows the beginning of a token that was granted to an agent.
const GRANTED: &str = "oauth_";
/// The number of characters by which the owner of a token recognizes it.
const HINT: usize = 10;

/// Somebody who manages the server, with a token that is valid.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    token: AccessToken,
    address: IpAddr,
}

impl Operator {
    /// Returns the operator who has sent `request`.
    ///
    /// Errors: 401 without a token that is valid, 429 if the address has sent too many of those.
    pub(crate) async fn of(
        request: &Request,
        database: &Database,
        failures: &Failures,
    ) -> Result<Self, Error> {
        let address = request.extensions().get::<Caller>().map(|caller| caller.address);
        let presented = Bearer::of(request.headers());
        Self::with_token(presented.as_deref().unwrap_or_default(), address, database, failures).await
    }

    /// Returns the operator who has sent `token` from `address`.
    ///
    /// Errors: those of [`Self::of`].
    pub(crate) async fn with_token(
        token: &str,
        address: Option<IpAddr>,
        database: &Database,
        failures: &Failures,
    ) -> Result<Self, Error> {
        let address = address.unwrap_or(IpAddr::from([0, 0, 0, 0]));
        let hash = Some(token).filter(|token| is_token(token)).map(hash);
        let found = match &hash {
            Some(hash) => tokens::find(database, hash).await?,
            None => None,
        };
        let Some(token) = found else {
            // Whoever has a token that is valid is not held up by others of the same network.
            return Err(match failures.are_too_many(address) {
                true => Error::Refused(StatusCode::TOO_MANY_REQUESTS, "Rate limit exceeded".into()),
                false => Error::unauthorized(),
            });
        };
        Ok(Self { token, address })
    }

    /// Reports whether the token has `scope`.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        let scopes = self.token.scopes.as_ref();
        scopes.is_none_or(|scopes| scopes.iter().any(|known| known == scope.name()))
    }

    /// Checks that the token has `scope`. Errors: 403.
    pub(crate) fn check(&self, scope: Scope) -> Result<(), Error> {
        if self.has(scope) {
            return Ok(());
        }
        let message = format!("Forbidden: the access token lacks the scope {}", scope.name());
        Err(Error::Refused(StatusCode::FORBIDDEN, message.into()))
    }

    /// Reports whether the token was granted to an agent.
    pub(crate) const fn is_granted(&self) -> bool {
        self.token.is_granted
    }

    /// Returns the names of the scopes that an agent gets from this operator: those that read, or all; `None` for
    /// everything.
    pub(crate) fn scopes_for_agent(&self, only_reads: bool) -> Option<Vec<String>> {
        if !only_reads {
            return self.token.scopes.clone();
        }
        let reads = parse_scopes(&["read-only".to_owned()]).unwrap_or_default();
        let granted = reads.into_iter().filter(|scope| self.has(*scope));
        Some(granted.map(|scope| scope.name().to_owned()).collect())
    }

    /// Returns the address from which the request was sent.
    pub(crate) const fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the token's id.
    pub(crate) const fn id(&self) -> uuid::Uuid {
        self.token.id
    }

    /// Returns the token's name.
    pub(crate) fn name(&self) -> &str {
        &self.token.name
    }

    /// Appends a line about what this operator has done to the audit log of the project `project`.
    pub(crate) async fn audit(
        &self,
        database: &Database,
        project: &str,
        action: &str,
        detail: Value,
    ) -> Result<(), Error> {
        let address = self.address.to_string();
        tracing::info!(target: "audit", name = self.name(), address, action, %detail, "managed");
        let who = (self.token.id, self.name());
        tokens::audit(database, who, &address, project, action, &detail).await
    }
}

/// Reports whether `token` has the form of an access token.
fn is_token(token: &str) -> bool {
    let digits = token.strip_prefix(PREFIX).unwrap_or_default();
    let digits = digits.strip_prefix(GRANTED).unwrap_or(digits);
    digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns what is kept of a token. It has 160 random bits, so that its hash needs no salt and no work factor. Tokens
/// are looked up by their hashes: the time of that says nothing about a token.
fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Returns a new token, its hash, and the characters by which its owner recognizes it.
pub(crate) fn new_token() -> (String, [u8; 32], String) {
    token_after("")
}

/// Returns the same for an agent.
pub(crate) fn new_granted_token() -> (String, [u8; 32], String) {
    token_after(GRANTED)
}

fn token_after(kind: &str) -> (String, [u8; 32], String) {
    let random: [u8; DIGITS / 2] = rand::random();
    let token = format!("{PREFIX}{kind}{}", HEXLOWER.encode(&random));
    let (hash, hint) = (hash(&token), token[..HINT + kind.len()].to_owned());
    (token, hash, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_has_the_form_that_tools_expect() {
        let (token, kept, hint) = new_token();
        assert!(is_token(&token) && token.starts_with(&hint));
        assert_eq!(hash(&token), kept);
        for wrong in
            ["", "sbp_", "sbp_0102030405060708091011121314151617181XYZ", &token[1..], &format!("{token}0")]
        {
            assert!(!is_token(wrong), "{wrong}");
        }
    }
}
