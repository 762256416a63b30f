//! Keeps the schema cache fresh: loaded at the start, again whenever the catalog may have changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use database::Database;
use tokio_util::sync::CancellationToken;

use super::{LoadError, SchemaCache, load};
use crate::settings::Settings;

/// Pause before the first new attempt after a failed one; doubled up to [`LONGEST_PAUSE`], as upstream does.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(32);
/// How long to wait for further changes before loading: migrations change the catalog many times in a row.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// The cache that requests are planned against. Cheap to clone: clones share it.
#[derive(Clone, Default)]
pub struct SharedCache {
    current: Arc<ArcSwapOption<SchemaCache>>,
    /// Seconds until the next attempt to load; 0 when none is waiting.
    next_attempt: Arc<AtomicU64>,
}

impl SharedCache {
    /// The newest cache; `None` until the first was loaded.
    pub fn current(&self) -> Option<Arc<SchemaCache>> {
        self.current.load_full()
    }

    /// In how many seconds the next attempt to load is made, if the last one failed.
    pub fn retry_after(&self) -> Option<u64> {
        match self.next_attempt.load(Ordering::Relaxed) {
            0 => None,
            seconds => Some(seconds),
        }
    }

    /// Loads the cache once, replacing the current one.
    ///
    /// Errors: [`LoadError`]; the current cache then stays.
    pub async fn refresh(&self, database: &Database, settings: &Settings) -> Result<(), LoadError> {
        let started = Instant::now();
        let catalog = load(database, settings).await?;
        let cache = SchemaCache::new(catalog, &settings.db_schemas);
        tracing::info!(summary = cache.summary(), elapsed = ?started.elapsed(), "schema cache loaded");
        self.current.store(Some(Arc::new(cache)));
        Ok(())
    }

    /// Loads the cache and keeps it fresh until `stop` is cancelled.
    pub async fn keep_fresh(&self, database: &Database, settings: &Settings, stop: &CancellationToken) {
        stop.run_until_cancelled(self.reload_for_ever(database, settings)).await;
    }

    async fn reload_for_ever(&self, database: &Database, settings: &Settings) {
        let mut changes = database.catalog_changes();
        loop {
            // Marked as seen before loading, so that a change in the meantime is loaded again.
            changes.mark_unchanged();
            self.refresh_until_done(database, settings).await;
            if changes.changed().await.is_err() {
                // The listener is gone, and with it the reason to load again.
                return std::future::pending().await;
            }
            tokio::time::sleep(DEBOUNCE).await;
        }
    }

    async fn refresh_until_done(&self, database: &Database, settings: &Settings) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.refresh(database, settings).await {
            tracing::warn!(%error, retry_in = ?pause, "the schema cache could not be loaded; the old one is kept");
            self.next_attempt.store(pause.as_secs(), Ordering::Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.next_attempt.store(0, Ordering::Relaxed);
    }
}
