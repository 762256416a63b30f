//! Metrics of the service.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::worker::End;

/// Counters by function and outcome.
type Counters = Family<[(&'static str, String); 2], Counter>;

/// The service's counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) starts: Counters,
    pub(crate) ends: Counters,
}

impl Metrics {
    /// Creates the counters of `function`, so that they are exported as 0 from the beginning.
    pub(crate) fn begin(&self, function: &str) {
        for outcome in [true, false] {
            drop(self.starts.get_or_create(&start_labels(function, outcome)));
        }
        for end in End::ALL {
            drop(self.ends.get_or_create(&end_labels(function, end)));
        }
    }

    /// Counts the start of a process.
    pub(crate) fn count_start(&self, function: &str, has_succeeded: bool) {
        self.starts.get_or_create(&start_labels(function, has_succeeded)).inc();
    }

    /// Returns how many processes of `function` have ended by an error, or because of a limit.
    pub(crate) fn failures(&self, function: &str) -> u64 {
        let failures = End::ALL.iter().filter(|end| **end != End::Retired);
        failures.map(|end| self.ends.get_or_create(&end_labels(function, *end)).get()).sum()
    }

    /// Counts the end of a process.
    pub(crate) fn count_end(&self, function: &str, end: End) {
        self.ends.get_or_create(&end_labels(function, end)).inc();
    }
}

fn start_labels(function: &str, has_succeeded: bool) -> [(&'static str, String); 2] {
    let outcome = if has_succeeded { "ok" } else { "failed" };
    [("function", function.to_owned()), ("outcome", outcome.to_owned())]
}

fn end_labels(function: &str, end: End) -> [(&'static str, String); 2] {
    [("function", function.to_owned()), ("reason", end.name().to_owned())]
}
