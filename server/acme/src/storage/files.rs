//! The files of the account and the certificate, which only this user may read.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Item;
use crate::Certificate;

/// The folder in the data folder.
const FOLDER: &str = "tls";

/// The folder `tls` in the data folder.
pub(super) struct Files(PathBuf);

impl Files {
    /// Makes the folder in `data_dir` if it is missing.
    pub(super) fn open(data_dir: &Path) -> io::Result<Self> {
        let folder = data_dir.join(FOLDER);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self(folder)),
        }
    }

    /// Reads `item`; `None` if it is not there.
    ///
    /// Errors: a sentence if it cannot be read or has no such value.
    pub(super) fn read<T: DeserializeOwned>(&self, item: Item) -> Result<Option<T>, String> {
        let path = self.0.join(name(item));
        let failed = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", path.display());
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| failed(&error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Writes `item` as a whole or not at all.
    ///
    /// Errors: a sentence.
    pub(super) fn write(&self, item: Item, value: &impl Serialize) -> Result<(), String> {
        let path = self.0.join(name(item));
        let written = serde_json::to_vec(value)
            .map_err(io::Error::from)
            .and_then(|content| atomic_file::write(&path, &content, 0o600));
        written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

fn name(item: Item) -> &'static str {
    match item {
        Item::Account => "account.json",
        Item::Certificate => "certificate.json",
    }
}

/// Reads the operator's own certificate.
///
/// Errors: a sentence with the file that cannot be used.
pub fn load_own(chain: &Path, key: &Path) -> Result<Certificate, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    let certificate = Certificate::from_pem(&read(chain)?, &read(key)?);
    certificate.map_err(|reason| format!("{} cannot be used: {reason}", chain.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_user_reads_files() {
        let data = tempfile::tempdir().unwrap();
        let files = Files::open(data.path()).unwrap();
        assert_eq!(files.read::<String>(Item::Account).unwrap(), None);
        files.write(Item::Account, &"secret").unwrap();
        let mode = |path: &str| fs::metadata(data.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("tls"), mode("tls/account.json")), (0o700, 0o600));
        assert_eq!(Files::open(data.path()).unwrap().read(Item::Account).unwrap(), Some("secret".to_owned()));
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let make = || rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let (one, other) = (make(), make());
        let pem = one.cert.pem();
        assert!(Certificate::from_pem(&pem, &one.signing_key.serialize_pem()).is_ok());
        assert!(Certificate::from_pem(&pem, &other.signing_key.serialize_pem()).is_err());
        assert!(Certificate::from_pem("", &one.signing_key.serialize_pem()).is_err());
    }
}
