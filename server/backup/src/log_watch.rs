//! Watches how much of what was written is in the target, and has Postgres archive it in time.
//!
//! Postgres' own `archive_timeout` does not count after a crash until its next checkpoint: it decides how long to sleep while
//! it recovers. So this task switches to the next file of the log itself where Postgres does not. Source: PostgreSQL,
//! `postmaster/checkpointer.c`.

use std::time::Duration;

use postgres::Database;
use tokio::time::Instant;

use crate::error::Error;

/// A moment whose writes are not all in the target.
struct Mark {
    /// The next transaction then.
    next: i64,
    /// The end of the log then.
    position: String,
    at: Instant,
    /// When the archiver was woken because of it.
    woken: Option<Instant>,
}

/// What is known of the log. Only transactions that write count, so that nothing is archived while nobody writes.
#[derive(Default)]
pub(crate) struct LogWatch {
    /// The next transaction at the last moment whose writes are all in the target.
    safe: Option<i64>,
    mark: Option<Mark>,
}

impl LogWatch {
    /// Looks at the log of `database`, and has it archived if it was not for longer than `patience`. Returns since when
    /// something is not in the target, if it is so.
    pub(crate) async fn look(
        &mut self,
        database: &Database,
        patience: Duration,
    ) -> Result<Option<Instant>, Error> {
        let client = database.client().await?;
        let position = self.mark.as_ref().map(|mark| mark.position.as_str());
        let row = client
            .query_one(
                "select pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint, \
                        pg_catalog.pg_current_wal_insert_lsn()::text, \
                        coalesce(pg_catalog.pg_walfile_name($1::text::pg_lsn) \
                          <= (select max(pg_catalog.left(last_archived_wal, 24)) from pg_catalog.pg_stat_archiver \
                              where pg_catalog.length(last_archived_wal) >= 24), false)",
                &[&position],
            )
            .await?;
        let (next, position, is_archived): (i64, String, bool) = (row.get(0), row.get(1), row.get(2));
        let now = Instant::now();
        if is_archived && let Some(mark) = self.mark.take() {
            self.safe = Some(mark.next);
        }
        if self.mark.is_none() && self.safe != Some(next) {
            self.mark = Some(Mark { next, position, at: now, woken: None });
        }
        let Some(mark) = &mut self.mark else { return Ok(None) };
        if now.duration_since(mark.woken.unwrap_or(mark.at)) > patience {
            // Only the file that the mark is in: while the target is away, more of them would only take room. The
            // second wakes the archiver, which sleeps for a minute then.
            let sql = "select case when pg_catalog.pg_walfile_name($1::text::pg_lsn) \
                              = pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) \
                              then pg_catalog.pg_switch_wal() end, \
                              pg_catalog.pg_reload_conf()";
            client.query_one(sql, &[&mark.position]).await?;
            mark.woken = Some(now);
        }
        Ok(Some(mark.at))
    }
}
