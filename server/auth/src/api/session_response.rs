//! Responses that contain a session.

use http::header::CACHE_CONTROL;
use poem_openapi::payload::{Json, Response};

use crate::flows::access_token::Session;

/// Returns the response with the result of `shape` for `session`. It must not be cached (RFC 6749, section 5.1), and
/// has headers with which operators can identify the session without reading the body.
pub(super) fn wrap<T>(session: Session, shape: impl FnOnce(Session) -> T) -> Response<Json<T>> {
    let (user, id) = (session.user().id.to_string(), session.id().to_string());
    let prefix = session.refresh_token_prefix().to_owned();
    let counter = session.counter();
    let response = Response::new(Json(shape(session)))
        .header(CACHE_CONTROL, "no-store")
        .header("sb-auth-user-id", user)
        .header("sb-auth-session-id", id)
        .header("sb-auth-refresh-token-prefix", prefix);
    match counter {
        Some(counter) => response.header("sb-auth-refresh-token-counter", counter.to_string()),
        None => response,
    }
}

/// Returns the response with `session` unchanged; see [`wrap`].
pub(super) fn plain(session: Session) -> Response<Json<Session>> {
    wrap(session, |session| session)
}
