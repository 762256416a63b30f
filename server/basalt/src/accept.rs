//! Accepts connections and responds to their requests, with limits on time and number.

mod activity;
mod connection;
mod host;
mod request_line;
mod slots;
#[cfg(test)]
mod tests;
mod upload;

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use fairness::Network;
use gateway::HeldConnection;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use poem::http::uri::Scheme;
use poem::http::{Method, StatusCode, Version};
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Endpoint, Request, RequestParts, Response};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use activity::{Activity, RequestGuard};
use connection::Connection;
use request_line::RequestLineEncoder;
use slots::{ConnectionSlot, ConnectionSlots};

/// The maximum number of concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;
/// How often a silent HTTP/2 connection is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a connection may take to end after it was told to (in HTTP/2, by a GOAWAY frame).
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection without a request still waits for one when the server stops: a client that has just sent one
/// could not know whether it was read. The response says that the connection ends.
const LAST_REQUEST: Duration = Duration::from_millis(300);
/// The number of concurrent connections for which the limit on open files is raised.
pub(crate) const MAX_CONNECTIONS: u32 = 20_000;
/// The open files that are reserved for Postgres, objects and the log.
const OTHER_FILES: u64 = 256;

/// Limits of a server, most of them of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// For a request head, from its first byte, or on a new connection from its start. It does not depend on the pieces
    /// in which the head arrives, so that an incomplete head cannot occupy a connection.
    pub(crate) head: Duration,
    /// For the next request on a connection that is kept alive.
    pub(crate) idle: Duration,
    /// For the next byte of a connection, in either direction, so that an incomplete body cannot occupy a connection.
    pub(crate) silence: Duration,
    /// For running requests, after the server was told to stop.
    pub(crate) drain: Duration,
    /// The maximum number of connections, if the limit on open files allows as many.
    pub(crate) connections: u32,
    /// Whether each network has a share of the connections. Not if the peers are proxies, each of which passes on the
    /// requests of many.
    pub(crate) network_shares: bool,
}

/// Reports whether a request may change something, according to its method (RFC 9110, section 9.2.1).
pub(crate) fn may_write(request: &Request) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

/// The state that all connections of a server share.
struct Server<E> {
    routes: E,
    /// Reports whether a request is completed even if its client disconnects.
    must_finish: fn(&Request) -> bool,
    limits: Limits,
    /// The tasks that have to end before the server does.
    tasks: TaskTracker,
    /// Cancelled to abort all tasks.
    abort: CancellationToken,
}

/// Serves `routes` until `stop`. After that, no more connections are accepted, and running requests are completed;
/// those that are still running after `limits.drain` are aborted.
///
/// Requests for which `must_finish` returns true are completed even if their client disconnects.
pub(crate) async fn serve(
    acceptor: impl Acceptor,
    routes: impl Endpoint + 'static,
    must_finish: fn(&Request) -> bool,
    stop: CancellationToken,
    limits: Limits,
) {
    let (tasks, abort) = (TaskTracker::new(), CancellationToken::new());
    let server = Arc::new(Server { routes, must_finish, limits, tasks, abort });
    stop.run_until_cancelled(accept(
        acceptor,
        &server,
        ConnectionSlots::new(max_connections(limits.connections)),
        &stop,
    ))
    .await;
    let Server { tasks, abort, .. } = &*server;
    tasks.close();
    if tokio::time::timeout(limits.drain, tasks.wait()).await.is_err() {
        tracing::warn!(left = tasks.len(), "requests took too long to finish and are aborted");
        abort.cancel();
        tasks.wait().await;
    }
}

/// Accepts connections and gives each one a slot and a task.
async fn accept<E: Endpoint + 'static>(
    mut acceptor: impl Acceptor,
    server: &Arc<Server<E>>,
    slots: Arc<ConnectionSlots>,
    stop: &CancellationToken,
) {
    loop {
        // Acceptors log their errors and pause after them.
        let Ok((io, local, remote, scheme)) = acceptor.accept().await else { continue };
        let activity = Activity::new(stop);
        let network = if server.limits.network_shares { network(&remote) } else { None };
        let Some(slot) = slots.acquire(&activity, network).await else {
            tracing::debug!("a connection of a network that has its share of them was closed");
            continue;
        };
        let slot = Arc::new(slot);
        let io = Connection::new(io, Arc::clone(&activity), server.limits.silence, Arc::clone(&slot));
        let client = Client {
            addresses: (local, remote, scheme),
            activity,
            slot,
            streams: Arc::new(Semaphore::new(MAX_STREAMS as usize)),
        };
        let serving = serve_connection(RequestLineEncoder::new(io), client, Arc::clone(server), stop.clone());
        let abort = server.abort.clone();
        server.tasks.spawn(async move { abort.run_until_cancelled(serving).await });
    }
}

/// Returns the network of a peer; `None` if it is on this machine.
fn network(remote: &RemoteAddr) -> Option<Network> {
    remote.as_socket_addr().and_then(|peer| Network::of(peer.ip()))
}

