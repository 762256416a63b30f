//! WebSockets of functions (`Deno.upgradeWebSocket`): the handshake goes to the function unchanged, and so do the
//! frames in both directions.
//!
//! A socket keeps its process for as long as it is open, and is counted apart from calls. It is closed when the time
//! limit of its call is reached, as on the hosted platform. There the connection breaks; here both ends get a close
//! frame with the reason.

mod frames;
mod transfer;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use poem::Response;
use poem::http;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::relay::connection_options;
use crate::worker::{Call, Connection, Slot};
use transfer::{Close, transfer};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// A call that requests an upgrade to a WebSocket.
pub(crate) struct UpgradeRequest(poem::OnUpgrade);

impl UpgradeRequest {
    /// Returns the upgrade that `request` contains (RFC 6455, section 4.1); `None` for any other request.
    pub(crate) fn of(request: &poem::Request) -> Option<Self> {
        let headers = request.headers();
        let is_upgrade = request.method() == Method::GET
            && request.version() == Version::HTTP_11
            && headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
            && connection_options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"));
        if !is_upgrade {
            return None;
        }
        request.take_upgrade().ok().map(Self)
    }

    /// Returns the response to the caller, with the function's `headers`, and starts a task that transfers the frames
    /// between the caller and the function's `connection`.
    pub(crate) fn open(
        self,
        mut headers: HeaderMap,
        connection: Connection,
        call: Call,
        begun: Instant,
        slot: &Slot,
    ) -> Response {
        let (host, limits) = (&slot.host, &slot.configuration.settings.limits);
        let (deadline, silence, stopping) =
            (begun + limits.wall_clock, limits.socket_silence, host.stop.clone());
        host.tasks.spawn(async move {
            let caller = timeout_at(deadline, self.0).await;
            if let (Ok(Ok(caller)), Some(function)) = (caller, connection.into_parts()) {
                let ending = async {
                    tokio::select! {
                        () = stopping.cancelled() => Close::STOPPING,
                        () = sleep_until(deadline) => Close::LATE,
                    }
                };
                transfer(caller, function, silence, ending).await;
            }
            drop(call);
        });
        insert_upgrade(&mut headers);
        let mut response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS).finish();
        *response.headers_mut() = headers;
        response
    }
}

/// Adds the headers of a handshake. They are the same in requests and responses.
pub(crate) fn insert_upgrade(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
}
