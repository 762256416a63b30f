//! The guarantees of [`postgres::Database::run`].

use std::time::Duration;

use crate::harness::{Harness, text};
use postgres::{Error, Isolation, Transaction};

#[tokio::test]
async fn runs_as_the_role_with_its_claims_and_resets_both() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let whoami = "select current_user::text, current_setting('request.jwt.claims', true)";
    let claims = r#"{"sub":"4b3d"}"#;
    let transaction =
        Transaction::new("anon").setting("request.jwt.claims", claims).statement(whoami, Vec::new());
    let reply = harness.database.run(&transaction).await.unwrap();
    let row = reply.statements()[0].first().unwrap();
    assert_eq!(row.text(0), Some("anon"));
    assert_eq!(row.text(1), Some(claims));

    let reply = harness.database.run(&Transaction::anonymous().statement(whoami, Vec::new())).await.unwrap();
    let row = reply.statements()[0].first().unwrap();
    assert_ne!(row.text(0), Some("anon"));
    assert_eq!(row.text(1).unwrap_or_default(), "");
}

#[tokio::test]
async fn an_unknown_role_runs_nothing() {
    let harness = Harness::new().await;
    harness.admin("create table public.t (v int); grant all on public.t to public").await;
    let transaction =
        Transaction::new("nobody_knows").statement("insert into public.t values (1)", Vec::new());
    let error = harness.database.run(&transaction).await.unwrap_err();
    assert_eq!(error.server().unwrap().code, "22023");
    assert_eq!(harness.query("select count(*) from public.t").await.as_deref(), Some("0"));
}

#[tokio::test]
async fn a_failing_statement_undoes_the_ones_before_it() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness.admin("create table public.t (v int primary key)").await;
    let insert = "insert into public.t values ($1)";
    let transaction = Transaction::anonymous()
        .statement(insert, vec![text("1")])
        .statement(insert, vec![text("2")])
        .statement(insert, vec![text("2")]);
    let error = harness.database.run(&transaction).await.unwrap_err();
    let server = error.server().unwrap();
    assert_eq!((&*server.code, server.constraint.as_deref()), ("23505", Some("t_pkey")));
    assert_eq!(harness.query("select count(*) from public.t").await.as_deref(), Some("0"));

    let transaction = Transaction::anonymous().statement(insert, vec![text("3")]);
    let reply = harness.database.run(&transaction).await.unwrap();
    assert_eq!(reply.statements()[0].tag(), "INSERT 0 1");
}

#[tokio::test]
async fn a_constraint_that_is_checked_at_the_commit_is_an_error() {
    let harness = Harness::new().await;
    harness
        .admin(
            "create table public.parent (id int primary key); \
             create table public.child (id int references public.parent deferrable initially deferred)",
        )
        .await;
    let transaction = Transaction::anonymous().statement("insert into public.child values (7)", Vec::new());
    let error = harness.database.run(&transaction).await.unwrap_err();
    assert_eq!(error.server().unwrap().code, "23503");
    assert_eq!(harness.query("select count(*) from public.child").await.as_deref(), Some("0"));
}

#[tokio::test]
async fn read_only_refuses_writes() {
    let harness = Harness::new().await;
    harness.admin("create table public.t (v int)").await;
    let transaction =
        Transaction::anonymous().read_only().statement("insert into public.t values (1)", Vec::new());
    let error = harness.database.run(&transaction).await.unwrap_err();
    assert_eq!(error.server().unwrap().code, "25006");
}

#[tokio::test]
async fn rollback_returns_rows_and_changes_nothing() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness.admin("create table public.t (v int primary key)").await;
    let insert = "insert into public.t values ($1) returning v";
    for _ in 0..2 {
        let transaction = Transaction::anonymous().rollback().statement(insert, vec![text("1")]);
        let reply = harness.database.run(&transaction).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some("1"));
    }
    assert_eq!(harness.query("select count(*) from public.t").await.as_deref(), Some("0"));
    // A failure inside an explicit block leaves a usable connection behind.
    let transaction = Transaction::anonymous().rollback().statement("select 1 / 0", Vec::new());
    assert_eq!(harness.database.run(&transaction).await.unwrap_err().server().unwrap().code, "22012");
    harness.use_pool().await;
}

#[tokio::test]
async fn the_isolation_level_is_set() {
    let harness = Harness::new().await;
    let show = "select current_setting('transaction_isolation')";
    for (isolation, name) in [
        (Isolation::ReadCommitted, "read committed"),
        (Isolation::RepeatableRead, "repeatable read"),
        (Isolation::Serializable, "serializable"),
    ] {
        let transaction = Transaction::anonymous().isolation(isolation).statement(show, Vec::new());
        let reply = harness.database.run(&transaction).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some(name));
    }
}

#[tokio::test]
async fn a_changed_table_is_planned_again_without_an_error() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness.admin("create table public.t as select 1 as a").await;
    let read = || Transaction::anonymous().statement("select * from public.t", Vec::new());
    for _ in 0..7 {
        assert_eq!(harness.database.run(&read()).await.unwrap().last().unwrap().columns().len(), 1);
    }
    harness.admin("alter table public.t add column b text default 'new'").await;
    let reply = harness.database.run(&read()).await.unwrap();
    assert_eq!(reply.last().unwrap().columns()[1].name.as_ref(), "b");
    assert_eq!(reply.row().unwrap().text(1), Some("new"));
}

