//! The wait before a function that fails is restarted.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// The longest wait after the end of a process that had been ready. Its callers may have ended it, for example by what
/// they send, so others wait for the next one and are not refused.
const LONGEST_AFTER_READY: Duration = Duration::from_secs(1);

/// How far a process came that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It was never ready for calls.
    Started,
    /// It was ready, but responded to no call.
    Ready,
    /// It responded to calls, so it can be started again at once.
    Responded,
}

/// The number of failures in a row, and the time of the next start.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Records at `now` that a process has failed after that `progress`.
    pub(super) fn record_failure(&mut self, progress: Progress, now: Instant) {
        let longest = match progress {
            Progress::Started => LONGEST,
            Progress::Ready => LONGEST_AFTER_READY,
            Progress::Responded => {
                *self = Self::default();
                return;
            }
        };
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(longest);
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
    fn waits_double_until_a_process_has_responded() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.wait(now), Duration::ZERO);
        for millis in [100, 200, 400, 800] {
            backoff.record_failure(Progress::Started, now);
            assert_eq!(backoff.wait(now), Duration::from_millis(millis));
        }
        for _ in 0..40 {
            backoff.record_failure(Progress::Started, now);
        }
        assert_eq!(backoff.wait(now), LONGEST);
        assert_eq!(backoff.wait(now + LONGEST), Duration::ZERO);
        backoff.record_failure(Progress::Ready, now);
        assert_eq!(backoff.wait(now), LONGEST_AFTER_READY);
        backoff.record_failure(Progress::Responded, now);
        assert_eq!(backoff.wait(now), Duration::ZERO);
        backoff.record_failure(Progress::Ready, now);
        assert_eq!(backoff.wait(now), FIRST);
    }
}
