//! Changes of the catalog while statements are prepared, and renewal of connections.

use std::time::Duration;

use crate::harness::{Harness, text};
use postgres::{Database, Isolation, Transaction};

/// Returns the first column of the first row of `sql` with a parameter, as text; `None` without a row.
async fn run(database: &Database, sql: &str, parameter: &str) -> Option<String> {
    let transaction = Transaction::new("postgres")
        .read_only()
        .statement(sql, vec![text(parameter)])
        .leaves_session_unchanged();
    let reply = database.run(&transaction).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    reply.row().map(|row| row.text(0).unwrap_or_default().to_owned())
}

/// Returns the process ID of the server process that responds.
async fn process(database: &Database) -> Option<String> {
    run(database, "select pg_backend_pid()::text where $1 = ''", "").await
}

#[tokio::test]
async fn a_prepared_statement_that_is_still_valid_survives_changes_of_the_catalog() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness
        .admin(
            "create table public.t (code text, kept int);
             insert into public.t values ('7', 1);
             create type public.mood as enum ('glad');
             create view public.v as select code from public.t;
             create function public.f(a text) returns text language sql as 'select a'",
        )
        .await;
    let statements = [
        ("select * from public.t where code = $1", "7"),
        ("select to_json(t)::text from public.t as t where kept = 1 and code = any($1)", "{7}"),
        ("select * from public.v where code = $1", "7"),
        ("select public.f($1)", "7"),
    ];
    for change in [
        "drop view public.v; alter table public.t alter code type int using code::int; \
         create view public.v as select code from public.t",
        "alter table public.t add column more text",
        "alter table public.t drop column more",
        "alter table public.t rename column code to other; alter table public.t rename column other to code",
        "drop view public.v; alter table public.t alter code type bigint; \
         create view public.v as select code, kept from public.t",
        "create or replace view public.v as select code, kept, 1 as one from public.t",
        "alter type public.mood add value 'sad'",
        "drop function public.f; create function public.f(a numeric) returns numeric language sql as 'select a'",
        "drop view public.v; create table public.v as select code from public.t",
        "alter table public.t rename to u; create table public.t as select * from public.u",
        "alter table public.t alter code type text",
    ] {
        for (sql, parameter) in statements {
            run(&harness.database, sql, parameter).await;
        }
        harness.admin(change).await;
        for (sql, parameter) in statements {
            assert!(run(&harness.database, sql, parameter).await.is_some(), "{change}: {sql}");
        }
    }
    // The statement that was prepared again is in the cache.
    let names = "select count(*)::text from pg_prepared_statements where name like 'b%' and statement ~ $1";
    assert_eq!(run(&harness.database, names, "where code = ").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn statements_that_fail_for_other_reasons_are_not_repeated() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness.admin("create sequence public.s").await;
    let sql = "select nextval('public.s'), case when $1 = '' then 1 else 1 / (random() * 0)::int end";
    let attempt = async |value| {
        harness.database.run(&Transaction::new("postgres").statement(sql, vec![text(value)])).await.map(drop)
    };
    attempt("").await.unwrap();
    attempt("x").await.unwrap_err();
    assert_eq!(harness.query("select last_value from public.s").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn renewed_connections_see_what_new_sessions_see() {
    let harness = Harness::with(|settings| {
        settings.pool_size = 2;
        settings.client_pool_size = 1;
    })
    .await;
    let database = &harness.database;
    let setting = "select current_setting($1)";
    let name = harness.query("select current_database()").await.unwrap();
    let before = process(database).await;
    harness.admin(&format!("alter database \"{name}\" set statement_timeout = '77s'")).await;
    assert_eq!(process(database).await, before);
    // A connection that is in use is closed when it is returned.
    harness.admin("begin; select pg_advisory_xact_lock(1)").await;
    let waiting = tokio::spawn({
        let database = database.clone();
        async move { run(&database, "select pg_advisory_xact_lock_shared($1::int)::text", "1").await }
    });
    let waits = "select exists (select from pg_locks join pg_database as d on d.oid = database
                 where datname = current_database() and locktype = 'advisory' and not granted)";
    while harness.query(waits).await.as_deref() != Some("t") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    database.renew();
    harness.admin("commit").await;
    waiting.await.unwrap();
    for _ in 0..3 {
        assert_eq!(run(database, setting, "statement_timeout").await.as_deref(), Some("77s"));
    }
    assert_ne!(process(database).await, before);

    let client = database.client().await.unwrap();
    let process = "select pg_backend_pid()";
    let before: i32 = client.query_one(process, &[]).await.unwrap().get(0);
    drop(client);
    let client = database.client().await.unwrap();
    assert_eq!(client.query_one(process, &[]).await.unwrap().get::<_, i32>(0), before);
    drop(client);
    database.renew();
    let client = database.client().await.unwrap();
    assert_ne!(client.query_one(process, &[]).await.unwrap().get::<_, i32>(0), before);
}

#[tokio::test]
async fn transactions_do_not_depend_on_the_defaults_of_the_database() {
    let harness = Harness::new().await;
    let name = harness.query("select current_database()").await.unwrap();
    harness
        .admin(&format!(
            "create table public.t (v text);
             alter database \"{name}\" set default_transaction_isolation = 'repeatable read';
             alter database \"{name}\" set default_transaction_read_only = on;
             alter database \"{name}\" set client_encoding = 'latin1'"
        ))
        .await;
    let level = "insert into public.t select current_setting('transaction_isolation') returning v || $1";
    let write = || Transaction::new("postgres").statement(level, vec![text(" é")]);
    for (transaction, expected) in [
        (write(), "read committed é"),
        (write(), "read committed é"),
        (write().isolation(Isolation::Serializable), "serializable é"),
        (write().rollback(), "read committed é"),
    ] {
        let reply = harness.database.run(&transaction).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some(expected));
    }
    let error = harness.database.run(&write().read_only()).await.unwrap_err();
    assert_eq!(error.server().unwrap().code, "25006");
}
