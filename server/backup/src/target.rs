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

/// How long to wait for a response of an S3 store.
const TIMEOUT: Duration = Duration::from_secs(30);

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
        match target.strip_prefix("s3://") {
            Some(_) => Self::bucket(settings, target),
            None => Self::folder(FilePath::new(target.strip_prefix("file://").unwrap_or(target))),
        }
    }

    fn folder(folder: &FilePath) -> Result<Self, Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let doing = format!("create the folder of backups {}", folder.display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::io(&*doing))?;
        let folder = folder.canonicalize().map_err(Error::io(doing))?;
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
