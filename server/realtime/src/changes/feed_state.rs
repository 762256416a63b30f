//! The state of the feed.

use std::sync::Arc;

/// The state of the feed, for subscribers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeedState {
    /// No client needs it.
    Idle,
    /// It is being opened.
    Connecting,
    /// What is committed from now on is delivered.
    Live,
    /// It cannot be opened, for this reason; the feed tries again.
    Unavailable(Arc<str>),
}
