//! Ports to listen on, and connections as they come in.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use poem::http::uri::Scheme;
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::Error;

/// How many ports from the wanted one upwards are tried.
const TRIES: u16 = 20;

/// How many clients may wait to be accepted; the system may allow fewer. A burst beyond it waits a second and more.
const BACKLOG: u32 = 1024;

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on `port`, or on the next one that is free; 0 takes any.
///
/// Errors: when none of them can be listened on.
pub(crate) async fn listen(host: IpAddr, port: u16) -> Result<TcpListener, Error> {
    let mut candidate = port;
    loop {
        match bind(SocketAddr::new(host, candidate), false) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && candidate - port + 1 < TRIES => {
                candidate = candidate.checked_add(1).ok_or_else(|| none_free(port))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(none_free(port)),
            Err(error) => return Err(Error::io(format!("listen on {host}:{candidate}"))(error)),
        }
    }
}

/// Listens at `address`; with `reuse_port` other processes that want that, too, may do so at the same time.
///
/// Errors: the system's.
pub(crate) fn bind(address: SocketAddr, reuse_port: bool) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that is started again need not wait for the connections of the one before to be forgotten.
    socket.set_reuseaddr(true)?;
    if reuse_port {
        socket.set_reuseport(true)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn none_free(port: u16) -> Error {
    let last = port.saturating_add(TRIES - 1);
    Error::Advice(format!("every port from {port} to {last} is taken: name another one with --port"))
}

/// Accepts connections.
///
/// The system is told to send each answer at once: small answers on a connection that is kept open would otherwise
/// wait for the peer's acknowledgement of the one before.
pub(crate) struct Connections {
    listener: TcpListener,
    address: SocketAddr,
}

impl Connections {
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

impl Acceptor for Connections {
    type Io = TcpStream;

    fn local_addr(&self) -> Vec<LocalAddr> {
        vec![LocalAddr(self.address.into())]
    }

    async fn accept(&mut self) -> io::Result<(Self::Io, LocalAddr, RemoteAddr, Scheme)> {
        let (stream, peer) = match self.listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, most likely: trying again at once would only burn the processor.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                return Err(error);
            }
        };
        stream.set_nodelay(true)?;
        Ok((stream, LocalAddr(self.address.into()), RemoteAddr(peer.into()), Scheme::HTTP))
    }
}

/// A connection that breaks when it is silent for too long: half a request that is never finished must not hold its
/// memory for ever.
pub(crate) struct Connection<Io> {
    stream: Io,
    silence: Duration,
    last: Instant,
    /// Looked at when nothing can be read. It is moved on only when it goes off, not at every byte.
    timer: Pin<Box<Sleep>>,
}

impl<Io> Connection<Io> {
    /// `stream`, broken once nothing was read or written for `silence`.
    pub(crate) fn new(stream: Io, silence: Duration) -> Self {
        let last = Instant::now();
        Self { stream, silence, last, timer: Box::pin(sleep_until(last + silence)) }
    }

    /// Notes that something happened, if it did.
    fn note<T>(&mut self, poll: Poll<T>) -> Poll<T> {
        if poll.is_ready() {
            self.last = Instant::now();
        }
        poll
    }

    /// Ready once the connection was silent for too long.
    fn poll_silent(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let deadline = self.last + self.silence;
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Connection<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        match this.note(read) {
            Poll::Pending => this.poll_silent(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
            ready => ready,
        }
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Connection<Io> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.note(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
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

    #[tokio::test]
    async fn a_silent_connection_is_closed() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let listener = listen(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await.unwrap();
        let mut connections = Connections::new(listener).unwrap();
        let mut client = TcpStream::connect(connections.address()).await.unwrap();
        client.write_all(b"GET / HT").await.unwrap();
        let (stream, ..) = connections.accept().await.unwrap();
        let mut connection = Connection::new(stream, Duration::from_millis(20));
        let mut request = Vec::new();
        let error = connection.read_to_end(&mut request).await.unwrap_err();
        assert_eq!((request.as_slice(), error.kind()), (&b"GET / HT"[..], io::ErrorKind::TimedOut));
    }
}
