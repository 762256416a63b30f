//! The address that a server listens on which serves no project.

use std::path::PathBuf;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A port of a host, which may be one of the names `*`, `*4`, `!4`, `*6` and `!6`.
    Port(String, u16),
    /// A Unix socket with this mode.
    Socket(PathBuf, u32),
}
