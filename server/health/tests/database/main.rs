//! The checks that ask the database, on a real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use health::checks::{Ping, Slots, Standbys, Wal};
use health::{Check, Memory, Monitor};
use postgres::conninfo::Conninfo;
use postgres::{Database, Settings};

/// Returns what the checks find on a database: the names of the problems, and what they are about.
async fn found(login: Conninfo) -> Vec<(&'static str, String)> {
    let database = Database::connect(Settings::new(login)).await.unwrap();
    let checks: Vec<Box<dyn Check>> = vec![
        Box::new(Ping::new(database.clone())),
        Box::new(Wal::new(database.clone())),
        Box::new(Slots::new(database.clone())),
        Box::new(Standbys::new(database.clone())),
    ];
    let list = Monitor::new(checks, Memory::new(None, |_| Ok(()))).look().await;
    database.close().await;
    list.problems().map(|problem| (problem.finding.name, problem.finding.subject.clone())).collect()
}

#[tokio::test]
async fn a_healthy_database_can_be_asked_and_has_no_problem() {
    let database = testkit::Database::empty().await;
    // Slots are those of the cluster, where other tests have some.
    let own = |(name, _): &(&str, String)| !name.starts_with("replication_slot");
    assert_eq!(found(database.uri().parse().unwrap()).await.into_iter().filter(own).collect::<Vec<_>>(), []);
}

#[tokio::test]
async fn a_login_with_few_rights_can_be_asked_too() {
    let database = testkit::Database::empty().await;
    let role = format!("watcher_{}", database.name());
    let client = database.client().await;
    client.batch_execute(&format!("create role {role} login password 'watcher'")).await.unwrap();
    let mut login: Conninfo = database.uri().parse().unwrap();
    login.set("user", role.as_str());
    login.set("password", "watcher");
    let names: Vec<_> = found(login).await.into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"check_failed"), "{names:?}");
    client.batch_execute(&format!("drop role {role}")).await.unwrap();
}

#[tokio::test]
async fn a_database_that_is_away_is_one_problem() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let uri = format!("postgresql://nobody@127.0.0.1:{}/nothing", closed.port());
    assert_eq!(found(uri.parse().unwrap()).await, [("database_unreachable", "database".to_owned())]);
}
