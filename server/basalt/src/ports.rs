//! Ports to listen on.

mod fixed;
mod inherited;
mod owner;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use poem::http::uri::Scheme;
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::error::Error;

pub(crate) use fixed::check as check_fixed;
pub(crate) use inherited::{first as first_inherited, take_from_environment};
pub(crate) use owner::Owner;

/// How many ports from the configured one upwards are tried.
const TRIES: u16 = 20;

/// How many clients may wait to be accepted; the system may allow fewer. Clients beyond it retry after a second or
/// more.
const BACKLOG: u32 = 1024;

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on `port`, or on the next one that is free; 0 means any free port. A socket that this process was started
/// with is taken first.
///
/// Errors: if none of them is free.
pub(crate) async fn listen(host: IpAddr, port: u16) -> Result<TcpListener, Error> {
    let mut candidate = port;
    loop {
        match take_or_bind(SocketAddr::new(host, candidate)) {
            Ok(listener) => return Ok(listener),
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && candidate.checked_add(1).is_some_and(|next| is_tried(port, next)) =>
            {
                candidate += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(none_free(port)),
            Err(error) => return Err(Error::io(format!("listen on {host}:{candidate}"))(error)),
        }
    }
}

/// Reports whether [`listen`] may take `port` in place of the port `wanted`.
pub(crate) fn is_tried(wanted: u16, port: u16) -> bool {
    port.checked_sub(wanted).is_some_and(|distance| distance < TRIES)
}

/// Listens on `address`, with the socket that this process was started with, if there is one for it.
///
/// Errors: those of the system.
pub(crate) fn take_or_bind(address: SocketAddr) -> io::Result<TcpListener> {
    match inherited::take(address) {
        Some(socket) => {
            socket.set_nonblocking(true)?;
            TcpListener::from_std(socket)
        }
        None => bind(address, false),
    }
}

/// Listens on `address`; with `reuse_port`, several processes that set it may listen on the same address.
///
/// Errors: those of the system.
pub(crate) fn bind(address: SocketAddr, reuse_port: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted server need not wait until the connections of its predecessor have left the TIME_WAIT state.
    socket.set_reuseaddr(true)?;
    if reuse_port {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn none_free(port: u16) -> Error {
    let last = port.saturating_add(TRIES - 1);
    Error::Advice(format!("every port from {port} to {last} is taken: set another one with --port"))
}

/// Accepts connections.
///
/// `TCP_NODELAY` is set: otherwise, small responses on a connection that is kept alive would wait for the client's
/// acknowledgement of the previous one.
pub(crate) struct Connections {
    /// Shared only with the switch to another version, which keeps it open.
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

impl Connections {
    /// Returns an acceptor of `listener`'s connections.
    ///
    /// Errors: if the system does not return the listener's address.
    pub(crate) fn new(listener: TcpListener) -> Result<Self, Error> {
        let address = listener.local_addr().map_err(Error::io("find out the port that is listened on"))?;
        Ok(Self { listener: Arc::new(listener), address })
    }

    /// Returns the socket, as long as this accepts connections.
    pub(crate) fn listener(&self) -> Weak<TcpListener> {
        Arc::downgrade(&self.listener)
    }

    /// Returns the address on which this listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Acceptor for Connections {
    type Io = TcpStream;

    fn local_addr(&self) -> Vec<LocalAddr> {
        vec![LocalAddr(self.address.into())]
    }

    async fn accept(&mut self) -> io::Result<(Self::Io, LocalAddr, RemoteAddr, Scheme)> {
        let (stream, peer) = match self.listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // The usual reason is a lack of file descriptors, so an immediate retry would fail again.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                return Err(error);
            }
        };
        stream.set_nodelay(true)?;
        // A socket of both versions of IP has clients of IPv4 at mapped addresses (RFC 4291, section 2.5.5.2).
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        Ok((stream, LocalAddr(self.address.into()), RemoteAddr(peer.into()), Scheme::HTTP))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn the_next_port_is_used_if_one_is_taken() {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = listen(host, 0).await.unwrap();
        let taken = first.local_addr().unwrap().port();
        let second = listen(host, taken).await.unwrap();
        let port = second.local_addr().unwrap().port();
        assert!(port > taken && port < taken + TRIES, "{port}");
    }
}
