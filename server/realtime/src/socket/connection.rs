//! The connection of a socket: reads and writes frames at the same time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Buf as _;
use fairness::HeldMemory;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::Instant;

use crate::frame::{Close, Decoder, Frame, Incoming};
use crate::notice::Notice;
use crate::outbox::{Item, Outbox, Overflow};

/// Bytes that are read at once.
const READ_SIZE: usize = 8 << 10;
/// Bytes of a message's beginning that are not counted: ordinary messages arrive whole however little memory is left.
const UNCOUNTED_SIZE: usize = 16 << 10;
/// Bytes of small frames that are written at once.
const WRITE_SIZE: usize = 16 << 10;
/// How long the client may accept no bytes.
const STUCK_LIMIT: Duration = Duration::from_secs(30);

/// An event of a connection.
#[derive(Debug)]
pub(super) enum Event {
    /// The client sent something.
    Incoming(Incoming),
    /// There is a notice about one of its channels.
    Notice(Notice),
    /// The client broke the protocol.
    Broken(Close),
    /// The client does not read.
    Overflow,
    /// The connection is gone.
    Ended,
}

/// A WebSocket after its handshake.
pub(super) struct Connection<IO> {
    io: IO,
    decoder: Decoder,
    /// The memory for the beginning of a message.
    held: HeldMemory,
    outbox: Arc<Outbox>,
    /// Items from the outbox that are not handled yet.
    items: VecDeque<Item>,
    /// Frames to be written, in order; the first may be partly written.
    frames: VecDeque<Frame>,
    /// Since when nothing could be written.
    blocked_since: Option<Instant>,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    pub(super) fn new(io: IO, outbox: Arc<Outbox>) -> Self {
        let (items, frames) = (VecDeque::new(), VecDeque::new());
        let (decoder, held) = (Decoder::default(), HeldMemory::default());
        Self { io, decoder, held, outbox, items, frames, blocked_since: None }
    }

    /// Returns the next event, and writes while it waits. May be cancelled.
    pub(super) async fn next(&mut self) -> Event {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Reports whether the client has accepted no bytes for too long.
    pub(super) fn is_stuck(&self) -> bool {
        self.blocked_since.is_some_and(|since| since.elapsed() >= STUCK_LIMIT)
    }

    /// Takes the frames that wait for the client; the outbox accepts no more from now on.
    pub(super) fn take_rest(&mut self) {
        let rest = self.items.drain(..).chain(self.outbox.close()).filter_map(|item| match item {
            Item::Frame(frame) => Some(frame),
            Item::Notice(_) => None,
        });
        self.frames.extend(rest);
    }

    /// Writes the remaining frames and the closing frame, and waits until the client closes the connection, too.
    pub(super) async fn close(&mut self, close: Close) -> io::Result<()> {
        (self.decoder, self.held) = Default::default();
        self.frames.push_back(close.to_frame());
        poll_fn(|context| self.poll_write(context)).await?;
        self.io.shutdown().await?;
        // Unread bytes would make the kernel reset the connection, and the last frame would be lost.
        poll_fn(|context| {
            loop {
                match ready!(self.poll_read(context)) {
                    Ok(0) | Err(_) => return Poll::Ready(Ok(())),
                    Ok(_) => self.decoder = Decoder::default(),
                }
            }
        })
        .await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        loop {
            if let Poll::Ready(Err(_)) = self.poll_write(context) {
                return Poll::Ready(Event::Ended);
            }
            if self.frames.is_empty() {
                match self.take_items(context) {
                    Ok(Some(notice)) => return Poll::Ready(Event::Notice(notice)),
                    Ok(None) if !self.frames.is_empty() => continue,
                    Ok(None) => {}
                    Err(Overflow) => return Poll::Ready(Event::Overflow),
                }
            } else if self.outbox.poll_overflow(context).is_ready() {
                return Poll::Ready(Event::Overflow);
            }
            match self.decoder.next() {
                Ok(Some(incoming)) => return Poll::Ready(Event::Incoming(incoming)),
                Ok(None) => {}
                Err(close) => return Poll::Ready(Event::Broken(close)),
            }
            let counted = self.decoder.waiting().saturating_sub(UNCOUNTED_SIZE);
            if !self.outbox.memory().hold(counted, &mut self.held) {
                return Poll::Ready(Event::Broken(Close::NO_MEMORY));
            }
            match ready!(self.poll_read(context)) {
                Ok(0) | Err(_) => return Poll::Ready(Event::Ended),
                Ok(_) => {}
            }
        }
    }

    /// Takes frames from the outbox up to the next notice, and returns the notice.
    fn take_items(&mut self, context: &Context<'_>) -> Result<Option<Notice>, Overflow> {
        if self.items.is_empty()
            && let Poll::Ready(taken) = self.outbox.poll_take(context)
        {
            self.items = taken?;
        }
        while let Some(item) = self.items.pop_front() {
            match item {
                Item::Frame(frame) => self.frames.push_back(frame),
                Item::Notice(notice) => return Ok(Some(notice)),
            }
        }
        self.items = VecDeque::new();
        Ok(None)
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.join_small_frames();
            let Some(frame) = self.frames.front_mut() else { break };
            match Pin::new(&mut self.io).poll_write(context, frame) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    self.blocked_since = None;
                    frame.advance(written);
                    if frame.is_empty() {
                        self.frames.pop_front();
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.blocked_since.get_or_insert_with(Instant::now);
                    return Poll::Pending;
                }
            }
        }
        // A socket that has nothing to write holds no memory for it.
        self.frames = VecDeque::new();
        Pin::new(&mut self.io).poll_flush(context)
    }

    /// Joins the small frames at the front: one write instead of many.
    fn join_small_frames(&mut self) {
        let mut length = 0;
        let small = self.frames.iter().take_while(|frame| {
            length += frame.len();
            length <= WRITE_SIZE
        });
        let count = small.count();
        if count > 1 {
            let mut gathered = Vec::with_capacity(WRITE_SIZE.min(length));
            for frame in self.frames.drain(..count) {
                gathered.extend_from_slice(&frame);
            }
            self.frames.push_front(gathered.into());
        }
    }

    /// Reads bytes for the decoder and returns their number; 0 is the end.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = [const { MaybeUninit::uninit() }; READ_SIZE];
        let mut read = ReadBuf::uninit(&mut bytes);
        ready!(Pin::new(&mut self.io).poll_read(context, &mut read))?;
        self.decoder.extend(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }
}
