//! Keeps the schema cache fresh: loaded at the start, again whenever the catalog may have changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use postgres::Database;
use tokio::sync::{Notify, watch};

use super::{LoadError, SchemaCache, load};
use crate::configuration::SharedConfiguration;
use crate::error::Suspicion;

/// Pause before the first new attempt after a failed one; doubled up to [`LONGEST_PAUSE`], as upstream does.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(32);
/// How long the first load waits for the connection that receives notices of changes.
const LISTENING_LIMIT: Duration = Duration::from_secs(1);
/// How long to wait for further changes before loading: migrations change the catalog many times in a row.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// How long a request waits for the cache that it was planned without.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the notice of a change may come after a statement that waited for the change has gone on: Postgres releases
/// a transaction's locks before it sends its notices.
const NOTICE_DELAY: Duration = Duration::from_millis(50);

/// The cache that requests are planned against.
#[derive(Default)]
pub(crate) struct SharedCache {
    current: ArcSwapOption<SchemaCache>,
    /// Seconds until the next attempt to load; 0 when none is waiting.
    next_attempt: AtomicU64,
    loads: Loads,
    /// Wakes the loop of [`Self::keep_fresh`] for another load.
    wanted: Notify,
    /// Whether the catalog has not changed since the load of `current` began, as far as is known.
    is_fresh: AtomicBool,
    /// How many changes of the catalog were known when the load of `current` began.
    changes_seen: AtomicU64,
    /// Counts the loads, so that one can be waited for.
    finished: watch::Sender<u64>,
}

/// How often the cache was loaded.
#[derive(Default)]
pub(crate) struct Loads {
    succeeded: AtomicU64,
    /// A channel, so that it can be waited for.
    failed: watch::Sender<u64>,
    /// When the last one ended, and how long its query took.
    last: Mutex<Option<(Instant, Duration)>>,
}

impl Loads {
    fn succeeded(&self, elapsed: Duration) {
        self.succeeded.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = Some((Instant::now(), elapsed));
    }

    fn last(&self) -> Option<(Instant, Duration)> {
        *self.last.lock()
    }

    /// Returns how long ago it was loaded, if it was.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.last().map(|(ended, _)| ended.elapsed())
    }

    fn failed(&self) {
        self.failed.send_modify(|failed| *failed += 1);
    }

    /// Returns how often it was loaded, how often that failed, and how long the query of the last load took.
    pub(crate) fn figures(&self) -> (u64, u64, Duration) {
        let query_time = self.last().map(|(_, query_time)| query_time).unwrap_or_default();
        (self.succeeded.load(Ordering::Relaxed), *self.failed.borrow(), query_time)
    }
}

impl SharedCache {
    /// Returns the newest cache; `None` until the first was loaded.
    pub(crate) fn current(&self) -> Option<Arc<SchemaCache>> {
        self.current.load_full()
    }

    /// Waits until the first cache was loaded.
    pub(crate) async fn loaded(&self) {
        // It cannot fail: the sender is a field of `self`.
        let _ = self.finished.subscribe().wait_for(|loads| *loads > 0).await;
    }

    /// Waits until the first cache was loaded, or the first attempt has failed.
    pub(crate) async fn tried(&self) {
        let mut failed = self.loads.failed.subscribe();
        tokio::select! {
            () = self.loaded() => {}
            _ = failed.wait_for(|failures| *failures > 0) => {}
        }
    }

