//! The wait before a function that fails is restarted.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// The uptime after which a process counts as stable: failures before it are forgotten.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The number of failures in a row, and the time of the next start.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Records a failure at `now`: of a start, with no `uptime`, or the end of a process after that `uptime`.
    pub(super) fn record_failure(&mut self, uptime: Duration, now: Instant) {
        if uptime >= STABLE_AFTER {
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
            backoff.record_failure(Duration::ZERO, now);
            assert_eq!(backoff.wait(now), Duration::from_millis(millis));
        }
        for _ in 0..40 {
            backoff.record_failure(Duration::ZERO, now);
        }
        assert_eq!(backoff.wait(now), LONGEST);
        assert_eq!(backoff.wait(now + LONGEST), Duration::ZERO);
        backoff.record_failure(STABLE_AFTER, now);
        assert_eq!(backoff.wait(now), FIRST);
    }
}
