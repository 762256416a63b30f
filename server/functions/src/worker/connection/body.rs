//! The body of a call, as it arrives from the caller.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::worker::room::Room;

/// The maximum number of bytes of a short body.
pub(crate) const LONGEST_SHORT: usize = 64 << 10;

/// The body of a call.
#[derive(Debug)]
pub(crate) struct Body {
    /// A part that has arrived before it was asked for.
    first: Option<io::Result<Frame<Bytes>>>,
    rest: BoxBody<Bytes, io::Error>,
    /// What it may fill; `None` if that is not limited here.
    room: Option<Room>,
}

impl Body {
    /// Lets it fill `room`, and break off where that is full.
    pub(crate) fn fill(&mut self, room: Option<Room>) {
        self.room = room;
    }

    /// Waits until the first part, or the end, has arrived.
    pub(crate) async fn begin(&mut self) {
        if self.first.is_some() || self.rest.is_end_stream() {
            return;
        }
        self.first = std::future::poll_fn(|context| Pin::new(&mut self.rest).poll_frame(context)).await;
        if self.first.is_none() {
            // After its end it must not be polled again.
            self.rest = poem::Body::empty().into();
        }
    }

    /// Notes its announced `length`: if its first part has as many bytes, that is all, which streams do not say.
    pub(crate) fn announce(&mut self, length: u64) {
        let first = self.first.as_ref().and_then(|first| first.as_ref().ok()?.data_ref());
        if first.is_some_and(|first| first.len() as u64 == length) {
            self.rest = poem::Body::empty().into();
        }
    }

    /// Returns the whole body if it is known to have arrived.
    pub(crate) fn whole(&self) -> Option<Bytes> {
        if !self.rest.is_end_stream() {
            return None;
        }
        match &self.first {
            None => Some(Bytes::new()),
            Some(Ok(frame)) => frame.data_ref().cloned(),
            Some(Err(_)) => None,
        }
    }

    /// Takes what has arrived in the meantime, up to about [`LONGEST_SHORT`], so that the end of a short body is known
    /// although its length was not announced. Waits only for other tasks.
    pub(crate) async fn gather(&mut self) {
        let first = match self.first.take() {
            Some(Ok(first)) => first,
            other => {
                self.first = other;
                return;
            }
        };
        let mut gathered = BytesMut::from(first.into_data().unwrap_or_default());
        let mut rests = 0;
        let failure = loop {
            let next =
                std::future::poll_fn(|context| Pin::new(&mut self.rest).poll_frame(context)).now_or_never();
            match next {
                Some(Some(Ok(frame))) => gathered.extend(frame.into_data().unwrap_or_default()),
                Some(Some(Err(error))) => break Some(error),
                Some(None) => {
                    self.rest = poem::Body::empty().into();
                    break None;
                }
                // The task that reads from the caller has its turn.
                None if rests < 2 => {
                    rests += 1;
                    tokio::task::yield_now().await;
                }
                None => break None,
            }
            if gathered.len() >= LONGEST_SHORT {
                break None;
            }
        };
        self.first = Some(failure.map_or_else(|| Ok(Frame::data(gathered.freeze())), Err));
    }
}

impl From<Bytes> for Body {
    fn from(whole: Bytes) -> Self {
        let first = (!whole.is_empty()).then(|| Ok(Frame::data(whole)));
        Self { first, rest: poem::Body::empty().into(), room: None }
    }
}

impl From<poem::Body> for Body {
    fn from(body: poem::Body) -> Self {
        Self { first: None, rest: body.into(), room: None }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        let part = match this.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => Pin::new(&mut this.rest).poll_frame(context),
        };
        if let (Poll::Ready(Some(Ok(frame))), Some(room)) = (&part, &this.room)
            && !room.take(frame.data_ref().map_or(0, Bytes::len))
        {
            return Poll::Ready(Some(Err(io::Error::other("the function has no memory for the body"))));
        }
        part
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let first = match &self.first {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len) as u64,
            _ => 0,
        };
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint.set_lower(rest.lower() + first);
        hint
    }
}
