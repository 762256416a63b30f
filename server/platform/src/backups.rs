//! What makes backups, as the platform interface sees it.

use futures_util::future::BoxFuture;

/// A base backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupEntry {
    /// When it ended, in seconds since 1970.
    pub ended: i64,
    /// Whether its last verification found something wrong.
    pub is_damaged: bool,
}

/// Makes backups and brings the project back. Errors are sentences for the operator.
pub trait Backups: Send + Sync + 'static {
    /// Returns the backups, the oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<BackupEntry>, String>>;

    /// Has the server bring the project back as it was so many microseconds after the beginning of 1970. It stops serving for
    /// that soon after this returns.
    fn restore(&self, microseconds: i64) -> BoxFuture<'_, Result<(), String>>;
}
