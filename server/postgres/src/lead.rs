//! The lead among several servers of a database: what only one of them does.

use crate::client::DetachedClient;
use crate::database::Database;

/// The lead that an advisory lock stands for. It ends with the connection that holds the lock.
pub struct Lead {
    database: Database,
    lock: i64,
    held: Option<DetachedClient>,
}

impl Lead {
    /// Returns the lead of the advisory lock with the number `lock`, which this server does not have yet.
    pub const fn new(database: Database, lock: i64) -> Self {
        Self { database, lock, held: None }
    }

    /// Takes the lead, unless this server has it already. Returns whether it has: not if another server has the lead, or
    /// the database cannot be asked.
    pub async fn take(&mut self) -> bool {
        if self.held.as_ref().is_none_or(|client| client.is_closed()) {
            self.held = self.lock().await;
        }
        self.held.is_some()
    }

    async fn lock(&self) -> Option<DetachedClient> {
        let client = self.database.client().await.ok()?;
        let row = client.query_one("select pg_catalog.pg_try_advisory_lock($1)", &[&self.lock]).await.ok()?;
        // The lock ends with the connection, which must not return to the pool.
        row.get::<_, bool>(0).then(|| client.detach())
    }
}
