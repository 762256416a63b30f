//! Refuses bodies that are too large, arrive too slowly, break off, or take more memory than there is for them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fairness::{HeldMemory, Memory, Network};
use futures_util::stream::{self, BoxStream, StreamExt};
use http::header::{CONTENT_LENGTH, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode, Version};
use parking_lot::Mutex;
use poem::{Body, Request, Response};
use serde_json::json;
use tokio::time::Instant;

use crate::response;

/// How long a sender may pause. nginx's `client_body_timeout` allows the same.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Bytes per second that a body must have, not counting one pause: less than the slowest connection in use today, but
/// enough to stop a client that holds a connection open by sending a byte from time to time.
const MIN_RATE: u32 = 512;
/// The unit of the memory for bodies, in bytes. A body of up to this size is not counted: the number of requests is
/// limited, and most have less.
const UNIT: u64 = 16 << 10;

/// Nothing is wrong with the body so far.
const FINE: u8 = 0;
const TOO_LARGE: u8 = 1;
const TOO_SLOW: u8 = 2;
/// Its encoding is invalid, or the client has disconnected.
const BROKEN: u8 = 3;
/// There is no memory left for it.
const NO_MEMORY: u8 = 4;

/// Returns the memory for bodies.
pub(crate) fn memory(size: ::settings::Bytes) -> Memory {
    Memory::new(usize::try_from(size.0).unwrap_or(usize::MAX), UNIT as usize)
}

/// The memory for bodies, in the extensions of requests to a service that streams bodies: for the few that it keeps.
#[derive(Clone)]
pub struct BodyMemory(Memory);

impl BodyMemory {
    fn new(memory: &Memory, network: Option<Network>) -> Self {
        Self(memory.of(network))
    }

    /// Makes `held` enough for `size` bytes; reports whether there was as much.
    pub fn hold(&self, size: u64, held: &mut HeldMemory) -> bool {
        self.0.hold(usize::try_from(size).unwrap_or(usize::MAX), held)
    }
}

/// The outcome of reading a body, set by [`WatchedBody`]. It holds the body's memory until the request has a response.
pub(super) struct BodyWatch {
    /// `None` if there is nothing to read.
    outcome: Option<Arc<Outcome>>,
    /// The maximum number of bytes.
    limit: u64,
}

#[derive(Default)]
struct Outcome {
    verdict: AtomicU8,
    memory: Mutex<HeldMemory>,
}

impl BodyWatch {
    /// That of a request without a body.
    const NOTHING: Self = Self { outcome: None, limit: 0 };

    /// Returns the response to a request whose body was cut off for the service: a refusal, if it was larger than the
    /// limit or arrived too slowly. If it broke off, that is not the server's failure, so a refusal replaces the
    /// service's `response` if that is an error of the server. Otherwise `response` itself is returned.
    pub(super) fn judge(&self, response: Response) -> Response {
        match self.outcome.as_ref().map_or(FINE, |outcome| outcome.verdict.load(Ordering::Relaxed)) {
            TOO_LARGE => too_large(self.limit),
            TOO_SLOW => too_slow(),
            NO_MEMORY => no_memory(),
            BROKEN if response.status().is_server_error() => broken(),
            _ => response,
        }
    }
}

/// What a service accepts as a body.
pub(super) struct BodyLimit {
    /// In bytes.
    size: u64,
    /// Whether the service reads bodies part by part and keeps none of them in memory.
    streams: bool,
}

impl BodyLimit {
    /// Returns the limit of a service that keeps bodies of up to `size` bytes in memory.
    pub(super) const fn new(size: u64) -> Self {
        Self { size, streams: false }
    }

    /// Returns the limit of a service that has limits of its own and writes what arrives somewhere else.
    pub(super) const fn streaming() -> Self {
        Self { size: u64::MAX, streams: true }
    }

