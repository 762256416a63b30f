//! A connection to a function's process, on which one call after the other is made.
//!
//! What a call needs of HTTP/1.1 is little, since its other end is always Deno on the same machine, and everything is
//! paid for at every call. So it is done here: the head and a short body leave with one write, and a short answer comes
//! with one read, its headers' values and its body left where they were read.

mod framing;
mod head;
mod outgoing;

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::io::poll_read_buf;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use framing::Upload;
pub(crate) use head::{Head, connection_options};
pub(crate) use outgoing::{Body, Outgoing};

use framing::{Framing, Part};

/// Bytes that a read has room for, and that it has once one was filled.
const ROOM: usize = 8 * 1024;
const MORE_ROOM: usize = 64 * 1024;
/// Less room than this is not worth a read.
const LEAST_ROOM: usize = 2 * 1024;

/// Why a call got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing of it was sent, so that it may be sent again.
    Unsent,
    /// The worker closed the connection, or sent what is no answer.
    Broken,
    /// The caller broke off while the body was coming.
    Caller,
    /// The answer did not begin in time.
    Late,
}

/// A connection in use. Dropped before it is given back, it is closed, from which the function learns that its caller
/// has gone.
///
/// Whoever waits for something of it does its reading and writing, too: in a task of its own they would cost every call
/// two switches between tasks, of which each may wake a thread.
pub(crate) struct Connection {
    stream: Stream,
    /// What was read and not taken yet.
    input: BytesMut,
    /// Bytes that the next read should have room for.
    room: usize,
    /// Of the answer that is being read.
    framing: Framing,
    /// Whether it is of no use for another call.
    is_last: bool,
    /// Kept from one call to the next: to set a timer and to take it back costs more than to look at one.
    timer: Option<Pin<Box<Sleep>>>,
}

enum Stream {
    Whole(UnixStream),
    /// A task sends the rest of the call, for as long as this is held.
    Reading(OwnedReadHalf, #[expect(dead_code, reason = "held for its end")] AbortOnDropHandle<()>),
}

impl Connection {
    pub(super) async fn open(socket: &Path) -> io::Result<Self> {
        let stream = Stream::Whole(UnixStream::connect(socket).await?);
        let (input, framing) = (BytesMut::with_capacity(ROOM), Framing::Length(0));
        Ok(Self { stream, input, room: ROOM, framing, is_last: false, timer: None })
    }

    /// Whether it can take a call, as far as that is known already.
    pub(super) fn is_idle(&self) -> bool {
        let Stream::Whole(stream) = &self.stream else { return false };
        // Asks the system only where it has told that there is something: its end, if nobody has asked for anything.
        let nothing = stream.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        nothing && !self.is_last && self.input.is_empty() && self.framing == Framing::Length(0)
    }

    /// Sends `call` and waits for the head of its answer, until `deadline` if there is one. What is then still to come of
    /// the call's body, a task sends from here on: it goes to the function even while nobody reads the answer.
    pub(super) async fn exchange(
        mut self,
        mut call: Outgoing,
        deadline: Option<Instant>,
    ) -> Result<(Head, Self), (Failure, Outgoing)> {
        let answered = std::future::poll_fn(|context| self.poll_exchange(&mut call, deadline, context)).await;
        match answered {
            Ok(head) => {
                self.framing = head.framing;
                self.is_last |= head.is_last;
                Ok((head, if call.is_sent() { self } else { self.send_rest(call) }))
            }
            Err(failure) => Err((failure, call)),
        }
    }

    fn poll_exchange(
        &mut self,
        call: &mut Outgoing,
        deadline: Option<Instant>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Head, Failure>> {
        let Stream::Whole(stream) = &mut self.stream else { return Poll::Ready(Err(Failure::Broken)) };
        if !call.is_sent() {
            match call.poll_send(Pin::new(stream), context) {
                // It may have answered before it closed its end.
                Poll::Ready(Err(Failure::Broken)) => {
                    call.stop();
                    self.is_last = true;
                }
                Poll::Ready(Err(failure)) => return Poll::Ready(Err(failure)),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
        }
        loop {
            if !self.input.is_empty()
                && let Some(head) = head::take(&mut self.input, &call.method).map_err(|_| Failure::Broken)?
            {
                return Poll::Ready(Ok(head));
            }
            match self.poll_read(context) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(Err(Failure::Broken)),
                Poll::Pending if self.is_late(deadline, context) => return Poll::Ready(Err(Failure::Late)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn send_rest(self, mut call: Outgoing) -> Self {
        let Stream::Whole(stream) = self.stream else { return self };
        let (read, mut write) = stream.into_split();
        let sending = tokio::spawn(async move {
            let sent = std::future::poll_fn(|context| call.poll_send(Pin::new(&mut write), context)).await;
            if sent.is_ok() {
                // To close this direction would say that the caller has gone.
                write.forget();
            }
        });
        Self { stream: Stream::Reading(read, AbortOnDropHandle::new(sending)), is_last: true, ..self }
    }

    /// The next part of the answer's body.
    pub(crate) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match self.framing.take(&mut self.input) {
                Ok(Part::Data(bytes)) => {
                    self.framing.pass_end(&mut self.input);
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Ok(Part::Over) => return Poll::Ready(None),
                Ok(Part::More) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            match ready!(self.poll_read(context)) {
                Ok(1..) => {}
                Ok(0) if self.framing.may_end() => {
                    self.framing = Framing::Length(0);
                    return Poll::Ready(None);
                }
                Ok(0) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// Whether all of the answer's body was read.
    pub(crate) fn is_read(&self) -> bool {
        self.framing == Framing::Length(0)
    }

    /// The connection itself, which has become another protocol's, and what has come of that already.
    pub(crate) fn into_parts(self) -> Option<(UnixStream, Bytes)> {
        match self.stream {
            Stream::Whole(stream) => Some((stream, self.input.freeze())),
            Stream::Reading(..) => None,
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.capacity() - self.input.len() < LEAST_ROOM {
            self.input.reserve(self.room);
        }
        let read = ready!(match &mut self.stream {
            Stream::Whole(stream) => poll_read_buf(Pin::new(stream), context, &mut self.input),
            Stream::Reading(stream, _) => poll_read_buf(Pin::new(stream), context, &mut self.input),
        })?;
        self.room = if self.input.len() == self.input.capacity() { MORE_ROOM } else { ROOM };
        Poll::Ready(Ok(read))
    }

    /// Whether `deadline` has passed; if not, the task is woken by then.
    fn is_late(&mut self, deadline: Option<Instant>, context: &mut Context<'_>) -> bool {
        let Some(deadline) = deadline else { return false };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        while timer.as_mut().poll(context).is_ready() {
            if deadline <= Instant::now() {
                return true;
            }
            timer.as_mut().reset(deadline);
        }
        false
    }
}
