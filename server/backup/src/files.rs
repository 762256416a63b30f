//! The files of a backup besides database and objects: keys, passwords, certificates and settings. They are one document
//! of JSON, which is written again whenever one of them changes.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::key::Key;
use crate::moment::Moment;
use crate::target::Target;

/// Where the documents are in a target. Their names are the seconds since 1970 at which they were written.
const FOLDER: &str = "settings";

/// The files of the data folder that are kept.
const OF_DATA: [&str; 4] = ["keys.json", "pgpass", "database-certificate.pem", "database-key.pem"];

/// Where files of settings are put by a restore, in the data folder.
const SETTINGS: &str = "restored-settings";

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    /// Its path, relative to the data folder.
    name: String,
    /// Its permission bits.
    mode: u32,
    /// Its content in Base64.
    content: String,
}

/// Reads the files that belong to a backup of the server on `data_dir`; `settings` are those of its project.
pub(crate) fn collect(data_dir: &Path, settings: &[PathBuf]) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    let of_data = OF_DATA.iter().map(|name| (PathBuf::from(name), data_dir.join(name)));
    let of_settings = settings.iter().map(|path| (Path::new(SETTINGS).join(short_name(path)), path.clone()));
    for (name, path) in of_data.chain(of_settings) {
        let reading = format!("read {}", path.display());
        match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(reading)(error)),
            Ok(content) => files.push(File {
                name: name.to_string_lossy().into_owned(),
                mode: std::fs::metadata(&path).map_err(Error::io(reading))?.mode() & 0o777,
                content: BASE64.encode(&content),
            }),
        }
    }
    Ok(files)
}

/// Returns the last two parts of `path`: files of settings may have one name in several folders.
fn short_name(path: &Path) -> PathBuf {
    let mut parts: Vec<_> = path.components().rev().take(2).collect();
    parts.retain(|part| matches!(part, std::path::Component::Normal(_)));
    parts.into_iter().rev().collect()
}

/// Writes `files` to `target`.
pub(crate) async fn store(target: &Target, key: &Key, files: &[File]) -> Result<(), Error> {
    let text = serde_json::to_vec(files).map_err(|error| Error::Io(error.to_string()))?;
    let path = format!("{FOLDER}/{}.age", Moment::now().seconds());
    target.write(&path, key.encrypt(&text)?).await
}

/// Returns the files as they were at `moment`, or, if none were written until then, the first that were.
///
/// Errors: [`Error::Damaged`] with the path of a document that cannot be read.
pub(crate) async fn read(target: &Target, key: &Key, moment: Moment) -> Result<Vec<File>, Error> {
    let documents = documents(target).await?;
    let last = documents.iter().rfind(|(seconds, _)| *seconds <= moment.seconds());
    let Some((_, path)) = last.or(documents.first()) else { return Ok(Vec::new()) };
    let sealed = target.read(path).await?.unwrap_or_default();
    let text = key.decrypt(path, &sealed)?;
    serde_json::from_slice(&text).map_err(|_| Error::Damaged(path.clone()))
}

/// Removes the documents that no moment after `oldest` needs.
pub(crate) async fn prune(target: &Target, oldest: Moment) -> Result<(), Error> {
    let mut documents = documents(target).await?;
    let needed = documents.iter().rposition(|(seconds, _)| *seconds <= oldest.seconds()).unwrap_or(0);
    for (_, path) in documents.drain(..needed) {
        target.remove(&path).await?;
    }
    Ok(())
}

/// Returns the documents in `target` with the seconds at which they were written, the oldest first.
async fn documents(target: &Target) -> Result<Vec<(i64, String)>, Error> {
    let paths = target.list(FOLDER).await?;
    let mut documents: Vec<(i64, String)> = paths.into_iter().filter_map(written_at).collect();
    documents.sort();
    Ok(documents)
}

fn written_at(path: String) -> Option<(i64, String)> {
    let name = path.rsplit('/').next()?.strip_suffix(".age")?;
    Some((name.parse().ok()?, path))
}

/// Writes `files` into the new folder `data_dir`. An existing file stays.
pub(crate) fn put(data_dir: &Path, files: &[File]) -> Result<(), Error> {
    for File { name, mode, content } in files {
        let relative = Path::new(name);
        // A name from outside must not lead out of the folder.
        if relative.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Err(Error::Damaged(name.clone()));
        }
        let path = data_dir.join(relative);
        let content = BASE64.decode(content.as_bytes()).map_err(|_| Error::Damaged(name.clone()))?;
        let write = || {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut options = std::fs::OpenOptions::new();
            match options.write(true).create_new(true).mode(*mode).open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
                Ok(mut file) => file.write_all(&content).and_then(|()| file.sync_all()),
            }
        };
        write().map_err(Error::io(format!("write {}", path.display())))?;
    }
    Ok(())
}

/// Reports whether `files` have the keys of a project.
pub(crate) fn have_keys(files: &[File]) -> bool {
    let keys = files.iter().find(|file| file.name == OF_DATA[0]);
    let content = keys.and_then(|file| BASE64.decode(file.content.as_bytes()).ok());
    content.is_some_and(|text| serde_json::from_slice::<serde_json::Value>(&text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_with_their_mode_and_not_outside_of_the_folder() {
        let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(old.path().join("keys.json"), "{}").unwrap();
        let settings = old.path().join("config.toml");
        std::fs::write(&settings, "[api]").unwrap();
        let files = collect(old.path(), &[settings, old.path().join("missing")]).unwrap();
        assert!(have_keys(&files));
        put(new.path(), &files).unwrap();
        assert_eq!(std::fs::read_to_string(new.path().join("keys.json")).unwrap(), "{}");
        let name = old.path().file_name().unwrap();
        let restored = new.path().join(SETTINGS).join(name).join("config.toml");
        assert_eq!(std::fs::read_to_string(restored).unwrap(), "[api]");
        let outside = File { name: "../keys.json".to_owned(), mode: 0o600, content: String::new() };
        assert!(matches!(put(new.path(), &[outside]), Err(Error::Damaged(_))));
    }
}
