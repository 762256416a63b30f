//! Where backups are: a folder, or a bucket of an S3 store. Basalt writes objects, keys and settings there, pgBackRest
//! the database, below `database`.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};
use url::Url;

use crate::error::Error;
use crate::settings::Settings;

/// Where pgBackRest writes, in the target.
const DATABASE: &str = "database";

/// What can be a target.
const EXPECTED: &str = "a folder, or s3://BUCKET/PREFIX";

/// How long to wait for a response of an S3 store.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What a text names as the place of backups.
enum Place {
    Folder(PathBuf),
    /// The URL of a bucket.
    Bucket(String),
}

impl Place {
    /// Reads the text of an operator.
    ///
    /// Errors: what was expected.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let place = match text.split_once("://") {
            None => Self::Folder(text.into()),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("s3") => Self::Bucket(format!("s3://{rest}")),
            Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => Self::Folder(path.into()),
            Some(_) => return Err(EXPECTED),
        };
        match &place {
            Self::Folder(folder) if folder.as_os_str().is_empty() => Err(EXPECTED),
            _ => Ok(place),
        }
    }
}

/// Checks that `target` can be one of backups of a server on `data_dir`, whose project is in the folders `project`: that
/// it is not among what is backed up. Looks at the paths only: a disk that does not respond must not keep the settings
/// from being read.
///
/// Errors: what was expected.
pub fn check_place(target: &str, data_dir: &FilePath, project: &[&FilePath]) -> Result<(), &'static str> {
    check(target, data_dir, project, absolute)
}

/// Checks that `target`, which is about to be opened, is not in `data_dir`, also not by a symbolic link.
///
/// Errors: [`Error::Advice`].
pub(crate) fn check_real_place(target: &str, data_dir: &FilePath) -> Result<(), Error> {
    check(target, data_dir, &[], real).map_err(|expected| refused(target, expected))
}

fn check(
    target: &str,
    data_dir: &FilePath,
    project: &[&FilePath],
    resolved: impl Fn(&FilePath) -> PathBuf,
) -> Result<(), &'static str> {
    let Place::Folder(folder) = Place::parse(target)? else { return Ok(()) };
    let folder = resolved(&folder);
    if folder.starts_with(resolved(data_dir)) {
        return Err("a folder outside of the data folder, which burns with it");
    }
    match project.iter().any(|project| folder == resolved(project)) {
        true => Err("a folder of its own, and not that of the project"),
        false => Ok(()),
    }
}

fn refused(target: &str, expected: &str) -> Error {
    Error::Advice(format!("{target} is no target of backups: expected {expected}"))
}

fn absolute(path: &FilePath) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns `path` without symbolic links, as far as it exists.
fn real(path: &FilePath) -> PathBuf {
    let path = absolute(path);
    let existing = path.ancestors().find_map(|folder| Some((folder.canonicalize().ok()?, folder)));
    match existing {
        Some((real, folder)) => real.join(path.strip_prefix(folder).unwrap_or(FilePath::new(""))),
        None => path,
    }
}

/// The place of backups. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The folder of pgBackRest's files, if they are files.
    pub(crate) folder: Option<PathBuf>,
    /// The options with which pgBackRest finds its own place.
    pub(crate) options: Vec<(String, String)>,
}

