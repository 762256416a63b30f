//! The lead among several servers of a database: what only one of them does.

use crate::client::DetachedClient;
use crate::database::Database;

/// Takes the lead that the advisory lock with the number `lock` stands for, for as long as the returned connection is
/// open; `None` if another server has it or the database cannot be asked.
pub async fn lead(database: &Database, lock: i64) -> Option<DetachedClient> {
    let client = database.client().await.ok()?;
    let row = client.query_one("select pg_catalog.pg_try_advisory_lock($1)", &[&lock]).await.ok()?;
    // The lock ends with the connection, which must not return to the pool.
    row.get::<_, bool>(0).then(|| client.detach())
}
