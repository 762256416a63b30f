//! The queue of messages for the other nodes of the project, and what these messages are: broadcasts, presences and row
//! changes. `nodes` carries them.

mod message;
pub(crate) mod parts;
pub(crate) mod rows;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::ids::NodeId;
pub(crate) use message::{Head, Message};

/// Messages that may wait to be sent, and their bytes.
const MAX_MESSAGES: usize = 65_536;
const MAX_BYTES: usize = 64 << 20;

/// The queue of messages for the other nodes.
#[derive(Debug)]
pub(crate) struct Bus {
    node: NodeId,
    queue: Option<mpsc::Sender<Message>>,
    /// The other end of the queue, until somebody takes it.
    outgoing: Mutex<Option<mpsc::Receiver<Message>>>,
    queued_bytes: AtomicUsize,
    /// Number of messages that were sent, on all connections: the others pass over what has an earlier number.
    sent_count: AtomicU64,
    /// Whether NATS can be reached.
    is_connected: AtomicBool,
}

impl Bus {
    /// Returns the bus of a node that is alone: it sends nothing.
    pub(crate) fn single_node() -> Self {
        Self {
            node: NodeId::random(),
            queue: None,
            outgoing: Mutex::default(),
            queued_bytes: AtomicUsize::default(),
            sent_count: AtomicU64::default(),
            is_connected: false.into(),
        }
    }

    /// Returns a bus to other nodes.
    pub(crate) fn shared() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        Self { queue: Some(sender), outgoing: Mutex::new(Some(receiver)), ..Self::single_node() }
    }

    /// Returns the messages to send, the first time that this is called; `None` for a node that is alone.
    pub(crate) fn outgoing(&self) -> Option<mpsc::Receiver<Message>> {
        self.outgoing.lock().take()
    }

    /// Returns the ID of this node.
    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    /// Reports whether there can be other nodes.
    pub(crate) fn is_shared(&self) -> bool {
        self.queue.is_some()
    }

    /// Sends the other nodes the message that `make` returns, if there can be others and NATS is connected. A message
    /// that does not fit into the queue is lost: a slow broker must not stop this node.
    pub(crate) fn tell(&self, make: impl FnOnce() -> Message) {
        let Some(queue) = &self.queue else { return };
        if !self.is_connected.load(Ordering::Relaxed) {
            return;
        }
        let message = make();
        let size = message.body.len();
        let has_room = self.queued_bytes.fetch_add(size, Ordering::Relaxed) < MAX_BYTES;
        if !has_room || queue.try_send(message).is_err() {
            self.queued_bytes.fetch_sub(size, Ordering::Relaxed);
            tracing::debug!("NATS is slow: other nodes miss a message");
        }
    }

    /// Returns the number of the next message.
    pub(crate) fn next_number(&self) -> u64 {
        self.sent_count.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes that a message has left the queue.
    pub(crate) fn note_sent(&self, message: &Message) {
        self.queued_bytes.fetch_sub(message.body.len(), Ordering::Relaxed);
    }

    /// Sets whether NATS can be reached.
    pub(crate) fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }
}
