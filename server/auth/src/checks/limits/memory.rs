//! Rate limits that each node counts in memory.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Allowance;

/// Clients remembered at most for each thing that is counted, some hundred bytes each.
const CLIENTS: usize = 20_000;
/// Longest name of a client that is remembered whole.
const LONGEST_NAME: usize = 64;
/// The time after which a counter without refill is forgotten.
const NOTHING_FLOWS: Duration = Duration::from_secs(3600);

/// The remaining tokens of each client in each bucket.
#[derive(Default)]
pub(super) struct Memory {
    buckets: Mutex<HashMap<String, HashMap<Box<str>, Balance>>>,
}

#[derive(Clone, Copy)]
struct Balance {
    tokens: f64,
    at: Instant,
    /// When it is full again: it can be forgotten then.
    whole_at: Instant,
}

impl Memory {
    /// Takes one token of `client`. Returns whether there was one.
    pub(super) fn take(&self, bucket: &str, client: &str, allowance: Allowance, now: Instant) -> bool {
        let Allowance { burst, rate } = allowance;
        let full = Balance { tokens: burst, at: now, whole_at: now };
        self.change(bucket, client, full, |left| {
            let since = now.saturating_duration_since(left.at).as_secs_f64();
            let tokens = (left.tokens + since * rate).min(burst);
            let granted = tokens >= 1.0;
            let tokens = if granted { tokens - 1.0 } else { tokens };
            let missing = Duration::try_from_secs_f64((burst - tokens) / rate).unwrap_or(NOTHING_FLOWS);
            (granted, Balance { tokens, at: now, whole_at: now + missing.min(NOTHING_FLOWS) })
        })
    }

    /// Takes one of `number` that `client` may do within `window`, counted from the first. Returns whether there was
    /// one.
    pub(super) fn count_for(
        &self,
        bucket: &str,
        client: &str,
        number: f64,
        window: Duration,
        now: Instant,
    ) -> bool {
        let full = Balance { tokens: number.floor(), at: now, whole_at: now + window };
        self.change(bucket, client, full, |left| {
            let left = if left.whole_at <= now { full } else { left };
            let granted = left.tokens >= 1.0;
            (granted, if granted { Balance { tokens: left.tokens - 1.0, ..left } } else { left })
        })
    }

    /// Forgets the balance of `client`, which is full then.
    pub(super) fn forget(&self, bucket: &str, client: &str) {
        if let Some(clients) = self.buckets.lock().get_mut(bucket) {
            clients.remove(client);
        }
    }

    /// Replaces the balance of `client` by the result of `change`. The balance of an unknown client is `full`.
    fn change(
        &self,
        bucket: &str,
        client: &str,
        full: Balance,
        change: impl FnOnce(Balance) -> (bool, Balance),
    ) -> bool {
        // Every critical section leaves the map consistent, even if a panic occurs elsewhere.
        let mut buckets = self.buckets.lock();
        let clients = match buckets.get_mut(bucket) {
            Some(clients) => clients,
            None => buckets.entry(bucket.to_owned()).or_default(),
        };
        let client = client.get(..LONGEST_NAME).unwrap_or(client);
        if clients.len() >= CLIENTS && !clients.contains_key(client) {
            clients.retain(|_, left| left.whole_at > full.at);
            if clients.len() >= CLIENTS {
                // More clients at once than are remembered: forgetting all is fairer than refusing new ones.
                clients.clear();
            }
        }
        let left = clients.entry(client.into()).or_insert(full);
        let (granted, changed) = change(*left);
        *left = changed;
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWANCE: Allowance = Allowance { burst: 3.0, rate: 0.5 };

    #[test]
    fn a_burst_is_granted_and_then_the_rate() {
        let (memory, now) = (Memory::default(), Instant::now());
        let take = |seconds| memory.take("x", "a", ALLOWANCE, now + Duration::from_secs(seconds));
        assert_eq!([take(0), take(0), take(0), take(0)], [true, true, true, false]);
        assert_eq!([take(1), take(2), take(2), take(100)], [false, true, false, true]);
        assert!(memory.take("x", "b", ALLOWANCE, now) && memory.take("y", "a", ALLOWANCE, now));
    }

    #[test]
    fn a_number_holds_for_a_window_that_the_first_begins() {
        let (memory, now, window) = (Memory::default(), Instant::now(), Duration::from_secs(10));
        let count = |seconds| memory.count_for("x", "a", 2.5, window, now + Duration::from_secs(seconds));
        assert_eq!([count(0), count(9), count(9), count(10), count(19)], [true, true, false, true, true]);
        assert!(!count(19) && !memory.count_for("x", "none", 0.5, window, now));
    }

    #[test]
    fn entries_without_refill_expire_too() {
        let (memory, now) = (Memory::default(), Instant::now());
        assert!(memory.take("x", "a", Allowance { burst: 1.0, rate: 0.0 }, now));
        assert!(!memory.take("x", "a", Allowance { burst: 1.0, rate: 0.0 }, now));
        assert!(memory.buckets.lock()["x"]["a"].whole_at <= now + NOTHING_FLOWS);
    }

    #[test]
    fn many_clients_take_bounded_memory() {
        let (memory, now) = (Memory::default(), Instant::now());
        for client in 0..=CLIENTS {
            assert!(memory.take("x", &client.to_string(), ALLOWANCE, now));
        }
        assert!(memory.buckets.lock()["x"].len() <= CLIENTS);
    }
}
