//! The body of a call, as it arrives from the caller.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The body of a call.
#[derive(Debug)]
pub(crate) struct Body {
    /// A part that has arrived before it was asked for.
    first: Option<io::Result<Frame<Bytes>>>,
    rest: BoxBody<Bytes, io::Error>,
}

impl Body {
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
}

impl From<poem::Body> for Body {
    fn from(body: poem::Body) -> Self {
        Self { first: None, rest: body.into() }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        match this.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => Pin::new(&mut this.rest).poll_frame(context),
        }
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
