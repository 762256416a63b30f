//! The switch to another version of this program, for which `basalt update` asks. The server stops as always, but keeps
//! its public port open, and becomes the program that is now where it was started from. Connections wait meanwhile.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::error::Error;
use crate::files::write_whole;
use crate::program;

/// The name of the file with the wish, in the data folder.
const FILE: &str = "switch-request.json";

/// How old a wish may be. One that was written before an interrupted update must not turn a later stop into a switch.
const VALID: Duration = Duration::from_secs(30);

/// That a server is to become another version of itself when it is told to stop.
#[derive(Debug, Serialize, Deserialize)]
struct Wish {
    /// The server's process.
    pid: i32,
}

/// Writes the wish that the server of process `pid`, which uses `data_dir`, switches when it is told to stop.
pub(in crate::commands) fn wish(data_dir: &Path, pid: i32) -> Result<(), Error> {
    let text = serde_json::to_vec(&Wish { pid }).map_err(|error| Error::Advice(error.to_string()))?;
    // Of root, perhaps; the server of another user has to read it. Nobody else reaches the data folder.
    write_whole(&data_dir.join(FILE), &text, 0o644).map_err(Error::io("ask the server to switch"))
}

/// The public port of a server, which outlives it if another version follows.
pub(super) struct Succession {
    listener: Weak<TcpListener>,
    kept: Mutex<Option<OwnedFd>>,
}

impl Succession {
    pub(super) fn new(listener: Weak<TcpListener>) -> Self {
        Self { listener, kept: Mutex::new(None) }
    }

    /// Takes back the wish in `data_dir`, if there is one, and keeps the port open if it is valid. Returns whether it
    /// is.
    pub(super) fn prepare(&self, data_dir: &Path) -> bool {
        let file = data_dir.join(FILE);
        let read = || {
            let written = std::fs::metadata(&file).and_then(|file| file.modified()).ok()?;
            let wish: Wish = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            let is_recent = SystemTime::now().duration_since(written).is_ok_and(|age| age < VALID);
            (is_recent && wish.pid == std::process::id().cast_signed()).then_some(())
        };
        let is_valid = read().is_some();
        let _ = std::fs::remove_file(&file);
        if is_valid {
            let listener = self.listener.upgrade();
            *self.kept.lock() = listener.and_then(|listener| listener.as_fd().try_clone_to_owned().ok());
        }
        self.is_prepared()
    }

    /// Reports whether another version follows.
    pub(super) fn is_prepared(&self) -> bool {
        self.kept.lock().is_some()
    }

    /// Replaces this process by the program at the path that this one was started from, with the same arguments and the
    /// public port.
    pub(super) fn fulfil(&self) -> Error {
        let Some(listener) = self.kept.lock().take() else { return Error::Advice("no switch".to_owned()) };
        if let Err(error) = fcntl_setfd(&listener, FdFlags::empty()) {
            return Error::io("pass the port on")(error.into());
        }
        // The protocol of sd_listen_fds(3), with another first number.
        program::begin_anew(|command| {
            command.env("LISTEN_PID", std::process::id().to_string());
            command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", listener.as_raw_fd().to_string());
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn only_a_wish_for_this_process_keeps_the_port_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let succession = Succession::new(Arc::downgrade(&listener));
        let own = std::process::id().cast_signed();
        assert!(!succession.prepare(folder.path()));
        wish(folder.path(), own + 1).unwrap();
        assert!(!succession.prepare(folder.path()));
        wish(folder.path(), own).unwrap();
        assert!(succession.prepare(folder.path()));
        assert!(!folder.path().join(FILE).exists());
    }
}
