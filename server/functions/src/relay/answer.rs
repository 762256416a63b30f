//! The body of an answer on its way to the caller.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use poem::Body;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::worker::{Call, Connection};

/// The body for the caller: what has come with the head as it is, anything else as it comes, until `deadline`. Dropped
/// before its end it closes the connection, from which the function learns that its caller has gone.
pub(super) async fn body(connection: Connection, call: Call, deadline: Instant) -> Body {
    let mut place = Some(Place { connection, call });
    let first = std::future::poll_fn(|context| Poll::Ready(poll_part(&mut place, context))).await;
    let first = match first {
        Poll::Ready(None) => return Body::empty(),
        Poll::Ready(Some(Ok(whole))) if place.is_none() => return Body::from(whole),
        Poll::Ready(part) => part,
        Poll::Pending => None,
    };
    let place = place.map(|Place { connection, call }| Place { connection: connection.send_rest(), call });
    Body::from_bytes_stream(stream::iter(first).chain(Answer::new(place, deadline)))
}

/// What an answer holds until the last of it has come from the function.
struct Place {
    connection: Connection,
    call: Call,
}

/// The next part of what comes at `place`, which is left as soon as nothing more will.
fn poll_part(place: &mut Option<Place>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
    let Some(Place { connection, .. }) = place else { return Poll::Ready(None) };
    let part = connection.poll_body(context);
    // Who knows the length does not ask for the end.
    if connection.is_read()
        && let Some(Place { connection, call }) = place.take()
    {
        call.worker.connections.give_back(connection);
    }
    if let Poll::Ready(Some(Err(_))) = part {
        *place = None;
    }
    part
}

/// An answer that comes in parts.
struct Answer {
    /// Shared with `late`: a caller who takes nothing more does not keep the place beyond its time.
    place: Arc<Mutex<Option<Place>>>,
    /// Gives the place up when its time is over.
    late: AbortOnDropHandle<()>,
    is_over: bool,
}

impl Answer {
    fn new(place: Option<Place>, deadline: Instant) -> Self {
        let is_over = place.is_none();
        let place = Arc::new(Mutex::new(place));
        let held = Arc::clone(&place);
        let late = tokio::spawn(async move {
            sleep_until(deadline).await;
            drop(lock(&held).take());
        });
        Self { place, late: AbortOnDropHandle::new(late), is_over }
    }
}

impl Stream for Answer {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let this = &mut *self;
        if this.is_over {
            return Poll::Ready(None);
        }
        let mut place = lock(&this.place);
        let (was_held, part) = (place.is_some(), poll_part(&mut place, context));
        this.is_over = place.is_none();
        drop(place);
        if was_held && (part.is_ready() || Pin::new(&mut this.late).poll(context).is_pending()) {
            return part;
        }
        this.is_over = true;
        let error = io::Error::new(io::ErrorKind::TimedOut, "the function's answer took too long");
        Poll::Ready(Some(Err(error)))
    }
}

fn lock(place: &Mutex<Option<Place>>) -> MutexGuard<'_, Option<Place>> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
