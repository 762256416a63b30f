//! Connections to one function's process, kept for the next call.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;
use http::{Request, Response, Uri};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// Connections that are tried when those before turn out to be closed.
const TRIES: usize = 3;

type Sender = SendRequest<Outgoing>;
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

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

/// The sockets of one worker, and the connections to it that wait for another call.
pub(crate) struct Connections {
    /// Where it takes calls.
    calls: PathBuf,
    /// Where it takes our own orders.
    orders: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// Most that are kept.
    kept: usize,
}

/// A connection in use. Dropped before it is given back, it is closed, from which the function learns that its caller
/// has gone.
///
/// Whoever waits for something of it does its reading and writing, too: in a task of its own they would cost every call
/// two switches between tasks, of which each may wake a thread.
pub(crate) struct Connection {
    sender: Sender,
    /// `None` once it has ended, or where a task has it.
    driver: Option<Driver>,
}

impl Connection {
    async fn open(socket: &Path) -> Result<Self, ()> {
        let stream = UnixStream::connect(socket).await.map_err(drop)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(drop)?;
        Ok(Self { sender, driver: Some(Box::pin(driver.with_upgrades())) })
    }

    /// Reads and writes what can be.
    fn drive(&mut self, context: &mut Context<'_>) {
        // What goes wrong, the sender or the body is told, too.
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            self.driver = None;
        }
    }

    /// Whether it can take a call.
    async fn is_ready(&mut self) -> bool {
        let ready = std::future::poll_fn(|context| {
            self.drive(context);
            self.sender.poll_ready(context)
        });
        ready.await.is_ok()
    }

    /// Sends `request` and waits for the head of its answer. Errors: with the request, unless it has begun to be sent.
    async fn exchange(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Option<Request<Outgoing>>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let answered = std::future::poll_fn(|context| {
            let Some(running) = driver else { return answer.as_mut().poll(context) };
            if running.as_mut().poll(context).is_ready() {
                *driver = None;
            }
            // The answer comes by the line before or not at all: to be woken by it would be to wake ourselves.
            answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        answered.await.map_err(|mut error| error.take_message())
    }

    /// The next part of the answer's body.
    pub(crate) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        if self.driver.is_none() {
            return Pin::new(body).poll_frame(context);
        }
        // As in `exchange`: what comes, comes by driving, for which the body has to have asked.
        let mut nobody = Context::from_waker(Waker::noop());
        if let ready @ Poll::Ready(_) = Pin::new(&mut *body).poll_frame(&mut nobody) {
            return ready;
        }
        self.drive(context);
        Pin::new(body).poll_frame(&mut nobody)
    }

    /// Lets a task do the reading and writing from here on, until the connection is closed: then the call's body goes to
    /// the function even while nobody reads its answer.
    pub(crate) fn detach(&mut self) {
        if let Some(driver) = self.driver.take() {
            tokio::spawn(async move {
                // What went wrong, the body is told, too.
                let _ = driver.await;
            });
        }
    }
}

impl Connections {
    /// Of the worker that listens in `folder`; up to `kept` are kept open.
    pub(super) fn new(folder: &Path, kept: usize) -> Self {
        let (calls, orders) = sockets(folder);
        Self { calls, orders, idle: Mutex::new(Vec::new()), kept }
    }

    /// Sends `request` and waits for the head of its answer.
    ///
    /// Errors: when the worker is gone, or closes the connection in place of an answer.
    pub(crate) async fn send(
        &self,
        mut request: Request<Outgoing>,
    ) -> Result<(Response<Incoming>, Connection), ()> {
        for _ in 0..TRIES {
            let mut connection = self.take().await?;
            match connection.exchange(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(unsent) => request = unsent.ok_or(())?,
            }
        }
        Err(())
    }

    /// Takes a connection back whose answer was read to its end.
    pub(crate) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.kept && !connection.sender.is_closed() {
            idle.push(connection);
        }
    }

    /// Tells the worker `order`; ends when it was carried out.
    pub(super) async fn order(&self, order: &'static str) -> Result<(), ()> {
        let mut request = Request::new(Outgoing::Empty);
        *request.uri_mut() = Uri::from_static(order);
        request.headers_mut().insert(http::header::HOST, http::HeaderValue::from_static("worker"));
        // On a connection of its own, which ends with it.
        let mut connection = Connection::open(&self.orders).await?;
        connection.exchange(request).await.map(drop).map_err(drop)
    }

    async fn take(&self) -> Result<Connection, ()> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut connection) = idle else { break };
            if connection.is_ready().await {
                return Ok(connection);
            }
        }
        // Boxed, as it is rare: what a call's future has room for is moved with every call.
        let mut connection = Box::pin(Connection::open(&self.calls)).await?;
        if connection.is_ready().await { Ok(connection) } else { Err(()) }
    }
}

/// Where a worker in `folder` listens: for calls, and for our own orders, which no caller can give that way. Short, since
/// a socket's path may have 104 bytes (unix(7); 108 on Linux).
pub(super) fn sockets(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("s"), folder.join("o"))
}
