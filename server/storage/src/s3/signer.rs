//! The signer of a request: the holder of the project's access key, or a user with a session token.

use gateway::PublicAddress;
use poem::Request;
use s3s::{S3Error, S3ErrorCode};

use super::sigv4::{Claim, Credential, SignedRequest, SigningKey, denied};
use crate::access_keys::AccessKeys;
use crate::caller::{Caller, Identity};
use crate::context::Context;
use crate::signature::refusal;

/// Regions that every client may sign for, besides the configured one. Source: upstream.
const REGIONS: [&str; 3] = ["us-east-1", "auto", ""];

/// Returns the caller of `request`, and the key that has signed it.
///
/// Errors: `AccessDenied` for an unknown access key or a session token that is not valid, `SignatureDoesNotMatch`.
pub(super) fn authenticate(
    context: &Context,
    request: &Request,
    claim: &Claim,
    query: &[(String, String)],
) -> Result<(Caller, SigningKey), S3Error> {
    let token = claim.session_token.as_deref();
    let key = signing_key(context, &claim.credential, token)?;
    let signed = SignedRequest { method: request.method(), headers: request.headers(), query };
    // Exactly one address, and nothing that the caller adds is a part of its path: otherwise a presigned URL would be
    // good for every object to whose path a caller can add what the signature is over.
    let address = PublicAddress::of(request);
    if !claim.holds(&key, &signed, &address.host, &format!("{}{}", address.prefix, path(request))) {
        return Err(mismatch(token.is_some()));
    }
    Ok((caller(context, request, token)?, key))
}

/// Returns the key that belongs to `credential`. With a session token it is the project's reference with the anon key
/// as its secret, which is no secret: the token decides.
///
/// Errors: `AccessDenied`, `SignatureDoesNotMatch` for a region that is not served.
pub(super) fn signing_key(
    context: &Context,
    credential: &Credential,
    session_token: Option<&str>,
) -> Result<SigningKey, S3Error> {
    let keys: &AccessKeys = &context.access_keys;
    let (access_key, secret) = match session_token {
        Some(_) => (&*keys.project, context.keys.api_keys().anon()),
        None => (&*keys.id, keys.secret.expose()),
    };
    if credential.access_key != access_key {
        return Err(denied("Invalid Access Key"));
    }
    if credential.service != "s3" {
        return Err(denied("Invalid Service"));
    }
    if credential.region != keys.region && !REGIONS.contains(&&*credential.region) {
        let message = format!("The region '{}' is wrong; expecting '{}'", credential.region, keys.region);
        return Err(S3Error::with_message(S3ErrorCode::SignatureDoesNotMatch, message));
    }
    Ok(credential.signing_key(secret))
}

/// Returns the caller that has signed: the service itself, or the user of the session token.
///
/// Errors: `AccessDenied` for a token that is not valid.
pub(super) fn caller(context: &Context, request: &Request, token: Option<&str>) -> Result<Caller, S3Error> {
    let Some(token) = token else { return Ok(Caller::new(request, "", Identity::Service)) };
    let verified = context.verifier.verify(token).map_err(|error| denied(refusal(&error)))?;
    Ok(Caller::new(request, token, Identity::Verified(verified)))
}

/// Returns upstream's refusal of a signature that is not that of the request.
pub(super) fn mismatch(has_session_token: bool) -> S3Error {
    let hint = match has_session_token {
        true => "Check your credentials. The session token should be a valid JWT token",
        false => "Check your key and signing method.",
    };
    let message = "The request signature we calculated does not match the signature you provided.";
    S3Error::with_message(S3ErrorCode::SignatureDoesNotMatch, format!("{message} {hint}"))
}

/// Returns the path that was received, as the client encoded it.
fn path(request: &Request) -> &str {
    let (path, own_path) = (request.original_uri().path(), request.uri().path());
    // Without a router in front, the service's own path is the only one.
    if path.ends_with(own_path) { path } else { own_path }
}
