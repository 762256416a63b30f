//! The renewal of all connections at once.
//!
//! A session keeps state from its beginning: the settings of its role, prepared statements, the types of their
//! parameters. After a change of the catalog this may be outdated, so connections that were opened before it are
//! closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The time of the last renewal. Connections that were opened before it are outdated. Clones share it, so that
/// databases with different login roles are renewed together.
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
    /// Makes all connections outdated that have been opened so far.
    pub(crate) fn renew(&self) {
        self.last.fetch_max(self.since_start(Instant::now()), Ordering::Relaxed);
    }

    /// Reports whether a connection that was opened at `opened` is outdated.
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
    fn connections_opened_before_a_renewal_are_outdated_for_all_clones() {
        let renewal = Renewal::default();
        let other = renewal.clone();
        let before = Instant::now();
        assert!(!other.is_outdated(before));
        renewal.renew();
        assert!(other.is_outdated(before));
        assert!(!other.is_outdated(Instant::now()));
    }
}
