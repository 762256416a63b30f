//! Sockets that this process has got from whoever started it: a service manager, or the version before this one.

use std::net::{IpAddr, SocketAddr, TcpListener};

use parking_lot::Mutex;

static SOCKETS: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());

/// Takes the sockets that the environment names, in the protocol of `sd_listen_fds(3)`. Must be called before there are
/// threads, since it changes the environment: children do not get the sockets.
pub(crate) fn take_from_environment() {
    let mut passed = listenfd::ListenFd::from_env();
    let sockets = (0..passed.len()).filter_map(|index| passed.take_tcp_listener(index).ok().flatten());
    *SOCKETS.lock() = sockets.collect();
}

/// Returns the socket that listens on `wanted`, if this process has got one. Each is returned once.
pub(super) fn take(wanted: SocketAddr) -> Option<TcpListener> {
    let mut sockets = SOCKETS.lock();
    let index = sockets.iter().position(|socket| listens_on(socket, wanted))?;
    Some(sockets.remove(index))
}

/// Reports whether this process has got a socket that listens on `wanted`, which nobody has taken yet.
pub(super) fn has(wanted: SocketAddr) -> bool {
    SOCKETS.lock().iter().any(|socket| listens_on(socket, wanted))
}

fn listens_on(socket: &TcpListener, wanted: SocketAddr) -> bool {
    socket.local_addr().is_ok_and(|address| {
        // A service manager that listens on all addresses does so with IPv6, which includes IPv4.
        let is_all = address.ip().is_unspecified() && wanted.ip().is_unspecified();
        (is_all || address.ip() == wanted.ip()) && address.port() == wanted.port()
    })
}

/// Returns the address of the first socket, if that listens on `host`: whoever passes sockets passes that of the API first.
pub(crate) fn first(host: IpAddr) -> Option<SocketAddr> {
    let address = SOCKETS.lock().first()?.local_addr().ok()?;
    (address.ip() == host).then_some(address)
}
