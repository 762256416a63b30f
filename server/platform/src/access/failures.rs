//! How many requests of an address had an access token that is not valid.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fairness::Network;
use parking_lot::Mutex;

/// The time for which failures count.
const PERIOD: Duration = Duration::from_secs(60);
/// The most networks that are remembered. If more fail within the period, the oldest are forgotten first.
const MAX_NETWORKS: usize = 10_000;

/// Counts failures by network. This machine's own programs count as one.
#[derive(Debug)]
pub(crate) struct Failures {
    per_minute: u32,
    counts: Mutex<HashMap<Option<Network>, (Instant, u32)>>,
}

impl Failures {
    /// Allows so many failures of a network each minute.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, counts: Mutex::default() }
    }

    /// Counts a failure of `address`, and reports whether its network has failed too often within the last minute.
    pub(crate) fn are_too_many(&self, address: IpAddr) -> bool {
        let mut counts = self.counts.lock();
        if counts.len() >= MAX_NETWORKS {
            counts.retain(|_, (since, _)| since.elapsed() < PERIOD);
            if counts.len() >= MAX_NETWORKS {
                counts.clear();
            }
        }
        let (since, count) = counts.entry(Network::of(address)).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= PERIOD {
            (*since, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        *count > self.per_minute
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_fails_too_often_is_held_up_and_others_are_not() {
        let failures = Failures::new(2);
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        assert_eq!([(); 3].map(|()| failures.are_too_many(one)), [false, false, true]);
        assert!(!failures.are_too_many(other));
    }
}
