//! Accepts connections and answers what comes on them, within bounds on time and number.

mod connection;
mod life;
mod places;
mod request_line;
#[cfg(test)]
mod tests;
mod upload;

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use poem::http::uri::Scheme;
use poem::http::{Method, StatusCode};
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Endpoint, Request, RequestParts, Response};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::Connection;
use life::{Busy, Life, Patience};
use places::{Place, Places};
use request_line::Mended;

/// Requests under way at a time on one HTTP/2 connection: without a bound, one client could have any number.
const STREAMS: u32 = 200;
/// How often an HTTP/2 connection on which nothing comes is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a client that is told to go, which HTTP/2 has words for, may take.
const PARTING: Duration = Duration::from_secs(1);
/// Connections at a time, where the system lets the process open enough files.
const CONNECTIONS: u64 = 10_000;
/// Open files that connections leave to Postgres, objects and the log.
const OTHER_FILES: u64 = 256;

/// How long a server waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// For a whole request head, counted from its first byte, of a new connection from the start: half a head must not
    /// hold a connection, in whatever pieces it comes.
    pub(crate) head: Duration,
    /// For the next request on a connection that is kept open.
    pub(crate) idle: Duration,
    /// For the next byte of a connection, in either direction: half a body must not hold one for ever.
    pub(crate) silence: Duration,
    /// For requests under way once the server was told to stop.
    pub(crate) drain: Duration,
}

/// Whether a request may change something, by its method alone (RFC 9110, section 9.2.1).
pub(crate) fn may_write(request: &Request) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

/// What all connections of a server share.
struct Shared<E> {
    routes: E,
    /// Which requests run to their end, whatever becomes of the client.
    finishes: fn(&Request) -> bool,
    limits: Limits,
    /// All that has to end before the server does.
    tasks: TaskTracker,
    /// Cancelled when it has to end at once.
    cut: CancellationToken,
}

/// Answers with `routes` until `stop`. Then nothing more is accepted, and requests under way are finished; what is still
/// there after `limits.drain` is cut.
///
/// Requests that `finishes` names are worked on to their end also when the client has gone meanwhile.
pub(crate) async fn serve(
    acceptor: impl Acceptor,
    routes: impl Endpoint + 'static,
    finishes: fn(&Request) -> bool,
    stop: CancellationToken,
    limits: Limits,
) {
    let (tasks, cut) = (TaskTracker::new(), CancellationToken::new());
    let shared = Arc::new(Shared { routes, finishes, limits, tasks, cut });
    stop.run_until_cancelled(accept(acceptor, &shared, Places::new(room()), &stop)).await;
    let Shared { tasks, cut, .. } = &*shared;
    tasks.close();
    if tokio::time::timeout(limits.drain, tasks.wait()).await.is_err() {
        tracing::warn!(left = tasks.len(), "requests took too long to finish and are cut off");
        cut.cancel();
        tasks.wait().await;
    }
}

/// Gives every connection that comes a place and a task.
async fn accept<E: Endpoint + 'static>(
    mut acceptor: impl Acceptor,
    shared: &Arc<Shared<E>>,
    places: Arc<Places>,
    stop: &CancellationToken,
) {
    loop {
        // Acceptors log their errors and make pauses after them.
        let Ok((io, local, remote, scheme)) = acceptor.accept().await else { continue };
        let life = Life::new(stop);
        let place = Arc::new(places.take(&life).await);
        let io = Connection::new(io, Arc::clone(&life), shared.limits.silence, Arc::clone(&place));
        let client = Client {
            ends: (local, remote, scheme),
            life,
            place,
            streams: Arc::new(Semaphore::new(STREAMS as usize)),
        };
        let serving = answer(Mended::new(io), client, Arc::clone(shared), stop.clone());
        let cut = shared.cut.clone();
        shared.tasks.spawn(async move { cut.run_until_cancelled(serving).await });
    }
}

