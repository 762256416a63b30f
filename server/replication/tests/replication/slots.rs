//! Replication slots.

use std::time::Duration;

use postgres::{Database, Settings};
use replication::slot::{self, EnsureOutcome, SlotError, WalStatus};
use replication::{Event, ReplicationStream};
use testkit::embedded::Cluster;

use crate::harness::{Harness, transaction, transaction_of};

const TABLE: &str = "create table t (id int primary key)";

#[tokio::test]
async fn a_slot_is_created_once_and_dropped_once() {
    let harness = Harness::new(TABLE).await;
    let (database, name) = (&harness.database, harness.settings.slot.as_str());
    assert_eq!(slot::ensure(database, name).await.unwrap(), EnsureOutcome::Existed);
    let has_failover =
        "select coalesce(to_jsonb(s) ->> 'failover', 'absent') || current_setting('server_version_num')
                        from pg_replication_slots s where slot_name = current_database()";
    let failover = harness.query(has_failover).await;
    assert!(failover.starts_with("true") || failover.starts_with("absent1"), "{failover}");
    assert!(slot::drop(database, name).await.unwrap());
    assert!(!slot::drop(database, name).await.unwrap());
    assert_eq!(slot::lag(database, name).await.unwrap(), None);
    assert_eq!(slot::ensure(database, name).await.unwrap(), EnsureOutcome::Created);
    assert!(slot::drop(database, name).await.unwrap());
}

#[tokio::test]
async fn a_slot_has_one_connection_which_can_be_terminated() {
    let harness = Harness::new(TABLE).await;
    let (database, name) = (&harness.database, harness.settings.slot.as_str());
    assert!(!slot::release(database, name).await.unwrap(), "nobody uses it");
    let mut stream = harness.stream().await;
    let error = ReplicationStream::open(database, &harness.settings).await.unwrap_err();
    assert!(error.is_slot_active(), "{error}");
    assert!(matches!(slot::drop(database, name).await, Err(SlotError::Active(_))));
    assert_eq!(harness.lag().await.active_pid, Some(stream.process_id()));
    assert_eq!(slot::ensure(database, name).await.unwrap(), EnsureOutcome::Existed);

    harness.run("insert into t values (1)").await;
    assert_eq!(transaction(&mut stream).await, ["insert t (1)"]);
    assert!(slot::release(database, name).await.unwrap());
    let mut second = harness.stream().await;
    assert_eq!(transaction(&mut second).await, ["insert t (1)"]);
    while let Ok(event) = stream.next().await {
        assert!(matches!(event, Event::Keepalive { .. }), "{event:?}");
    }
    harness.finish(second).await;
}

#[tokio::test]
async fn lag_grows_and_confirmation_reduces_it() {
    let harness = Harness::new(TABLE).await;
    let before = harness.lag().await;
    assert_eq!((before.active_pid, before.wal_status), (None, WalStatus::Reserved));
    assert!(
        before.safe_wal_size.is_some_and(|size| size > 0),
        "the embedded Postgres bounds what slots keep"
    );
    harness.run("insert into t select generate_series(1, 20000)").await;
    let behind = harness.lag().await;
    assert!(behind.unconfirmed > before.unconfirmed + 1_000_000, "{behind:?}");
    assert!(behind.retained >= behind.unconfirmed && behind.server_position > before.server_position);
    assert_eq!(behind.confirmed_position, before.confirmed_position);

    let mut stream = harness.stream().await;
    let (_, end) = transaction_of(&mut stream).await;
    stream.confirm(end);
    stream.close().await.unwrap();
    let after = harness.lag().await;
    assert_eq!(after.confirmed_position, Some(end));
    // Other tests write to the same log meanwhile.
    let written = after.server_position.bytes_since(behind.server_position);
    assert!(after.unconfirmed < behind.unconfirmed + written);
    assert!(slot::drop(&harness.database, &harness.settings.slot).await.unwrap());
}

