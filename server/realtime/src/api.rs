//! The HTTP interface: the handshake of sockets, and broadcasts over HTTP.

mod broadcast;
mod handshake;

use std::sync::Arc;

use poem::http::{Method, StatusCode};
use poem::{Endpoint, IntoResponse as _, Request, Response, endpoint};
use serde_json::json;

use crate::error::Error;
use crate::socket::SocketContext;
pub(crate) use broadcast::Broadcasts;

/// Returns the endpoint, its paths relative to where it is mounted (`/realtime/v1`): `websocket` and `api/…`.
pub(crate) fn endpoint(
    sockets: SocketContext,
    broadcasts: Broadcasts,
) -> impl Endpoint<Output = Response> + use<> {
    let (sockets, broadcasts) = (Arc::new(sockets), Arc::new(broadcasts));
    endpoint::make(move |request| {
        let (sockets, broadcasts) = (Arc::clone(&sockets), Arc::clone(&broadcasts));
        async move {
            let answered = answer(sockets, broadcasts, request).await;
            Ok::<_, poem::Error>(answered.unwrap_or_else(Error::into_response))
        }
    })
}

async fn answer(
    sockets: Arc<SocketContext>,
    broadcasts: Arc<Broadcasts>,
    request: Request,
) -> Result<Response, Error> {
    let limit = sockets.settings.max_header_length;
    let longest = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).max();
    if longest.is_some_and(|length| length > limit) {
        return Err(Error::HeaderTooLarge(limit));
    }
    let path = request.uri().path().to_owned();
    match (request.method(), &*path) {
        (&Method::GET, "/websocket") => handshake::answer(sockets, request).await,
        (&Method::GET, "/api/ping") => Ok(json_answer(StatusCode::OK, &json!({ "message": "Success" }))),
        (&Method::POST, "/api/broadcast") => broadcast::batch(broadcasts, request).await,
        (&Method::POST, path) => {
            match path.strip_prefix("/api/broadcast/").and_then(|rest| rest.split_once("/events/")) {
                Some((topic, event)) if !event.contains('/') => {
                    broadcasts.single(topic, event, request).await
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
