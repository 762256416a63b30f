//! When connections were last renewed, all at once.
//!
//! A session keeps what it was begun with: the settings of its role, statements that were prepared, the types of their
//! parameters. After a change of the catalog all of that may be outdated, so the connections of before are given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A moment before which no connection may have been opened. Clones share it, so that databases with different login
/// roles are renewed together.
#[derive(Debug, Clone)]
pub struct Renewal {
    start: Instant,
    /// Nanoseconds from `start` to the last renewal.
    last: Arc<AtomicU64>,
}

impl Default for Renewal {
    fn default() -> Self {
        Self { start: Instant::now(), last: Arc::default() }
    }
}

impl Renewal {
    /// Makes everything that was opened until now outdated.
    pub(crate) fn renew(&self) {
        self.last.fetch_max(self.since_start(Instant::now()), Ordering::Relaxed);
    }

    /// Whether something that was opened at this moment is outdated.
    pub(crate) fn is_outdated(&self, opened: Instant) -> bool {
        self.since_start(opened) < self.last.load(Ordering::Relaxed)
    }

    fn since_start(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_opened_before_is_outdated_for_all_who_share_it() {
        let renewal = Renewal::default();
        let other = renewal.clone();
        let before = Instant::now();
        assert!(!other.is_outdated(before));
        renewal.renew();
        assert!(other.is_outdated(before));
        assert!(!other.is_outdated(Instant::now()));
    }
}
