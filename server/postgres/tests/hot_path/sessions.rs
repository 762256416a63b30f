//! Changes of the session by one caller's SQL, which must not affect the next caller.

use std::time::Duration;

use crate::harness::{Harness, text};
use postgres::{Database, Error, Isolation, Transaction};

async fn run(database: &Database, sql: &str) -> Result<Option<String>, Error> {
    let reply = database.run(&Transaction::new("postgres").statement(sql, Vec::new())).await?;
    Ok(reply.row().and_then(|row| row.text(0).map(str::to_owned)))
}

/// Returns the result of `sql`, run without a change of the session.
async fn query(database: &Database, sql: &str) -> String {
    let transaction = Transaction::new("postgres").statement(sql, Vec::new()).leaves_session_unchanged();
    let reply = database.run(&transaction).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    reply.row().unwrap().text(0).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn session_state_does_not_outlive_the_transaction() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let database = &harness.database;
    harness
        .admin("create table public.t (v int); create role sessions_other; grant sessions_other to postgres")
        .await;
    for (leave, look, untouched) in [
        ("select set_config('work_mem', '64kB', false)", "show work_mem", "4MB"),
        ("select set_config('row_security', 'off', false)", "show row_security", "on"),
        ("select set_config('bytea_output', 'escape', false)", "show bytea_output", "hex"),
        ("select set_config('statement_timeout', '5', false)", "show statement_timeout", "0"),
        ("select set_config('client_encoding', 'LATIN1', false)", "show client_encoding", "UTF8"),
        ("select set_config('DateStyle', 'German', false)", "show DateStyle", "ISO, MDY"),
        (
            "select set_config('my.own', 'x', false)",
            "select coalesce(current_setting('my.own', true), '')",
            "",
        ),
        ("set default_transaction_read_only = on", "show default_transaction_read_only", "off"),
        (
            "set default_transaction_isolation = serializable",
            "show default_transaction_isolation",
            "read committed",
        ),
        (
            "create temp table left_over ()",
            "select count(*)::text from pg_class where relname = 'left_over'",
            "0",
        ),
        (
            "select pg_advisory_lock(7)",
            "select count(*)::text from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
            "0",
        ),
        ("listen gossip", "select count(*)::text from pg_listening_channels()", "0"),
        (
            "declare c cursor with hold for select 1",
            "select count(*)::text from pg_cursors where is_holdable",
            "0",
        ),
        (
            "set role sessions_other",
            "select (session_user = (select rolname from pg_roles where oid = 10)) || ' ' || current_user",
            "true postgres",
        ),
    ] {
        // In the second round, the statements are prepared already.
        for _ in 0..2 {
            run(database, leave).await.unwrap_or_else(|error| panic!("{leave}: {error}"));
            assert_eq!(query(database, look).await, untouched, "{leave}");
        }
    }
    let role = "select (current_user = (select rolname from pg_roles where oid = 10))::text";
    let role = Transaction::anonymous().statement(role, Vec::new());
    run(database, "set role sessions_other").await.unwrap();
    let reply = database.run(&role).await.unwrap();
    assert_eq!(reply.row().unwrap().text(0), Some("true"));
    harness.admin("revoke sessions_other from postgres; drop role sessions_other").await;
}

#[tokio::test]
async fn clients_are_lent_with_a_fresh_session() {
    let harness = Harness::with(|settings| settings.client_pool_size = 1).await;
    let client = harness.database.client().await.unwrap();
    client
        .batch_execute("set work_mem = '64kB'; create temp table left_over (); select pg_advisory_lock(8)")
        .await
        .unwrap();
    drop(client);
    let client = harness.database.client().await.unwrap();
    let row = client
        .query_one("select current_setting('work_mem'), to_regclass('left_over') is null", &[])
        .await
        .unwrap();
    assert_eq!((row.get::<_, String>(0), row.get(1)), ("4MB".to_owned(), true));
}

#[tokio::test]
async fn statements_that_a_caller_drops_are_prepared_again() {
    let harness = Harness::with(|settings| settings.pool_size = 2).await;
    let database = &harness.database;
    for _ in 0..5 {
        assert_eq!(query(database, "select 'here'").await, "here");
        run(database, "deallocate all").await.unwrap();
    }
    for _ in 0..3 {
        assert_eq!(query(database, "select 'here'").await, "here");
    }
    let names = "select count(*)::text from pg_prepared_statements where statement = 'select ''here'''";
    assert_eq!(query(database, names).await, "1");
}

#[tokio::test]
async fn a_caller_that_drops_its_own_statements_is_not_mistaken_for_a_pooler() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let within_a_block = |sql: &'static str| {
        Transaction::new("postgres").isolation(Isolation::ReadCommitted).statement(sql, Vec::new())
    };
    // The statement that ends the block is prepared, and then dropped.
    harness.database.run(&within_a_block("select 1").leaves_session_unchanged()).await.unwrap();
    harness.database.run(&within_a_block("deallocate all")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(query(&harness.database, "select 'here'").await, "here");
    }
    let names = "select count(*)::text from pg_prepared_statements where statement = 'select ''here'''";
    assert_eq!(query(&harness.database, names).await, "1");
}

#[tokio::test]
async fn a_statement_that_is_cancelled_while_it_is_new_is_prepared_again() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let database = &harness.database;
    let process = query(database, "select pg_backend_pid()::text").await;
    let slow = || {
        Transaction::new("postgres")
            .statement("select pg_sleep($1::float8)", vec![text("60")])
            .leaves_session_unchanged()
            .timeout(Duration::from_millis(50))
    };
    for _ in 0..3 {
        let outcome = database.run(&slow()).await;
        assert!(matches!(outcome, Err(Error::Timeout(_))), "{outcome:?}");
        assert_eq!(query(database, "select pg_backend_pid()::text").await, process);
    }
    let names =
        "select count(*)::text from pg_prepared_statements where statement = 'select pg_backend_pid()::text'";
    assert_eq!(query(database, names).await, "1");
}
