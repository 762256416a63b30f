//! A worker's socket, from which a response can still be read after the worker has closed it.

use std::io::{self, IoSlice};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// A socket on which a write that fails stays pending forever.
///
/// A worker may respond without reading the whole call, and close its end. If hyper cannot write the body of a call, it
/// abandons the call together with the response. If the write stays pending instead, hyper continues to read: either
/// the response and then the end of the connection, or only the end, which it reports.
pub(super) struct Stream(TokioIo<UnixStream>);

impl Stream {
    pub(super) async fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self(TokioIo::new(UnixStream::connect(socket).await?)))
    }

    pub(super) fn into_inner(self) -> UnixStream {
        self.0.into_inner()
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut TokioIo<UnixStream>> {
        Pin::new(&mut self.get_mut().0)
    }
}

fn wait_after_failure(written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    match written {
        Poll::Ready(Err(_)) => Poll::Pending,
        other => other,
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(context, into)
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        wait_after_failure(self.inner().poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        wait_after_failure(self.inner().poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(context)
    }
}
