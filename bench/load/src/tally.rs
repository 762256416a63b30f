//! The results: latencies and failures, and the figures that are computed from them.

use std::time::Duration;

use serde::Serialize;

/// The results of one or more connections in the measured time.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Microseconds from the first byte written to the last byte read.
    latencies: Vec<u32>,
    /// All responses, including those of the warm-up.
    responses: usize,
    failures: u64,
    first_failure: Option<String>,
}

/// The figures that are printed.
#[derive(Debug, Serialize, PartialEq)]
pub(crate) struct Report {
    /// Requests in the measured time.
    requests: usize,
    /// All requests, including those of the warm-up.
    #[serde(rename = "asked")]
    total: usize,
    /// Responses with another status than the expected one.
    failures: u64,
    /// One of the failures: its status line and the beginning of the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_failure: Option<String>,
    seconds: f64,
    per_second: f64,
    p50_us: u32,
    p99_us: u32,
    max_us: u32,
}

impl Tally {
    /// Counts a response; without a latency if it belongs to the warm-up.
    pub(crate) fn count(&mut self, latency: Option<Duration>) {
        self.responses += 1;
        self.latencies.extend(latency.map(|latency| u32::try_from(latency.as_micros()).unwrap_or(u32::MAX)));
    }

    /// Counts an unexpected response.
    pub(crate) fn fail(&mut self, describe: impl FnOnce() -> String) {
        self.failures += 1;
        self.first_failure.get_or_insert_with(describe);
    }

    /// Adds the results of another connection.
    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.responses += other.responses;
        self.failures += other.failures;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    /// Returns the figures of a measurement that took `seconds`.
    pub(crate) fn report(mut self, seconds: f64) -> Report {
        self.latencies.sort_unstable();
        let requests = self.latencies.len();
        let at = |share: f64| {
            let index = ((requests as f64 * share) as usize).min(requests.saturating_sub(1));
            self.latencies.get(index).copied().unwrap_or_default()
        };
        Report {
            requests,
            total: self.responses,
            failures: self.failures,
            seconds,
            per_second: requests as f64 / seconds,
            p50_us: at(0.50),
            p99_us: at(0.99),
            max_us: at(1.0),
            first_failure: self.first_failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Tally;

    #[test]
    fn figures_are_of_all_connections() {
        let mut all = Tally::default();
        for connection in 0..2 {
            let mut tally = Tally::default();
            tally.count(None);
            (1..=50).for_each(|number| tally.count(Some(Duration::from_micros(connection * 50 + number))));
            tally.fail(|| format!("failure of {connection}"));
            all.add(tally);
        }
        let report = all.report(2.0);
        assert_eq!((report.requests, report.total, report.failures), (100, 102, 2));
        assert_eq!(report.per_second, 50.0);
        assert_eq!((report.p50_us, report.p99_us, report.max_us), (51, 100, 100));
        assert_eq!(report.first_failure.as_deref(), Some("failure of 0"));
    }

    #[test]
    fn nothing_seen_is_no_failure() {
        let report = Tally::default().report(1.0);
        assert_eq!((report.requests, report.p99_us, report.failures), (0, 0, 0));
    }
}
