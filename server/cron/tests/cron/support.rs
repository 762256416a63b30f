//! A database with the extension, and helpers for its client.

use tokio_postgres::Client;

/// Returns a database where `create extension pg_cron` was run with `options`, and its superuser's connection; `None`
/// if the environment says that there is no such extension.
pub(crate) async fn extended(options: &str) -> Option<(testkit::Database, Client)> {
    if !testkit::has_extension("pg_cron").await {
        return None;
    }
    let database = testkit::Database::create().await;
    let client = database.client().await;
    client.batch_execute(&format!("create extension pg_cron {options}")).await.unwrap();
    Some((database, client))
}

/// Returns the number that `sql` selects.
pub(crate) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Returns the text that `sql` selects.
pub(crate) async fn text(client: &Client, sql: &str) -> String {
    client.query_one(sql, &[]).await.unwrap().get(0)
}
