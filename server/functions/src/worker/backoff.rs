//! How long a function that fails waits until its restart.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// A process that lived this long was in order: its end begins a new count.
const LIVED: Duration = Duration::from_secs(10);

/// Failures in a row, and until when the next start has to wait.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Counts a failure: a start failed at `now`, or the process ended by itself after it `lived` so long.
    pub(super) fn failed(&mut self, lived: Duration, now: Instant) {
        if lived >= LIVED {
            *self = Self::default();
        }
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures += 1;
        self.until = Some(now + wait);
    }

    /// Returns how long a start has to wait at `now`.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_until_a_process_has_lived() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.wait(now), Duration::ZERO);
        for millis in [100, 200, 400, 800] {
            backoff.failed(Duration::ZERO, now);
            assert_eq!(backoff.wait(now), Duration::from_millis(millis));
        }
        for _ in 0..40 {
            backoff.failed(Duration::ZERO, now);
        }
        assert_eq!(backoff.wait(now), LONGEST);
        assert_eq!(backoff.wait(now + LONGEST), Duration::ZERO);
        backoff.failed(LIVED, now);
        assert_eq!(backoff.wait(now), FIRST);
    }
}
