//! Responses that hold a session.

use http::header::CACHE_CONTROL;
use poem_openapi::payload::{Json, Response};

use crate::flows::access_token::Session;

/// Returns the answer with `session` in the shape that `shape` gives it: kept out of caches (RFC 6749, section 5.1),
/// with headers that let operators follow the session without reading it.
pub(super) fn wrap<T>(session: Session, shape: impl FnOnce(Session) -> T) -> Response<Json<T>> {
    let (user, id) = (session.user().id.to_string(), session.id().to_string());
    let prefix = session.refresh_token_prefix().to_owned();
    let counter = session.counter();
    let answer = Response::new(Json(shape(session)))
        .header(CACHE_CONTROL, "no-store")
        .header("sb-auth-user-id", user)
        .header("sb-auth-session-id", id)
        .header("sb-auth-refresh-token-prefix", prefix);
    match counter {
        Some(counter) => answer.header("sb-auth-refresh-token-counter", counter.to_string()),
        None => answer,
    }
}

/// Returns the answer with `session` as it is; see [`wrap`].
pub(super) fn plain(session: Session) -> Response<Json<Session>> {
    wrap(session, |session| session)
}
