//! Which process listens on a port.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The state of a listening socket. Source: `TCP_LISTEN` in the Linux kernel's `tcp_states.h`, as hexadecimal.
const LISTENING: &str = "0A";

/// A process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    name: String,
    /// The folder in which it runs: a server's project, or Postgres' data folder.
    folder: Option<PathBuf>,
}

impl Owner {
    /// Returns the process that listens on `port` of this machine; `None` if that is not known: elsewhere than on
    /// Linux, and where it belongs to another user. Source: proc(5).
    pub(crate) fn of(port: u16) -> Option<Self> {
        let sockets: Vec<String> =
            ["/proc/net/tcp", "/proc/net/tcp6"].iter().flat_map(|table| listening(table, port)).collect();
        let processes =
            fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        processes.into_iter().find(|&pid| holds(pid, &sockets)).map(Self::describe)
    }

    /// Reports whether it runs in `folder`.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|folder| self.folder.as_ref() == Some(&folder))
    }

    fn describe(pid: u32) -> Self {
        let process = Path::new("/proc").join(pid.to_string());
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        Self { pid, name: name.trim().to_owned(), folder: fs::read_link(process.join("cwd")).ok() }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)?;
        match &self.folder {
            Some(folder) => write!(f, " in {}", folder.display()),
            None => Ok(()),
        }
    }
}

/// Returns the names of the sockets that listen on `port`, as links of file descriptors have them.
fn listening(table: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let table = fs::read_to_string(table).unwrap_or_default();
    let sockets = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (*state == LISTENING && address.ends_with(&port)).then(|| format!("socket:[{inode}]"))
    });
    sockets.collect()
}

/// Reports whether process `pid` has one of `sockets` open.
fn holds(pid: u32, sockets: &[String]) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_listens_is_known() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let owner = Owner::of(port).unwrap();
        assert_eq!(
            (owner.pid, owner.folder.as_deref()),
            (std::process::id(), std::env::current_dir().ok().as_deref())
        );
        assert!(owner.to_string().contains(&format!("(process {}) in /", std::process::id())), "{owner}");
        drop(listener);
        assert_eq!(Owner::of(port), None);
    }
}
