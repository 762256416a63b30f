//! The speed at which files become durable, which limits the rate of uploads.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Writes files of `bytes` bytes below `folder` on `threads` threads for the time `span`. Each is written under another
/// name, synchronized and renamed, and its folder is synchronized, so that it survives a crash of the machine. Returns
/// the files per second of all threads together.
pub(crate) fn measure(folder: &Path, threads: u16, bytes: usize, span: Duration) -> io::Result<Value> {
    let start = Instant::now();
    let write = |thread: u16| {
        let folder: PathBuf = folder.join(thread.to_string());
        std::fs::create_dir_all(&folder)?;
        let content = vec![b'x'; bytes];
        let mut written = 0_u32;
        while start.elapsed() < span {
            let unfinished = folder.join("unfinished");
            let mut file = File::create(&unfinished)?;
            file.write_all(&content)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, folder.join(written.to_string()))?;
            File::open(&folder)?.sync_all()?;
            written += 1;
        }
        Ok::<_, io::Error>(written)
    };
    let written = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || write(thread))).collect();
        running.into_iter().try_fold(0, |sum, thread| {
            let done = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")));
            done.map(|count| sum + count)
        })
    })?;
    let per_second = f64::from(written) / start.elapsed().as_secs_f64();
    Ok(json!({ "threads": threads, "per_second": per_second }))
}
