//! The HTTP interface: the handshake of sockets, and broadcasts over HTTP.

mod broadcast;
mod handshake;

use poem::http::{Method, StatusCode};
use poem::{Endpoint, IntoResponse as _, Request, Response, endpoint};
use serde_json::json;

use crate::{Error, Realtime};

/// Returns the service, its paths relative to where it is mounted (`/realtime/v1`): `websocket` and `api/…`.
pub fn service(realtime: Realtime) -> impl Endpoint<Output = Response> {
    endpoint::make(move |request| {
        let realtime = realtime.clone();
        async move { Ok::<_, poem::Error>(answer(&realtime, request).await.unwrap_or_else(Error::into_response)) }
    })
}

async fn answer(realtime: &Realtime, request: Request) -> Result<Response, Error> {
    let limit = realtime.settings().max_header_length;
    let longest = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).max();
    if longest.is_some_and(|length| length > limit) {
        return Err(Error::HeaderTooLarge(limit));
    }
    let path = request.uri().path().to_owned();
    match (request.method(), &*path) {
        (&Method::GET, "/websocket") => handshake::answer(realtime, request).await,
        (&Method::GET, "/api/ping") => Ok(json_answer(StatusCode::OK, &json!({ "message": "Success" }))),
        (&Method::POST, "/api/broadcast") => broadcast::batch(realtime, request).await,
        (&Method::POST, path) => {
            match path.strip_prefix("/api/broadcast/").and_then(|rest| rest.split_once("/events/")) {
                Some((topic, event)) if !event.contains('/') => {
                    broadcast::single(realtime, topic, event, request).await
                }
                _ => Err(Error::NotFound),
            }
        }
        _ => Err(Error::NotFound),
    }
}

fn json_answer(status: StatusCode, body: &serde_json::Value) -> Response {
    body.to_string().with_content_type("application/json; charset=utf-8").with_status(status).into_response()
}