    /// Checks the announced length of the body, if there is one, and watches it while the service reads. What it takes
    /// of `memory` for `network` is held until the [`BodyWatch`] is dropped. A service that streams bodies gets the
    /// [`BodyMemory`] instead, for the few that it keeps.
    ///
    /// Errors: the response if the announced length is too large.
    pub(super) fn watch(
        &self,
        request: &mut Request,
        memory: &Memory,
        network: Option<Network>,
    ) -> Result<BodyWatch, Box<Response>> {
        let limit = self.size;
        let memory = if self.streams {
            request.extensions_mut().insert(BodyMemory::new(memory, network));
            None
        } else {
            Some((memory, network))
        };
        let headers = request.headers();
        if headers.contains_key(TRANSFER_ENCODING) {
            return Ok(watch(request, limit, memory));
        }
        match headers
            .get(CONTENT_LENGTH)
            .map(|value| value.to_str().ok().and_then(|text| text.parse::<u64>().ok()))
        {
            Some(Some(0)) => Ok(BodyWatch::NOTHING),
            Some(Some(length)) if length <= limit => {
                // A body of one unit takes no memory.
                Ok(watch(request, limit, memory.filter(|_| length > UNIT)))
            }
            Some(_) => Err(Box::new(too_large(limit))),
            None if request.version() == Version::HTTP_2 => Ok(watch(request, limit, memory)),
            // There is neither a length nor an encoding, so there is no body (RFC 9112, section 6.3).
            None => Ok(BodyWatch::NOTHING),
        }
    }
}

fn watch(request: &mut Request, limit: u64, memory: Option<(&Memory, Option<Network>)>) -> BodyWatch {
    let outcome = Arc::new(Outcome::default());
    let chunks = Box::pin(request.take_body().into_bytes_stream());
    let incoming = WatchedBody {
        chunks,
        limit,
        received: 0,
        patience: MAX_PAUSE,
        memory: memory.map(|(memory, network)| BodyMemory::new(memory, network)),
        outcome: Arc::clone(&outcome),
    };
    let watched = stream::unfold(incoming, |mut incoming| async move {
        let chunk = incoming.next().await?;
        Some((chunk, incoming))
    });
    request.set_body(Body::from_bytes_stream(watched));
    BodyWatch { outcome: Some(outcome), limit }
}

/// A body whose size and time are limited.
struct WatchedBody {
    chunks: BoxStream<'static, io::Result<Bytes>>,
    limit: u64,
    received: u64,
    /// How long the sender may be waited for. Each wait takes from it and each byte adds to it, up to [`MAX_PAUSE`].
    /// Time in which the service does not read is not the sender's fault.
    patience: Duration,
    memory: Option<BodyMemory>,
    outcome: Arc<Outcome>,
}

impl WatchedBody {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let begun = Instant::now();
        let Ok(chunk) = tokio::time::timeout_at(begun + self.patience, self.chunks.next()).await else {
            return Some(Err(self.refuse(TOO_SLOW, "the request body comes too slowly")));
        };
        let bytes = match &chunk {
            Some(Ok(bytes)) => bytes,
            Some(Err(_)) => {
                self.outcome.verdict.store(BROKEN, Ordering::Relaxed);
                return chunk;
            }
            None => return None,
        };
        self.received += bytes.len() as u64;
        let earned = Duration::from_secs(bytes.len() as u64) / MIN_RATE;
        self.patience = (self.patience.saturating_sub(begun.elapsed()) + earned).min(MAX_PAUSE);
        if self.received > self.limit {
            return Some(Err(self.refuse(TOO_LARGE, "the request body is too large")));
        }
        if !self.take_memory() {
            return Some(Err(self.refuse(NO_MEMORY, "there is no memory for the request body")));
        }
        chunk
    }

    /// Takes memory for what has been received; reports whether there was as much.
    fn take_memory(&mut self) -> bool {
        match &self.memory {
            // The first unit of each is not counted, also if it is full.
            Some(memory) if self.received > UNIT => {
                memory.hold(self.received - 1, &mut self.outcome.memory.lock())
            }
            _ => true,
        }
    }

    fn refuse(&self, verdict: u8, reason: &'static str) -> io::Error {
        self.outcome.verdict.store(verdict, Ordering::Relaxed);
        io::Error::other(reason)
    }
}

/// Returns the response to a request whose body is larger than `limit` bytes.
fn too_large(limit: u64) -> Response {
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

fn no_memory() -> Response {
    let message = "The server has too many request bodies at the same time; try again later";
    let mut response = response::json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "message": message }));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
