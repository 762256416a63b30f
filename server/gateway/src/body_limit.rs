//! Refuses bodies that are too large, arrive too slowly, or break off.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{StatusCode, Version};
use poem::{Body, Request, Response};
use serde_json::json;
use tokio::time::Instant;

use crate::response;

/// How long a sender may pause. nginx's `client_body_timeout` allows the same.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Bytes per second that a body must have on average, not counting one pause: less than the slowest connection in use
/// today, but enough to stop a client that holds a connection open by sending a byte from time to time.
const MIN_RATE: u64 = 512;

/// Nothing is wrong with the body so far.
const FINE: u8 = 0;
const TOO_LARGE: u8 = 1;
const TOO_SLOW: u8 = 2;
/// Its encoding is invalid, or the client has disconnected.
const BROKEN: u8 = 3;

/// The outcome of reading a body, set by [`WatchedBody`].
pub(crate) struct BodyWatch(Option<Arc<AtomicU8>>);

impl BodyWatch {
    /// Returns the answer to a request whose body was cut off for the service: a refusal, if it was larger than `limit`
    /// bytes or arrived too slowly. If it broke off, that is not the server's failure, so a refusal replaces the service's
    /// `answer` if that is an error of the server. Otherwise `answer` itself is returned.
    pub(crate) fn judge(&self, limit: u64, answer: Response) -> Response {
        match self.0.as_ref().map_or(FINE, |verdict| verdict.load(Ordering::Relaxed)) {
            TOO_LARGE => too_large(limit),
            TOO_SLOW => too_slow(),
            BROKEN if answer.status().is_server_error() => broken(),
            _ => answer,
        }
    }
}

/// The error for a body whose announced length exceeds the limit.
pub(crate) struct TooLarge;

/// Checks the announced length of the body, if there is one, and watches it while the service reads.
///
/// Errors: [`TooLarge`].
pub(crate) fn apply(request: &mut Request, limit: u64) -> Result<BodyWatch, TooLarge> {
    let headers = request.headers();
    if headers.contains_key(TRANSFER_ENCODING) {
        return Ok(watch(request, limit));
    }
    match headers
        .get(CONTENT_LENGTH)
        .map(|value| value.to_str().ok().and_then(|text| text.parse::<u64>().ok()))
    {
        Some(Some(0)) => Ok(BodyWatch(None)),
        Some(Some(length)) if length <= limit => Ok(watch(request, limit)),
        Some(_) => Err(TooLarge),
        None if request.version() == Version::HTTP_2 => Ok(watch(request, limit)),
        // There is neither a length nor an encoding, so there is no body (RFC 9112, section 6.3).
        None => Ok(BodyWatch(None)),
    }
}

fn watch(request: &mut Request, limit: u64) -> BodyWatch {
    let verdict = Arc::new(AtomicU8::new(FINE));
    let chunks = Box::pin(request.take_body().into_bytes_stream());
    let incoming = WatchedBody { chunks, limit, received: 0, begun: None, verdict: Arc::clone(&verdict) };
    let watched = stream::unfold(incoming, |mut incoming| async move {
        let chunk = incoming.next().await?;
        Some((chunk, incoming))
    });
    request.set_body(Body::from_bytes_stream(watched));
    BodyWatch(Some(verdict))
}

/// A body whose size and time are limited.
struct WatchedBody {
    chunks: BoxStream<'static, io::Result<Bytes>>,
    limit: u64,
    received: u64,
    /// When the service began to read: time before that is not the sender's fault.
    begun: Option<Instant>,
    verdict: Arc<AtomicU8>,
}

impl WatchedBody {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        let deadline =
            (now + MAX_PAUSE).min(begun + MAX_PAUSE + Duration::from_secs(self.received / MIN_RATE));
        // A chunk that has arrived is accepted even after the deadline: then the service was slow, not the sender.
        let Ok(chunk) = tokio::time::timeout_at(deadline, self.chunks.next()).await else {
            return Some(Err(self.refuse(TOO_SLOW, "the request body comes too slowly")));
        };
        let bytes = match &chunk {
            Some(Ok(bytes)) => bytes,
            Some(Err(_)) => {
                self.verdict.store(BROKEN, Ordering::Relaxed);
                return chunk;
            }
            None => return None,
        };
        self.received += bytes.len() as u64;
        if self.received > self.limit {
            return Some(Err(self.refuse(TOO_LARGE, "the request body is too large")));
        }
        chunk
    }

    fn refuse(&self, verdict: u8, reason: &'static str) -> io::Error {
        self.verdict.store(verdict, Ordering::Relaxed);
        io::Error::other(reason)
    }
}

/// Returns the answer to a request whose body is larger than `limit` bytes.
pub(crate) fn too_large(limit: u64) -> Response {
    let message = format!("Request body is larger than the {limit} bytes that are allowed here");
    response::json(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "message": message }))
}

fn broken() -> Response {
    let message = "Request body is malformed or incomplete";
    response::json(StatusCode::BAD_REQUEST, &json!({ "message": message }))
}

fn too_slow() -> Response {
    let message = "Request body was not received in time";
    response::json(StatusCode::REQUEST_TIMEOUT, &json!({ "message": message }))
}
