//! The folder of the private Unix socket.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::account::{Account, private_folder};
use super::error::Error;
use super::package::short_hex;

/// The longest path of a socket in bytes: `sun_path` has 108 bytes on Linux and 104 on macOS, including a NUL.
const PATH_LIMIT: usize = 103;

/// Creates the folder and removes sockets that an earlier Postgres has left in it.
///
/// It is `run` in the data folder, unless the socket's path would be too long there or `account` has no access: then it
/// is a folder in a shared one, with a short name that is unique to this data folder.
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
        Some(data_dir.join("run")).filter(|_| account.is_none_or(|account| account.can_reach(data_dir)));
    let shared =
        [runtime, Some(PathBuf::from("/tmp"))].into_iter().flatten().map(|folder| folder.join(&name));
    let mut failure = None;
    for folder in beside.into_iter().chain(shared).filter(|folder| fits(folder)) {
        match private_folder(&folder, 0o700, account) {
            Ok(()) => {
                remove_sockets(&folder)?;
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

fn remove_sockets(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(".s.PGSQL.") {
            fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}
