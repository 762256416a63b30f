//! The handshake of a socket (RFC 6455, section 4).

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, StatusCode};
use percent_encoding::percent_decode_str;
use poem::{Request, Response};
use serde_json::{Map, Value};
use tungstenite::handshake::derive_accept_key;

use crate::error::Error;
use crate::protocol::Version;
use crate::socket::{Socket, SocketContext};

/// How long the upgrade of the connection may take after the response.
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);

/// Responds to a handshake. A refusal is delayed, to slow down clients that try again at once.
pub(super) async fn respond(context: Arc<SocketContext>, request: Request) -> Result<Response, Error> {
    let refused = match upgrade(&context, &request) {
        Ok(response) => return Ok(response),
        Err(error) => error,
    };
    if matches!(refused, Error::KeyMissing | Error::Token(_) | Error::TooManyUsers | Error::TooManyJoins) {
        tokio::time::sleep(Duration::from_millis(context.settings.connect_error_backoff_ms)).await;
    }
    Err(refused)
}

/// Checks a handshake and spawns the task of its socket.
fn upgrade(context: &Arc<SocketContext>, request: &Request) -> Result<Response, Error> {
    let headers = request.headers();
    let accept = accept_key(headers).ok_or(Error::BadRequest("this path is for WebSockets"))?;
    let version = parameter(request, "vsn");
    let version = Version::parse(version.as_deref()).ok_or(Error::BadRequest("unknown version (vsn)"))?;
    let given = headers.get("x-api-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let header = headers.get("apikey").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let key = given.or_else(|| parameter(request, "apikey")).or(header).ok_or(Error::KeyMissing)?;
    let key = context.tokens.check_key(&key).map_err(|error| Error::of_handshake(&error))?;
    if !context.hub.has_room(fairness::caller()) {
        return Err(Error::TooManyUsers);
    }
    if context.rates.joins.is_exceeded(context.settings.max_joins_per_second) {
        return Err(Error::TooManyJoins);
    }
    let upgrade =
        request.take_upgrade().map_err(|_| Error::BadRequest("this connection cannot be upgraded"))?;
    let socket = Socket::new(Arc::clone(context), version, key, headers_as_json(headers));
    context.tasks.spawn(async move {
        if let Ok(Ok(io)) = tokio::time::timeout(UPGRADE_LIMIT, upgrade).await {
            socket.run(io).await;
        }
    });
    Ok(Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept)
        .finish())
}

/// Returns the value of `sec-websocket-accept`; `None` if the request is not a WebSocket handshake.
fn accept_key(headers: &HeaderMap) -> Option<String> {
    let has = |name: http::HeaderName, token: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
    };
    let is_websocket =
        has(UPGRADE, "websocket") && has(CONNECTION, "upgrade") && has(SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    is_websocket.then(|| derive_accept_key(key.as_bytes()))
}

/// Returns a parameter of the original query: the gateway removes the API key from the one for services.
fn parameter(request: &Request, name: &str) -> Option<String> {
    let mut parameters = request.original_uri().query()?.split('&');
    let value = parameters.find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))?;
    // A plus stands for a space, as in forms.
    Some(percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned())
}

/// Returns the headers as JSON for policies, without those that hold keys.
pub(super) fn headers_as_json(headers: &HeaderMap) -> Arc<str> {
    let is_secret = |name: &str| matches!(name, "apikey" | "x-api-key" | "authorization" | "cookie");
    let fields: Map<String, Value> = headers
        .iter()
        .filter(|(name, _)| !is_secret(name.as_str()))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.into())))
        .collect();
    Value::Object(fields).to_string().into()
}
