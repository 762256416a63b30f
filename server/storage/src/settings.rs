//! What an operator may decide about the service.

use std::path::PathBuf;

/// Settings of the storage service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Folder that holds the objects' bytes. Upstream's `STORAGE_FILE_BACKEND_PATH`. Default: `objects` in the
    /// current folder; Basalt sets `<data folder>/objects`.
    pub path: PathBuf,
    /// Bytes that one object may have, unless its bucket says less. Upstream's `UPLOAD_FILE_SIZE_LIMIT`,
    /// `storage.file_size_limit` in `config.toml`. Default: 50 MiB.
    pub file_size_limit: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { path: PathBuf::from("objects"), file_size_limit: 50 * 1024 * 1024 }
    }
}
