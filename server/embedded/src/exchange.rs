//! Exchanges the cluster of a data folder for one that was restored, and back. The other one is kept beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::account::{self, Account};
use super::data_dir::DataDir;
use super::error::Error;
use super::files::write_atomically;
use super::layout::cluster_in;

/// The beginning of the names of clusters that a restore has replaced, and of those that were given up after that. Behind
/// it come the seconds since 1970.
const BEFORE: &str = "postgres.before-";
const UNDONE: &str = "postgres.undone-";

/// The file that makes Postgres begin a new timeline at its next start.
const RECOVERY: &str = "recovery.signal";

/// An exchange of the cluster of a data folder for a restored one, which takes place at its end. Until then, and until it is
/// dropped, no server starts on the folder.
#[derive(Debug)]
pub struct Exchange(DataDir);

impl Exchange {
    /// Begins an exchange in `data_dir`.
    ///
    /// Errors: [`Error::InUse`] if a server runs on it; those of the file system.
    pub fn begin(data_dir: &Path) -> Result<Self, Error> {
        DataDir::lock(data_dir).map(Self)
    }

    /// Puts the cluster of the data folder `restored`, on which no server may run, into the place of the one that is there,
    /// with its passwords, and returns the folder in which the replaced one is kept.
    ///
    /// Errors: [`Error::InUse`]; those of the file system, after which the old cluster is in its place.
    pub fn complete(self, restored: &Path) -> Result<PathBuf, Error> {
        let (data, other) = (self.0, DataDir::lock(restored)?);
        let kept = data.path().join(format!("{BEFORE}{}", now()));
        let passwords = other.password_file();
        if passwords.exists() {
            let copied = fs::copy(&passwords, data.password_file());
            copied.map_err(Error::io("copy", &passwords))?;
        }
        data.replace_cluster(&other.cluster(), &kept)?;
        other.release();
        Ok(kept)
    }
}

/// Puts the cluster back that the last restore in place has replaced, and returns the folder in which the restored one
/// is kept; `None` if there was no such restore. No server may run on `data_dir`.
///
/// With an `archive` of the write-ahead log, the next start begins a new timeline: the log of the restored cluster is
/// archived under the next number already.
///
/// Errors: [`Error::InUse`]; those of the file system.
pub fn exchange_back(data_dir: &Path, has_archive: bool) -> Result<Option<PathBuf>, Error> {
    let data = DataDir::lock(data_dir)?;
    let entries = fs::read_dir(data.path()).map_err(Error::io("read", data.path()))?;
    let kept = entries.flatten().filter_map(|entry| {
        let seconds: u64 = entry.file_name().to_str()?.strip_prefix(BEFORE)?.parse().ok()?;
        Some((seconds, entry.path()))
    });
    let Some((_, last)) = kept.max() else { return Ok(None) };
    if has_archive {
        let account = Account::choose(&last)?;
        let file = last.join(RECOVERY);
        write_atomically(&file, b"", 0o600)?;
        account::give(&file, account.as_ref())?;
    }
    let undone = data.path().join(format!("{UNDONE}{}", now()));
    data.replace_cluster(&last, &undone)?;
    Ok(Some(undone))
}

/// Reports whether `data_dir` has a cluster.
pub fn has_cluster(data_dir: &Path) -> bool {
    cluster_in(data_dir).exists()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
