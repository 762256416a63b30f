//! The body of a response to the caller.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use parking_lot::Mutex;
use poem::Body;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::worker::{Call, Connection};

/// Returns the body for the caller: complete if it has arrived with the head, else as a stream, which breaks off at
/// `deadline`. If the stream is dropped before its end, the connection is closed, so that the function notices that its
/// caller has gone.
pub(super) async fn body(connection: Connection, call: Call, deadline: Instant) -> Body {
    let mut in_flight = Some(InFlightCall { connection, call });
    let first = std::future::poll_fn(|context| Poll::Ready(poll_part(&mut in_flight, context))).await;
    let first = match first {
        Poll::Ready(None) => return Body::empty(),
        Poll::Ready(Some(Ok(whole))) if in_flight.is_none() => return Body::from(whole),
        Poll::Ready(part) => part,
        Poll::Pending => None,
    };
    let in_flight = in_flight
        .map(|InFlightCall { connection, call }| InFlightCall { connection: connection.send_rest(), call });
    Body::from_bytes_stream(stream::iter(first).chain(ResponseBody::new(in_flight, deadline)))
}

/// Held until the last part of a response has arrived from the function.
struct InFlightCall {
    connection: Connection,
    call: Call,
}

/// Polls for the next part of the response. Sets `in_flight` to `None` once no further part can arrive.
fn poll_part(
    in_flight: &mut Option<InFlightCall>,
    context: &mut Context<'_>,
) -> Poll<Option<io::Result<Bytes>>> {
    let Some(InFlightCall { connection, .. }) = in_flight else { return Poll::Ready(None) };
    let part = connection.poll_body(context);
    // With a known length, the end is known before it is polled for.
    if connection.is_read()
        && let Some(InFlightCall { connection, call }) = in_flight.take()
    {
        call.worker.connections.give_back(connection);
    }
    if let Poll::Ready(Some(Err(_))) = part {
        *in_flight = None;
    }
    part
}

/// A response that arrives in parts.
struct ResponseBody {
    /// Shared with `late`, so that a caller that stops reading does not hold the call beyond its time limit.
    in_flight: Arc<Mutex<Option<InFlightCall>>>,
    /// Drops the call when its time limit is reached.
    late: AbortOnDropHandle<()>,
    is_over: bool,
}

impl ResponseBody {
    fn new(in_flight: Option<InFlightCall>, deadline: Instant) -> Self {
        let is_over = in_flight.is_none();
        let in_flight = Arc::new(Mutex::new(in_flight));
        let held = Arc::clone(&in_flight);
        let late = tokio::spawn(async move {
            sleep_until(deadline).await;
            drop(held.lock().take());
        });
        Self { in_flight, late: AbortOnDropHandle::new(late), is_over }
    }
}

impl Stream for ResponseBody {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let this = &mut *self;
        if this.is_over {
            return Poll::Ready(None);
        }
        let mut in_flight = this.in_flight.lock();
        let (was_held, part) = (in_flight.is_some(), poll_part(&mut in_flight, context));
        this.is_over = in_flight.is_none();
        drop(in_flight);
        if was_held && (part.is_ready() || Pin::new(&mut this.late).poll(context).is_pending()) {
            return part;
        }
        this.is_over = true;
        let error = io::Error::new(io::ErrorKind::TimedOut, "the function's answer took too long");
        Poll::Ready(Some(Err(error)))
    }
}
