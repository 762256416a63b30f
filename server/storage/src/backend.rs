//! Where the bytes are.
//!
//! An object's bytes are stored under its row's `version`, a UUID that this service drew, and never under a name
//! that a caller chose: no name can leave the folder, collide with another on a file system that ignores case, or
//! be longer than the file system allows.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt as _};
use poem::Body;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use crate::Error;

/// What is read from a file at a time: large enough that a video is not read in thousands of thread hops.
const CHUNK: usize = 128 * 1024;

/// The store of bytes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Backend {
    store: Arc<dyn ObjectStore>,
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
        Ok(Self { store: Arc::new(store) })
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

    /// Stores all bytes of `source` as `version` and returns how many there were.
    pub(crate) async fn write(
        &self,
        version: Uuid,
        source: &mut (impl AsyncRead + Unpin + Send),
    ) -> Result<u64, Error> {
        let mut writer =
            BufWriter::with_capacity(Arc::clone(&self.store), location(version), 8 * 1024 * 1024);
        let copied = tokio::io::copy(source, &mut writer).await;
        match copied {
            Ok(count) => {
                writer.shutdown().await.map_err(|error| Error::Backend(error.to_string()))?;
                Ok(count)
            }
            Err(error) => {
                if let Err(abort) = writer.abort().await {
                    tracing::warn!(%version, error = %abort, "a broken upload left parts behind");
                }
                Err(Error::Backend(error.to_string()))
            }
        }
    }

    /// How many bytes `version` has.
    ///
    /// Errors: [`Error::NoSuchKey`] when there are none.
    pub(crate) async fn size(&self, version: Uuid) -> Result<u64, Error> {
        Ok(self.store.head(&location(version)).await?.size)
    }

    /// Removes the bytes of `version`; that there are none is fine.
    pub(crate) async fn remove(&self, version: Uuid) -> Result<(), Error> {
        match self.store.delete(&location(version)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// 256 folders by the first two digits, so that none grows beyond what tools like.
fn location(version: Uuid) -> object_store::path::Path {
    let name = version.hyphenated().to_string();
    object_store::path::Path::from_iter([&name[..2], &name])
}

/// Reads `source` to its end and returns its MD5 in hexadecimal digits and its length.
pub(crate) async fn digest(source: &mut (impl AsyncRead + Unpin)) -> io::Result<(String, u64)> {
    use md5::Digest as _;
    let mut hash = md5::Md5::new();
    let mut length = 0_u64;
    let mut buffer = bytes::BytesMut::with_capacity(CHUNK);
    while source.read_buf(&mut buffer).await? > 0 {
        let chunk: Bytes = buffer.split().freeze();
        length += chunk.len() as u64;
        hash.update(&chunk);
        drop(chunk);
        buffer.reserve(CHUNK);
    }
    Ok((hex(&hash.finalize()), length))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
