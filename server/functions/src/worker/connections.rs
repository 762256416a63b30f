//! Connections to one function's process, kept for the next call.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// Header of our own requests to a worker; nobody else's reach it with one.
pub(crate) const ORDER: HeaderName = HeaderName::from_static("x-basalt-worker");
/// Connections that are tried when those before turn out to be closed.
const TRIES: usize = 3;

type Sender = SendRequest<Outgoing>;

/// The body of a call on its way to the function.
pub(crate) enum Outgoing {
    /// There is none.
    Empty,
    /// It comes as it comes.
    Stream(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Stream(stream) => stream.as_mut().poll_next(context).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// The connections of one worker.
pub(crate) struct Connections {
    socket: PathBuf,
    idle: Mutex<Vec<Sender>>,
    /// Most that are kept.
    kept: usize,
}

/// A connection in use. Dropped before it is given back, it is closed, from which the function learns that its caller
/// has gone.
pub(crate) struct Connection(Sender);

impl Connections {
    /// Of the worker that listens on `socket`; up to `kept` are kept open.
    pub(super) fn new(socket: PathBuf, kept: usize) -> Self {
        Self { socket, idle: Mutex::new(Vec::new()), kept }
    }

    /// Sends `request` and waits for the head of its answer.
    ///
    /// Errors: when the worker is gone, or closes the connection in place of an answer.
    pub(crate) async fn send(
        &self,
        mut request: Request<Outgoing>,
    ) -> Result<(Response<Incoming>, Connection), ()> {
        for _ in 0..TRIES {
            let mut sender = self.take().await?;
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, Connection(sender))),
                // Only a request that has not begun to be sent comes back.
                Err(mut error) => request = error.take_message().ok_or(())?,
            }
        }
        Err(())
    }

    /// Takes a connection back whose answer was read to its end.
    pub(crate) fn give_back(&self, Connection(sender): Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.kept && !sender.is_closed() {
            idle.push(sender);
        }
    }

    /// Tells the worker `order`; ends when it was carried out.
    pub(super) async fn order(&self, order: &'static str) -> Result<(), ()> {
        let mut request = Request::new(Outgoing::Empty);
        *request.uri_mut() = Uri::from_static("/");
        request.headers_mut().insert(ORDER, HeaderValue::from_static(order));
        request.headers_mut().insert(http::header::HOST, HeaderValue::from_static("worker"));
        // On a connection of its own, which ends with it.
        let mut sender = self.open().await?;
        sender.send_request(request).await.map(drop).map_err(drop)
    }

    async fn take(&self) -> Result<Sender, ()> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut sender) = idle else { return self.open().await };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
    }

    async fn open(&self) -> Result<Sender, ()> {
        let stream = UnixStream::connect(&self.socket).await.map_err(drop)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(drop)?;
        // Ends with its sender, or with the worker. What went wrong, the sender is told, too.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }
}
