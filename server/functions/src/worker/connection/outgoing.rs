//! A call on its way to the function.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method};
use tokio::io::AsyncWrite;

use super::Failure;
use super::framing::Upload;
use super::head;

/// Room for the head of most calls.
const HEAD: usize = 1024;
/// Bytes that are gathered for one write: a short body goes with its head.
const GATHERED: usize = 64 * 1024;

/// The body of a call, as it comes from the caller.
pub(crate) type Body = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A call, of which so much has been sent.
pub(crate) struct Outgoing {
    pub(super) method: Method,
    /// What is to be written next, and how much of it has been.
    bytes: Vec<u8>,
    written: usize,
    has_begun: bool,
    upload: Upload,
    /// `None` once all of it has been gathered.
    body: Option<Body>,
}

impl Outgoing {
    /// A call of `target` with `headers`, which do not say how the body is sent, and the `body` that `upload` speaks of.
    pub(crate) fn new(
        method: Method,
        target: &str,
        headers: &HeaderMap,
        upload: Upload,
        body: Option<Body>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(HEAD);
        head::write(&mut bytes, &method, target, headers, upload);
        Self { method, bytes, written: 0, has_begun: false, upload, body }
    }

    /// Whether nothing is left to be sent.
    pub(super) fn is_sent(&self) -> bool {
        self.body.is_none() && self.bytes.is_empty()
    }

    /// Gives up what is left.
    pub(super) fn stop(&mut self) {
        self.body = None;
        self.bytes.clear();
        self.written = 0;
    }

    /// Writes to `stream` what can be; ready when nothing is left.
    ///
    /// Errors: [`Failure::Caller`] when the body breaks, else [`Failure::Unsent`] or [`Failure::Broken`].
    pub(super) fn poll_send(
        &mut self,
        mut stream: Pin<&mut impl AsyncWrite>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        loop {
            self.gather(context).map_err(|_| Failure::Caller)?;
            if self.bytes.is_empty() {
                // The body has been asked, and wakes us.
                return if self.body.is_none() { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            match ready!(stream.as_mut().poll_write(context, &self.bytes[self.written..])) {
                Ok(length) if length > 0 => self.written += length,
                _ if self.has_begun => return Poll::Ready(Err(Failure::Broken)),
                _ => return Poll::Ready(Err(Failure::Unsent)),
            }
            self.has_begun = true;
            if self.written == self.bytes.len() {
                self.bytes.clear();
                self.written = 0;
            }
        }
    }

    /// Takes what has come of the body.
    fn gather(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.bytes.len() < GATHERED
            && let Some(body) = &mut self.body
        {
            match body.as_mut().poll_next(context) {
                Poll::Ready(Some(part)) => self.upload.write(&part?, &mut self.bytes)?,
                Poll::Ready(None) => {
                    self.body = None;
                    self.upload.finish(&mut self.bytes)?;
                }
                Poll::Pending => break,
            }
        }
        Ok(())
    }
}
