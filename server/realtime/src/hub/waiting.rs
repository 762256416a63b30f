//! Joins that wait for the feed.

use std::sync::atomic::Ordering;

use super::Hub;

/// A join that waits for the feed, as long as this exists.
pub(crate) struct Waiting<'a>(&'a Hub);

impl Hub {
    /// Notes that a join waits for the feed, which is needed therefore.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.needed.notify_one();
        Waiting(self)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
