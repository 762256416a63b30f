//! The space of a file system.

use std::io;
use std::path::Path;

/// What a file system has and what is free, in bytes and in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that this user may still write.
    pub free: u64,
    /// All bytes.
    pub total: u64,
    /// Files that this user may still create; 0 where there is no limit of files.
    pub free_files: u64,
    /// All files; 0 where there is no limit of files.
    pub files: u64,
    /// Identifies the file system.
    pub id: u64,
}

impl Space {
    /// Below so many free bytes Postgres cannot work: it needs some for its write-ahead log.
    pub const LEAST: u64 = 256 << 20;
    /// Below so many free bytes a busy database fills the disk soon: Postgres alone writes 1 GiB of write-ahead log
    /// before it reuses files.
    pub const LOW: u64 = 2 << 30;

    /// Returns the space where `path` is, or would be if it existed.
    ///
    /// Errors: those of `statvfs(3)`.
    pub fn of(path: &Path) -> io::Result<Self> {
        let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
        let found = rustix::fs::statvfs(existing)?;
        Ok(Self {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            total: found.f_blocks.saturating_mul(found.f_frsize),
            free_files: found.f_favail,
            files: found.f_files,
            id: found.f_fsid,
        })
    }
}

/// Returns a number of bytes for people.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (number as f64 / 1024.0, 0);
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    if value < 10.0 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_fits() {
        for (number, text) in
            [(512, "0.5 KiB"), (256 << 20, "256 MiB"), (5 << 29, "2.5 GiB"), (3 << 50, "3072 TiB")]
        {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn the_space_of_a_folder_that_does_not_exist_is_that_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let (above, below) =
            (Space::of(folder.path()).unwrap(), Space::of(&folder.path().join("a/b")).unwrap());
        assert_eq!((above.id, above.total), (below.id, below.total));
        assert!(above.free > 0 && above.free <= above.total);
    }
}
