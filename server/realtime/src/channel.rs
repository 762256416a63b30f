//! A channel: one join of a topic by one socket.

pub(crate) mod config;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairness::HeldMemory;
use tokio_util::task::AbortOnDropHandle;

use crate::changes::Subscription;
use crate::hub::Topic;
use crate::ids::ChannelId;
use crate::protocol::Reference;
use crate::rights::Rights;
use crate::token::Access;
pub(crate) use config::JoinConfig;

/// A channel that is joined.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    pub(crate) topic: Arc<Topic>,
    pub(crate) join_ref: Reference,
    pub(crate) access: Access,
    pub(crate) config: JoinConfig,
    /// The memory that its join takes.
    pub(crate) _memory: HeldMemory,
    pub(crate) rights: Rights,
    /// The row changes that it gets.
    pub(crate) subscription: Option<Subscription>,
    /// The key of its presences.
    pub(crate) presence_key: Box<str>,
    pub(crate) presence_calls: PresenceCalls,
    /// Waits for the replication stream, if the client wants to know when it is live.
    pub(crate) _announcement: Option<AbortOnDropHandle<()>>,
    /// Asks the policies what a new token allows.
    pub(crate) renewal: Option<AbortOnDropHandle<()>>,
}

/// How many presence messages a channel has sent in its current window.
#[derive(Debug, Default)]
pub(crate) struct PresenceCalls {
    /// When the window began, and the messages since then.
    window: Option<(Instant, u32)>,
}

impl PresenceCalls {
    /// Counts a call; reports whether it is one of the first `limit` of its window. A window begins with the first call
    /// after the end of the one before.
    pub(crate) fn admit(&mut self, limit: u32, window: Duration) -> bool {
        let now = Instant::now();
        let current = self.window.filter(|(begun, _)| now.duration_since(*begun) < window);
        let (begun, count) = current.unwrap_or((now, 0));
        self.window = Some((begun, count.saturating_add(1)));
        count < limit
    }
}
