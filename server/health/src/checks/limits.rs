//! Rate limits that refuse many requests.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Ask, time};
use crate::check::Check;
use crate::problem::Finding;
use crate::window::Window;

/// The time that is looked at.
const PERIOD: Duration = Duration::from_secs(300);
/// How many requests have to be refused in it, and which part of all they have to be, in percent.
const LEAST: u64 = 50;
const LEAST_PERCENT: u64 = 5;

/// What a service has answered since the server's start.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestState {
    /// All requests.
    pub all: u64,
    /// Those that got 429.
    pub refused: u64,
}

/// Looks at the requests of each service.
pub struct Limits {
    states: Ask<Vec<(&'static str, RequestState)>>,
    before: BTreeMap<&'static str, Window<RequestState>>,
}

impl Limits {
    /// Looks at what `states` returns: the services with their counts.
    pub fn new(states: Ask<Vec<(&'static str, RequestState)>>) -> Self {
        Self { states, before: BTreeMap::new() }
    }

    fn find(&mut self, states: &[(&'static str, RequestState)], now: Instant) -> Vec<Finding> {
        let mut found = Vec::new();
        for (service, state) in states {
            let window = self.before.entry(service).or_insert_with(|| Window::new(PERIOD));
            let before = window.count(now, *state);
            let all = state.all.saturating_sub(before.all);
            found.extend(finding(service, all, state.refused.saturating_sub(before.refused)));
        }
        found
    }
}

impl Check for Limits {
    fn name(&self) -> &'static str {
        "the rate limits"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let states = (self.states)();
        let found = self.find(&states, Instant::now());
        async { Ok(found) }.boxed()
    }
}

fn finding(service: &str, all: u64, refused: u64) -> Option<Finding> {
    if refused < LEAST || refused * 100 < all * LEAST_PERCENT {
        return None;
    }
    let percent = refused * 100 / all.max(1);
    let what =
        format!("{refused} of {all} requests within {} were refused with 429 ({percent} %)", time(PERIOD));
    let remedy =
        "See in the log (target access) whose they are. If they are wanted, raise the limit that refuses \
                  them: basalt.requests_per_address and requests_per_key, or auth.rate_limit for auth"
            .to_owned();
    Some(Finding::warning("rate_limits_refuse", service, [what, remedy]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_a_problem_if_they_are_a_large_part() {
        let of = |all, refused| finding("auth", all, refused).is_some();
        assert!(of(100, 50) && of(1000, 50) && !of(49, 49) && !of(1001, 50));
    }

    #[test]
    fn only_the_last_minutes_count() {
        let (mut check, begin) = (Limits::new(Box::new(Vec::new)), Instant::now());
        let mut at = |seconds, all, refused| {
            let state = RequestState { all, refused };
            check.find(&[("auth", state)], begin + Duration::from_secs(seconds)).len()
        };
        assert_eq!(at(0, 30, 30), 0);
        assert_eq!(at(60, 100, 100), 1);
        assert_eq!(at(200, 200, 100), 1);
        assert_eq!(at(361, 300, 100), 0);
        assert_eq!(at(400, 1_000_300, 1100), 0);
    }
}