#[tokio::test]
async fn slots_for_other_purposes_are_not_changed() {
    let harness = Harness::new(TABLE).await;
    let (database, name) = (&harness.database, harness.settings.slot.as_str());
    let elsewhere = Harness::new("").await;
    let error = slot::ensure(&elsewhere.database, name).await.unwrap_err();
    assert!(matches!(&error, SlotError::Other { what, .. } if what.ends_with(name)), "{error}");
    let physical = format!("{name}_p");
    harness.run(&format!("select pg_create_physical_replication_slot('{physical}')")).await;
    let error = slot::ensure(database, &physical).await.unwrap_err();
    assert!(matches!(&error, SlotError::Other { what, .. } if what.contains("physical")), "{error}");
    for (database, slot) in
        [(database, name), (database, physical.as_str()), (&elsewhere.database, &elsewhere.settings.slot)]
    {
        assert!(slot::drop(database, slot).await.unwrap());
    }
    let error = slot::ensure(database, "Not A Name").await.unwrap_err();
    assert!(
        matches!(&error, SlotError::Database(error) if error.server().unwrap().code == "42602"),
        "{error}"
    );
}

#[tokio::test]
async fn a_role_without_the_replication_attribute_is_refused() {
    let test_database = testkit::Database::create().await;
    let uri = test_database.uri_as("authenticator");
    let database = Database::connect(Settings::new(uri.parse().unwrap())).await.unwrap();
    let error = slot::ensure(&database, test_database.name()).await.unwrap_err();
    assert!(matches!(error, SlotError::NotPermitted(_)), "{error}");
    let settings = replication::ReplicationSettings::new("s", ["p"]);
    let error = ReplicationStream::open(&database, &settings).await.unwrap_err();
    assert!(error.server().is_some_and(|error| error.code == "42501" || error.code == "28000"), "{error}");
}

#[tokio::test]
async fn an_invalidated_slot_is_created_again() {
    // The limits apply to the whole server, so this test has a server of its own.
    let cluster = Cluster::ephemeral(testkit::search(), None).await.unwrap();
    let database = Database::connect(Settings::new(cluster.login())).await.unwrap();
    let client = database.client().await.unwrap();
    let run = async |sql: &str| client.batch_execute(sql).await.unwrap();
    assert_eq!(slot::ensure(&database, "s").await.unwrap(), EnsureOutcome::Created);
    run("alter system set max_slot_wal_keep_size = '1MB'").await;
    run("alter system set min_wal_size = '32MB'").await;
    run("alter system set max_wal_size = '32MB'").await;
    run("select pg_reload_conf()").await;
    for _ in 0..20 {
        run("select pg_logical_emit_message(false, '', repeat('x', 8000000)), pg_switch_wal()").await;
        run("checkpoint").await;
        if slot::lag(&database, "s").await.unwrap().unwrap().wal_status == WalStatus::Lost {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let lag = slot::lag(&database, "s").await.unwrap().unwrap();
    assert_eq!((lag.wal_status, lag.safe_wal_size), (WalStatus::Lost, None));
    let settings = replication::ReplicationSettings::new("s", ["p"]);
    let error = ReplicationStream::open(&database, &settings).await.unwrap_err();
    assert!(!error.is_unavailable() && !error.is_slot_active(), "{error}");
    assert_eq!(slot::ensure(&database, "s").await.unwrap(), EnsureOutcome::Recreated);
    assert_eq!(slot::ensure(&database, "s").await.unwrap(), EnsureOutcome::Existed);
    run("create publication p for all tables").await;
    ReplicationStream::open(&database, &settings).await.unwrap().close().await.unwrap();

    // The server still belongs to this test only: here all slots are taken.
    run("select pg_create_physical_replication_slot('p' || n) from generate_series(2, 20) n").await;
    let error = slot::ensure(&database, "one_more").await.unwrap_err();
    assert!(matches!(&error, SlotError::AllTaken(limit) if limit == "20"), "{error}");
    drop(client);
    database.close().await;
    cluster.stop().await;
}
