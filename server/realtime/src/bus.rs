//! Messages between the nodes of one project, over NATS: broadcasts, presences and row changes.
//!
//! Without NATS there is one node and nothing to send. NATS stores nothing: a node that is cut off misses messages. It
//! gets presences again afterwards and asks for missed row changes (`changes/exchange.rs`); missed broadcasts are lost,
//! since their delivery is not guaranteed.

mod message;
mod nats;
mod parts;
mod peers;
pub(crate) mod rows;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::ids::NodeId;
pub(crate) use message::{Head, Message};
pub use nats::connect as connect_to_nats;
pub(crate) use nats::run;

/// Messages that may wait to be sent, and their bytes.
const MAX_MESSAGES: usize = 65_536;
const MAX_BYTES: usize = 64 << 20;

/// The queue of messages for the other nodes.
#[derive(Debug)]
pub(crate) struct Bus {
    node: NodeId,
    queue: Option<mpsc::Sender<Message>>,
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
            queued_bytes: AtomicUsize::default(),
            sent_count: AtomicU64::default(),
            is_connected: false.into(),
        }
    }

    /// Returns a bus to other nodes, and the queue that [`run`] sends from.
    pub(crate) fn shared() -> (Self, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        (Self { queue: Some(sender), ..Self::single_node() }, receiver)
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
    fn next_number(&self) -> u64 {
        self.sent_count.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn note_sent(&self, message: &Message) {
        self.queued_bytes.fetch_sub(message.body.len(), Ordering::Relaxed);
    }

    fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }
}
