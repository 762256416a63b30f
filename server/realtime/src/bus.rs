//! What the nodes of one project tell each other, over NATS: broadcasts, presences and row changes.
//!
//! Without NATS there is one node and nothing to tell. NATS keeps nothing: a node that is cut off misses what it is told
//! meanwhile. Of presences it is told again afterwards; row changes it asks for (`changes/exchange.rs`); broadcasts, which
//! promise nothing, are lost to it.

mod message;
mod nats;
mod parts;
mod peers;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::mpsc;

pub(crate) use message::{Head, Message, NodeId};
pub use nats::connect as connect_to_nats;
pub(crate) use nats::run;

/// Messages that may wait to be told, and their bytes.
const MAX_MESSAGES: usize = 65_536;
const MAX_BYTES: usize = 64 << 20;

/// The way to the other nodes.
#[derive(Debug)]
pub(crate) struct Bus {
    node: NodeId,
    queue: Option<mpsc::Sender<Message>>,
    queued_bytes: AtomicUsize,
    /// Whether NATS can be reached.
    is_connected: AtomicBool,
}

impl Bus {
    /// Returns the way to no other node.
    pub(crate) fn alone() -> Self {
        Self {
            node: NodeId::random(),
            queue: None,
            queued_bytes: AtomicUsize::default(),
            is_connected: false.into(),
        }
    }

    /// Returns a way to other nodes, and what [`run`] is to tell them.
    pub(crate) fn to_others() -> (Self, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        (Self { queue: Some(sender), ..Self::alone() }, receiver)
    }

    /// Returns what this node is called.
    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    /// Reports whether there can be other nodes.
    pub(crate) fn is_shared(&self) -> bool {
        self.queue.is_some()
    }

    /// Tells the other nodes what `make` returns, if there can be others and NATS takes messages. What finds no room is lost:
    /// a broker that is slow must not stop this node.
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

    fn note_told(&self, message: &Message) {
        self.queued_bytes.fetch_sub(message.body.len(), Ordering::Relaxed);
    }

    fn set_connected(&self, is_connected: bool) {
        self.is_connected.store(is_connected, Ordering::Relaxed);
    }
}
