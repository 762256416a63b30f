//! Who may connect to the port of the database.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use platform::{DatabaseGate, GateRules};

/// How many logins of an address may fail within [`PERIOD`] before it is banned, and for how long.
const FAILURES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10 * 60);
const BAN: Duration = Duration::from_secs(60 * 60);
/// How many connections of one address, and of all, may be before the end of their login.
const WAITING: usize = 20;
const ALL_WAITING: usize = 200;
/// The most addresses that are remembered.
const MAX_ADDRESSES: usize = 10_000;

/// Decides who may connect.
pub(crate) struct Gate {
    /// Whether connections have to be encrypted whatever the rules say.
    is_public: bool,
    rules: RwLock<GateRules>,
    failures: Mutex<HashMap<IpAddr, Failures>>,
    /// How many connections of each address have not logged in yet.
    waiting: Mutex<HashMap<IpAddr, usize>>,
}

/// The place of a connection that has not logged in yet.
pub(super) struct Place {
    gate: Arc<Gate>,
    address: IpAddr,
}

impl Place {
    /// Gives the place back after a login, which is counted if it `is_refused`.
    pub(super) fn leave(self, is_refused: bool) {
        if is_refused {
            self.gate.count_failure(self.address);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.gate.waiting.lock();
        match waiting.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(waiting.remove(&self.address)),
        }
    }
}

/// The logins of an address that have failed.
struct Failures {
    since: Instant,
    count: u32,
    banned_at: Option<Instant>,
}

impl Failures {
    fn is_banned(&self) -> bool {
        self.banned_at.is_some_and(|at| at.elapsed() < BAN)
    }

    fn is_over(&self) -> bool {
        !self.is_banned() && self.since.elapsed() > PERIOD
    }
}

impl Gate {
    /// Returns a gate that admits everybody; over an encrypted connection if it `is_public`.
    pub(super) fn new(is_public: bool) -> Self {
        Self { is_public, rules: RwLock::default(), failures: Mutex::default(), waiting: Mutex::default() }
    }

    /// Returns a place for a connection of `address`; `None` if it may not connect, or has too many that do not log in.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        if !self.admits(address) {
            return None;
        }
        let mut waiting = self.waiting.lock();
        if waiting.get(&address).is_some_and(|count| *count >= WAITING)
            || waiting.values().sum::<usize>() >= ALL_WAITING
        {
            return None;
        }
        *waiting.entry(address).or_default() += 1;
        Some(Place { gate: Arc::clone(self), address })
    }

    /// Reports whether the rules allow `address`, and it is not banned.
    fn admits(&self, address: IpAddr) -> bool {
        let is_banned = self.failures.lock().get(&address).is_some_and(Failures::is_banned);
        !is_banned && self.rules.read().allow(address)
    }

    /// Reports whether connections have to be encrypted.
    pub(super) fn needs_tls(&self) -> bool {
        self.is_public || self.rules.read().needs_tls
    }

    /// Counts a login of `address` that has failed. Too many of them ban it for an hour.
    fn count_failure(&self, address: IpAddr) {
        let mut failures = self.failures.lock();
        if failures.len() >= MAX_ADDRESSES {
            failures.retain(|_, failures| !failures.is_over());
            if failures.len() >= MAX_ADDRESSES {
                failures.clear();
            }
        }
        let fresh = || Failures { since: Instant::now(), count: 0, banned_at: None };
        let known = failures.entry(address).or_insert_with(fresh);
        if known.is_over() {
            *known = fresh();
        }
        known.count = known.count.saturating_add(1);
        if known.count >= FAILURES && !known.is_banned() {
            tracing::warn!(%address, "banned from the port of the database: too many logins have failed");
            known.banned_at = Some(Instant::now());
        }
    }
}

impl DatabaseGate for Gate {
    fn set_rules(&self, rules: GateRules) {
        *self.rules.write() = rules;
    }

    fn is_tls_needed(&self) -> bool {
        self.needs_tls()
    }

    fn is_tls_always_needed(&self) -> bool {
        self.is_public
    }

    fn banned(&self) -> Vec<IpAddr> {
        let failures = self.failures.lock();
        let mut banned: Vec<IpAddr> = failures
            .iter()
            .filter(|(_, failures)| failures.is_banned())
            .map(|(address, _)| *address)
            .collect();
        banned.sort();
        banned
    }

    fn lift(&self, addresses: &[IpAddr]) {
        self.failures.lock().retain(|address, _| !addresses.contains(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_too_often_is_banned_until_somebody_lifts_it() {
        let gate = Arc::new(Gate::new(true));
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        for _ in 1..FAILURES {
            gate.enter(one).unwrap().leave(true);
            gate.enter(one).unwrap().leave(false);
        }
        gate.enter(one).unwrap().leave(true);
        assert!(!gate.admits(one) && gate.admits(other));
        assert_eq!(gate.banned(), [one]);
        gate.lift(&[one]);
        assert!(gate.admits(one));
    }

    #[test]
    fn an_address_that_does_not_log_in_leaves_places_for_others() {
        let gate = Arc::new(Gate::new(true));
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let mut places: Vec<_> = (0..WAITING).map(|_| gate.enter(one).unwrap()).collect();
        assert!(gate.enter(one).is_none() && gate.enter(other).is_some());
        places.pop();
        assert!(gate.enter(one).is_some());
        places.clear();
        assert!(gate.waiting.lock().is_empty());
    }

    #[test]
    fn only_allowed_addresses_are_admitted() {
        let gate = Arc::new(Gate::new(false));
        gate.set_rules(GateRules::parse(&["192.0.2.0/24".to_owned()], &[], true).unwrap());
        let admits = |address: &str| gate.enter(address.parse().unwrap()).is_some();
        assert!(admits("192.0.2.9") && admits("::ffff:192.0.2.9"));
        assert!(!admits("192.0.3.1") && !admits("2001:db8::1"));
        assert!(gate.needs_tls());
    }
}