#[tokio::test]
async fn a_slow_statement_is_cancelled_and_its_connection_is_reused() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let backend = || Transaction::anonymous().statement("select pg_backend_pid()", Vec::new());
    let pid = |reply: postgres::Reply| reply.row().unwrap().text(0).unwrap().to_owned();
    let before = pid(harness.database.run(&backend()).await.unwrap());
    let slow = Transaction::anonymous()
        .statement("select pg_sleep(60)", Vec::new())
        .timeout(Duration::from_millis(100));
    assert!(matches!(harness.database.run(&slow).await, Err(Error::Timeout(_))));
    assert_eq!(pid(harness.database.run(&backend()).await.unwrap()), before);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    harness.admin("create table public.t (v int)").await;
    let statement = "insert into public.t select 1 from pg_sleep(60)";
    let slow = Transaction::anonymous().statement(statement, Vec::new());
    let abandoned = tokio::time::timeout(Duration::from_millis(100), harness.database.run(&slow)).await;
    assert!(abandoned.is_err());
    // The pool has one connection, so this waits until the cancelled statement has ended.
    harness.use_pool().await;
    assert_eq!(harness.query("select count(*) from public.t").await.as_deref(), Some("0"));
}

#[tokio::test]
async fn a_full_pool_is_an_error_in_time() {
    let harness = Harness::with(|settings| {
        settings.pool_size = 1;
        settings.acquisition_timeout = Duration::from_millis(50);
    })
    .await;
    let slow = Transaction::anonymous()
        .statement("select pg_sleep(60)", Vec::new())
        .timeout(Duration::from_millis(500));
    let (slow, waiting) = tokio::join!(harness.database.run(&slow), async {
        tokio::task::yield_now().await;
        harness.database.run(&Transaction::anonymous().statement("select 1", Vec::new())).await
    });
    assert!(matches!(slow, Err(Error::Timeout(_))));
    assert!(matches!(waiting, Err(Error::AcquireTimeout(_))), "{waiting:?}");
}

#[tokio::test]
async fn large_parameters_and_large_replies_do_not_block_each_other() {
    let harness = Harness::new().await;
    let large = "x".repeat(8 * 1024 * 1024);
    let echo = "select $1::text";
    let transaction =
        Transaction::anonymous().statement(echo, vec![text(&large)]).statement(echo, vec![text(&large)]);
    let reply = harness.database.run(&transaction).await.unwrap();
    for rows in reply.statements() {
        assert_eq!(rows.first().unwrap().get(0).unwrap().len(), large.len());
    }
}

#[tokio::test]
async fn more_statements_than_the_cache_keeps_can_be_run() {
    let harness = Harness::with(|settings| {
        settings.pool_size = 1;
        settings.statement_cache_size = 16;
    })
    .await;
    for round in 0..3 {
        for number in 0..40 {
            let sql = format!("select {number} + $1::int");
            let transaction = Transaction::anonymous().statement(sql, vec![text("1")]);
            let reply = harness.database.run(&transaction).await.unwrap();
            let expected = (number + 1).to_string();
            assert_eq!(reply.row().unwrap().text(0), Some(&*expected), "round {round}");
        }
    }
    let kept = Transaction::anonymous().statement("select count(*) from pg_prepared_statements", Vec::new());
    let reply = harness.database.run(&kept).await.unwrap();
    let kept: usize = reply.row().unwrap().text(0).unwrap().parse().unwrap();
    assert!(kept <= 17, "{kept} statements are kept");
}

#[tokio::test]
async fn without_prepared_statements_none_is_kept() {
    let harness = Harness::with(|settings| {
        settings.pool_size = 1;
        settings.prepared_statements = false;
    })
    .await;
    for _ in 0..3 {
        let sql = "select count(*) from pg_prepared_statements where name <> $1";
        let transaction = Transaction::new("anon").statement(sql, vec![text("")]);
        let reply = harness.database.run(&transaction).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some("0"));
    }
}

#[tokio::test]
async fn a_pooler_without_prepared_statements_works() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let statement = || Transaction::new("anon").statement("select 1 + $1::int", vec![text("1")]);
    harness.database.run(&statement()).await.unwrap();
    harness.database.run(&Transaction::anonymous().statement("deallocate all", Vec::new())).await.unwrap();
    for _ in 0..2 {
        let reply = harness.database.run(&statement()).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some("2"));
    }
}

#[tokio::test]
async fn statements_that_cannot_be_sent_are_refused_and_affect_no_other() {
    let harness = Harness::with(|settings| settings.pool_size = 1).await;
    let nul = Transaction::anonymous().statement("select '\0'", Vec::new());
    assert!(matches!(harness.database.run(&nul).await, Err(Error::Protocol(_))));
    let too_many = vec![text("1"); 70_000];
    let transaction = Transaction::anonymous().statement("select 1", too_many);
    assert!(matches!(harness.database.run(&transaction).await, Err(Error::Protocol(_))));
    let copy = Transaction::anonymous().statement("copy (select 1) to stdout", Vec::new());
    assert!(matches!(harness.database.run(&copy).await, Err(Error::Protocol(_))));
    let nul_value = Transaction::anonymous().statement("select $1::text", vec![text("a\0b")]);
    assert_eq!(harness.database.run(&nul_value).await.unwrap_err().server().unwrap().code, "22021");
    harness.use_pool().await;
}
