//! A database with the extension, and shorthands for its client.

use tokio_postgres::Client;

/// A database where `create extension pg_cron` was run with `options`, and its superuser's connection; `None` where
/// there is no such extension.
#[expect(clippy::print_stderr, reason = "who runs the tests should know that one was skipped")]
pub(crate) async fn extended(options: &str) -> Option<(testkit::Database, Client)> {
    let database = testkit::Database::create().await;
    let client = database.client().await;
    let known =
        "select count(*) from pg_available_extensions where name = 'pg_cron' and comment like '%(by Basalt)'";
    if number(&client, known).await == 0 {
        eprintln!("skipped: this Postgres is not of the npm package, so Basalt's pg_cron is not there");
        return None;
    }
    client.batch_execute(&format!("create extension pg_cron {options}")).await.unwrap();
    Some((database, client))
}

pub(crate) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

pub(crate) async fn text(client: &Client, sql: &str) -> String {
    client.query_one(sql, &[]).await.unwrap().get(0)
}
