//! What the server tells the manager of services that has started it: the protocol of `sd_notify(3)`, which systemd and
//! others speak. Without `NOTIFY_SOCKET` nothing is sent.

use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// What the server is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// It serves.
    Ready,
    /// It reads its settings again, or replaces itself. [`Event::Ready`] follows.
    Reloading,
    /// It ends.
    Stopping,
    /// It does not hang.
    Alive,
}

impl Event {
    const fn message(self) -> &'static str {
        match self {
            Self::Ready => "READY=1",
            Self::Reloading => "RELOADING=1",
            Self::Stopping => "STOPPING=1",
            Self::Alive => "WATCHDOG=1",
        }
    }
}

/// Tells the manager of services about `event`. That it cannot be told is logged: the server works without it.
pub(crate) fn tell(event: Event) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET").and_then(|name| name.into_string().ok()) else {
        return;
    };
    let sent = address(&name).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        // A manager that does not read must not stop the server.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(event.message().as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::warn!(%error, ?event, "the manager of services could not be told");
    }
}

/// Tells the manager of services regularly that the server does not hang, if it wants to know (`WatchdogSec=`), until
/// the process ends. Must be called inside a Tokio runtime.
pub(crate) fn keep_alive() {
    let microseconds = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
    let Some(period) = microseconds.map(|limit: u64| Duration::from_micros(limit / 3)) else { return };
    if period.is_zero() {
        return;
    }
    tokio::spawn(async move {
        loop {
            tell(Event::Alive);
            tokio::time::sleep(period).await;
        }
    });
}

/// Returns the address that `NOTIFY_SOCKET` names: a path or, after an `@`, an abstract name.
fn address(name: &str) -> std::io::Result<SocketAddr> {
    match name.strip_prefix('@') {
        Some(name) => abstract_address(name),
        None => SocketAddr::from_pathname(name),
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &str) -> std::io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &str) -> std::io::Result<SocketAddr> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_an_abstract_name_are_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let mut names = vec![path.to_str().unwrap().to_owned()];
        if cfg!(target_os = "linux") {
            names.push(format!("@basalt-test-{}", std::process::id()));
        }
        for name in names {
            let address = address(&name).unwrap();
            let manager = UnixDatagram::bind_addr(&address).unwrap();
            UnixDatagram::unbound().unwrap().send_to_addr(b"READY=1", &address).unwrap();
            let mut read = [0; 16];
            let length = manager.recv(&mut read).unwrap();
            assert_eq!(&read[..length], b"READY=1", "{name}");
        }
    }
}
