//! Ports to listen on, and connections as they come in.

use std::io;
use std::net::{IpAddr, SocketAddr};

use poem::http::uri::Scheme;
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use tokio::net::{TcpListener, TcpStream};

use crate::error::Error;

/// How many ports from the wanted one upwards are tried.
const TRIES: u16 = 20;

/// Listens on `port`, or on the next one that is free; 0 takes any.
///
/// Errors: when none of them can be listened on.
pub(crate) async fn listen(host: IpAddr, port: u16) -> Result<TcpListener, Error> {
    let mut candidate = port;
    loop {
        match TcpListener::bind((host, candidate)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && candidate - port + 1 < TRIES => {
                candidate = candidate.checked_add(1).ok_or_else(|| none_free(port))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(none_free(port)),
            Err(error) => return Err(Error::io(format!("listen on {host}:{candidate}"))(error)),
        }
    }
}

fn none_free(port: u16) -> Error {
    let last = port.saturating_add(TRIES - 1);
    Error::Advice(format!("every port from {port} to {last} is taken: name another one with --port"))
}

/// Accepts connections and tells the system to send each answer at once: small answers on a connection that is kept
/// open would otherwise wait for the peer's acknowledgement of the one before.
pub(crate) struct NoDelay {
    listener: TcpListener,
    address: SocketAddr,
}

impl NoDelay {
    /// Accepts from `listener`.
    ///
    /// Errors: when the system does not know the listener's address.
    pub(crate) fn new(listener: TcpListener) -> Result<Self, Error> {
        let address = listener.local_addr().map_err(Error::io("find out the port that is listened on"))?;
        Ok(Self { listener, address })
    }

    /// The address that is listened on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Acceptor for NoDelay {
    type Io = TcpStream;

    fn local_addr(&self) -> Vec<LocalAddr> {
        vec![LocalAddr(self.address.into())]
    }

    async fn accept(&mut self) -> io::Result<(Self::Io, LocalAddr, RemoteAddr, Scheme)> {
        let (stream, peer) = self.listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok((stream, LocalAddr(self.address.into()), RemoteAddr(peer.into()), Scheme::HTTP))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn a_taken_port_gives_way_to_the_next() {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = listen(host, 0).await.unwrap();
        let taken = first.local_addr().unwrap().port();
        let second = listen(host, taken).await.unwrap();
        let port = second.local_addr().unwrap().port();
        assert!(port > taken && port < taken + TRIES, "{port}");
    }
}
