//! A connection to a function's process, on which hyper's HTTP/1.1 client makes one call after another.

mod body;
mod stream;

use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use body::{Body, LONGEST_SHORT};
use stream::Stream;

/// The maximum number of bytes of a response's head.
const LONGEST_HEAD: usize = 256 * 1024;
/// The maximum number of headers of a response.
const MOST_HEADERS: usize = 128;

/// hyper's part of the connection, which reads from the socket and writes to it.
type HttpConnection = http1::Connection<Stream, Body>;

/// Why a call got no response.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No byte of the call was sent, so it may be sent on another connection.
    Unsent(Box<Request<Body>>),
    /// The worker does not accept connections.
    Unreachable,
    /// The worker closed the connection, or sent something that is not a response.
    Broken,
    /// The caller's body broke off.
    Caller,
    /// The response did not begin in time.
    Late,
}

/// A connection in use. If it is dropped instead of given back, it is closed, so that the function notices that its
/// caller has gone.
pub(crate) struct Connection {
    sender: SendRequest<Body>,
    driver: Driver,
    /// The body of the last response; `None` after its end.
    response: Option<Incoming>,
    /// Whether the last call had a body.
    has_upload: bool,
}

/// What drives the connection, by polling hyper's part of it.
enum Driver {
    /// The task that waits for the response. A second task would cost every call two switches between tasks, each of
    /// which may wake a thread.
    Caller(Box<HttpConnection>),
    /// A separate task, until this is dropped.
    Task(#[expect(dead_code, reason = "held for its end")] AbortOnDropHandle<()>),
    /// Nothing, because HTTP/1.1 has ended on it. The bytes of another protocol are kept.
    Nobody(Option<UpgradedSocket>),
}

/// A socket, and the bytes read from it that are not HTTP/1.1.
type UpgradedSocket = (UnixStream, Bytes);

impl Driver {
    /// Reads and writes without waiting, unless a task does. The sender or the response's body reports errors.
    fn drive(&mut self, context: &mut Context<'_>) {
        if let Self::Caller(exchanges) = self
            && exchanges.poll_without_shutdown(context).is_ready()
        {
            // hyper then returns an error to a call that still waits.
            *self = Self::Nobody(std::mem::replace(self, Self::Nobody(None)).free());
        }
    }

    fn free(self) -> Option<UpgradedSocket> {
        match self {
            Self::Caller(exchanges) => {
                let parts = exchanges.into_parts();
                Some((parts.io.into_inner(), parts.read_buf))
            }
            Self::Task(_) => None,
            Self::Nobody(freed) => freed,
        }
    }
}

impl Connection {
    pub(super) async fn open(socket: &Path) -> Result<Self, Failure> {
        let stream = Stream::connect(socket).await.map_err(|_| Failure::Unreachable)?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MOST_HEADERS).max_header_size(LONGEST_HEAD);
        let opened = builder.handshake(stream).await;
        let (sender, exchanges) = opened.map_err(|_| Failure::Unreachable)?;
        Ok(Self { sender, driver: Driver::Caller(Box::new(exchanges)), response: None, has_upload: false })
    }

    /// Reports whether it can be used for another call. The other end may have closed it without that being known here.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.driver, Driver::Caller(_)) && self.response.is_none() && self.sender.is_ready()
    }

    /// Sends `call` and waits for the head of its response.
    pub(super) async fn exchange(mut self, call: Box<Request<Body>>) -> Result<(Parts, Self), Failure> {
        self.has_upload = !call.body().is_end_stream();
        let mut response = pin!(self.sender.try_send_request(*call));
        let driver = &mut self.driver;
        let sent = std::future::poll_fn(|context| {
            driver.drive(context);
            // Only the line above can produce the response, so no waker is needed: it would wake this very task.
            response.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        match sent.await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                self.response = Some(body).filter(|body| !body.is_end_stream());
                Ok((head, self))
            }
            Err(mut failed) => Err(match failed.take_message() {
                Some(call) => Failure::Unsent(Box::new(call)),
                None if failed.error().is_user() => Failure::Caller,
                None => Failure::Broken,
            }),
        }
    }

    /// Sends the rest of the call's body in a separate task, so that it reaches the function even while the response is
    /// not read.
    pub(crate) fn send_rest(self) -> Self {
        let driver = match self.driver {
            Driver::Caller(mut exchanges) if self.has_upload => {
                let driving = tokio::spawn(async move {
                    // The response's body reports errors.
                    let _ = std::future::poll_fn(|context| exchanges.poll_without_shutdown(context)).await;
                });
                Driver::Task(AbortOnDropHandle::new(driving))
            }
            driver => driver,
        };
        Self { driver, ..self }
    }

    /// Polls for the next part of the response's body. Trailers are left out.
    pub(crate) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let Some(response) = &mut self.response else { return Poll::Ready(None) };
            let mut part = Pin::new(&mut *response).poll_frame(context);
            if part.is_pending() {
                // Driving produces the next part only after the body was polled.
                self.driver.drive(context);
                part = Pin::new(&mut *response).poll_frame(context);
            }
            let frame = ready!(part).transpose().map_err(io::Error::other)?;
            // With a known length, the end is known before it is polled for.
            if frame.is_none() || response.is_end_stream() {
                self.response = None;
            }
            if let Some(Ok(bytes)) = frame.map(hyper::body::Frame::into_data) {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }

    /// Reports whether the response's body has been read completely.
    pub(crate) fn is_read(&self) -> bool {
        self.response.is_none()
    }

    /// Returns the socket, for another protocol, and the bytes of that protocol that were already read.
    pub(crate) fn into_parts(self) -> Option<UpgradedSocket> {
        self.driver.free()
    }
}
