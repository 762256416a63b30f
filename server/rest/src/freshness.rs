//! Who has just written, and so must not read from a replica that lags behind.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many slots there are for callers. Callers that share a slot keep each other off the replicas, which costs the
/// primary a few reads and nobody their own writes.
const SLOTS: usize = 4096;

/// When callers wrote last. Its size does not depend on how many there are.
#[derive(Debug)]
pub struct Writers {
    /// Milliseconds from `start` to a write, plus one; 0 for none.
    last_writes: Box<[AtomicU64]>,
    hasher: RandomState,
    start: Instant,
}

impl Default for Writers {
    fn default() -> Self {
        let last_writes = std::iter::repeat_with(AtomicU64::default).take(SLOTS).collect();
        Self { last_writes, hasher: RandomState::new(), start: Instant::now() }
    }
}

impl Writers {
    /// Notes that the caller with these claims has written.
    pub fn note(&self, claims: &str) {
        self.slot(claims).fetch_max(self.now(), Ordering::Relaxed);
    }

    /// Reports whether the caller with these claims wrote within the last `interval`.
    pub fn have_written(&self, claims: &str, interval: Duration) -> bool {
        let last = self.slot(claims).load(Ordering::Relaxed);
        last > 0 && u128::from(self.now() - last.min(self.now())) < interval.as_millis()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    fn slot(&self, claims: &str) -> &AtomicU64 {
        let hash = usize::try_from(self.hasher.hash_one(claims) % SLOTS as u64).unwrap_or(0);
        &self.last_writes[hash]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_wrote_are_kept_and_not_for_ever() {
        let writers = Writers::default();
        writers.note("ada");
        assert!(writers.have_written("ada", Duration::from_secs(60)));
        assert!(!writers.have_written("ada", Duration::ZERO));
        // One in 4096 shares the slot of another.
        let others = (0..100).filter(|n| writers.have_written(&n.to_string(), Duration::from_secs(60)));
        assert!(others.count() < 5);
    }
}
