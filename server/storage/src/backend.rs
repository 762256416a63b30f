//! The store of the objects' bytes.
//!
//! An object's bytes are stored under its row's `version`, a random UUID of this service, and never under a name that a
//! caller chose: no name can leave the folder, collide with another on a file system that ignores case, or be longer
//! than the file system allows.

mod file;
mod remote;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fairness::FairSemaphore;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt as _};
use poem::Body;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

use crate::error::Error;
use crate::metrics::Traffic;
use crate::settings::{BackendKind, S3Settings, Settings};

/// Bytes up to which an object counts as small: it is read at once and kept in memory.
const SMALL: u64 = 1 << 20;
/// Bytes of memory that small objects may take.
const SMALL_CAPACITY: u64 = 16 << 20;
/// About how many objects that is. The cache has at most one part for each 32 of them, and keeps nothing that is larger
/// than a part.
const ESTIMATED_SMALL: usize = 256;
/// Bytes that are written to a file at a time.
const WRITE_BUFFER: usize = 1 << 20;
/// Parts of one upload that are written at the same time, which limits its memory.
const CONCURRENT_WRITES: usize = 2;

/// How long after its last write an unfinished file counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The store of bytes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Backend {
    store: Arc<dyn ObjectStore>,
    /// The folder of a store of files.
    folder: Option<Arc<Path>>,
    /// Small objects that were read lately. A version's bytes never change.
    small: Arc<Cache<Uuid, Bytes, Length>>,
    /// Bytes that are written at a time.
    write_buffer: usize,
    /// A permit for each stream of a download, which holds an open file or connection as long as its client likes.
    downloads: FairSemaphore,
    traffic: Traffic,
}

#[derive(Clone)]
struct Length;

impl Weighter<Uuid, Bytes> for Length {
    fn weight(&self, _: &Uuid, bytes: &Bytes) -> u64 {
        // The entry itself takes some memory, too.
        bytes.len() as u64 + 128
    }
}

