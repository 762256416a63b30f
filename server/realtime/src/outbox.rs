//! The bounded queue of frames to one client.

use std::collections::VecDeque;
use std::mem;
use std::task::{Context, Poll};

use fairness::Memory;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::frame::{self, Frame};
use crate::notice::Notice;

/// Messages that may wait for one client.
const MAX_ITEMS: usize = 16_384;
/// Bytes of messages that may wait for one client. Most are shared with other clients.
const MAX_BYTES: usize = 32 << 20;
/// Bytes of messages that may wait for one client when its network has no memory left.
const MAX_BYTES_WITHOUT_MEMORY: usize = 1 << 20;

/// Something for a socket's task.
#[derive(Debug)]
pub(crate) enum Item {
    /// A frame to be sent.
    Frame(Frame),
    /// A notice about one of the socket's channels, which the task handles before later items.
    Notice(Notice),
}

/// The queue of one socket.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    task: AtomicWaker,
    /// The memory for what its client sends and is sent.
    memory: Memory,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The queue was full. Its items are dropped.
    Overflowed,
    /// The socket is gone.
    Closed,
}

/// The error that the queue was full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

impl Outbox {
    /// Returns an empty queue for a client that has its share of `memory`.
    pub(crate) fn new(memory: Memory) -> Self {
        Self { queue: Mutex::default(), task: AtomicWaker::new(), memory }
    }

    /// Returns the memory of which the client has its share.
    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns a `frame` that was made for this client, and for others after it, as one whose bytes are counted until
    /// all have got it: as memory of the network for which this task works, or else of the client's own. If neither has
    /// any left, it is not counted.
    pub(crate) fn count(&self, frame: Frame) -> Frame {
        if !self.memory.counts(frame.len()) {
            return frame;
        }
        let memory = self.memory.of(fairness::caller()).take(frame.len());
        match memory.or_else(|| self.memory.take(frame.len())) {
            Some(memory) => frame::holding(frame, memory),
            None => frame,
        }
    }

    /// Appends a frame; reports whether there was room for it.
    pub(crate) fn send(&self, frame: Frame) -> bool {
        let length = frame.len();
        self.push(Item::Frame(frame), length)
    }

    /// Appends a notice for the socket's task.
    pub(crate) fn notify(&self, notice: Notice) {
        self.push(Item::Notice(notice), 0);
    }

    fn push(&self, item: Item, length: usize) -> bool {
        let mut queue = self.queue.lock();
        if queue.state != State::Open {
            return false;
        }
        let bytes = queue.bytes + length;
        let lacks_memory = queue.bytes > MAX_BYTES_WITHOUT_MEMORY && !self.memory.has_room();
        if queue.items.len() >= MAX_ITEMS || bytes > MAX_BYTES || lacks_memory {
            *queue = Queue { state: State::Overflowed, ..Queue::default() };
            drop(queue);
            self.task.wake();
            return false;
        }
        let was_empty = queue.items.is_empty();
        queue.items.push_back(item);
        queue.bytes += length;
        drop(queue);
        if was_empty {
            self.task.wake();
        }
        true
    }

    /// Takes all items; waits while there are none.
    pub(crate) fn poll_take(&self, context: &Context<'_>) -> Poll<Result<VecDeque<Item>, Overflow>> {
        if let Some(taken) = self.take() {
            return Poll::Ready(taken);
        }
        self.task.register(context.waker());
        // An item that was appended before the registration has not woken the task.
        self.take().map_or(Poll::Pending, Poll::Ready)
    }

    /// Waits until the queue overflows.
    pub(crate) fn poll_overflow(&self, context: &Context<'_>) -> Poll<()> {
        self.task.register(context.waker());
        let mut queue = self.queue.lock();
        if queue.state == State::Overflowed {
            queue.state = State::Closed;
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn take(&self) -> Option<Result<VecDeque<Item>, Overflow>> {
        let mut queue = self.queue.lock();
        if queue.state == State::Overflowed {
            queue.state = State::Closed;
            return Some(Err(Overflow));
        }
        queue.bytes = 0;
        (!queue.items.is_empty()).then(|| Ok(mem::take(&mut queue.items)))
    }

    /// Closes the queue, and returns its items.
    pub(crate) fn close(&self) -> VecDeque<Item> {
        mem::replace(&mut *self.queue.lock(), Queue { state: State::Closed, ..Queue::default() }).items
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker_ref;

    use super::*;

    fn outbox(memory: usize) -> Outbox {
        Outbox::new(Memory::new(memory, 1024))
    }

    fn taken(outbox: &Outbox) -> Poll<Result<VecDeque<Item>, Overflow>> {
        outbox.poll_take(&Context::from_waker(noop_waker_ref()))
    }

    #[test]
    fn what_is_sent_is_taken_in_order() {
        let outbox = outbox(0);
        assert!(taken(&outbox).is_pending());
        assert!(outbox.send(Frame::from_static(b"1")) && outbox.send(Frame::from_static(b"2")));
        let Poll::Ready(Ok(items)) = taken(&outbox) else { panic!() };
        assert!(matches!(&items[0], Item::Frame(frame) if frame == "1") && items.len() == 2);
        assert!(taken(&outbox).is_pending());
    }

    #[test]
    fn an_overflow_is_reported_once_and_nothing_is_kept_after_it() {
        for frame in [Frame::from_static(b""), Frame::from(vec![0; MAX_BYTES / 2 + 1])] {
            let outbox = outbox(2 * MAX_BYTES);
            let sent = (0..=MAX_ITEMS).take_while(|_| outbox.send(frame.clone())).count();
            assert!(sent == MAX_ITEMS || sent == 1);
            assert!(matches!(taken(&outbox), Poll::Ready(Err(Overflow))));
            assert!(!outbox.send(frame) && taken(&outbox).is_pending());
        }
    }
    #[test]
    fn who_does_not_read_is_disconnected_when_there_is_no_memory() {
        let slow = outbox(2 << 20);
        let large = || Frame::from(vec![0; 600 << 10]);
        assert!((0..3).all(|_| slow.send(slow.count(large()))));
        assert!(slow.memory().take(500 << 10).is_none(), "what waits is counted");
        let rest = slow.memory().take((2048 - 1800) << 10).unwrap();
        // Somebody who reads gets what there is no memory for.
        let other = Outbox::new(slow.memory().clone());
        assert!(other.send(other.count(large())));
        assert!(!slow.send(Frame::from_static(b"small")));
        assert!(matches!(taken(&slow), Poll::Ready(Err(Overflow))));
        drop(rest);
        assert!(slow.memory().take(2 << 20).is_some(), "nothing is held for what is dropped");
    }
}
