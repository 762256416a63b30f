//! Where this program is.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::Error;

static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Remembers where this program is. Later the system may not say so any more: an update replaces the file.
pub(crate) fn remember() {
    let _ = PATH.set(std::env::current_exe().ok());
}

/// Returns the path of this program at its start, without links.
///
/// Errors: if the system does not say it.
pub(crate) fn path() -> Result<&'static Path, Error> {
    let path = PATH.get_or_init(|| std::env::current_exe().ok());
    path.as_deref().ok_or_else(|| Error::Advice("the system does not say where this program is".to_owned()))
}
