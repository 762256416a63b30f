//! Allowances that one node counts alone.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use super::Allowance;

/// Clients remembered at most, some hundred bytes each.
const CLIENTS: usize = 20_000;
/// Longest name of a client that is remembered whole.
const LONGEST_NAME: usize = 64;

/// What each client has left.
#[derive(Default)]
pub(super) struct Memory {
    clients: Mutex<HashMap<Box<str>, Left>>,
}

#[derive(Clone, Copy)]
struct Left {
    tokens: f64,
    at: Instant,
}

impl Left {
    fn now(self, allowance: Allowance, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.tokens + since * allowance.rate).min(allowance.burst)
    }
}

impl Memory {
    /// Takes one of what `client` may do. Returns whether there was one.
    pub(super) fn take(&self, client: &str, allowance: Allowance) -> bool {
        self.take_at(client, allowance, Instant::now())
    }

    fn take_at(&self, client: &str, allowance: Allowance, now: Instant) -> bool {
        // Every critical section leaves the map whole, so that a panic elsewhere spoils nothing.
        let mut clients = self.clients.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let client = client.get(..LONGEST_NAME).unwrap_or(client);
        if clients.len() >= CLIENTS && !clients.contains_key(client) {
            clients.retain(|_, left| left.now(allowance, now) < allowance.burst);
            if clients.len() >= CLIENTS {
                // More clients at once than are remembered: forgetting all is fairer than refusing strangers.
                clients.clear();
            }
        }
        let full = Left { tokens: allowance.burst, at: now };
        let left = clients.entry(client.into()).or_insert(full);
        let tokens = left.now(allowance, now);
        let granted = tokens >= 1.0;
        *left = Left { tokens: if granted { tokens - 1.0 } else { tokens }, at: now };
        granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ALLOWANCE: Allowance = Allowance { burst: 3.0, rate: 0.5 };

    #[test]
    fn a_burst_is_granted_and_then_the_rate() {
        let (memory, now) = (Memory::default(), Instant::now());
        let take = |seconds| memory.take_at("a", ALLOWANCE, now + Duration::from_secs(seconds));
        assert_eq!([take(0), take(0), take(0), take(0)], [true, true, true, false]);
        assert_eq!([take(1), take(2), take(2), take(100)], [false, true, false, true]);
        assert!(memory.take_at("b", ALLOWANCE, now));
    }

    #[test]
    fn many_clients_take_bounded_memory() {
        let (memory, now) = (Memory::default(), Instant::now());
        for client in 0..=CLIENTS {
            assert!(memory.take_at(&client.to_string(), ALLOWANCE, now));
        }
        assert!(memory.clients.lock().unwrap().len() <= CLIENTS);
    }
}