/// The client of a connection.
struct Client {
    addresses: (LocalAddr, RemoteAddr, Scheme),
    activity: Arc<Activity>,
    slot: Arc<ConnectionSlot>,
    /// Limits the requests that are completed although the client has cancelled them: in HTTP/2, these no longer count
    /// towards the connection's limit.
    streams: Arc<Semaphore>,
}

/// Serves one connection until its end, or until the responses to the requests that are running at `stop` are sent.
async fn serve_connection<E: Endpoint + 'static>(
    io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    client: Client,
    server: Arc<Server<E>>,
    stop: CancellationToken,
) {
    let activity = Arc::clone(&client.activity);
    let client = Arc::new(client);
    let limits = server.limits;
    let service = hyper::service::service_fn(move |request| {
        let guard = client.activity.begin_request(request.version());
        respond(request, guard, Arc::clone(&client), Arc::clone(&server))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Activity::overdue limits the time of heads. hyper's own limit begins when the response to the previous request
    // was sent, and on a new connection only once it is known not to be HTTP/2. A client that has closed its sending
    // side may still read.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_INTERVAL);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = activity.end.cancelled() => {
            if !stop.is_cancelled() {
                return tracing::debug!("a connection without a request was closed in favour of a new one");
            }
            tokio::select! {
                biased;
                ended = &mut connection => ended,
                () = activity.last_request(LAST_REQUEST) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
        () = activity.overdue(limits) => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut connection).await {
                Ok(ended) => ended,
                // A request has arrived at the last moment.
                Err(_) if activity.is_busy() => connection.await,
                Err(_) => return tracing::debug!("a connection was without a request for too long"),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Responds to one request.
async fn respond<E: Endpoint + 'static>(
    mut request: hyper::Request<Incoming>,
    guard: RequestGuard,
    client: Arc<Client>,
    server: Arc<Server<E>>,
) -> Result<hyper::Response<ResponseBody<impl Body<Data = bytes::Bytes, Error = std::io::Error>>>, Infallible>
{
    let (version, host) = (request.version(), host::settle(&mut request));
    let (parts, body, unread) = upload::split(request, &client.activity);
    let (local, remote, scheme) = client.addresses.clone();
    let request = Request::from_parts(RequestParts::from((parts, local, remote, scheme)), body);
    let mut response = match host {
        Err(reason) => {
            drop(request);
            host::refusal(reason, version)
        }
        Ok(()) if (server.must_finish)(&request) => respond_detached(request, &client, &server).await,
        Ok(()) => server.routes.get_response(request).await,
    };
    if let Some(unread) = unread
        && !unread.finish().await
    {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if client.activity.end.is_cancelled()
        && version < Version::HTTP_2
        && response.status() != StatusCode::SWITCHING_PROTOCOLS
    {
        // The server stops: the client should send its next request elsewhere, or to whoever comes after it.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut held = response.extensions_mut().remove::<HeldConnection>();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        client.activity.upgrade();
        client.slot.keep(held.take());
    }
    let response: hyper::Response<_> = response.into();
    Ok(response.map(|body| ResponseBody { body, _guard: guard, _held: held }))
}

/// Responds to `request` in a task of its own, which continues if the connection ends. The connection's slot stays
/// occupied until then.
async fn respond_detached<E: Endpoint + 'static>(
    request: Request,
    client: &Client,
    server: &Arc<Server<E>>,
) -> Response {
    // The semaphore is never closed.
    let stream = Arc::clone(&client.streams).acquire_owned().await;
    let (task_server, slot) = (Arc::clone(server), Arc::clone(&client.slot));
    // Boxed and pinned, since the future is large and would be copied each time it is moved.
    let task = server.tasks.spawn(Box::pin(async move {
        let handling = pin!(task_server.routes.get_response(request));
        let response = task_server.abort.run_until_cancelled(handling).await;
        drop((stream, slot));
        response
    }));
    // There is no response only if the task was aborted or panicked; services respond to their own panics.
    task.await.ok().flatten().unwrap_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into())
}

/// The body of a response. The request counts as running until it is dropped.
struct ResponseBody<B> {
    body: B,
    _guard: RequestGuard,
    /// The client's share of the connections, if there is a proxy in front.
    _held: Option<HeldConnection>,
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
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

/// Raises the process's limit on open files to the number that connections need, if the administrator allows it: shells
/// and service managers start processes with a lower limit.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(u64::MAX).min(u64::from(MAX_CONNECTIONS) + OTHER_FILES);
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!(%error, "the limit on open files cannot be raised; it limits the number of connections");
    }
}

/// Returns the maximum number of concurrent connections: `wanted`, if the limit on open files allows as many.
pub(crate) fn max_connections(wanted: u32) -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let connections = files.saturating_sub(OTHER_FILES).clamp(1, u64::from(wanted.max(1)));
    usize::try_from(connections).unwrap_or(Semaphore::MAX_PERMITS)
}