impl Target {
    /// Opens the target that `settings` name; a folder is created where it is missing.
    ///
    /// Errors: [`Error::Advice`] if it is no target.
    pub(crate) fn open(settings: &Settings, target: &str) -> Result<Self, Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Ok(Place::Folder(folder)) = Place::parse(target) {
            let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            created.map_err(Error::io(format!("create the folder of backups {}", folder.display())))?;
        }
        Self::find(settings, target)
    }

    /// Opens the target that `settings` name, which has been written to before.
    ///
    /// Errors: [`Error::Advice`] if it is no target, or if there is no such folder.
    pub(crate) fn find(settings: &Settings, target: &str) -> Result<Self, Error> {
        match Place::parse(target).map_err(|expected| refused(target, expected))? {
            Place::Bucket(url) => Self::bucket(settings, &url),
            Place::Folder(folder) => Self::folder(&folder),
        }
    }

    fn folder(folder: &FilePath) -> Result<Self, Error> {
        let found = folder.canonicalize();
        let folder = found.map_err(|error| {
            Error::Advice(format!("the target of backups, {}, is not there: {error}", folder.display()))
        })?;
        let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        let options = vec![("repo1-type".to_owned(), "posix".to_owned())];
        Ok(Self { store: Arc::new(store), folder: Some(folder.join(DATABASE)), options })
    }

    fn bucket(settings: &Settings, target: &str) -> Result<Self, Error> {
        let refused = |what: &str| Error::Advice(format!("{target} is no target of backups: {what}"));
        let url = Url::parse(target).map_err(|_| refused("expected s3://BUCKET/PREFIX"))?;
        let name = url.host_str().ok_or_else(|| refused("expected s3://BUCKET/PREFIX"))?.to_owned();
        let prefix = url.path().trim_matches('/').to_owned();
        let endpoint = match &*settings.s3_endpoint {
            "" => format!("https://s3.{}.amazonaws.com", settings.s3_region),
            endpoint => endpoint.to_owned(),
        };
        let address = Url::parse(&endpoint).ok().filter(|url| url.scheme() == "https");
        let address = address.ok_or_else(|| refused("pgBackRest reaches an S3 store only at https://"))?;
        let host = address.host_str().ok_or_else(|| refused("its endpoint has no host"))?;
        let store = stores::open(&stores::Bucket {
            name: name.clone(),
            prefix: prefix.clone(),
            endpoint: settings.s3_endpoint.clone(),
            region: settings.s3_region.clone(),
            is_in_path: settings.s3_force_path_style,
            access_key_id: settings.s3_access_key_id.clone(),
            secret_access_key: settings.s3_secret_access_key.clone(),
            session_token: settings::Secret::default(),
            timeout: TIMEOUT,
        });
        let mut options = vec![
            ("repo1-type", "s3".to_owned()),
            ("repo1-path", format!("/{}", [&*prefix, DATABASE].join("/").trim_start_matches('/'))),
            ("repo1-s3-bucket", name),
            ("repo1-s3-endpoint", host.to_owned()),
            ("repo1-storage-port", address.port_or_known_default().unwrap_or(443).to_string()),
            ("repo1-s3-region", settings.s3_region.clone()),
            ("repo1-s3-uri-style", if settings.s3_force_path_style { "path" } else { "host" }.to_owned()),
        ];
        match settings.s3_access_key_id.is_empty() {
            true => options.push(("repo1-s3-key-type", "auto".to_owned())),
            false => options.extend([
                ("repo1-s3-key", settings.s3_access_key_id.clone()),
                ("repo1-s3-key-secret", settings.s3_secret_access_key.expose().to_owned()),
            ]),
        }
        // The rest of this program trusts the certificates of this file, too.
        if let Some(file) = std::env::var("SSL_CERT_FILE").ok().filter(|file| !file.is_empty()) {
            options.push(("repo1-storage-ca-file", file));
        }
        let options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { store: store.map_err(|error| refused(&error))?, folder: None, options })
    }

    /// Returns the bytes at `path`; `None` if there are none.
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Bytes>, Error> {
        match self.store.get(&Path::from(path)).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reports whether there is something at `path`.
    pub(crate) async fn contains(&self, path: &str) -> Result<bool, Error> {
        match self.store.head(&Path::from(path)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes `bytes` to `path`.
    pub(crate) async fn write(&self, path: &str, bytes: Vec<u8>) -> Result<(), Error> {
        self.store.put(&Path::from(path), bytes.into()).await?;
        Ok(())
    }

    /// Writes `bytes` to `path` if there is nothing yet, and reports whether it did.
    pub(crate) async fn create(&self, path: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(&Path::from(path), bytes.into(), options).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the paths below `folder`, in no order.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let listed = self.store.list(Some(&Path::from(folder)));
        Ok(listed.map_ok(|entry| entry.location.to_string()).try_collect().await?)
    }

    /// Removes `path`, if it is there.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), Error> {
        match self.store.delete(&Path::from(path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_keeps_what_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backups");
        let target = Target::open(&Settings::default(), &path.to_string_lossy()).unwrap();
        assert!(target.create("a/b", b"1".to_vec()).await.unwrap());
        assert!(!target.create("a/b", b"2".to_vec()).await.unwrap());
        assert_eq!(target.read("a/b").await.unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(target.list("a").await.unwrap(), ["a/b"]);
        target.remove("a/b").await.unwrap();
        target.remove("a/b").await.unwrap();
        assert_eq!(target.read("a/b").await.unwrap(), None);
    }

    #[test]
    fn a_target_is_a_folder_or_a_bucket_and_nothing_else() {
        for text in ["", "file://", "http://host/x", "ftp://host/x", "s3a://bucket", "S3s://bucket"] {
            assert!(Target::open(&Settings::default(), text).is_err(), "{text}");
        }
        for text in ["S3://bucket/a", "s3://bucket/a"] {
            let target = Target::open(&Settings::default(), text).unwrap();
            assert!(target.folder.is_none(), "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert!(Target::find(&Settings::default(), &missing.to_string_lossy()).is_err());
        assert!(!missing.exists());
        let url = format!("FILE://{}", missing.display());
        assert!(Target::open(&Settings::default(), &url).unwrap().folder.is_some());
        assert!(missing.exists());
    }

    #[test]
    fn a_target_is_not_among_what_is_backed_up() {
        let folder = tempfile::tempdir().unwrap();
        let (project, data) = (folder.path().join("project"), folder.path().join("project/.basalt"));
        std::fs::create_dir_all(&data).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&data, &link).unwrap();
        let is_good = |target: PathBuf| check_place(&target.to_string_lossy(), &data, &[&project]).is_ok();
        for good in [project.join("backups"), folder.path().join("data"), folder.path().to_owned()] {
            assert!(is_good(good.clone()), "{}", good.display());
        }
        for bad in [project.clone(), data.clone(), data.join("a/b")] {
            assert!(!is_good(bad.clone()), "{}", bad.display());
        }
        for bad in [data.join("a/b"), link.clone(), link.join("new")] {
            assert!(check_real_place(&bad.to_string_lossy(), &data).is_err(), "{}", bad.display());
        }
        assert!(check_real_place(&project.join("backups").to_string_lossy(), &data).is_ok());
    }

    #[test]
    fn a_bucket_has_a_prefix_and_https() {
        let settings = Settings {
            s3_endpoint: "https://s3.example.org:9000".to_owned(),
            s3_access_key_id: "key".to_owned(),
            ..Settings::default()
        };
        let target = Target::open(&settings, "s3://bucket/a/b").unwrap();
        let option = |name: &str| {
            target.options.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(option("repo1-path"), Some("/a/b/database"));
        assert_eq!(option("repo1-s3-endpoint"), Some("s3.example.org"));
        assert_eq!(option("repo1-storage-port"), Some("9000"));
        let plain = Settings { s3_endpoint: "http://s3.example.org".to_owned(), ..settings };
        assert!(Target::open(&plain, "s3://bucket").is_err());
    }
}
