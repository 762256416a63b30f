//! Statements of the checks.

use std::time::Duration;

use postgres::{Database, Reply, Row, Transaction};

/// How long a statement may take: less than a check.
const LIMIT: Duration = Duration::from_secs(8);

/// Runs `sql`, which only reads, on the primary of `database`.
pub(super) async fn ask(database: &Database, sql: &'static str) -> Result<Reply, String> {
    let transaction =
        Transaction::anonymous().read_only().on_primary().statement(sql, Vec::new()).timeout(LIMIT);
    database.run(&transaction).await.map_err(|error| error.to_string())
}

/// Returns the number in a column of `row`; `None` for null.
pub(super) fn number(row: &Row, index: usize) -> Option<u64> {
    row.text(index)?.parse().ok()
}

/// Returns the text in a column of `row`.
pub(super) fn text(row: &Row, index: usize) -> String {
    row.text(index).unwrap_or_default().to_owned()
}
