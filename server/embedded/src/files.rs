//! Files of the data folder.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::error::Error;

/// Writes a file as [`atomic_file::write`] does.
pub(super) fn write_atomically(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    atomic_file::write(path, content, mode).map_err(Error::io("write", path))
}

/// Removes a file, if it exists.
pub(super) fn remove_if_present(file: &Path) -> Result<(), Error> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", file)(error)),
        _ => Ok(()),
    }
}
