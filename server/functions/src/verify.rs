//! Checks the token of a call to a function that needs one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gateway::Bearer;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokens::Verifier;

use crate::Error;

/// Checks that `Authorization` has a token that one of the project's keys signed. An API key is not a token: one in
/// `apikey` is ignored, and an opaque one in `Authorization` is refused, as on the hosted platform.
///
/// Source: Supabase's guide "Authorization headers" of edge functions.
///
/// Errors: [`Error::NoAuthorization`], [`Error::TokenFormat`], [`Error::LegacyToken`], [`Error::AsymmetricToken`] or
/// [`Error::TokenAlgorithm`], as on the hosted platform.
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
        // The name comes from an untrusted token and becomes part of a response, so it is truncated.
        _ => Error::TokenAlgorithm(algorithm.chars().take(32).collect()),
    })
}

/// Returns the algorithm in the head of `token`; `None` if `token` has no such head.
fn algorithm(token: &str) -> Option<String> {
    let (head, _) = token.split_once('.')?;
    let head = BASE64_URL_SAFE_NO_PAD.decode(head).ok()?;
    let head: serde_json::Value = serde_json::from_slice(&head).ok()?;
    Some(head.get("alg")?.as_str()?.to_owned())
}
