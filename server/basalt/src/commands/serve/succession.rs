//! The switch to another version of this program, for which `basalt update` asks. The server stops as always, but keeps
//! its public ports open, and becomes the program that is now where it was started from. Connections wait meanwhile.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::error::Error;
use crate::program;

/// The name of the file with the wish, in the data folder.
const FILE: &str = "switch-request.json";

/// How old a wish may be. One that was written before an interrupted update must not turn a later stop into a switch.
const VALID: Duration = Duration::from_secs(30);

/// The lowest number that a socket has in the next program.
const FIRST_PASSED: RawFd = 3;

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
    atomic_file::write(&data_dir.join(FILE), &text, 0o644).map_err(Error::io("ask the server to switch"))
}

/// The public ports of a server, which outlive it if another version follows.
pub(super) struct Succession {
    listeners: Mutex<Vec<Weak<TcpListener>>>,
    kept: Mutex<Vec<OwnedFd>>,
}

impl Succession {
    pub(super) fn new(listener: Weak<TcpListener>) -> Self {
        Self { listeners: Mutex::new(vec![listener]), kept: Mutex::default() }
    }

    /// Adds further ports.
    pub(super) fn also_keep(&self, listeners: impl IntoIterator<Item = Weak<TcpListener>>) {
        self.listeners.lock().extend(listeners);
    }

    /// Takes back the wish in `data_dir`, if there is one, and keeps the ports open if it is valid. Returns whether
    /// it is.
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
            let listeners = self.listeners.lock();
            let open = listeners.iter().filter_map(Weak::upgrade);
            *self.kept.lock() =
                open.filter_map(|listener| listener.as_fd().try_clone_to_owned().ok()).collect();
        }
        self.is_prepared()
    }

    /// Reports whether another version follows.
    pub(super) fn is_prepared(&self) -> bool {
        !self.kept.lock().is_empty()
    }

    /// Replaces this process by the program at the path that this one was started from, with the same arguments and the
    /// public ports.
    pub(super) fn fulfil(&self) -> Error {
        let kept = std::mem::take(&mut *self.kept.lock());
        let passed = match in_a_row(&kept) {
            Ok(passed) => passed,
            Err(error) => return Error::io("pass the ports on")(error),
        };
        let Some(first) = passed.first() else { return Error::Advice("no switch".to_owned()) };
        // The protocol of sd_listen_fds(3), with another first number.
        program::begin_anew(|command| {
            command.env("LISTEN_PID", std::process::id().to_string());
            command.env("LISTEN_FDS", passed.len().to_string());
            command.env("LISTEN_FDS_FIRST_FD", first.as_raw_fd().to_string());
        })
    }
}

/// Returns copies of `sockets` with consecutive numbers, which the next program inherits.
fn in_a_row(sockets: &[OwnedFd]) -> io::Result<Vec<OwnedFd>> {
    let mut first = FIRST_PASSED;
    'number: loop {
        let mut copies: Vec<OwnedFd> = Vec::with_capacity(sockets.len());
        for (number, socket) in (first..).zip(sockets) {
            // The lowest free number that is not below.
            let copy = fcntl_dupfd_cloexec(socket, number)?;
            if copy.as_raw_fd() != number {
                first = copy.as_raw_fd() + 1;
                continue 'number;
            }
            copies.push(copy);
        }
        for copy in &copies {
            fcntl_setfd(copy, FdFlags::empty())?;
        }
        return Ok(copies);
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

    #[test]
    fn passed_sockets_have_consecutive_numbers() {
        let sockets: Vec<OwnedFd> =
            (0..5).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap().into()).collect();
        let passed: Vec<_> = in_a_row(&sockets).unwrap();
        let first = passed[0].as_raw_fd();
        for (socket, number) in passed.iter().zip(first..) {
            assert_eq!(socket.as_raw_fd(), number);
            assert!(!rustix::io::fcntl_getfd(socket).unwrap().contains(FdFlags::CLOEXEC));
        }
    }
}
