//! Transactions of several round trips.

use std::time::Duration;

use crate::harness::{Harness, text};
use postgres::Error;
use telemetry::SlowStatements;

const TABLE: &str = "create table public.t (v int)";

#[tokio::test]
async fn what_is_committed_stays() {
    let harness = Harness::new().await;
    harness.admin(TABLE).await;
    let work = harness.database.begin(&[("lock_timeout", "7s")]).await.unwrap();
    assert_eq!(work.execute("insert into t values ($1), ($2)", &[text("1"), text("2")]).await.unwrap(), 2);
    let seen = "select jsonb_build_array(sum(v), current_setting('lock_timeout')) from t";
    let seen: Option<(i64, String)> = work.document(seen, &[]).await.unwrap();
    assert_eq!(seen, Some((3, "7s".to_owned())));
    let none: Option<i64> =
        work.document("select to_jsonb(v) from t where v = $1", &[text("9")]).await.unwrap();
    assert_eq!(none, None);
    assert_eq!(harness.query("select count(*)::text from t").await.as_deref(), Some("0"));
    work.commit().await.unwrap();
    assert_eq!(harness.query("select count(*)::text from t").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn what_is_not_committed_leaves_nothing_behind() {
    // One client, which the next transaction gets.
    let harness = Harness::with(|settings| settings.client_pool_size = 1).await;
    harness.admin(TABLE).await;
    for sql in ["insert into t values (1)", "select set_config('work_mem', '64kB', false)", "select 1 / 0"] {
        let work = harness.database.begin(&[("lock_timeout", "7s")]).await.unwrap();
        let _ = work.execute(sql, &[]).await;
        drop(work);
    }
    let work = harness.database.begin(&[]).await.unwrap();
    let left = "select jsonb_build_array((select count(*) from t), current_setting('work_mem'),
        current_setting('lock_timeout'))";
    let left: Option<(i64, String, String)> = work.document(left, &[]).await.unwrap();
    assert_eq!(left, Some((0, "4MB".to_owned(), "0".to_owned())));
    // Nor a lock.
    assert_eq!(work.execute("lock table t in exclusive mode nowait", &[]).await.unwrap(), 0);
}

#[tokio::test]
async fn does_not_depend_on_the_defaults_of_the_session() {
    let harness = Harness::new().await;
    harness
        .admin(
            "do $$ begin
               execute format('alter database %I set default_transaction_isolation = serializable', current_database());
               execute format('alter database %I set default_transaction_read_only = on', current_database());
             end $$",
        )
        .await;
    let work = harness.database.begin(&[]).await.unwrap();
    let mode = "select jsonb_build_array(current_setting('transaction_isolation'),
        current_setting('transaction_read_only'))";
    let mode: Option<(String, String)> = work.document(mode, &[]).await.unwrap();
    assert_eq!(mode, Some(("read committed".to_owned(), "off".to_owned())));
}

#[tokio::test]
async fn a_refused_setting_gives_the_client_back() {
    let harness = Harness::with(|settings| settings.client_pool_size = 1).await;
    let refused = harness.database.begin(&[("lock_timeout", "soon")]).await;
    assert!(matches!(refused, Err(Error::Postgres(error)) if error.code == "22023"));
    assert_eq!(harness.database.begin(&[]).await.unwrap().execute("select 1", &[]).await.unwrap(), 1);
}

#[tokio::test]
async fn slow_statements_are_counted() {
    let slow = SlowStatements::new(Duration::from_millis(50));
    let harness = Harness::with(|settings| settings.slow = slow.clone()).await;
    let work = harness.database.begin(&[]).await.unwrap();
    work.execute("select pg_sleep(0.1)", &[]).await.unwrap();
    work.execute("select 1", &[]).await.unwrap();
    assert_eq!(slow.count(), 1);
}
