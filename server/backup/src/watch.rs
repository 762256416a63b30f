//! Watches whether what was written is in the target, and how much of the log waits for it.

use std::path::Path;
use std::time::Duration;

use embedded::Engine;
use tokio::time::{Instant, sleep};

use crate::metrics::Metrics;
use crate::repository::{Repository, is_backup_wanted, want_backup};

/// How often archiving begins anew while more of the log waits than may.
const DROP_PERIOD: Duration = Duration::from_secs(60);

/// The same while the disk is about to be full.
const SHORT_PERIOD: Duration = Duration::from_secs(10);

/// How often a backup that is being made looks at it.
const LOOK: Duration = Duration::from_secs(1);

/// A disk is about to be full if it has less free than this share, within these bounds in bytes.
const SHARE: u64 = 20;
const LEAST_FREE: u64 = 128 << 20;
const MOST_FREE: u64 = 1 << 30;

/// How much of the log has to wait so that dropping it makes room, in bytes, and how much may wait then, in mebibytes.
const WORTHWHILE: u64 = 64 << 20;
const SHORT_LIMIT_MB: u64 = 16;

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

    /// Reports whether the disk of the data folder is about to be full.
    pub(crate) fn is_disk_short(&self) -> bool {
        is_disk_short(&self.repository.data_dir)
    }

    /// Sees to it that not more of the log waits than may, which is `waiting` bytes now.
    fn bound(&mut self, waiting: u64) {
        let Some(engine) = &self.engine else { return };
        let Bound { limit_mb, is_short } = Bound::of(&self.repository, waiting);
        match engine.limit_waiting(limit_mb) {
            Ok(true) if is_short => tracing::error!(
                waiting_mb = waiting >> 20,
                "the disk of the data folder is nearly full: the write-ahead log that waits for the target of \
                 backups is dropped"
            ),
            Ok(_) => {}
            // While Postgres restarts, it has none.
            Err(error) => tracing::debug!(%error, "the configuration of pgBackRest cannot be changed"),
        }
        let limit = limit_mb << 20;
        if !is_overflowing(waiting, limit_mb) {
            return;
        }
        // A part of the log may be dropped. A backup is made as soon as the target takes one, also after a new start.
        let data_dir = &self.repository.data_dir;
        if !is_backup_wanted(data_dir)
            && let Err(error) = want_backup(data_dir)
        {
            tracing::error!(%error, "backups have a gap until the next one is made");
        }
        let period = if is_short { SHORT_PERIOD } else { DROP_PERIOD };
        if waiting > limit && self.dropped_at.is_none_or(|at| at.elapsed() > period) {
            // It is dropped when archiving begins, which does not end while the target does not respond.
            engine.end_archiving();
            self.dropped_at = Some(Instant::now());
        }
    }
}

/// How much of the log may wait.
struct Bound {
    limit_mb: u64,
    /// Whether the disk of the data folder is the reason.
    is_short: bool,
}

impl Bound {
    /// Returns the bound while `waiting` bytes wait.
    fn of(repository: &Repository, waiting: u64) -> Self {
        // Without room, Postgres would end, and could not even archive what waits once the target is back.
        let is_short = waiting > WORTHWHILE && is_disk_short(&repository.data_dir);
        let limit_mb = match is_short {
            true => SHORT_LIMIT_MB,
            false => repository.settings.max_waiting_mb().into(),
        };
        Self { limit_mb, is_short }
    }
}

/// Reports whether a part of the log may be dropped.
fn is_overflowing(waiting: u64, limit_mb: u64) -> bool {
    waiting * 10 > (limit_mb << 20) * 9
}

fn is_disk_short(data_dir: &Path) -> bool {
    let Ok(disk) = rustix::fs::statvfs(data_dir) else { return false };
    let reserve = (disk.f_blocks.saturating_mul(disk.f_frsize) / SHARE).clamp(LEAST_FREE, MOST_FREE);
    disk.f_bavail.saturating_mul(disk.f_frsize) < reserve
}

/// Waits until more of the log waits than may, so that a part of it is dropped.
pub(crate) async fn overflow(repository: &Repository) {
    loop {
        let waiting = embedded::waiting_bytes(&repository.data_dir);
        if waiting > Bound::of(repository, waiting).limit_mb << 20 {
            return;
        }
        sleep(LOOK).await;
    }
}
