//! Counts the rows of all tables at one moment, which a restore is compared with.

use std::collections::BTreeMap;
use std::time::Duration;

use postgres::{Client, Database, quote_identifier};

use crate::error::Error;

/// How often a quiet moment is looked for, and the pause in between.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// How long counting may take.
const LIMIT: &str = "10min";

/// The tables whose rows are counted. Others may be written to by the restored server itself.
const TABLES: &str = "
select n.nspname::text, c.relname::text
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and c.relpersistence = 'p'
  and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'basalt', 'cron', 'net')
order by 1, 2";

/// The rows of tables, and the position of the write-ahead log at which there were so many.
pub(crate) struct Counts {
    pub(crate) position: String,
    pub(crate) rows: BTreeMap<String, i64>,
}

/// Counts the rows of all tables at a moment at which nothing is being written, so that it has an exact position of the
/// log. Writers do not wait. Returns `None` if there is no such moment, or if counting takes too long.
pub(crate) async fn take(database: &Database) -> Result<Option<Counts>, Error> {
    let client = database.client().await?;
    for _ in 0..TRIES {
        let before = position(&client).await?;
        client.batch_execute("begin isolation level repeatable read read only").await?;
        // The transactions that the snapshot does not see would be committed at a position that is not known.
        let row = client
            .query_one(
                "select pg_catalog.pg_snapshot_xmin(s) = pg_catalog.pg_snapshot_xmax(s) \
                   from pg_catalog.pg_current_snapshot() s",
                &[],
            )
            .await?;
        let is_quiet: bool = row.get(0);
        if is_quiet && position(&client).await? == before {
            let counted = count(&client).await;
            client.batch_execute("rollback").await?;
            return Ok(counted.ok().map(|rows| Counts { position: before, rows }));
        }
        client.batch_execute("rollback").await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(None)
}

/// Returns the end of the write-ahead log.
async fn position(client: &Client) -> Result<String, Error> {
    let row = client.query_one("select pg_catalog.pg_current_wal_insert_lsn()::text", &[]).await?;
    Ok(row.get(0))
}

/// Counts the rows of all tables of the current transaction.
pub(crate) async fn count(client: &Client) -> Result<BTreeMap<String, i64>, Error> {
    client.batch_execute(&format!("set statement_timeout = '{LIMIT}'")).await?;
    let mut rows = BTreeMap::new();
    for table in client.query(TABLES, &[]).await? {
        let name = format!("{}.{}", quote_identifier(table.get(0)), quote_identifier(table.get(1)));
        let row = client.query_one(&format!("select count(*) from only {name}"), &[]).await?;
        rows.insert(name, row.get(0));
    }
    Ok(rows)
}
