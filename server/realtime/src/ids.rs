//! The names and IDs of topics, channels and nodes.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The prefix of topics' names on the wire.
pub(crate) const PREFIX: &str = "realtime:";

/// The name of a topic. Public and private ones of the same name are different.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TopicName {
    /// Without [`PREFIX`].
    pub(crate) name: Box<str>,
    pub(crate) is_private: bool,
}

/// The ID, in this process, of a channel: one join of a topic by one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChannelId(u64);

impl ChannelId {
    /// Returns the ID as a number, for other nodes.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    /// Returns a new ID.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The ID of a node while its process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NodeId(pub(crate) u64);

impl NodeId {
    /// Returns a random ID.
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }
}
