//! Readings of the last minutes, by which a check tells how fast something changes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The most readings that are kept.
const READINGS: u32 = 64;

/// Readings within a period.
#[derive(Debug)]
pub(crate) struct Window<T> {
    period: Duration,
    readings: VecDeque<(Instant, T)>,
}

impl<T> Window<T> {
    pub(crate) const fn new(period: Duration) -> Self {
        Self { period, readings: VecDeque::new() }
    }

    /// Adds what was read at `now`, and forgets what was read before the period. Of readings that follow each other
    /// closely only the first is kept.
    pub(crate) fn push(&mut self, now: Instant, value: T) {
        // One reading before the period stays, so that the window is never shorter than the period.
        while self.readings.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= self.period) {
            self.readings.pop_front();
        }
        let is_close = |(at, _): &(Instant, T)| now.duration_since(*at) < self.period / READINGS;
        if !self.readings.back().is_some_and(is_close) {
            self.readings.push_back((now, value));
        }
    }

    /// Returns the oldest reading, and how long before `now` it was.
    pub(crate) fn oldest(&self, now: Instant) -> Option<(Duration, &T)> {
        self.readings.front().map(|(at, value)| (now.duration_since(*at), value))
    }
}

impl<T: Copy + Default> Window<T> {
    /// Adds a count that began at its default before the first reading, and returns what it was at the beginning of the
    /// period.
    pub(crate) fn count(&mut self, now: Instant, value: T) -> T {
        if self.readings.is_empty() {
            // Whatever was counted so far was counted since the last look.
            self.push(now, T::default());
        }
        self.push(now, value);
        self.oldest(now).map_or_else(T::default, |(_, oldest)| *oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_reading_is_as_old_as_the_period() {
        let (mut window, begin) = (Window::new(Duration::from_secs(300)), Instant::now());
        assert!(window.oldest(begin).is_none());
        for second in (0..3000).step_by(30) {
            window.push(begin + Duration::from_secs(second), second);
        }
        let (age, oldest) = window.oldest(begin + Duration::from_secs(2970)).unwrap();
        assert_eq!((age.as_secs(), *oldest), (300, 2670));
    }

    #[test]
    fn readings_are_bounded_however_often_they_are_made() {
        let (mut window, begin) = (Window::new(Duration::from_secs(300)), Instant::now());
        for milliseconds in 0..600_000 {
            window.push(begin + Duration::from_millis(milliseconds), ());
        }
        assert!(window.readings.len() <= READINGS as usize + 2, "{}", window.readings.len());
    }
}
