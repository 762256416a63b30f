//! Statistics of backups.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The part of the work that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Part {
    pub(crate) part: &'static str,
}

/// Statistics of backups. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub(crate) last_backup: Gauge<i64, AtomicI64>,
    pub(crate) last_verification: Gauge<i64, AtomicI64>,
    pub(crate) damaged: Gauge<i64, AtomicI64>,
    pub(crate) waiting: Gauge<i64, AtomicI64>,
    pub(crate) late: Gauge<i64, AtomicI64>,
    pub(crate) objects: Counter,
    pub(crate) failures: Family<Part, Counter>,
    /// Whether the last attempt to make or verify a backup failed.
    pub(crate) has_failed: Arc<AtomicBool>,
}

/// How backups are, for what watches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupState {
    /// Whether what was written longer ago than `basalt.backup.max_loss` may be only on this machine.
    pub is_late: bool,
    /// Whether the last verification found something wrong.
    pub is_damaged: bool,
    /// Whether the last attempt to make or verify a backup failed.
    pub has_failed: bool,
    /// When the last backup ended, in seconds since 1970; `None` if this server knows of none.
    pub last: Option<i64>,
}

impl Metrics {
    /// Notes that nothing is backed up any more.
    pub fn give_up(&self) {
        self.late.set(1);
    }

    /// Returns how backups are.
    pub fn state(&self) -> BackupState {
        BackupState {
            is_late: self.late.get() != 0,
            is_damaged: self.damaged.get() != 0,
            has_failed: self.has_failed.load(Ordering::Relaxed),
            last: Some(self.last_backup.get()).filter(|seconds| *seconds > 0),
        }
    }

    /// Adds the metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("backup");
        let gauges = [
            (
                "last_timestamp_seconds",
                "When the last backup ended, in seconds since 1970",
                &self.last_backup,
            ),
            (
                "verified_timestamp_seconds",
                "When a backup was verified last, in seconds since 1970",
                &self.last_verification,
            ),
            ("damaged", "1 if the last verification found something wrong, else 0", &self.damaged),
            (
                "log_waiting_bytes",
                "Bytes of the write-ahead log that wait for the target of backups",
                &self.waiting,
            ),
            (
                "late",
                "1 if what was written longer ago than basalt.backup.max_loss may be only on this machine, else 0",
                &self.late,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "objects",
            "Objects that were copied to the target of backups",
            self.objects.clone(),
        );
        registry.register("failures", "Failures of backups, by their part", self.failures.clone());
    }
}
