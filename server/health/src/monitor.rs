//! Runs the checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use prometheus_client::registry::Registry;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::{Mutex, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::check::{Check, Scope};
use crate::checks::DATABASE_UNREACHABLE;
use crate::list::List;
use crate::memory::{Known, Memory};
use crate::metrics;
use crate::problem::{Finding, Problem};

/// How often the checks look.
const ROUND: Duration = Duration::from_secs(30);
/// How long a check may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The name of the problem that a check could not look.
const CHECK_FAILED: &str = "check_failed";

/// Runs the checks and has the list; cheap to clone.
#[derive(Clone)]
pub struct Monitor(Arc<Inner>);

struct Inner {
    /// Held during a round, so that there is one at a time.
    work: Mutex<Work>,
    is_public: AtomicBool,
    /// `None` before the first round.
    list: watch::Sender<Option<Arc<List>>>,
}

struct Work {
    checks: Vec<Watched>,
    memory: Memory,
}

struct Watched {
    check: Box<dyn Check>,
    looked: Option<Instant>,
    /// What it has found; `None` if it has not been able to look yet.
    found: Option<Vec<Finding>>,
    /// Why it could not look last.
    failure: Option<String>,
}

impl Watched {
    fn is_due(&self) -> bool {
        self.looked.is_none_or(|at| at.elapsed() >= self.check.period())
    }

    async fn look(&mut self) {
        self.looked = Some(Instant::now());
        match timeout(LIMIT, self.check.look()).await {
            Ok(Ok(found)) => (self.found, self.failure) = (Some(found), None),
            Ok(Err(reason)) => self.failure = Some(reason),
            Err(_) => self.failure = Some(format!("it took longer than {} s", LIMIT.as_secs())),
        }
    }
}

impl Monitor {
    /// Returns what runs `checks`. Nothing runs before [`Self::run`] or [`Self::look`].
    pub fn new(checks: Vec<Box<dyn Check>>, memory: Memory) -> Self {
        let watched = |check| Watched { check, looked: None, found: None, failure: None };
        let work = Mutex::new(Work { checks: checks.into_iter().map(watched).collect(), memory });
        Self(Arc::new(Inner { work, is_public: AtomicBool::new(false), list: watch::Sender::new(None) }))
    }

    /// Says whether strangers can reach the server, which makes problems of some findings.
    pub fn set_public(&self, is_public: bool) {
        self.0.is_public.store(is_public, Ordering::Relaxed);
    }

    /// Adds the number of problems to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        metrics::register(self, registry);
    }

    /// Returns the list of the last round; `None` before the first one.
    pub fn list(&self) -> Option<Arc<List>> {
        self.0.list.borrow().clone()
    }

    /// Returns what is told of each new list.
    pub(crate) fn lists(&self) -> watch::Receiver<Option<Arc<List>>> {
        self.0.list.subscribe()
    }

    /// Runs the checks that are due, until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        let mut ticks = interval(ROUND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let rounds = async {
            loop {
                ticks.tick().await;
                self.round(false).await;
            }
        };
        stop.run_until_cancelled(rounds).await;
    }

    /// Runs all checks now, and returns the new list. It takes as long as the slowest check, after a round that runs
    /// already.
    pub async fn look(&self) -> Arc<List> {
        self.round(true).await
    }

    /// Remembers that the operator was told that `problems` are critical.
    pub(crate) async fn note_told(&self, problems: &[Problem]) {
        self.0.work.lock().await.memory.note_told(problems);
    }

    async fn round(&self, is_complete: bool) -> Arc<List> {
        let mut work = self.0.work.lock().await;
        let Work { checks, memory } = &mut *work;
        join_all(checks.iter_mut().filter(|watched| is_complete || watched.is_due()).map(Watched::look))
            .await;
        let failed = failures(checks);
        let known = checks.iter().map(|watched| Known {
            check: watched.check.name(),
            is_shared: watched.check.scope() != Scope::Node,
            found: watched.found.as_deref(),
        });
        let of_checks = Known { check: CHECK_FAILED, is_shared: false, found: Some(&failed) };
        let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let problems = memory.problems(now, known.chain([of_checks]));
        let list = Arc::new(List::new(now, self.0.is_public.load(Ordering::Relaxed), problems));
        let before = self.0.list.send_replace(Some(Arc::clone(&list)));
        log(before.as_deref(), &list);
        list
    }
}

/// Returns a problem for each of the `checks` that could not look. Those of the database are no further problem while
/// it is known that it does not respond.
fn failures(checks: &[Watched]) -> Vec<Finding> {
    let is_down = checks
        .iter()
        .filter_map(|watched| watched.found.as_deref())
        .any(|found| found.iter().any(|finding| finding.name == DATABASE_UNREACHABLE));
    let failed = checks.iter().filter(|watched| !is_down || watched.check.scope() != Scope::Database);
    let failed = failed.filter_map(|watched| Some((watched.check.name(), watched.failure.as_ref()?)));
    let finding = |(name, reason): (&'static str, &String)| {
        let what = format!("It could not be found out how {name} is: {reason}");
        let remedy = "See the log; what was found before is taken to be so still".to_owned();
        Finding::warning(CHECK_FAILED, name, [what, remedy])
    };
    failed.map(finding).collect()
}

/// Returns a time as the list of problems has it, too.
fn text_of(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_default()
}

/// Logs what has begun, become critical and ended since the list `before`.
fn log(before: Option<&List>, now: &List) {
    let find = |list: &List, problem: &Problem| {
        list.problems().find(|other| other.finding.is_same(&problem.finding)).cloned()
    };
    for problem in now.problems() {
        let known = before.and_then(|before| find(before, problem));
        let Finding { name, subject, what, remedy, .. } = &problem.finding;
        let since = text_of(problem.since);
        match (known.map(|known| known.is_critical()), problem.is_critical()) {
            (None, false) => {
                tracing::warn!(problem = name, subject, what, remedy, since, "a problem has begun");
            }
            (None, true) => {
                tracing::error!(problem = name, subject, what, remedy, since, "a critical problem has begun");
            }
            (Some(false), true) => {
                tracing::error!(
                    problem = name,
                    subject,
                    what,
                    remedy,
                    since,
                    "a problem has become critical"
                );
            }
            _ => {}
        }
    }
    for problem in before.iter().flat_map(|before| before.problems()) {
        if find(now, problem).is_none() {
            let Finding { name, subject, .. } = &problem.finding;
            tracing::info!(problem = name, subject, since = text_of(problem.since), "a problem has ended");
        }
    }
}

#[cfg(test)]
mod tests;
