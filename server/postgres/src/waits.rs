//! How long callers wait for a connection.

use prometheus_client::metrics::histogram::Histogram;

/// Upper bounds in seconds, from passing a connection on within the process to a slow login.
const BUCKETS: [f64; 9] = [0.0005, 0.002, 0.008, 0.032, 0.128, 0.512, 1.0, 4.0, 16.0];

/// Returns a histogram of times in seconds.
pub(crate) fn seconds() -> Histogram {
    Histogram::new(BUCKETS)
}
