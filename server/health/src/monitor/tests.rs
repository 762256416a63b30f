use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::*;
use crate::problem::Severity;

type Outcome = Result<Vec<Finding>, String>;

/// A check that finds what the test says; `None` for one that never returns.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Option<Outcome>>>);

struct SaidCheck(&'static str, Scope, Said);

impl Check for SaidCheck {
    fn name(&self) -> &'static str {
        self.0
    }

    fn scope(&self) -> Scope {
        self.1
    }

    fn look(&mut self) -> BoxFuture<'_, Outcome> {
        let said = self.2.0.lock().clone();
        async move {
            match said {
                Some(outcome) => outcome,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

impl Said {
    fn say(&self, outcome: Outcome) {
        *self.0.lock() = Some(outcome);
    }
}

fn finding(name: &'static str) -> Finding {
    Finding::warning(name, "it", ["wrong".to_owned(), "mend it".to_owned()])
}

fn names(list: &List) -> Vec<&str> {
    list.problems().map(|problem| problem.finding.name).collect()
}

fn monitor(checks: Vec<SaidCheck>) -> Monitor {
    let checks = checks.into_iter().map(|check| -> Box<dyn Check> { Box::new(check) }).collect();
    Monitor::new(checks, Memory::new(None, |_| Ok(())))
}

#[tokio::test]
async fn a_problem_lasts_while_it_is_found_or_nobody_can_tell() {
    let said = Said::default();
    let monitor = monitor(vec![SaidCheck("disk", Scope::Node, said.clone())]);
    assert!(monitor.list().is_none());
    said.say(Ok(vec![finding("disk_fills")]));
    let since = monitor.look().await.problems().next().unwrap().since;
    said.say(Err("no answer".to_owned()));
    let list = monitor.look().await;
    assert_eq!(names(&list), ["check_failed", "disk_fills"]);
    assert!(list.problems().any(|problem| problem.finding.what.contains("no answer")));
    said.say(Ok(vec![finding("disk_fills")]));
    let list = monitor.look().await;
    assert_eq!(names(&list), ["disk_fills"]);
    assert_eq!(list.problems().next().unwrap().since, since);
    said.say(Ok(Vec::new()));
    let list = monitor.look().await;
    assert_eq!(names(&list), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_hangs_stops_no_other() {
    let (hangs, works) = (Said::default(), Said::default());
    works.say(Ok(vec![finding("mails_fail")]));
    let (one, other) = (SaidCheck("disk", Scope::Node, hangs), SaidCheck("mails", Scope::Node, works));
    let list = monitor(vec![one, other]).look().await;
    assert_eq!(names(&list), ["check_failed", "mails_fail"]);
}

#[tokio::test]
async fn a_database_that_is_down_is_one_problem() {
    let (ping, slots, disk) = (Said::default(), Said::default(), Said::default());
    let monitor = monitor(vec![
        SaidCheck("the database", Scope::Node, ping.clone()),
        SaidCheck("slots", Scope::Database, slots.clone()),
        SaidCheck("disk", Scope::Node, disk.clone()),
    ]);
    disk.say(Err("no answer".to_owned()));
    slots.say(Ok(vec![finding("replication_slot_inactive")]));
    ping.say(Ok(Vec::new()));
    monitor.look().await;
    slots.say(Err("no connection".to_owned()));
    ping.say(Ok(vec![finding(DATABASE_UNREACHABLE)]));
    let list = monitor.look().await;
    let mut found = names(&list);
    found.sort_unstable();
    assert_eq!(found, ["check_failed", DATABASE_UNREACHABLE, "replication_slot_inactive"]);
    let failed = list.problems().find(|problem| problem.finding.name == "check_failed").unwrap();
    assert_eq!(failed.finding.subject, "disk", "what does not need the database");
}

#[tokio::test]
async fn what_is_unsafe_in_public_is_a_problem_in_public() {
    let said = Said::default();
    said.say(Ok(vec![finding("inbox_on").of_public(), finding("disk_fills")]));
    let monitor = monitor(vec![SaidCheck("settings", Scope::Project, said)]);
    let list = monitor.look().await;
    assert_eq!(names(&list), ["disk_fills"]);
    assert_eq!(list.counts(), [(("disk_fills", Severity::Warning), 1)]);
    assert_eq!(list.to_json(true)["problems"].as_array().unwrap().len(), 2);
    monitor.set_public(true);
    let list = monitor.look().await;
    assert_eq!(list.to_json(false)["problems"].as_array().unwrap().len(), 2);
    assert_eq!(list.to_json(false)["public"], true);
}

#[tokio::test]
async fn the_metric_counts_problems_by_name() {
    let said = Said::default();
    let two = [finding("disk_fills"), Finding { subject: "other".to_owned(), ..finding("disk_fills") }];
    said.say(Ok(two.to_vec()));
    let monitor = monitor(vec![SaidCheck("disk", Scope::Node, said)]);
    let mut registry = Registry::default();
    monitor.register(&mut registry);
    monitor.look().await;
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    assert!(text.contains("problems{name=\"disk_fills\",severity=\"warning\"} 2\n"), "{text}");
}
