//! Files that are never half written, whatever ends this process.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Returns a random name in the folder of `path`, which no other process uses.
pub fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{:08x}", rand::random::<u32>()));
    path.with_file_name(name)
}

/// Writes a file atomically: at every moment, either the old or the new content is completely on disk. The file has
/// `mode` whatever this process withholds from new files.
///
/// Errors: those of the system; the old content stays.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let temporary = temporary_name(path);
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_folder(path.parent().unwrap_or(path))
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes the directory entries of `folder` to disk.
///
/// Errors: those of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_mode_and_leaves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, mode) in [("one", 0o600), ("two", 0o644)] {
            write(&path, content.as_bytes(), mode).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        write(&folder.path().join("folder"), b"", 0o600).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
