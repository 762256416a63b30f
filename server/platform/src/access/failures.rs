//! How many requests of an address had an access token that is not valid.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fairness::Network;
use parking_lot::Mutex;

/// The time for which failures count.
const PERIOD: Duration = Duration::from_secs(60);
/// The most tokens that are known to have been valid.
const MAX_TOKENS: usize = 1_000;
/// The most networks that are remembered. If more fail within the period, the oldest are forgotten first.
const MAX_NETWORKS: usize = 10_000;

/// Counts failures by network. This machine's own programs count as one.
#[derive(Debug)]
pub(crate) struct Failures {
    per_minute: u32,
    counts: Mutex<HashMap<Option<Network>, (Instant, u32)>>,
    /// The hashes of tokens that were valid when they were presented last.
    valid: Mutex<HashSet<[u8; 32]>>,
}

impl Failures {
    /// Allows so many failures of a network each minute.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, counts: Mutex::default(), valid: Mutex::default() }
    }

    /// Remembers that the token with this hash is valid: whoever has it is not held up by others of the same network.
    pub(crate) fn remember(&self, hash: [u8; 32]) {
        let mut valid = self.valid.lock();
        if valid.len() >= MAX_TOKENS {
            valid.clear();
        }
        valid.insert(hash);
    }

    /// Reports whether the network of `address` has failed too often within the last minute, and the token with this
    /// hash was never valid.
    pub(crate) fn are_too_many(&self, address: IpAddr, hash: Option<&[u8; 32]>) -> bool {
        if hash.is_some_and(|hash| self.valid.lock().contains(hash)) {
            return false;
        }
        let counts = self.counts.lock();
        counts
            .get(&Network::of(address))
            .is_some_and(|(since, count)| since.elapsed() < PERIOD && *count >= self.per_minute)
    }

    /// Counts a failure of `address`.
    pub(crate) fn count(&self, address: IpAddr) {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_fails_too_often_waits_and_others_do_not() {
        let failures = Failures::new(2);
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        failures.count(one);
        assert!(!failures.are_too_many(one, None));
        failures.count(one);
        assert!(failures.are_too_many(one, None) && !failures.are_too_many(other, None));
        failures.remember([7; 32]);
        assert!(!failures.are_too_many(one, Some(&[7; 32])) && failures.are_too_many(one, Some(&[8; 32])));
    }
}
