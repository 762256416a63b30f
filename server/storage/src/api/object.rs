//! Reading objects: `GET` and `HEAD` of `object/public/*`, `object/authenticated/*` and `object/*`.

use gateway::Caller;
use poem::http::Method;
use poem::{Request, Response};

use super::{response, unknown};
use crate::objects::{self, Reader};
use crate::{Error, Storage, key};

/// Which readers a route admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    /// Public buckets only, tokens are not looked at.
    Public,
    /// A missing or bad token counts as none.
    Optional,
    /// A valid token is demanded.
    Required,
}

/// `object/public/:bucket/*`.
pub(super) async fn public(request: Request) -> poem::Result<Response> {
    route(request, "/object/public/", Admission::Public).await
}

/// `object/:bucket/*`.
pub(super) async fn optional(request: Request) -> poem::Result<Response> {
    route(request, "/object/", Admission::Optional).await
}

/// `object/authenticated/:bucket/*`.
pub(super) async fn authenticated(request: Request) -> poem::Result<Response> {
    route(request, "/object/authenticated/", Admission::Required).await
}

/// Whether the request only reads.
pub(super) fn is_read(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

async fn route(request: Request, prefix: &str, admission: Admission) -> poem::Result<Response> {
    if !is_read(&request) {
        return unknown(request).await;
    }
    let answer = read(&request, prefix, admission).await.unwrap_or_else(Error::into_response);
    Ok(if request.method() == Method::HEAD { without_body(answer) } else { answer })
}

async fn read(request: &Request, prefix: &str, admission: Admission) -> Result<Response, Error> {
    let storage = request
        .data::<Storage>()
        .ok_or_else(|| Error::Backend("the route was mounted without its storage".to_owned()))?;
    // The raw path: poem's parameters are already decoded, which would hide where the bucket's name ends.
    let raw = request.uri().path().strip_prefix(prefix).unwrap_or_default();
    let (bucket, key) = key::split_path(raw)?;
    let claims = claims(storage, request, admission)?;
    let reader = claims.as_ref().map_or(Reader::Anyone, |claims| Reader::Claims {
        role: claims.role().unwrap_or("anon"),
        json: &claims.json,
    });
    let object = objects::find(storage, &bucket, &key, reader).await?;
    match response::object(storage, request, &object).await {
        // The object may have been replaced, and its old bytes removed, since its row was read.
        Err(Error::NoSuchKey) => {
            let current = objects::find(storage, &bucket, &key, reader).await?;
            response::object(storage, request, &current).await
        }
        answer => answer,
    }
}

/// The caller's verified claims, as far as the route asks for them.
fn claims(
    storage: &Storage,
    request: &Request,
    admission: Admission,
) -> Result<Option<std::sync::Arc<tokens::Verified>>, Error> {
    let bearer = request.extensions().get::<Caller>().and_then(|caller| caller.bearer.as_deref());
    match (admission, bearer) {
        (Admission::Public, _) | (Admission::Optional, None) => Ok(None),
        (Admission::Optional, Some(token)) => Ok(storage.verifier().verify(token).ok()),
        (Admission::Required, None) => {
            Err(Error::InvalidRequest("headers must have required property 'authorization'".to_owned()))
        }
        (Admission::Required, Some(token)) => {
            storage.verifier().verify(token).map(Some).map_err(|error| Error::AccessDenied(refusal(&error)))
        }
    }
}

/// Upstream's words for a token that is not acceptable.
fn refusal(error: &tokens::Error) -> String {
    match error {
        tokens::Error::Expired => "\"exp\" claim timestamp check failed",
        tokens::Error::NotYetValid => "\"nbf\" claim timestamp check failed",
        tokens::Error::Parts(_) | tokens::Error::Malformed(_) => "Invalid Compact JWS",
        _ => "signature verification failed",
    }
    .to_owned()
}

/// Takes the body away and leaves its length in the head, as HEAD wants it.
fn without_body(mut response: Response) -> Response {
    response.set_body(());
    response
}
