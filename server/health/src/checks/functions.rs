//! Functions that do not start, or whose processes end by errors.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Ask, count, time};
use crate::check::Check;
use crate::problem::Finding;
use crate::window::Window;

/// How many starts have to fail in a row, and how many processes have to end by errors within [`PERIOD`].
const FAILED_STARTS: u64 = 3;
const ENDS: u64 = 3;
const PERIOD: Duration = Duration::from_secs(600);

/// How a function is.
#[derive(Debug, Clone, Default)]
pub struct FunctionState {
    /// Its name.
    pub name: String,
    /// How many starts have failed since the last one that did not.
    pub failed_starts: u64,
    /// Why the last one failed.
    pub reason: String,
    /// How many processes have ended by an error, or because they took too much, since the server's start.
    pub ends: u64,
}

/// Looks at the functions.
pub struct Functions {
    states: Ask<Vec<FunctionState>>,
    ends: BTreeMap<String, Window<u64>>,
}

impl Functions {
    /// Looks at what `states` returns: the functions that something has happened to.
    pub fn new(states: Ask<Vec<FunctionState>>) -> Self {
        Self { states, ends: BTreeMap::new() }
    }

    fn find(&mut self, states: &[FunctionState], now: Instant) -> Vec<Finding> {
        self.ends.retain(|name, _| states.iter().any(|state| state.name == *name));
        let mut found = Vec::new();
        for state in states {
            if state.failed_starts >= FAILED_STARTS {
                found.push(state.failing());
            }
            let window = self.ends.entry(state.name.clone()).or_insert_with(|| Window::new(PERIOD));
            let recent = state.ends.saturating_sub(window.count(now, state.ends));
            if recent >= ENDS {
                found.push(state.crashing(recent));
            }
        }
        found
    }
}

impl Check for Functions {
    fn name(&self) -> &'static str {
        "the functions"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let states = (self.states)();
        let found = self.find(&states, Instant::now());
        async { Ok(found) }.boxed()
    }
}

impl FunctionState {
    fn failing(&self) -> Finding {
        let starts = count(self.failed_starts, "start");
        let what =
            format!("It does not start; {starts} in a row failed, the last one because {}", self.reason);
        let remedy =
            "See what it has written in the log (target function). All calls get 503 until a start works; \
                      a change of its files is tried at the next call"
                .to_owned();
        Finding::critical("function_does_not_start", self.name.as_str(), [what, remedy])
    }

    fn crashing(&self, ends: u64) -> Finding {
        let ended = count(ends, "process");
        let what =
            format!("{ended} of it ended by errors within {}, and the calls in them with it", time(PERIOD));
        let remedy = "See the reasons in the log (target function): an error that the function does not catch, or more \
                      memory or processor time than basalt.functions allows"
            .to_owned();
        Finding::warning("function_crashes", self.name.as_str(), [what, remedy])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &[Finding]) -> Vec<&str> {
        found.iter().map(|finding| finding.name).collect()
    }

    #[test]
    fn a_function_that_does_not_start_is_a_problem_until_a_start_works() {
        let (mut check, now) = (Functions::new(Box::new(Vec::new)), Instant::now());
        let state = |failed_starts| FunctionState { failed_starts, ..FunctionState::default() };
        assert_eq!(names(&check.find(&[state(2)], now)), [""; 0]);
        assert_eq!(names(&check.find(&[state(3)], now)), ["function_does_not_start"]);
        assert_eq!(names(&check.find(&[state(3)], now + PERIOD * 10)), ["function_does_not_start"]);
        assert_eq!(names(&check.find(&[state(0)], now + PERIOD * 11)), [""; 0]);
    }

    #[test]
    fn processes_that_end_are_counted_over_some_minutes() {
        let (mut check, begin) = (Functions::new(Box::new(Vec::new)), Instant::now());
        let state = |ends| FunctionState { ends, ..FunctionState::default() };
        let mut at = |minutes: u64, ends| {
            let found = check.find(&[state(ends)], begin + Duration::from_secs(60 * minutes));
            found.first().map(|finding| finding.what.clone())
        };
        assert_eq!(at(0, 2), None);
        assert!(at(5, 3).unwrap().starts_with("3 processes of it ended by errors within 10 minutes"));
        assert_eq!(at(16, 3), None);
        assert_eq!(at(300, 5), None);
        // One each hour is no loop.
        assert_eq!(at(360, 6), None);
    }
}
