//! Tokens of requests, which identify the caller.

use gateway::BearerSource;
use poem::Request;
use tokens::Verifier;

use crate::caller::{Caller, Identity};
use crate::error::Error;
use crate::signature::refusal;

/// Returns the caller of a route that demands a token.
///
/// Errors: [`Error::InvalidRequest`] without one, [`Error::AccessDenied`] for one that is not acceptable.
pub(super) fn required(verifier: &Verifier, request: &Request) -> Result<Caller, Error> {
    let token = bearer(request).ok_or_else(|| {
        Error::InvalidRequest("headers must have required property 'authorization'".to_owned())
    })?;
    let verified = verifier.verify(token);
    let verified = verified.map_err(|error| Error::AccessDenied(refusal(&error).to_owned()))?;
    Ok(Caller::new(request, token, Identity::Verified(verified)))
}

/// Returns the caller of a route that needs no token: a missing or bad token counts as none.
pub(super) fn optional(verifier: &Verifier, request: &Request) -> Caller {
    let verified = bearer(request).and_then(|token| verifier.verify(token).ok());
    let identity = verified.map_or(Identity::Anonymous, Identity::Verified);
    Caller::new(request, bearer(request).unwrap_or_default(), identity)
}

/// Returns the caller of a route on which tokens are not looked at.
pub(super) fn anonymous(request: &Request) -> Caller {
    Caller::new(request, "", Identity::Anonymous)
}

/// Returns the caller of a route that a signed URL has opened.
pub(super) fn service(request: &Request) -> Caller {
    Caller::new(request, "", Identity::Service)
}

/// Returns the token of `Authorization`, or the one that an opaque API key stands for. An API key that is itself a
/// token opens the project, but does not identify a caller.
fn bearer(request: &Request) -> Option<&str> {
    let caller = request.extensions().get::<gateway::Caller>()?;
    caller.bearer.as_deref().filter(|_| caller.bearer_source != BearerSource::LegacyKey)
}
