//! Where the bytes are.
//!
//! An object's bytes are stored under its row's `version`, a UUID that this service drew, and never under a name
//! that a caller chose: no name can leave the folder, collide with another on a file system that ignores case, or
//! be longer than the file system allows.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt as _};
use poem::Body;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use crate::Error;

/// What is read from a file at a time: large enough that a video is not read in thousands of thread hops.
const CHUNK: usize = 128 * 1024;
/// What is written at a time.
const WRITE_BUFFER: usize = 1 << 20;
/// Parts of one upload that are on their way at the same time, so that its memory is bounded.
const CONCURRENT_WRITES: usize = 2;

/// After how long without a write an unfinished file is nobody's any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The store of bytes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Backend {
    store: Arc<dyn ObjectStore>,
    /// The folder of a store of files.
    folder: Option<Arc<Path>>,
}

impl Backend {
    /// A store in the local folder `path`, which is created where it is missing. What is written is on the disk
    /// before it is acknowledged.
    pub(crate) async fn local(path: &Path) -> Result<Self, Error> {
        let folder = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&folder)
                .map_err(|error| format!("{} cannot be created: {error}", folder.display()))?;
            LocalFileSystem::new_with_prefix(&folder).map_err(|error| error.to_string())
        })
        .await
        .map_err(|error| Error::Backend(error.to_string()))?;
        let store = opened.map_err(Error::Backend)?.with_fsync(true);
        Ok(Self { store: Arc::new(store), folder: Some(path.into()) })
    }

    /// The bytes of `version` within `range`, streamed. The range must lie within the object.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn read(&self, version: Uuid, range: Range<u64>) -> Result<Body, Error> {
        let length = range.end - range.start;
        if length == 0 {
            self.store.head(&location(version)).await?;
            return Ok(Body::empty());
        }
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let result = self.store.get_opts(&location(version), options).await?;
        match result.payload {
            GetResultPayload::File(file, _) => {
                let mut file = tokio::fs::File::from_std(file);
                file.set_max_buf_size(CHUNK);
                file.seek(io::SeekFrom::Start(range.start))
                    .await
                    .map_err(|e| Error::Backend(e.to_string()))?;
                let capacity = usize::try_from(length).map_or(CHUNK, |length| length.min(CHUNK));
                Ok(Body::from_bytes_stream(ReaderStream::with_capacity(file.take(length), capacity)))
            }
            GetResultPayload::Stream(stream) => {
                Ok(Body::from_bytes_stream(stream.map_err(io::Error::other).boxed()))
            }
        }
    }

    /// Returns all bytes of `version` as a stream.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn stream(
        &self,
        version: Uuid,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, Error> {
        Ok(self.store.get(&location(version)).await?.into_stream().map_err(io::Error::other))
    }

    /// Returns a writer for the bytes of `version`. Nothing can be read of them before [`Writer::finish`].
    pub(crate) fn writer(&self, version: Uuid) -> Writer {
        let writer = BufWriter::with_capacity(Arc::clone(&self.store), location(version), WRITE_BUFFER);
        Writer { version, inner: writer.with_max_concurrency(CONCURRENT_WRITES) }
    }

    /// Stores the bytes of `source` as `target`, too, and returns when they are durable.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn copy(&self, source: Uuid, target: Uuid) -> Result<(), Error> {
        Ok(self.store.copy(&location(source), &location(target)).await?)
    }

    /// How many bytes `version` has.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn size(&self, version: Uuid) -> Result<u64, Error> {
        Ok(self.store.head(&location(version)).await?.size)
    }

    /// Returns the versions that are stored in folder `folder` of 256.
    pub(crate) async fn list(&self, folder: u8) -> Result<Vec<Uuid>, Error> {
        let prefix = object_store::path::Path::from(format!("{folder:02x}"));
        let listed = self.store.list(Some(&prefix));
        let names =
            listed.map_ok(|entry| entry.location.filename().and_then(|name| Uuid::try_parse(name).ok()));
        Ok(names.try_filter_map(|version| std::future::ready(Ok(version))).try_collect().await?)
    }

    /// Removes the unfinished files of uploads that ended with their process: those that nobody has written to for longer
    /// than a sender may pause. Only a store of files has them; in S3 a rule of the bucket ends unfinished uploads.
    pub(crate) async fn remove_abandoned(&self) -> Result<(), Error> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let removed = tokio::task::spawn_blocking(move || remove_abandoned(&folder));
        removed
            .await
            .map_err(|error| Error::Backend(error.to_string()))?
            .map_err(|error| Error::Backend(format!("the store's folder cannot be read: {error}")))
    }

    /// Removes the bytes of `version`; that there are none is fine.
    pub(crate) async fn remove(&self, version: Uuid) -> Result<(), Error> {
        match self.store.delete(&location(version)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_abandoned(&entry.path())?;
        } else if entry.file_name().to_str().is_some_and(|name| name.contains('#')) {
            let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
            if age > ABANDONED {
                std::fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

/// The bytes of an object on their way into the store.
pub(crate) struct Writer {
    version: Uuid,
    inner: BufWriter,
}

impl Writer {
    /// Takes the next bytes. Waits while the store is slower than the sender.
    pub(crate) async fn put(&mut self, chunk: Bytes) -> Result<(), object_store::Error> {
        self.inner.put(chunk).await
    }

    /// Makes what was written durable and readable.
    pub(crate) async fn finish(mut self) -> Result<(), Error> {
        self.inner.shutdown().await.map_err(|error| Error::Backend(error.to_string()))
    }

    /// Forgets what was written.
    pub(crate) async fn abort(mut self) {
        if let Err(error) = self.inner.abort().await {
            tracing::warn!(version = %self.version, %error, "a broken upload left parts behind");
        }
    }
}

/// 256 folders by the first two digits, so that none grows beyond what tools like.
fn location(version: Uuid) -> object_store::path::Path {
    let name = version.hyphenated().to_string();
    object_store::path::Path::from_iter([&name[..2], &name])
}
