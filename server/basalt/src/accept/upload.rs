//! Bodies of requests. A service may respond without reading the whole body; the response must reach the client
//! nevertheless (RFC 9112, section 9.6).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use parking_lot::Mutex;
use poem::http::Version;

use super::activity::Activity;
use super::connection::{LINGER, LINGER_BYTES};

/// How many bytes of an unread body are read and dropped before the response is sent, so that the connection can be
/// reused, and how long that may take.
const MAX_DRAINED: u64 = 256 << 10;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A body for the service. What the service does not read is left to the [`UnreadBody`].
pub(super) struct RequestBody {
    /// `None` once it was read to its end, or failed.
    incoming: Option<Incoming>,
    shared: Arc<UploadState>,
}

/// The part of a body that the service has not read when it responds.
pub(super) struct UnreadBody {
    shared: Arc<UploadState>,
    /// The client sends the body only after `100 Continue`, which the first read causes.
    expects_continue: bool,
    /// The body is a stream of an HTTP/2 connection, which may have other requests and does not end with this one.
    is_stream: bool,
}

/// What the two parts of a body share.
struct UploadState {
    state: Mutex<State>,
    activity: Arc<Activity>,
}

#[derive(Default)]
struct State {
    /// The service has begun to read the body.
    has_been_read: bool,
    /// The service has responded.
    has_responded: bool,
    progress: Progress,
}

#[derive(Default)]
enum Progress {
    /// The service has the body.
    #[default]
    InService,
    /// The service has dropped the body before its end.
    Dropped(Incoming),
    /// The body has been received completely.
    Complete,
    /// The body has failed, or will not be read.
    Failed,
}

/// Separates the body from `request`, if it has one.
pub(super) fn split(
    request: hyper::Request<Incoming>,
    activity: &Arc<Activity>,
) -> (hyper::http::request::Parts, poem::Body, Option<UnreadBody>) {
    let (parts, incoming) = request.into_parts();
    if incoming.is_end_stream() {
        return (parts, poem::Body::empty(), None);
    }
    let expects_continue = parts.headers.contains_key(EXPECT);
    let shared = Arc::new(UploadState { state: Mutex::default(), activity: Arc::clone(activity) });
    let upload = RequestBody { incoming: Some(incoming), shared: Arc::clone(&shared) };
    let rest = UnreadBody { shared, expects_continue, is_stream: parts.version == Version::HTTP_2 };
    (parts, upload.boxed().into(), Some(rest))
}

impl UnreadBody {
    /// Reads and drops the unread part, within limits on its size and time. Reports whether the connection can be
    /// reused: the body has ended, or the service is still reading it.
    pub(super) async fn finish(self) -> bool {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.has_responded = true;
            match std::mem::take(&mut state.progress) {
                Progress::Dropped(incoming) if state.has_been_read || !self.expects_continue => {
                    Some(incoming)
                }
                Progress::InService | Progress::Complete => return true,
                Progress::Dropped(_) | Progress::Failed => None,
            }
        };
        let is_complete = match dropped {
            Some(mut incoming) => {
                let drained = drain(&mut incoming, MAX_DRAINED);
                let is_complete = tokio::time::timeout(DRAIN_TIMEOUT, drained).await.unwrap_or(false);
                if !is_complete && self.is_stream {
                    // Some clients report an error if a stream is reset while they send it (RFC 9113, section 8.1).
                    tokio::spawn(async move {
                        let drained = drain(&mut incoming, LINGER_BYTES as u64);
                        let _ = tokio::time::timeout(LINGER, drained).await;
                    });
                }
                is_complete
            }
            None => false,
        };
        if !is_complete && !self.is_stream {
            self.shared.activity.record_unread_body();
        }
        is_complete || self.is_stream
    }
}

/// Reads and drops `incoming`, at most `left` bytes. Reports whether it was read to its end.
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

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let Some(incoming) = &mut this.incoming else { return Poll::Ready(None) };
        let polled = Pin::new(incoming).poll_frame(context);
        let mut state = this.shared.state.lock();
        state.has_been_read = true;
        match &polled {
            Poll::Ready(None) => state.progress = Progress::Complete,
            Poll::Ready(Some(Err(_))) => state.progress = Progress::Failed,
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

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        let mut state = self.shared.state.lock();
        if incoming.is_end_stream() {
            state.progress = Progress::Complete;
        } else if state.has_responded {
            state.progress = Progress::Failed;
            self.shared.activity.record_unread_body();
        } else {
            state.progress = Progress::Dropped(incoming);
        }
    }
}
