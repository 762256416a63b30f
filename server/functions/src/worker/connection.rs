//! A connection to a function's process, on which hyper's client of HTTP/1.1 makes one call after the other.

mod stream;

use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use stream::Stream;

/// Bytes that the head of an answer may have.
const LONGEST_HEAD: usize = 256 * 1024;
/// Headers that it may have.
const MOST_HEADERS: usize = 128;

/// The body of a call, as it comes from the caller.
pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// What reads and writes on the socket.
type HttpConnection = http1::Connection<Stream, Body>;

/// Why a call got no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing of it was sent, so it may be sent on another connection.
    Unsent(Box<Request<Body>>),
    /// The worker does not take connections.
    Unreachable,
    /// The worker closed the connection, or sent what is no answer.
    Broken,
    /// The caller broke off while the body was coming.
    Caller,
    /// The answer did not begin in time.
    Late,
}

/// A connection in use. Dropped before it is given back, it is closed, from which the function learns that its caller
/// has gone.
pub(crate) struct Connection {
    sender: SendRequest<Body>,
    driver: Driver,
    /// The body of the last answer; `None` once all of it was read.
    answer: Option<Incoming>,
    /// Whether the last call had a body.
    has_upload: bool,
}

/// What reads from the socket and writes to it.
enum Driver {
    /// Whoever waits for something of the connection: a task of its own would cost every call two switches between
    /// tasks, of which each may wake a thread.
    Caller(Box<HttpConnection>),
    /// A task, for as long as this is held.
    Task(#[expect(dead_code, reason = "held for its end")] AbortOnDropHandle<()>),
    /// Nothing any more: HTTP/1.1 has ended on it. Bytes of another protocol are kept.
    Nobody(Option<UpgradedSocket>),
}

/// A socket, and what was read from it but not as HTTP/1.1.
type UpgradedSocket = (UnixStream, Bytes);

impl Driver {
    /// Reads and writes what can be, unless a task does. The sender or the answer's body reports what goes wrong.
    fn drive(&mut self, context: &mut Context<'_>) {
        if let Self::Caller(exchanges) = self
            && exchanges.poll_without_shutdown(context).is_ready()
        {
            // A call that waits on it gets an error from its sender by that.
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
        Ok(Self { sender, driver: Driver::Caller(Box::new(exchanges)), answer: None, has_upload: false })
    }

    /// Reports whether it can take another call, as far as that is known already.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.driver, Driver::Caller(_)) && self.answer.is_none() && self.sender.is_ready()
    }

    /// Sends `call` and waits for the head of its answer.
    pub(super) async fn exchange(mut self, call: Request<Body>) -> Result<(Parts, Self), Failure> {
        self.has_upload = !call.body().is_end_stream();
        let mut answer = pin!(self.sender.try_send_request(call));
        let driver = &mut self.driver;
        let answered = std::future::poll_fn(|context| {
            driver.drive(context);
            // The line before brings the answer or nothing does: a waker would wake this very task.
            answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        match answered.await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                self.answer = Some(body).filter(|body| !body.is_end_stream());
                Ok((head, self))
            }
            Err(mut failed) => Err(match failed.take_message() {
                Some(call) => Failure::Unsent(Box::new(call)),
                None if failed.error().is_user() => Failure::Caller,
                None => Failure::Broken,
            }),
        }
    }

    /// Lets a task send what may still be to come of the call's body: it goes to the function even while nobody reads
    /// the answer.
    pub(crate) fn send_rest(self) -> Self {
        let driver = match self.driver {
            Driver::Caller(mut exchanges) if self.has_upload => {
                let driving = tokio::spawn(async move {
                    // The answer's body reports what goes wrong.
                    let _ = std::future::poll_fn(|context| exchanges.poll_without_shutdown(context)).await;
                });
                Driver::Task(AbortOnDropHandle::new(driving))
            }
            driver => driver,
        };
        Self { driver, ..self }
    }

    /// Polls for the next part of the answer's body. Trailers are left out.
    pub(crate) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
            let mut part = Pin::new(&mut *answer).poll_frame(context);
            if part.is_pending() {
                // Driving brings the next part, but only after the body was polled for it.
                self.driver.drive(context);
                part = Pin::new(&mut *answer).poll_frame(context);
            }
            let frame = ready!(part).transpose().map_err(io::Error::other)?;
            // With a known length, the end is known before anybody polls for it.
            if frame.is_none() || answer.is_end_stream() {
                self.answer = None;
            }
            if let Some(Ok(bytes)) = frame.map(hyper::body::Frame::into_data) {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }

    /// Reports whether all of the answer's body was read.
    pub(crate) fn is_read(&self) -> bool {
        self.answer.is_none()
    }

    /// Returns the socket, which now belongs to another protocol, and the bytes of that protocol that were read
    /// already.
    pub(crate) fn into_parts(self) -> Option<UpgradedSocket> {
        self.driver.free()
    }
}
