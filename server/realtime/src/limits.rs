//! Rates of events per second, as an average over up to a minute.
//!
//! Source: upstream's `Realtime.RateCounter`: samples of five seconds, a limit acts while the average is at or above
//! it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long one sample is.
const SAMPLE: Duration = Duration::from_secs(5);
/// Samples that count.
const SAMPLES: usize = 12;

/// A rate of events.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Events of the sample that is being taken.
    current: AtomicU64,
    window: Mutex<RateWindow>,
}

/// The samples of the last minute.
#[derive(Debug)]
struct RateWindow {
    /// The newest first.
    samples: [u64; SAMPLES],
    taken: usize,
    sample_begun: Instant,
}

impl Default for Rate {
    fn default() -> Self {
        let window = RateWindow { samples: [0; SAMPLES], taken: 0, sample_begun: Instant::now() };
        Self { current: AtomicU64::new(0), window: Mutex::new(window) }
    }
}

impl Rate {
    /// Adds to the number of events.
    pub(crate) fn add(&self, events: u64) {
        self.current.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns the average over the samples that were taken, in events per second.
    pub(crate) fn average(&self) -> f64 {
        self.average_at(Instant::now())
    }

    /// Reports whether the average has reached `limit` events per second.
    pub(crate) fn is_exceeded(&self, limit: u32) -> bool {
        self.average() >= f64::from(limit)
    }

    fn average_at(&self, now: Instant) -> f64 {
        let mut window = self.window.lock();
        let elapsed = now.saturating_duration_since(window.sample_begun);
        let ended = (elapsed.as_secs() / SAMPLE.as_secs()) as usize;
        for index in 0..ended.min(SAMPLES) {
            // All events since the last look belong to the first sample; in those after it there was none.
            let events = if index == 0 { self.current.swap(0, Ordering::Relaxed) } else { 0 };
            window.samples.rotate_right(1);
            window.samples[0] = events;
        }
        if ended > 0 {
            window.taken = (window.taken + ended).min(SAMPLES);
            window.sample_begun += SAMPLE * u32::try_from(ended).unwrap_or(u32::MAX);
        }
        let seconds = window.taken as u64 * SAMPLE.as_secs();
        let sum: u64 = window.samples[..window.taken].iter().sum();
        if seconds == 0 { 0.0 } else { sum as f64 / seconds as f64 }
    }
}

/// The rates of a project. Their limits are settings.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Joins of channels.
    pub(crate) joins: Rate,
    /// Messages from clients, and deliveries to them.
    pub(crate) events: Rate,
    /// Presence messages.
    pub(crate) presence: Rate,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_over_at_most_a_minute() {
        let rate = Rate::default();
        let begun = rate.window.lock().sample_begun;
        let at = |seconds| rate.average_at(begun + Duration::from_secs(seconds));
        rate.add(100);
        assert_eq!(at(4), 0.0, "no sample is taken yet");
        assert_eq!(at(5), 20.0);
        assert_eq!(at(10), 10.0);
        assert_eq!(at(60), 100.0 / 60.0);
        assert_eq!(at(65), 0.0);
        assert_eq!(at(100_000), 0.0);
    }
}
