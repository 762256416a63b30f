//! Bodies of requests, of which services may leave some unread: an answer that comes early must reach the client all the
//! same (RFC 9112, section 9.6).

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use poem::http::Version;

use super::connection::{LINGER, LINGER_BYTES};
use super::life::Life;

/// What is read of a body that nobody wants before the answer goes out, so that the connection can be used again, and how
/// long that may take.
const DRAINED: u64 = 256 << 10;
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// A body as the service gets it. What it does not read goes to the [`Rest`].
pub(super) struct Upload {
    /// `None` once it was read to its end, or broke.
    incoming: Option<Incoming>,
    shared: Arc<Shared>,
}

/// What becomes of a body when the service has answered.
pub(super) struct Rest {
    shared: Arc<Shared>,
    /// The client waits until it is asked for the body, which reading does.
    is_withheld: bool,
    /// Other requests are under way on the same connection, which does not end with this one.
    is_stream: bool,
}

struct Shared {
    state: Mutex<State>,
    life: Arc<Life>,
}

#[derive(Default)]
struct State {
    /// The service began to read it.
    asked: bool,
    /// The service has answered.
    answered: bool,
    fate: Fate,
}

#[derive(Default)]
enum Fate {
    #[default]
    Held,
    Left(Incoming),
    Whole,
    Broken,
}

/// Splits the body off `request`, if it has one.
pub(super) fn split(
    request: hyper::Request<Incoming>,
    life: &Arc<Life>,
) -> (hyper::http::request::Parts, poem::Body, Option<Rest>) {
    let (parts, incoming) = request.into_parts();
    if incoming.is_end_stream() {
        return (parts, poem::Body::empty(), None);
    }
    let is_withheld = parts.headers.contains_key(EXPECT);
    let shared = Arc::new(Shared { state: Mutex::default(), life: Arc::clone(life) });
    let upload = Upload { incoming: Some(incoming), shared: Arc::clone(&shared) };
    let rest = Rest { shared, is_withheld, is_stream: parts.version == Version::HTTP_2 };
    (parts, upload.boxed().into(), Some(rest))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rest {
    /// Reads what the service has left, if that is little and comes soon. Whether the connection can go on: the body is at
    /// its end, or the service is reading it still.
    pub(super) async fn settle(self) -> bool {
        let left = {
            let mut state = self.shared.state();
            state.answered = true;
            match std::mem::take(&mut state.fate) {
                Fate::Left(incoming) if state.asked || !self.is_withheld => Some(incoming),
                Fate::Held | Fate::Whole => return true,
                Fate::Left(_) | Fate::Broken => None,
            }
        };
        let is_whole = match left {
            Some(mut incoming) => {
                let drained = drain(&mut incoming, DRAINED);
                let is_whole = tokio::time::timeout(DRAIN_LIMIT, drained).await.unwrap_or(false);
                if !is_whole && self.is_stream {
                    // A stream that is reset while it is sent (RFC 9113, section 8.1) is an error to some clients.
                    tokio::spawn(async move {
                        let forgotten = drain(&mut incoming, LINGER_BYTES as u64);
                        let _ = tokio::time::timeout(LINGER, forgotten).await;
                    });
                }
                is_whole
            }
            None => false,
        };
        if !is_whole && !self.is_stream {
            self.shared.life.leave_unread();
        }
        is_whole || self.is_stream
    }
}

/// Reads `incoming` to its end, if that is at most `left` bytes away. Whether it is there.
async fn drain(incoming: &mut Incoming, mut left: u64) -> bool {
    while incoming.size_hint().lower() <= left {
        match incoming.frame().await {
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                let Some(rest) = left.checked_sub(length) else { return false };
                left = rest;
            }
            Some(Err(_)) => return false,
            None => return true,
        }
    }
    false
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let Some(incoming) = &mut this.incoming else { return Poll::Ready(None) };
        let polled = Pin::new(incoming).poll_frame(context);
        let mut state = this.shared.state();
        state.asked = true;
        match &polled {
            Poll::Ready(None) => state.fate = Fate::Whole,
            Poll::Ready(Some(Err(_))) => state.fate = Fate::Broken,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => return polled.map_err(io::Error::other),
        }
        this.incoming = None;
        polled.map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        let mut state = self.shared.state();
        if incoming.is_end_stream() {
            state.fate = Fate::Whole;
        } else if state.answered {
            state.fate = Fate::Broken;
            self.shared.life.leave_unread();
        } else {
            state.fate = Fate::Left(incoming);
        }
    }
}
