//! Whether a caller's token opens a function that asks for one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gateway::Caller;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokens::Verifier;

use crate::Error;

/// Lets a caller pass whose token one of the project's keys signed. The token is the gateway's: that of
/// `Authorization`, or the one that the API key stands for.
///
/// Errors: the hosted platform's five ways to say no.
pub(crate) fn verify(headers: &HeaderMap, caller: &Caller, verifier: &Verifier) -> Result<(), Error> {
    let Some(bearer) = &caller.bearer else {
        let is_absent = !headers.contains_key(AUTHORIZATION);
        return Err(if is_absent { Error::NoAuthorization } else { Error::TokenFormat });
    };
    let algorithm = algorithm(bearer).ok_or(Error::TokenFormat)?;
    if verifier.verify(bearer).is_ok() {
        return Ok(());
    }
    Err(match algorithm.as_str() {
        "HS256" => Error::LegacyToken,
        "ES256" | "RS256" | "EdDSA" => Error::AsymmetricToken,
        // Comes from an untrusted token and goes into an answer: keep it short.
        _ => Error::TokenAlgorithm(algorithm.chars().take(32).collect()),
    })
}

/// What the head of a token says that it is signed with; `None` if there is no such head.
fn algorithm(token: &str) -> Option<String> {
    let (head, _) = token.split_once('.')?;
    let head = BASE64_URL_SAFE_NO_PAD.decode(head).ok()?;
    let head: serde_json::Value = serde_json::from_slice(&head).ok()?;
    Some(head.get("alg")?.as_str()?.to_owned())
}
