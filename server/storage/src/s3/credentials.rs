//! The signer of a request: the holder of the project's access key, or a user with a session token.

use poem::Request;
use poem::http::header::HOST;
use s3s::{S3Error, S3ErrorCode};

use super::signature::{Claim, Credential, SignedRequest, SigningKey, denied};
use crate::caller::{Caller, Identity};
use crate::signature::refusal;
use crate::{AccessKeys, Storage};

/// Regions that every client may sign for, besides the configured one. Source: upstream.
const REGIONS: [&str; 3] = ["us-east-1", "auto", ""];

/// Returns the caller of `request`, and the key that has signed it.
///
/// Errors: `AccessDenied` for an unknown access key or a session token that is not valid, `SignatureDoesNotMatch`.
pub(super) fn authenticate(
    storage: &Storage,
    request: &Request,
    claim: &Claim,
    query: &[(String, String)],
) -> Result<(Caller, SigningKey), S3Error> {
    let token = claim.session_token.as_deref();
    let key = signing_key(storage, &claim.credential, token)?;
    let signed = SignedRequest { method: request.method(), headers: request.headers(), query };
    let addresses = addresses(request);
    if !addresses.iter().any(|(host, path)| claim.holds(&key, &signed, host, path)) {
        return Err(mismatch(token.is_some()));
    }
    Ok((caller(storage, request, token)?, key))
}

/// Returns the key that belongs to `credential`. With a session token it is the project's reference with the anon key as
/// its secret, which is no secret: the token decides.
///
/// Errors: `AccessDenied`, `SignatureDoesNotMatch` for a region that is not served.
pub(super) fn signing_key(
    storage: &Storage,
    credential: &Credential,
    session_token: Option<&str>,
) -> Result<SigningKey, S3Error> {
    let keys: &AccessKeys = storage.access_keys();
    let (access_key, secret) = match session_token {
        Some(_) => (&*keys.project, storage.keys().api_keys().anon()),
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
pub(super) fn caller(storage: &Storage, request: &Request, token: Option<&str>) -> Result<Caller, S3Error> {
    let Some(token) = token else { return Ok(Caller::new(request, "", Identity::Service)) };
    let verified = storage.verifier().verify(token).map_err(|error| denied(refusal(&error)))?;
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

/// Returns the hosts and paths that the client may have sent the request to: as it was received here, and as the
/// proxies in front have received it according to their headers.
fn addresses(request: &Request) -> Vec<(String, String)> {
    let noted = |name| request.header(name).and_then(|value: &str| value.split(',').next()).map(str::trim);
    let own =
        request.header(HOST).or_else(|| request.uri().authority().map(poem::http::uri::Authority::as_str));
    let mut hosts = vec![own.unwrap_or_default().to_owned()];
    if let Some(host) = noted("x-forwarded-host") {
        hosts.push(host.to_ascii_lowercase());
        if let Some(port) = noted("x-forwarded-port") {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            hosts.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
    }
    let (path, own_path) = (request.original_uri().path(), request.uri().path());
    // Without a router in front, the service's own path is the only one.
    let path = if path.ends_with(own_path) { path } else { own_path };
    let mut paths = vec![path.to_owned()];
    if let Some(prefix) = noted("x-forwarded-prefix") {
        paths.push(format!("{}{path}", prefix.trim_end_matches('/')));
        // For a proxy that reports the prefix that it has removed, if that includes this service's mount point.
        paths.push(format!("{}{own_path}", prefix.trim_end_matches('/')));
    }
    hosts.iter().flat_map(|host| paths.iter().map(|path| (host.clone(), path.clone()))).collect()
}
