//! Encrypted connections. The handshake is their first reading or writing, so that all limits of connections include it,
//! and a slow one delays no other.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use acme::ACME_PROTOCOL;
use poem::http::uri::Scheme;
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

use crate::ports::Connections;

/// Accepts connections that encrypt.
pub(super) struct Encrypted {
    connections: Connections,
    tls: TlsAcceptor,
}

impl Encrypted {
    pub(super) fn new(connections: Connections, tls: TlsAcceptor) -> Self {
        Self { connections, tls }
    }
}

impl Acceptor for Encrypted {
    type Io = Stream;

    fn local_addr(&self) -> Vec<LocalAddr> {
        self.connections.local_addr()
    }

    async fn accept(&mut self) -> io::Result<(Stream, LocalAddr, RemoteAddr, Scheme)> {
        let (stream, local, remote, _) = self.connections.accept().await?;
        Ok((Stream(State::Handshake(self.tls.accept(stream))), local, remote, Scheme::HTTPS))
    }
}

/// A connection that encrypts.
pub(super) struct Stream(State);

enum State {
    Handshake(Accept<TcpStream>),
    Open(TlsStream<TcpStream>),
    /// The handshake has failed, or was all that the client wanted.
    Ended,
}

impl Stream {
    /// Returns the connection once the handshake is done; `None` if it has ended.
    fn poll_open(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Pin<&mut TlsStream<TcpStream>>>>> {
        if let State::Handshake(handshake) = &mut self.0 {
            let done = ready!(Pin::new(handshake).poll(context));
            // The handshake of an ACME server has shown it the answer to its challenge.
            let is_challenge = |open: &TlsStream<_>| open.get_ref().1.alpn_protocol() == Some(ACME_PROTOCOL);
            self.0 = match done {
                Ok(open) if !is_challenge(&open) => State::Open(open),
                Ok(_) => State::Ended,
                Err(error) => {
                    self.0 = State::Ended;
                    return Poll::Ready(Err(error));
                }
            };
        }
        Poll::Ready(Ok(match &mut self.0 {
            State::Open(open) => Some(Pin::new(open)),
            _ => None,
        }))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(self.get_mut().poll_open(context))? {
            Some(open) => open.poll_read(context, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match ready!(self.get_mut().poll_open(context))? {
            Some(open) => open.poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match ready!(self.get_mut().poll_open(context))? {
            Some(open) => open.poll_write_vectored(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            State::Open(open) => Pin::new(open).poll_flush(context),
            // Nothing was written yet.
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            State::Open(open) => Pin::new(open).poll_shutdown(context),
            // The end of a handshake is that of the connection.
            _ => Poll::Ready(Ok(())),
        }
    }
}
