//! Files that are never half written, whatever ends this process.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::Error;

/// Returns a random name in the folder of `path`, which no other process uses.
pub(super) fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{:08x}", rand::random::<u32>()));
    path.with_file_name(name)
}

/// Writes a file atomically: at every moment, either the old or the new content is completely on disk.
pub(super) fn write_atomically(path: &Path, content: &[u8], mode: u32) -> Result<(), Error> {
    let temporary = temporary_name(path);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_folder(path.parent().unwrap_or(path))
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io("write", path))
}

/// Removes a file, if it exists.
pub(super) fn remove_if_present(file: &Path) -> Result<(), Error> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", file)(error)),
        _ => Ok(()),
    }
}

/// Writes the directory entries of `folder` to disk.
pub(super) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}
