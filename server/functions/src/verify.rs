//! Checks whether a caller's token opens a function that needs one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gateway::Bearer;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokens::Verifier;

use crate::Error;

/// Lets a caller pass whose `Authorization` has a token that one of the project's keys signed. A key is no token:
/// neither one in `apikey` nor an opaque one in `Authorization` opens anything, as on the hosted platform.
///
/// Source: Supabase's guide "Authorization headers" of edge functions.
///
/// Errors: the hosted platform's five ways to say no.
pub(crate) fn verify(headers: &HeaderMap, verifier: &Verifier) -> Result<(), Error> {
    if !headers.contains_key(AUTHORIZATION) {
        return Err(Error::NoAuthorization);
    }
    let bearer = Bearer::of(headers).ok_or(Error::TokenFormat)?;
    let algorithm = algorithm(&bearer).ok_or(Error::TokenFormat)?;
    if verifier.verify(&bearer).is_ok() {
        return Ok(());
    }
    Err(match algorithm.as_str() {
        "HS256" => Error::LegacyToken,
        "ES256" | "RS256" | "EdDSA" => Error::AsymmetricToken,
        // Comes from an untrusted token and goes into an answer: keep it short.
        _ => Error::TokenAlgorithm(algorithm.chars().take(32).collect()),
    })
}

/// Returns the algorithm that the head of a token names; `None` if there is no such head.
fn algorithm(token: &str) -> Option<String> {
    let (head, _) = token.split_once('.')?;
    let head = BASE64_URL_SAFE_NO_PAD.decode(head).ok()?;
    let head: serde_json::Value = serde_json::from_slice(&head).ok()?;
    Some(head.get("alg")?.as_str()?.to_owned())
}
