//! Postgres' log. It is read from Postgres' standard error, so that its size can be limited.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// The size in bytes at which the file is renamed to `postgres.log.1`, replacing an earlier one.
const FILE_LIMIT: u64 = 8 << 20;

/// Bytes at the end of the log that are kept in memory for error messages.
const TAIL_LIMIT: usize = 8 << 10;

/// The end of the log.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Returns the last lines that Postgres wrote.
    pub(super) fn lines(&self) -> String {
        let bytes = self.0.lock();
        last_lines(&String::from_utf8_lossy(&bytes), 20)
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock();
        kept.extend_from_slice(bytes);
        let excess = kept.len().saturating_sub(TAIL_LIMIT);
        kept.drain(..excess);
    }
}

/// Copies `source` to `file` until it ends. What cannot be written is dropped, so that Postgres never has to wait.
pub(super) fn follow(
    mut source: impl AsyncRead + Unpin + Send + 'static,
    file: PathBuf,
) -> (Tail, JoinHandle<()>) {
    let tail = Tail::default();
    let kept = tail.clone();
    let task = tokio::spawn(async move {
        let mut log = Log::open(file);
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            kept.push(&buffer[..count]);
            let _ = log.write(&buffer[..count]);
        }
    });
    (tail, task)
}

struct Log {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

impl Log {
    fn open(path: PathBuf) -> Self {
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let file = open(&path).ok();
        Self { path, file, size }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > FILE_LIMIT {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
            self.file = Some(open(&self.path)?);
            self.size = 0;
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytes)?;
            self.size += bytes.len() as u64;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Returns the last `count` lines of `text`.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
