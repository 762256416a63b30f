//! A connection's bytes: bounded in time, and not torn off while the client is still sending.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::life::Life;
use super::places::Place;

/// How long a client that nobody listens to any more may go on sending, in all and until its next byte, and how much.
/// A connection that is closed while bytes wait to be read is reset (RFC 1122, section 4.2.2.13), and the reset can
/// destroy an answer that the client has not read. nginx's `lingering_time` and `lingering_timeout` are the same.
pub(super) const LINGER: Duration = Duration::from_secs(30);
const LINGER_SILENCE: Duration = Duration::from_secs(5);
pub(super) const LINGER_BYTES: usize = 64 << 20;

/// A connection that breaks when it is silent for too long: half a request that is never finished must not hold its
/// memory for ever.
pub(super) struct Connection<Io> {
    stream: Io,
    life: Arc<Life>,
    silence: Duration,
    last: Instant,
    /// Looked at when nothing can be read. It is moved on only when it goes off, not at every byte.
    timer: Pin<Box<Sleep>>,
    closing: Closing,
    /// Free for others when the connection is closed, and not when it has become a WebSocket.
    _place: Arc<Place>,
}

/// How far the end of a connection is.
enum Closing {
    /// It goes on.
    No,
    /// The client was told, and may be sending still: until when that is waited for, and how much more is taken.
    Lingering(Instant, usize),
    Done,
}

impl<Io> Connection<Io> {
    /// `stream`, broken once nothing was read or written for `silence`.
    pub(super) fn new(stream: Io, life: Arc<Life>, silence: Duration, place: Arc<Place>) -> Self {
        let last = Instant::now();
        let timer = Box::pin(sleep_until(last + silence));
        Self { stream, life, silence, last, timer, closing: Closing::No, _place: place }
    }

    /// Ready once the connection was silent for too long.
    fn poll_silent(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let deadline = self.last + self.silence;
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    /// Notes that an answer went on, if it did.
    fn note_written(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.last = Instant::now();
            self.life.told();
        }
        written
    }
}

impl<Io: AsyncRead + Unpin> Connection<Io> {
    /// Reads and forgets what the client sends, until it ends, or is silent, or it is enough.
    fn poll_linger(&mut self, context: &mut Context<'_>, until: Instant, left: &mut usize) -> Poll<()> {
        let mut forgotten = [0; 4096];
        loop {
            let mut into = ReadBuf::new(&mut forgotten);
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
            Poll::Pending => this.poll_silent(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
            ready => {
                this.last = Instant::now();
                if into.filled().len() > before {
                    this.life.heard();
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
        this.note_written(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.note_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Closing::No = this.closing {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            let now = Instant::now();
            this.closing = if this.life.is_sending() && !this.life.end.is_cancelled() {
                this.timer.as_mut().reset(now + LINGER_SILENCE);
                Closing::Lingering(now + LINGER, LINGER_BYTES)
            } else {
                Closing::Done
            };
        }
        if let Closing::Lingering(until, mut left) = this.closing {
            let lingered = this.poll_linger(context, until, &mut left);
            this.closing = if lingered.is_ready() { Closing::Done } else { Closing::Lingering(until, left) };
            return lingered.map(Ok);
        }
        Poll::Ready(Ok(()))
    }
}
