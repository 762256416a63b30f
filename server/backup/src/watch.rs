//! Watches whether what was written is in the target, and how much of the log waits for it.

use std::time::Duration;

use embedded::Engine;
use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::repository::{Repository, is_backup_wanted, want_backup};

/// How often archiving begins anew while more of the log waits than may.
const DROP_PERIOD: Duration = Duration::from_secs(60);

/// Looks whether what was written is in the target.
pub(crate) struct Watch {
    pub(crate) metrics: Metrics,
    pub(crate) repository: Repository,
    pub(crate) engine: Option<Engine>,
    /// The last time at which everything was in the target.
    pub(crate) safe_at: Instant,
    /// When archiving was last begun anew, so that the log is dropped.
    pub(crate) dropped_at: Option<Instant>,
}

impl Watch {
    /// Notes in the metrics how much of the log waits and whether something waits too long, and returns both. `is_safe`
    /// says whether everything is in the target.
    pub(crate) fn look(&mut self, is_safe: bool) -> (u64, bool) {
        let waiting = embedded::waiting_bytes(&self.repository.data_dir);
        self.metrics.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        let is_late = !is_safe && self.safe_at.elapsed() > self.repository.settings.max_loss;
        self.metrics.late.set(i64::from(is_late));
        self.bound(waiting);
        (waiting, is_late)
    }

    /// Sees to it that not more of the log waits than may, which is `waiting` bytes now.
    fn bound(&mut self, waiting: u64) {
        let limit = u64::from(self.repository.settings.max_waiting_mb) << 20;
        let Some(engine) = self.engine.as_ref().filter(|_| waiting * 10 > limit * 9) else { return };
        // A part of the log may be dropped. A backup is made as soon as the target takes one, also after a new start.
        let data_dir = &self.repository.data_dir;
        if !is_backup_wanted(data_dir)
            && let Err(error) = want_backup(data_dir)
        {
            tracing::error!(%error, "backups have a gap until the next one is made");
        }
        if waiting > limit && self.dropped_at.is_none_or(|at| at.elapsed() > DROP_PERIOD) {
            // It is dropped when archiving begins, which does not end while the target does not respond.
            engine.end_archiving();
            self.dropped_at = Some(Instant::now());
        }
    }
}
