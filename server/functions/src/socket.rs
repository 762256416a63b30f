//! WebSockets of functions (`Deno.upgradeWebSocket`): the handshake goes to the function as it comes, and what follows is
//! carried both ways without being looked at.
//!
//! A socket holds its call's place in the process for as long as it is open, and is closed when the wall clock of its
//! call runs out, as on the hosted platform.

use std::io;
use std::time::Duration;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use poem::Response;
use poem::http;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::relay::remove_connection_headers;
use crate::worker::{Call, Host};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// Bytes that are carried at a time, in each direction.
const BUFFER: usize = 8 * 1024;

/// A caller's wish for a WebSocket.
pub(crate) struct Asked(poem::OnUpgrade);

impl Asked {
    /// The wish of `request`, if it has one (RFC 6455, section 4.1).
    pub(crate) fn of(request: &poem::Request) -> Option<Self> {
        let headers = request.headers();
        let is_asked = request.method() == Method::GET
            && request.version() == Version::HTTP_11
            && headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
            && names_upgrade(headers);
        if !is_asked {
            return None;
        }
        request.take_upgrade().ok().map(Self)
    }

    /// Answers the caller as the function did, which has opened its end, and carries what follows.
    pub(crate) fn open(
        self,
        mut answer: http::Response<Incoming>,
        call: Call,
        begun: Instant,
        host: &Host,
    ) -> Response {
        let function = hyper::upgrade::on(&mut answer);
        let limits = host.settings.limits.clone();
        host.tasks.spawn(async move {
            let carried = async {
                let (caller, function) = tokio::join!(self.0, function);
                let (Ok(caller), Ok(function)) = (caller, function) else { return };
                carry(caller, TokioIo::new(function), limits.socket_silence).await;
            };
            // Closed by being dropped. Who is at an end then knows as much as when the network breaks.
            let _ = tokio::time::timeout_at(begun + limits.wall_clock, carried).await;
            drop(call);
        });
        let (mut head, _) = answer.into_parts();
        remove_connection_headers(&mut head.headers);
        ask(&mut head.headers);
        let mut response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS).finish();
        *response.headers_mut() = head.headers;
        response
    }
}

/// Whether the `Connection` headers name `upgrade`.
fn names_upgrade(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("upgrade"))
}

/// Says that this connection is to become, or becomes, a WebSocket.
pub(crate) fn ask(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
}

/// Carries what comes at either end to the other, until both have ended, one breaks, or nothing came for `silence`.
async fn carry(
    caller: impl AsyncRead + AsyncWrite,
    function: impl AsyncRead + AsyncWrite,
    silence: Duration,
) {
    let (caller, function) = (split(caller), split(function));
    let moved = Notify::new();
    let both = async {
        let (up, down) = (pass(caller.0, function.1, &moved), pass(function.0, caller.1, &moved));
        // What broke an end is of no interest: both are closed.
        let _ = tokio::try_join!(up, down);
    };
    let silent = async { while timeout(silence, moved.notified()).await.is_ok() {} };
    tokio::select! {
        () = both => {}
        () = silent => {}
    }
}

/// Carries what `from` gives to `to`, and its end.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &Notify,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        moved.notify_one();
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
        moved.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn both_ends_get_what_the_other_sends_and_its_end() {
        let ((mut caller, ours), (theirs, mut function)) = (duplex(64), duplex(64));
        let carried = tokio::spawn(carry(ours, theirs, LONG));
        let sent = vec![7; 3 * BUFFER];
        let (_, seen) = tokio::join!(
            async {
                caller.write_all(&sent).await.unwrap();
                caller.shutdown().await.unwrap();
            },
            async {
                let mut seen = Vec::new();
                function.read_to_end(&mut seen).await.unwrap();
                seen
            }
        );
        assert_eq!(seen, sent);
        function.write_all(b"bye").await.unwrap();
        drop(function);
        let mut last = String::new();
        caller.read_to_string(&mut last).await.unwrap();
        assert_eq!(last, "bye");
        carried.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn silence_closes_both_ends_and_talk_keeps_them() {
        let ((mut caller, ours), (theirs, mut function)) = (duplex(64), duplex(64));
        let begun = Instant::now();
        let carried = tokio::spawn(carry(ours, theirs, Duration::from_secs(10)));
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(9)).await;
            function.write_all(b"!").await.unwrap();
            caller.read_u8().await.unwrap();
        }
        assert_eq!(caller.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(function.read(&mut [0]).await.unwrap(), 0);
        assert!(begun.elapsed() >= Duration::from_secs(55));
        carried.await.unwrap();
    }
}
