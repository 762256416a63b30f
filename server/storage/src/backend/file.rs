//! Files of the local store.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::task::JoinHandle;

/// Bytes that are read at a time: enough that a video is not read in thousands of steps.
const CHUNK: u64 = 256 * 1024;

/// Returns the bytes of `file` within `range` as a stream, which reads one chunk ahead. It ends with an error of kind
/// `UnexpectedEof` if the file is shorter.
pub(super) fn stream(file: File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let mut reader = Reader { file, left: range.end - range.start };
    let first = tokio::task::spawn_blocking(move || {
        reader.file.seek(SeekFrom::Start(range.start))?;
        reader.read()
    });
    stream::try_unfold(Some(first), |reading: Option<JoinHandle<io::Result<Chunk>>>| async {
        let Some(reading) = reading else { return Ok(None) };
        let (bytes, rest) = reading.await.map_err(io::Error::other)??;
        let next = rest.map(|reader| tokio::task::spawn_blocking(move || reader.read()));
        Ok(Some((bytes, next)))
    })
}

/// What was read, and the reader of what follows, if anything does.
type Chunk = (Bytes, Option<Reader>);

/// A file whose next `left` bytes are to be read.
struct Reader {
    file: File,
    left: u64,
}

impl Reader {
    /// Returns the next chunk, and the reader unless that was the last.
    fn read(mut self) -> io::Result<Chunk> {
        let length = self.left.min(CHUNK);
        let mut chunk = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let count = (&self.file).take(length).read_to_end(&mut chunk)?;
        if (count as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length;
        Ok((chunk.into(), (self.left > 0).then_some(self)))
    }
}

/// Writes a file of `chunks` that is not there yet, and returns when it is durable. If that fails, there is none.
///
/// It has its final name from the beginning, instead of being renamed when it is complete: it is not read before its
/// row is committed, and a rename would be a second transaction of the file system that the disk has to wait for.
pub(super) fn create(path: &Path, chunks: &[Bytes]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut options = File::options();
    options.write(true).create_new(true);
    let mut file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            folder.parent().map_or(Ok(()), synchronize)?;
            options.open(path)?
        }
        opened => opened?,
    };
    let written = chunks.iter().try_for_each(|chunk| file.write_all(chunk));
    let written = written.and_then(|()| file.sync_all()).and_then(|()| synchronize(folder));
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Makes the entries of `folder` durable.
fn synchronize(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes the unfinished files below `folder` that have not been written to for `age`.
pub(super) fn remove_abandoned(folder: &Path, age: Duration) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_abandoned(&entry.path(), age)?;
        } else if entry.file_name().to_str().is_some_and(|name| name.contains('#'))
            && entry.metadata()?.modified()?.elapsed().unwrap_or_default() > age
        {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
