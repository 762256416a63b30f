//! Regular checks of what changes without an event in the stream: the publication, rights, the slot.

use std::ops::ControlFlow;
use std::time::Duration;

use postgres::{Database, Error, text};
use replication::slot;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Feed;
use crate::changes::table::catalog_query;

/// The publications that are read: tables of users, and broadcasts of the database.
const PUBLICATIONS: [&str; 2] = ["supabase_realtime", "supabase_realtime_messages_publication"];
/// How often to check.
const WATCH_INTERVAL: Duration = Duration::from_secs(60);

/// The schedule of the checks: at an interval, and at notifications of the database.
pub(super) struct Watch {
    interval: Interval,
    changes: watch::Receiver<u64>,
}

impl Watch {
    pub(super) fn new(database: &Database) -> Self {
        let mut interval = interval_at(Instant::now() + WATCH_INTERVAL, WATCH_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { interval, changes: database.notifications() }
    }

    /// Waits for the next check. May be cancelled.
    pub(super) async fn due(&mut self) {
        tokio::select! {
            _ = self.interval.tick() => {}
            Ok(()) = self.changes.changed() => {}
        }
    }
}

impl Feed {
    /// Clears the cache of the catalog, and checks the publication and the slot. Breaks if the slot keeps too much of
    /// the write-ahead log.
    pub(super) async fn watch(&mut self) -> ControlFlow<()> {
        self.context.changes.catalog.forget();
        let checked = match self.check_publications().await {
            Ok(()) => self.check_slot().await,
            Err(error) => Err(error),
        };
        checked.unwrap_or_else(|error| {
            tracing::warn!(%error, "the publication and the replication slot could not be looked at");
            ControlFlow::Continue(())
        })
    }

    /// Renews all subscriptions if the publication has other tables than before.
    pub(super) async fn check_publications(&mut self) -> Result<(), Error> {
        let published = published_tables(&self.context.database).await?;
        let before = std::mem::replace(&mut self.published, published);
        if !before.is_empty() && before != self.published {
            self.context.changes.renew_all();
        }
        Ok(())
    }

    /// Breaks if the slot keeps too much of the write-ahead log.
    async fn check_slot(&self) -> Result<ControlFlow<()>, Error> {
        let Some(lag) = slot::lag(&self.context.replication, &self.slot).await? else {
            return Ok(ControlFlow::Continue(()));
        };
        self.context.metrics.slot_lag_bytes.set(i64::try_from(lag.retained).unwrap_or(i64::MAX));
        if lag.retained <= u64::from(self.context.settings.get().max_slot_lag_mb) << 20 {
            return Ok(ControlFlow::Continue(()));
        }
        tracing::error!(
            slot = self.slot,
            bytes = lag.retained,
            "the replication slot keeps too much of the write-ahead log: it is made anew, row changes are lost, and clients \
             are told to subscribe again"
        );
        Ok(ControlFlow::Break(()))
    }
}

/// Returns those of [`PUBLICATIONS`] that exist.
pub(super) async fn existing_publications(database: &Database) -> Result<Vec<String>, Error> {
    let names = format!("{{{}}}", PUBLICATIONS.join(","));
    let transaction = catalog_query(
        "select pubname from pg_catalog.pg_publication where pubname = any($1::text[])",
        vec![text(&names)],
    );
    let reply = database.run_reserved(&transaction).await?;
    Ok(reply.rows().iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
}

/// Returns the published tables and columns, as a text to compare.
async fn published_tables(database: &Database) -> Result<String, Error> {
    let transaction = catalog_query(
        "select coalesce(string_agg(c.oid || p::text, ';' order by p::text), '') from pg_catalog.pg_publication_tables p \
         join pg_catalog.pg_namespace n on n.nspname = p.schemaname \
         join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = p.tablename \
         where p.pubname = 'supabase_realtime'",
        Vec::new(),
    );
    let reply = database.run_reserved(&transaction).await?;
    let text = reply.row().and_then(|row| row.text(0));
    Ok(text.unwrap_or_default().to_owned())
}
