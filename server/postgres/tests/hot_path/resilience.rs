//! Broken connections, and notifications.

use std::time::Duration;

use crate::harness::Harness;
use postgres::{Database, Error, Settings, Transaction};

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_killed_idle_connection_is_replaced_without_an_error() {
    let harness = Harness::with(|settings| settings.application_name = "victim".to_owned()).await;
    harness.use_pool().await;
    harness
        .query(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'victim'",
        )
        .await;
    harness.admin("create table public.t (v int)").await;
    let write = Transaction::anonymous().statement("insert into public.t values (1)", Vec::new());
    harness.database.run(&write).await.unwrap();
    assert_eq!(harness.query("select count(*) from public.t").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_connection_killed_in_the_middle_is_an_error_and_the_next_request_succeeds() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let suicide =
        Transaction::anonymous().statement("select pg_terminate_backend(pg_backend_pid())", Vec::new());
    assert!(matches!(harness.database.run(&suicide).await, Err(Error::Unavailable(_))));
    harness.use_pool().await;
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_unavailable() {
    let database =
        Database::connect(Settings::new("postgres://u:p@127.0.0.1:1/d".parse().unwrap())).await.unwrap();
    assert!(matches!(database.ping().await, Err(Error::Unavailable(_))));
    assert!(matches!(database.client().await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_closed_database_refuses_work() {
    let harness = Harness::new().await;
    harness.use_pool().await;
    harness.database.close().await;
    assert!(matches!(harness.database.ping().await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn notifications_and_reconnections_are_counted() {
    let harness = Harness::with(|settings| settings.channel = Some("pgrst".to_owned())).await;
    let mut changes = harness.database.notifications();
    let mut changed = async || tokio::time::timeout(LIMIT, changes.changed()).await.unwrap().unwrap();
    changed().await;
    harness.admin("notify pgrst, 'reload schema'").await;
    changed().await;
    harness
        .query("select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen \"pgrst\"'")
        .await;
    changed().await;
}

#[tokio::test]
async fn ddl_is_a_change_of_the_catalog() {
    let harness = Harness::with(|settings| settings.channel = Some("pgrst".to_owned())).await;
    let mut changes = harness.database.notifications();
    tokio::time::timeout(LIMIT, changes.changed()).await.unwrap().unwrap();
    harness.admin("create table public.seen (v int)").await;
    tokio::time::timeout(LIMIT, changes.changed()).await.unwrap().unwrap();
    harness.admin("drop table public.seen").await;
    tokio::time::timeout(LIMIT, changes.changed()).await.unwrap().unwrap();
}
