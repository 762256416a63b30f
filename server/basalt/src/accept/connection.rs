//! The byte stream of a connection, with a time limit, and with a lingering close while the client is still sending.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::Activity;
use super::slots::ConnectionSlot;

/// Limits of a lingering close: its total time, the time until the next byte, and the number of bytes that are read and
/// dropped. A connection that is closed while received bytes have not been read is reset (RFC 1122, section 4.2.2.13),
/// and the reset can destroy a response that the client has not read yet. nginx's `lingering_time` and
/// `lingering_timeout` have the same purpose and values.
pub(super) const LINGER: Duration = Duration::from_secs(30);
const LINGER_SILENCE: Duration = Duration::from_secs(5);
pub(super) const LINGER_BYTES: usize = 64 << 20;

/// A connection that fails if it is silent for too long, so that an incomplete request cannot occupy memory for ever.
pub(super) struct Connection<Io> {
    stream: Io,
    activity: Arc<Activity>,
    silence: Duration,
    /// When a byte was last read or written.
    last: Instant,
    /// Polled while nothing can be read. It is set to a later time only when it fires, not at every byte.
    timer: Pin<Box<Sleep>>,
    closing: CloseState,
    /// Released when the stream is closed, but not when it is upgraded to a WebSocket.
    _slot: Arc<ConnectionSlot>,
}

/// The state of the close of a connection.
enum CloseState {
    /// It has not begun.
    Open,
    /// The sending side is closed. What the client still sends is read until this time, up to this number of bytes.
    Lingering(Instant, usize),
    Done,
}

impl<Io> Connection<Io> {
    /// Wraps `stream` so that it fails once nothing has been read or written for `silence`.
    pub(super) fn new(
        stream: Io,
        activity: Arc<Activity>,
        silence: Duration,
        slot: Arc<ConnectionSlot>,
    ) -> Self {
        let last = Instant::now();
        let timer = Box::pin(sleep_until(last + silence));
        Self { stream, activity, silence, last, timer, closing: CloseState::Open, _slot: slot }
    }

    /// Becomes ready once the connection has been silent for too long.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let deadline = self.last + self.silence;
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    /// Records a write, if it was ready.
    fn record_write(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.last = Instant::now();
            self.activity.record_write();
        }
        written
    }
}

impl<Io: AsyncRead + Unpin> Connection<Io> {
    /// Reads and drops what the client sends, until its end or one of the limits.
    fn poll_linger(&mut self, context: &mut Context<'_>, until: Instant, left: &mut usize) -> Poll<()> {
        let mut dropped = [0; 4096];
        loop {
            let mut into = ReadBuf::new(&mut dropped);
            match Pin::new(&mut self.stream).poll_read(context, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() && into.filled().len() < *left => {
                    *left -= into.filled().len();
                    let silent = Instant::now() + LINGER_SILENCE;
                    self.timer.as_mut().reset(silent.min(until));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.timer.as_mut().poll(context),
            }
        }
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Connection<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, into) {
            Poll::Pending => this.poll_silence(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
            ready => {
                this.last = Instant::now();
                if into.filled().len() > before {
                    this.activity.record_read();
                }
                ready
            }
        }
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<Io> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.record_write(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.record_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let CloseState::Open = this.closing {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            let now = Instant::now();
            this.closing = if this.activity.is_sending() && !this.activity.end.is_cancelled() {
                this.timer.as_mut().reset(now + LINGER_SILENCE);
                CloseState::Lingering(now + LINGER, LINGER_BYTES)
            } else {
                CloseState::Done
            };
        }
        if let CloseState::Lingering(until, mut left) = this.closing {
            let lingered = this.poll_linger(context, until, &mut left);
            this.closing =
                if lingered.is_ready() { CloseState::Done } else { CloseState::Lingering(until, left) };
            return lingered.map(Ok);
        }
        Poll::Ready(Ok(()))
    }
}
