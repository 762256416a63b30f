//! Rows that are written as JSON while they are read: the first time, when Postgres describes them, and later, when the
//! statement is prepared already and the description is in the cache.

use crate::harness::{Harness, text};
use postgres::{Reply, Transaction};

/// Returns a harness with a single connection, so that all statements run on the same one.
async fn start() -> Harness {
    Harness::with(|settings| settings.pool_size = 1).await
}

/// Returns the array of the last statement and the number of its rows.
fn json(reply: &Reply) -> Option<(&str, usize)> {
    let rows = reply.last().unwrap();
    assert!(rows.is_empty(), "rows are JSON or rows, not both");
    rows.json().map(|array| (std::str::from_utf8(&array.text).unwrap(), array.rows))
}

/// Returns the number of prepared statements with this text.
async fn prepared(harness: &Harness, sql: &str) -> String {
    let count = "select count(*) from pg_prepared_statements where statement = $1";
    let transaction = Transaction::anonymous().statement(count, vec![text(sql)]);
    let reply = harness.database.run(&transaction).await.unwrap();
    reply.row().unwrap().text(0).unwrap().to_owned()
}

#[tokio::test]
async fn a_prepared_statement_returns_the_same_json() {
    let harness = start().await;
    let sql = "select g as a, 'x' || g as \"b\"\"\" from generate_series(1, $1::int) as g";
    let read = async |count: &str, expected: &str, rows: usize| {
        let transaction = Transaction::new("anon").json_statement(sql, vec![text(count)]);
        let reply = harness.database.run(&transaction).await.unwrap();
        assert_eq!(json(&reply), Some((expected, rows)));
        assert_eq!(reply.last().unwrap().columns().len(), 2);
    };
    let two = "[{\"a\":1,\"b\\\"\":\"x1\"}, \n {\"a\":2,\"b\\\"\":\"x2\"}]";
    read("2", two, 2).await;
    read("0", "[]", 0).await;
    read("2", two, 2).await;
    read("1", "[{\"a\":1,\"b\\\"\":\"x1\"}]", 1).await;
    assert_eq!(prepared(&harness, sql).await, "1");
    let long = Transaction::new("anon").json_statement(sql, vec![text("30000")]);
    let reply = harness.database.run(&long).await.unwrap();
    let (array, rows) = json(&reply).unwrap();
    assert!(rows == 30_000 && array.ends_with("{\"a\":30000,\"b\\\"\":\"x30000\"}]"));
}

#[tokio::test]
async fn a_statement_may_return_rows_and_later_json() {
    let harness = start().await;
    for sql in ["select 1 as a", "select 2 as a"] {
        let value = &sql[7..8];
        let object = format!("[{{\"a\":{value}}}]");
        let as_rows = async || {
            let transaction = Transaction::new("anon").statement(sql, Vec::new());
            let reply = harness.database.run(&transaction).await.unwrap();
            let rows = reply.last().unwrap();
            assert_eq!((rows.json(), rows.first().unwrap().text(0)), (None, Some(value)));
        };
        let as_json = async || {
            let transaction = Transaction::new("anon").json_statement(sql, Vec::new());
            let reply = harness.database.run(&transaction).await.unwrap();
            assert_eq!(json(&reply), Some((object.as_str(), 1)));
        };
        if value == "1" {
            as_rows().await;
        }
        as_json().await;
        as_rows().await;
        as_json().await;
        assert_eq!(prepared(&harness, sql).await, "1");
    }
}

#[tokio::test]
async fn a_changed_table_changes_the_json_of_a_prepared_statement() {
    let harness = start().await;
    harness.admin("create table public.t as select 1 as a").await;
    let read = || Transaction::anonymous().json_statement("select * from public.t", Vec::new());
    for _ in 0..7 {
        assert_eq!(json(&harness.database.run(&read()).await.unwrap()), Some(("[{\"a\":1}]", 1)));
    }
    harness.admin("alter table public.t add column b text default 'new'").await;
    for _ in 0..2 {
        let reply = harness.database.run(&read()).await.unwrap();
        assert_eq!(json(&reply), Some(("[{\"a\":1,\"b\":\"new\"}]", 1)));
    }
    harness.admin("alter table public.t alter column a type text").await;
    for _ in 0..2 {
        let reply = harness.database.run(&read()).await.unwrap();
        assert_eq!(json(&reply), Some(("[{\"a\":\"1\",\"b\":\"new\"}]", 1)));
    }
    harness
        .admin("alter table public.t alter column b drop default, alter column b type text[] using array[b]")
        .await;
    for _ in 0..2 {
        assert_eq!(
            json(&harness.database.run(&read()).await.unwrap()),
            None,
            "arrays are Postgres' to write"
        );
    }
}

#[tokio::test]
async fn values_that_only_postgres_can_write_do_not_affect_later_replies() {
    let harness = start().await;
    let sql = "select make_date(2024, 2, $1::int) as day";
    let read = async |style: &str| {
        let transaction = Transaction::anonymous().setting("datestyle", style);
        harness.database.run(&transaction.json_statement(sql, vec![text("29")])).await.unwrap()
    };
    let iso = Some(("[{\"day\":\"2024-02-29\"}]", 1));
    assert_eq!(json(&read("ISO, MDY").await), iso);
    assert_eq!(json(&read("German").await), None);
    assert_eq!(json(&read("ISO, DMY").await), iso);
    assert_eq!(prepared(&harness, sql).await, "1");
}

#[tokio::test]
async fn an_error_between_rows_does_not_affect_later_replies() {
    let harness = start().await;
    let sql = "select 6 / (3 - g) as a from generate_series(1, $1::int) as g";
    let read = |last| Transaction::new("anon").json_statement(sql, vec![text(last)]);
    for _ in 0..2 {
        assert_eq!(
            json(&harness.database.run(&read("2")).await.unwrap()),
            Some(("[{\"a\":3}, \n {\"a\":6}]", 2))
        );
        let error = harness.database.run(&read("3")).await.unwrap_err();
        assert_eq!(error.server().unwrap().code, "22012");
    }
    assert_eq!(prepared(&harness, sql).await, "1");
}

#[tokio::test]
async fn one_transaction_may_run_the_same_statement_twice() {
    let harness = start().await;
    let sql = "select $1::int as a";
    for value in ["7", "8"] {
        let transaction = Transaction::new("anon")
            .json_statement(sql, vec![text(value)])
            .statement(sql, vec![text(value)])
            .json_statement(sql, vec![text(value)]);
        let reply = harness.database.run(&transaction).await.unwrap();
        let object = format!("[{{\"a\":{value}}}]");
        assert_eq!(json(&reply), Some((object.as_str(), 1)));
        let [first, second, _] = reply.statements() else { panic!("{reply:?}") };
        assert_eq!(first.json().unwrap().text, object.as_bytes());
        assert_eq!(second.first().unwrap().text(0), Some(value));
    }
    // The failure does not count as a sign of a pooler without prepared statements.
    assert_eq!(prepared(&harness, sql).await, "1");
}