impl Backend {
    /// Opens the store that `settings` name.
    ///
    /// Errors: [`Error::Backend`] when its folder cannot be made or opened, or settings of the S3 store are missing.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, Error> {
        let backend = match settings.backend {
            BackendKind::File => Self::local(&settings.path).await?,
            BackendKind::S3 => Self::s3(&settings.s3)?,
        };
        Ok(Self { downloads: FairSemaphore::new(settings.max_downloads, 0), ..backend })
    }

    /// Opens a store in a bucket of an S3 store. A write is acknowledged only when the store has made it durable.
    ///
    /// Errors: [`Error::Backend`] when settings are missing.
    pub(crate) fn s3(settings: &S3Settings) -> Result<Self, Error> {
        let part = usize::try_from(settings.upload_part_size.0).unwrap_or(usize::MAX);
        Ok(Self::new(remote::open(settings)?, None, part.max(remote::SMALLEST_PART)))
    }

    /// Opens a store in the local folder `path`, which is created where it is missing. A write is acknowledged only
    /// when it is on the disk.
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
        Ok(Self::new(Arc::new(store), Some(path.into()), WRITE_BUFFER))
    }

    fn new(store: Arc<dyn ObjectStore>, folder: Option<Arc<Path>>, write_buffer: usize) -> Self {
        let small = Cache::with_weighter(ESTIMATED_SMALL, SMALL_CAPACITY, Length);
        let downloads = FairSemaphore::new(Settings::default().max_downloads, 0);
        Self { store, folder, small: Arc::new(small), write_buffer, downloads, traffic: Traffic::default() }
    }

    /// Returns the statistics of reading and writing.
    pub(crate) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Returns the bytes within `range` of `version`, which has `size` bytes. What is not small is streamed.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none; [`Error::SlowDown`] when too many are streamed.
    pub(crate) async fn read(&self, version: Uuid, range: Range<u64>, size: u64) -> Result<Body, Error> {
        if size <= SMALL {
            let bytes = self.small(version).await?;
            let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let bounds = bounds.filter(|(_, end)| *end <= bytes.len());
            let (start, end) = bounds.ok_or_else(|| shorter(version))?;
            self.traffic.read.inc_by(range.end - range.start);
            return Ok(Body::from_bytes(bytes.slice(start..end)));
        }
        let permit = self.downloads.try_acquire(fairness::caller()).ok_or(Error::SlowDown)?;
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let result = self.store.get_opts(&location(version), options).await?;
        let length = range.end - range.start;
        let read = self.traffic.read.clone();
        let count = move |chunk: &io::Result<Bytes>| {
            // Held until the stream is dropped.
            let _permit = &permit;
            if let Ok(bytes) = chunk {
                read.inc_by(bytes.len() as u64);
            }
        };
        Ok(match result.payload {
            GetResultPayload::File(file, _) => {
                Body::from_bytes_stream(file::stream(file, range).inspect(count))
            }
            GetResultPayload::Stream(_) if result.range.end - result.range.start != length => {
                return Err(shorter(version));
            }
            GetResultPayload::Stream(stream) => {
                Body::from_bytes_stream(stream.map_err(io::Error::other).inspect(count).boxed())
            }
        })
    }

    /// Returns the bytes of `version`, which are few, from memory if they have been read lately.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    async fn small(&self, version: Uuid) -> Result<Bytes, Error> {
        if let Some(bytes) = self.small.get(&version) {
            return Ok(bytes);
        }
        let bytes = self.store.get(&location(version)).await?.bytes().await?;
        self.small.insert(version, bytes.clone());
        Ok(bytes)
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

    /// Returns all bytes of `versions`, one after the other, as a stream.
    pub(crate) fn stream_all(
        &self,
        versions: Vec<Uuid>,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let backend = self.clone();
        let streams = stream::iter(versions).then(move |version| {
            let backend = backend.clone();
            async move { backend.stream(version).await.map_err(io::Error::other) }
        });
        streams.try_flatten()
    }

    /// Returns a writer for the bytes of `version`. Nothing can be read of them before [`Writer::finish`].
    pub(crate) fn writer(&self, version: Uuid) -> Writer {
        let writer = BufWriter::with_capacity(Arc::clone(&self.store), location(version), self.write_buffer);
        let inner = Some(writer.with_max_concurrency(CONCURRENT_WRITES));
        let path = self.folder.as_ref().map(|folder| folder.join(location(version).as_ref()));
        let small = path.map(|path| SmallFile { path, chunks: Vec::new(), length: 0 });
        self.traffic.uploads.inc();
        Writer { version, small, inner, traffic: self.traffic.clone() }
    }

    /// Stores the bytes of `source` as `target`, too, and returns when they are durable.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn copy(&self, source: Uuid, target: Uuid) -> Result<(), Error> {
        if self.folder.is_none() && self.size(source).await? > remote::LARGEST_COPY {
            return self.copy_from(self, source, target).await;
        }
        Ok(self.store.copy(&location(source), &location(target)).await?)
    }

    /// Stores the bytes that `origin` has as `source` as `target`, piece by piece, and returns when they are durable.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none; [`Error::Backend`], nothing is stored then.
    pub(crate) async fn copy_from(&self, origin: &Self, source: Uuid, target: Uuid) -> Result<(), Error> {
        let mut chunks = std::pin::pin!(origin.stream(source).await?);
        let mut writer = self.writer(target);
        while let Some(chunk) = chunks.next().await {
            writer.put(chunk.map_err(|error| Error::Backend(error.to_string()))?).await?;
        }
        writer.finish().await
    }

    /// Returns how many bytes `version` has.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn size(&self, version: Uuid) -> Result<u64, Error> {
        Ok(self.store.head(&location(version)).await?.size)
    }

    /// Returns the versions that are stored in folder `folder` of 256, and their sizes in bytes.
    pub(crate) async fn list(&self, folder: u8) -> Result<Vec<(Uuid, u64)>, Error> {
        let prefix = object_store::path::Path::from(format!("{folder:02x}"));
        let listed = self.store.list(Some(&prefix));
        let versions = listed.map_ok(|entry| {
            let version = entry.location.filename().and_then(|name| Uuid::try_parse(name).ok());
            version.map(|version| (version, entry.size))
        });
        Ok(versions.try_filter_map(|entry| std::future::ready(Ok(entry))).try_collect().await?)
    }

    /// Removes the unfinished files of uploads that ended with their process: those without a write for longer than a
    /// sender may pause. Only a store of files has them; in S3 a lifecycle rule of the bucket ends unfinished uploads.
    pub(crate) async fn remove_abandoned(&self) -> Result<(), Error> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let removed = tokio::task::spawn_blocking(move || file::remove_abandoned(&folder, ABANDONED));
        removed
            .await
            .map_err(|error| Error::Backend(error.to_string()))?
            .map_err(|error| Error::Backend(format!("the store's folder cannot be read: {error}")))
    }

    /// Reports whether the bytes are files of a folder.
    pub(crate) const fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Forgets the bytes of `version`, if they are in memory.
    pub(crate) fn forget(&self, version: Uuid) {
        self.small.remove(&version);
    }

    /// Removes the bytes of `version`, if there are any.
    pub(crate) async fn remove(&self, version: Uuid) -> Result<(), Error> {
        self.forget(version);
        match self.store.delete(&location(version)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The bytes of an object on their way into the store. If it is dropped before its end, they are discarded.
pub(crate) struct Writer {
    version: Uuid,
    /// The bytes so far, as long as they fit into a file that is written at once.
    small: Option<SmallFile>,
    /// `None` from the end on.
    inner: Option<BufWriter>,
    traffic: Traffic,
}

impl Writer {
    /// Takes the next bytes. Waits while the store is slower than the sender.
    pub(crate) async fn put(&mut self, chunk: Bytes) -> Result<(), object_store::Error> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        self.traffic.written.inc_by(chunk.len() as u64);
        let Some(small) = &mut self.small else { return inner.put(chunk).await };
        small.length += chunk.len();
        small.chunks.push(chunk);
        if small.length > WRITE_BUFFER {
            for chunk in self.small.take().into_iter().flat_map(|small| small.chunks) {
                inner.put(chunk).await?;
            }
        }
        Ok(())
    }

    /// Makes what was written durable and readable.
    pub(crate) async fn finish(mut self) -> Result<(), Error> {
        if let Some(SmallFile { path, chunks, .. }) = self.small.take() {
            self.inner = None;
            let written = tokio::task::spawn_blocking(move || file::create(&path, &chunks)).await;
            return written
                .map_err(io::Error::other)
                .flatten()
                .map_err(|error| Error::Backend(error.to_string()));
        }
        match self.inner.take() {
            Some(mut inner) => inner.shutdown().await.map_err(|error| match error.downcast() {
                Ok(error) => object_store::Error::into(error),
                Err(error) => Error::Backend(error.to_string()),
            }),
            None => Ok(()),
        }
    }

    /// Forgets what was written.
    pub(crate) async fn abort(mut self) {
        if let Some(inner) = self.inner.take() {
            abort(inner, self.version).await;
        }
    }
}

/// The bytes of a file of at most [`WRITE_BUFFER`] bytes.
struct SmallFile {
    path: PathBuf,
    chunks: Vec<Bytes>,
    length: usize,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.traffic.uploads.dec();
        // The request ended in the middle of its body, or an error left the writer behind.
        if let (Some(inner), Ok(runtime)) = (self.inner.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(abort(inner, self.version));
        }
    }
}

async fn abort(mut writer: BufWriter, version: Uuid) {
    if let Err(error) = writer.abort().await {
        tracing::warn!(%version, %error, "a broken upload left parts behind");
    }
}

/// Returns the error for a row that promises more bytes than the store has.
fn shorter(version: Uuid) -> Error {
    Error::Backend(format!("{version} has fewer bytes than its row says"))
}

/// Returns the path of `version`: in one of 256 folders by its first two digits, so that none has too many files for
/// other programs.
fn location(version: Uuid) -> object_store::path::Path {
    let name = version.hyphenated().to_string();
    object_store::path::Path::from_iter([&name[..2], &name])
}
