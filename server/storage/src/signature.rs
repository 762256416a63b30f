//! Tokens of signed URLs. Their form is upstream's, so that a token of either service is valid at the other, if both
//! have the same secret.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use tokens::{Keys, Verified};

use crate::error::Error;
use crate::version_id::VersionId;

/// The longest life of a token in seconds: JavaScript's dates end there, and upstream refuses more.
const MAX_LIFE: u64 = 100_000_000 * 86_400;

/// What a token of a signed URL allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// To read an object.
    Download,
    /// To write an object.
    Upload,
}

/// Returns the token that lets its holder read `object` (`bucket/key`) for `life` seconds: the version that is current
/// then, unless one is named. `transform` is how an image is rendered, as the token of upstream's renderer has it.
///
/// Errors: [`Error::InvalidParameter`] for a life that no clock can measure; [`Error::Backend`].
pub(crate) fn sign_download(
    keys: &Keys,
    object: &str,
    version: Option<VersionId>,
    life: u64,
    transform: Option<(&str, &str)>,
) -> Result<String, Error> {
    let mut claims = Map::new();
    if let Some((transformations, format)) = transform {
        claims.insert("transformations".to_owned(), transformations.into());
        if !format.is_empty() {
            claims.insert("format".to_owned(), format.into());
        }
    }
    claims.insert("url".to_owned(), object.into());
    claims.insert("scope".to_owned(), "download".into());
    if let Some(version) = version {
        claims.insert("versionId".to_owned(), version.to_string().into());
    }
    sign(keys, claims, life)
}

/// Returns the token that lets its holder write `object` (`bucket/key`) for `life` seconds in the name of `owner`.
///
/// Errors: as [`sign_download`].
pub(crate) fn sign_upload(
    keys: &Keys,
    object: &str,
    life: u64,
    owner: Option<&str>,
    replaces: bool,
) -> Result<String, Error> {
    let mut claims = Map::new();
    if let Some(owner) = owner {
        claims.insert("owner".to_owned(), owner.into());
    }
    claims.insert("url".to_owned(), object.into());
    claims.insert("upsert".to_owned(), json!(replaces));
    claims.insert("scope".to_owned(), "upload".into());
    sign(keys, claims, life)
}

fn sign(keys: &Keys, mut claims: Map<String, Value>, life: u64) -> Result<String, Error> {
    let now = now();
    let life = i64::try_from(life.min(MAX_LIFE + 1)).unwrap_or(i64::MAX);
    if life as u64 > MAX_LIFE - now.unsigned_abs() {
        return Err(Error::InvalidParameter("expiresIn"));
    }
    claims.insert("iat".to_owned(), now.into());
    claims.insert("exp".to_owned(), (now + life).into());
    keys.sign_with_secret(&claims).map_err(|error| Error::Backend(error.to_string()))
}

/// Checks that `token` is genuine, has not expired, and was made for `scope` and `object` (`bucket/key`).
///
/// Errors: [`Error::InvalidJwt`], [`Error::InvalidSignature`].
pub(crate) fn verify(
    keys: &Keys,
    token: &str,
    object: &str,
    scope: Scope,
) -> Result<std::sync::Arc<Verified>, Error> {
    let verified = keys.verifier().verify(token).map_err(|error| Error::InvalidJwt(refusal(&error)))?;
    // The verifier allows for differing clocks, but these tokens are made and read with the same clock.
    if verified.expires_at().is_none_or(|expires| expires <= now()) {
        return Err(Error::InvalidJwt(refusal(&tokens::Error::Expired)));
    }
    if scope_of(&verified) != Some(scope) {
        return Err(Error::InvalidSignature(match scope {
            Scope::Download => "Token is not scoped for download",
            Scope::Upload => "Token is not scoped for upload",
        }));
    }
    match verified.claims.get("url").and_then(Value::as_str) {
        Some(url) if url == object => Ok(verified),
        _ => Err(Error::InvalidSignature("Invalid signature")),
    }
}

/// Returns the version that a token is for, if it names one.
///
/// Errors: [`Error::NoSuchKey`].
pub(crate) fn version(token: &Verified) -> Result<Option<VersionId>, Error> {
    token.claims.get("versionId").and_then(Value::as_str).map(VersionId::parse).transpose()
}

/// Returns what a token is for. Older ones do not name it; those for uploads are recognized by the claim that says
/// whether an object is replaced.
fn scope_of(token: &Verified) -> Option<Scope> {
    match token.claims.get("scope") {
        Some(Value::String(scope)) if scope == "upload" => Some(Scope::Upload),
        Some(Value::String(scope)) if scope == "download" => Some(Scope::Download),
        Some(_) => None,
        None if token.claims.contains_key("upsert") => Some(Scope::Upload),
        None => Some(Scope::Download),
    }
}

/// Returns upstream's message for a token that is not acceptable.
pub(crate) const fn refusal(error: &tokens::Error) -> &'static str {
    match error {
        tokens::Error::Expired => "\"exp\" claim timestamp check failed",
        tokens::Error::NotYetValid => "\"nbf\" claim timestamp check failed",
        tokens::Error::Parts(_) | tokens::Error::Malformed(_) => "Invalid Compact JWS",
        _ => "signature verification failed",
    }
}

fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}