/// The other end of a connection.
struct Client {
    ends: (LocalAddr, RemoteAddr, Scheme),
    life: Arc<Life>,
    place: Arc<Place>,
    /// Bounds the requests that are worked on though the client has taken them back, of which HTTP/2 makes room for more.
    streams: Arc<Semaphore>,
}

/// Serves one connection until its end, or until what is under way at `stop` is answered.
async fn answer<E: Endpoint + 'static>(
    io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    client: Client,
    shared: Arc<Shared<E>>,
    stop: CancellationToken,
) {
    let life = Arc::clone(&client.life);
    let client = Arc::new(client);
    let Limits { head, idle, .. } = shared.limits;
    let service = hyper::service::service_fn(move |request| {
        let busy = client.life.begin(request.version());
        respond(request, busy, Arc::clone(&client), Arc::clone(&shared))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Heads have a time limit of our own: the library's begins when the one before was answered, and at the first byte of
    // what is no HTTP/2 by then. A client that has closed its sending side may still read.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(PING_INTERVAL);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = life.end.cancelled() => {
            if !stop.is_cancelled() {
                return tracing::debug!("a connection without a request made room for another one");
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = life.overdue(Patience { head, idle }) => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(PARTING, &mut connection).await {
                Ok(ended) => ended,
                // Its request came at the last moment.
                Err(_) if life.is_busy() => connection.await,
                Err(_) => return tracing::debug!("a connection was without a request for too long"),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Answers one request.
async fn respond<E: Endpoint + 'static>(
    request: hyper::Request<Incoming>,
    busy: Busy,
    client: Arc<Client>,
    shared: Arc<Shared<E>>,
) -> Result<hyper::Response<Answer<impl Body<Data = bytes::Bytes, Error = std::io::Error>>>, Infallible> {
    let (parts, body, rest) = upload::split(request, &client.life);
    let (local, remote, scheme) = client.ends.clone();
    let request = Request::from_parts(RequestParts::from((parts, local, remote, scheme)), body);
    let mut response = match (shared.finishes)(&request) {
        true => finish(request, &client, &shared).await,
        false => shared.routes.get_response(request).await,
    };
    if let Some(rest) = rest
        && !rest.settle().await
    {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        client.life.upgrade();
    }
    let response: hyper::Response<_> = response.into();
    Ok(response.map(|body| Answer { body, _busy: busy }))
}

/// Works on `request` to its end, also when nobody waits for it any more. Its connection's place is taken until then.
async fn finish<E: Endpoint + 'static>(
    request: Request,
    client: &Client,
    shared: &Arc<Shared<E>>,
) -> Response {
    // The semaphore is never closed.
    let stream = Arc::clone(&client.streams).acquire_owned().await;
    let (working, place) = (Arc::clone(shared), Arc::clone(&client.place));
    // Boxed and pinned, since the future is large and would be copied by each that it is handed to.
    let working = shared.tasks.spawn(Box::pin(async move {
        let answering = pin!(working.routes.get_response(request));
        let response = working.cut.run_until_cancelled(answering).await;
        drop((stream, place));
        response
    }));
    // Nothing comes of a panic, which services turn into an answer themselves, and of what was cut off.
    working.await.ok().flatten().unwrap_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into())
}

/// An answer's body. With it the request ends.
struct Answer<B> {
    body: B,
    _busy: Busy,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Lets the process open as many files as the system's administrator allows, up to what connections need: shells and
/// service managers begin with fewer.
pub(crate) fn open_more_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(u64::MAX).min(CONNECTIONS + OTHER_FILES);
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!(%error, "the limit on open files stays as it is; it bounds the number of connections");
    }
}

/// How many connections there may be at a time.
fn room() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = files.saturating_sub(OTHER_FILES).clamp(1, CONNECTIONS);
    usize::try_from(room).unwrap_or(Semaphore::MAX_PERMITS)
}
