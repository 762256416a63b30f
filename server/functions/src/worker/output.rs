//! The output of a function's process: its log, and the message that it is ready.

use std::sync::Weak;

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::{broadcast, oneshot};

/// The first byte of the lines that our own script writes.
const MARK: u8 = 1;
/// The number of bytes that are kept of a line: enough for the longest event if all its characters are escaped.
const LONGEST_LINE: usize = 128 * 1024;
/// The number of first lines that are kept, to say why a function does not start.
const FIRST_LINES: usize = 50;

/// An event that our script writes as a line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Event {
    State {
        state: State,
    },
    Log {
        level: Level,
        #[serde(default)]
        request: Option<String>,
        text: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ready,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Trace,
    Debug,
    #[serde(alias = "log")]
    Info,
    Warn,
    Error,
}

/// Writes the lines of a process's standard output to the log until it ends, and sends to `ready` when the function is
/// ready.
pub(super) async fn follow_output(output: impl AsyncRead + Unpin, log: Log, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    let mut lines = Lines::new(output);
    while let Some(line) = lines.next().await {
        match line.strip_prefix(&[MARK]).map(serde_json::from_slice) {
            Some(Ok(Event::State { state: State::Ready })) => {
                if let Some(ready) = ready.take() {
                    // The receiver has been dropped if the time limit of the start has passed.
                    let _ = ready.send(());
                }
            }
            Some(Ok(Event::Log { level, request, text })) => {
                log.write(level, request.as_deref().unwrap_or_default(), &text);
            }
            Some(Err(_)) | None => log.write(Level::Info, "", &String::from_utf8_lossy(line)),
        }
    }
}

/// Writes the lines of a process's standard error to the log until it ends.
pub(super) async fn follow_errors(output: impl AsyncRead + Unpin, log: Log) {
    let mut lines = Lines::new(output);
    while let Some(line) = lines.next().await {
        log.write(Level::Error, "", &String::from_utf8_lossy(line));
    }
}

/// The log of a function.
#[derive(Clone)]
pub(super) struct Log {
    pub(super) function: String,
    /// Where its lines are sent, too.
    pub(super) lines: broadcast::Sender<String>,
    /// The first lines, as long as somebody keeps them.
    pub(super) first: Weak<Mutex<Vec<String>>>,
}

impl Log {
    fn write(&self, level: Level, request_id: &str, text: &str) {
        let function = &*self.function;
        if let Some(first) = self.first.upgrade() {
            let mut first = first.lock();
            if first.len() < FIRST_LINES {
                first.push(text.to_owned());
            }
        }
        if self.lines.receiver_count() > 0 {
            // It fails if the session has just ended.
            let _ = self.lines.send(format!("[{function}] {text}"));
        }
        match level {
            Level::Trace => tracing::trace!(target: "function", function, request_id, "{text}"),
            Level::Debug => tracing::debug!(target: "function", function, request_id, "{text}"),
            Level::Info => tracing::info!(target: "function", function, request_id, "{text}"),
            Level::Warn => tracing::warn!(target: "function", function, request_id, "{text}"),
            Level::Error => tracing::error!(target: "function", function, request_id, "{text}"),
        }
    }
}

/// Lines of bounded length: the rest of a longer line is dropped.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new() }
    }

    /// Returns the next line without its end; `None` at the end of the output.
    async fn next(&mut self) -> Option<&[u8]> {
        self.line.clear();
        let mut is_any = false;
        loop {
            let (used, is_whole) = {
                let bytes = self.reader.fill_buf().await.ok()?;
                if bytes.is_empty() {
                    return is_any.then_some(&self.line);
                }
                let end = bytes.iter().position(|&byte| byte == b'\n');
                let part = &bytes[..end.unwrap_or(bytes.len())];
                let room = LONGEST_LINE - self.line.len();
                self.line.extend_from_slice(&part[..part.len().min(room)]);
                (part.len() + usize::from(end.is_some()), end.is_some())
            };
            is_any = true;
            AsyncBufRead::consume(std::pin::Pin::new(&mut self.reader), used);
            if is_whole {
                return Some(&self.line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn readiness_is_reported_between_log_lines() {
        let (sender, receiver) = oneshot::channel();
        let log = Log { function: "hello".to_owned(), lines: broadcast::Sender::new(1), first: Weak::new() };
        let output = b"plain\n\x01{\"level\":\"log\",\"text\":\"hi\"}\n\x01{\"state\":\"ready\"}\nunended";
        follow_output(output.as_slice(), log, sender).await;
        receiver.await.unwrap();
    }

    #[tokio::test]
    async fn long_lines_are_cut_and_the_next_one_is_complete() {
        let mut output = vec![b'x'; 3 * LONGEST_LINE];
        output.extend_from_slice(b"\nnext\n\nend");
        let mut lines = Lines::new(output.as_slice());
        assert_eq!(lines.next().await.map(<[u8]>::len), Some(LONGEST_LINE));
        for line in [b"next".as_slice(), b"", b"end"] {
            assert_eq!(lines.next().await, Some(line));
        }
        assert_eq!(lines.next().await, None);
    }
}
