//! The folder of the private unix socket.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::account::{Account, private_folder};
use super::error::Error;
use super::package::short_hex;

/// The longest path of a socket in bytes: `sun_path` has 108 on Linux, 104 on macOS, with a NUL at the end.
const PATH_LIMIT: usize = 103;

/// Makes the folder and empties it of sockets that an earlier Postgres left.
///
/// It is `run` in the data folder, unless a socket's path would be too long there or `account` could not get in:
/// then one with a short name that no other data folder has.
pub(super) fn open(data_dir: &Path, account: Option<&Account>) -> Result<PathBuf, Error> {
    let mut hash = Sha256::new();
    hash.update(data_dir.as_os_str().as_encoded_bytes());
    hash.update(account.map_or(rustix::process::geteuid().as_raw(), |account| account.uid).to_be_bytes());
    let name = format!("basalt-{}", short_hex(&hash.finalize()));
    let runtime = match account {
        Some(_) => Some(PathBuf::from("/run")).filter(|folder| folder.is_dir()),
        None => env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute()),
    };
    let beside =
        Some(data_dir.join("run")).filter(|_| account.is_none_or(|account| account.reaches(data_dir)));
    let shared =
        [runtime, Some(PathBuf::from("/tmp"))].into_iter().flatten().map(|folder| folder.join(&name));
    let mut failure = None;
    for folder in beside.into_iter().chain(shared).filter(|folder| fits(folder)) {
        match private_folder(&folder, 0o700, account) {
            Ok(()) => {
                empty(&folder)?;
                return Ok(folder);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let nowhere = || std::io::Error::other("every path is too long for a socket");
    Err(failure.unwrap_or_else(|| Error::io("make a socket in", data_dir)(nowhere())))
}

fn fits(folder: &Path) -> bool {
    folder.as_os_str().len() + "/.s.PGSQL.65535".len() <= PATH_LIMIT
}

fn empty(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(".s.PGSQL.") {
            fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}