    /// Reports whether the catalog has not changed since the newest cache was read, as far as is known.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh.load(Ordering::Relaxed)
    }

    /// Requests another load, without waiting for it.
    pub(crate) fn reload(&self) {
        self.is_fresh.store(false, Ordering::Relaxed);
        self.wanted.notify_one();
    }

    /// Requests another load, and waits until one has ended that has begun since.
    pub(crate) async fn reloaded(&self) {
        let mut finished = self.finished.subscribe();
        // A load that is under way has begun before.
        let under_way = u64::from(!self.is_fresh());
        let enough = *finished.borrow() + 1 + under_way;
        self.reload();
        let _ = finished.wait_for(|loads| *loads >= enough).await;
    }

    /// Returns the cache that has replaced `old`, or is about to because the catalog has changed; `None` if the catalog
    /// has not changed, as far as is known. If Postgres has refused something, this waits briefly for a notice that may
    /// still be on its way.
    pub(crate) async fn newer_than(
        &self,
        old: &Arc<SchemaCache>,
        database: &Database,
        suspicion: Suspicion,
    ) -> Option<Arc<SchemaCache>> {
        database.await_notifications().await;
        let mut changes = database.notifications();
        let has_changed = |count: u64| !self.is_fresh() || count != self.changes_seen.load(Ordering::Relaxed);
        let newer = || self.current().filter(|current| !Arc::ptr_eq(current, old));
        if suspicion == Suspicion::Refused && newer().is_none() {
            // Without a notice in time the catalog has not changed.
            let _ = tokio::time::timeout(NOTICE_DELAY, changes.wait_for(|count| has_changed(*count))).await;
        }
        // After a failed load it is not known when one will succeed.
        if has_changed(*changes.borrow()) && self.retry_after().is_none() {
            let mut finished = self.finished.subscribe();
            // The load that may be under way may have begun before the change.
            let enough = *finished.borrow() + 2;
            let newer_load = finished.wait_for(|loads| *loads >= enough || !has_changed(*changes.borrow()));
            let _ = tokio::time::timeout(PATIENCE, newer_load).await;
        }
        newer()
    }

    /// Returns the statistics of its loads.
    pub(crate) fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Returns the seconds until the next attempt to load, if the last one failed.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self.next_attempt.load(Ordering::Relaxed) {
            0 => None,
            seconds => Some(seconds),
        }
    }

    /// Reads the settings and loads the cache once, replacing the current ones.
    ///
    /// Errors: [`LoadError`]; the current cache then stays.
    pub(crate) async fn refresh(
        &self,
        database: &Database,
        configuration: &SharedConfiguration,
    ) -> Result<(), LoadError> {
        configuration.reread(database).await?;
        let configuration = configuration.current();
        let started = Instant::now();
        let catalog = load(database, &configuration.settings).await?;
        if !catalog.missing_schemas.is_empty() {
            return Err(LoadError::MissingSchemas(catalog.missing_schemas));
        }
        let elapsed = started.elapsed();
        let cache = SchemaCache::new(catalog, &configuration.settings.db_schemas);
        tracing::info!(summary = cache.summary(), ?elapsed, "schema cache loaded");
        self.current.store(Some(Arc::new(cache)));
        self.loads.succeeded(elapsed);
        Ok(())
    }

    /// Loads the cache and keeps it fresh. Never returns.
    pub(crate) async fn keep_fresh(&self, database: &Database, configuration: &SharedConfiguration) {
        let mut changes = database.notifications();
        if database.has_listener() {
            // The start of listening counts as a change, which would cause a second load.
            let _ = tokio::time::timeout(LISTENING_LIMIT, changes.changed()).await;
        }
        loop {
            // Marked as seen before loading, so that a change in the meantime is loaded again.
            let seen = *changes.borrow_and_update();
            self.refresh_until_done(database, configuration).await;
            self.changes_seen.store(seen, Ordering::Relaxed);
            self.is_fresh.store(true, Ordering::Relaxed);
            self.finished.send_modify(|loads| *loads += 1);
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        // The listener is gone: there will be no more notices.
                        return std::future::pending().await;
                    }
                }
                () = self.wanted.notified() => {}
            }
            self.is_fresh.store(false, Ordering::Relaxed);
            tokio::time::sleep(DEBOUNCE).await;
            // The settings that sessions began with and the statements that they have prepared may be outdated, too.
            database.renew();
        }
    }

    async fn refresh_until_done(&self, database: &Database, configuration: &SharedConfiguration) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.refresh(database, configuration).await {
            self.loads.failed();
            tracing::warn!(%error, retry_in = ?pause, "the schema cache could not be loaded; the old one is kept");
            self.next_attempt.store(pause.as_secs(), Ordering::Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.next_attempt.store(0, Ordering::Relaxed);
    }
}
