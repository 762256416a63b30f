//! Accepts connections and answers what comes on them, within bounds on time and number.

mod request_line;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use poem::http::uri::Scheme;
use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Endpoint, Request};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ports::Connection;
use request_line::Mended;

/// Requests under way at a time on one HTTP/2 connection: without a bound, one client could have any number.
const STREAMS: u32 = 200;
/// How often an HTTP/2 connection on which nothing comes is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Connections at a time, where the system lets the process open enough files.
const CONNECTIONS: u64 = 10_000;
/// Open files that connections leave to Postgres, objects and the log.
const OTHER_FILES: u64 = 256;

/// How long a server waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// For a whole request head, counted from when the connection is ready for it, be it new or kept open after the
    /// answer before: half a head must not hold a connection.
    pub(crate) head: Duration,
    /// For the next byte of a connection, in either direction: half a body must not hold one for ever.
    pub(crate) silence: Duration,
    /// For requests under way once the server was told to stop.
    pub(crate) drain: Duration,
}

/// Answers with `routes` until `stop`. Then nothing more is accepted, and requests under way are finished; the
/// connections that are still there after `limits.drain` are cut.
pub(crate) async fn serve(
    mut acceptor: impl Acceptor,
    routes: impl Endpoint + 'static,
    stop: CancellationToken,
    limits: Limits,
) {
    let routes = Arc::new(routes);
    let room = Arc::new(Semaphore::new(room()));
    let (connections, cut) = (TaskTracker::new(), CancellationToken::new());
    let accepting = async {
        // The semaphore is never closed.
        while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
            // Acceptors log their errors and make pauses after them.
            let Ok((io, local, remote, scheme)) = acceptor.accept().await else { continue };
            let io = Mended::new(Connection::new(io, limits.silence));
            let answering =
                answer(io, (local, remote, scheme), Arc::clone(&routes), stop.clone(), limits.head);
            let cut = cut.clone();
            connections.spawn(async move {
                cut.run_until_cancelled(answering).await;
                drop(permit);
            });
        }
    };
    stop.run_until_cancelled(accepting).await;
    drop(acceptor);
    connections.close();
    if tokio::time::timeout(limits.drain, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "requests took too long to finish and are cut off");
        cut.cancel();
        connections.wait().await;
    }
}

/// Serves one connection until its end, or until what is under way at `stop` is answered.
async fn answer(
    io: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    ends: (LocalAddr, RemoteAddr, Scheme),
    routes: Arc<impl Endpoint + 'static>,
    stop: CancellationToken,
    head: Duration,
) {
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (local, remote, scheme) = ends.clone();
        let request = Request::from((request, local, remote, scheme));
        let routes = Arc::clone(&routes);
        async move { Ok::<hyper::Response<_>, Infallible>(routes.as_ref().get_response(request).await.into()) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(PING_INTERVAL);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::ports::{self, Connections};

    const PATIENCE: Duration = Duration::from_secs(30);
    const PATIENT: Limits = Limits { head: PATIENCE, silence: PATIENCE, drain: PATIENCE };

    async fn start(
        routes: impl Endpoint + 'static,
        limits: Limits,
    ) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
        let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await.unwrap();
        let connections = Connections::new(listener).unwrap();
        let (address, stop) = (connections.address(), CancellationToken::new());
        (address, stop.clone(), tokio::spawn(serve(connections, routes, stop, limits)))
    }

    #[tokio::test]
    async fn targets_may_be_written_as_people_type_them() {
        let routes = poem::endpoint::make_sync(|request| request.uri().to_string());
        let (address, ..) = start(routes, PATIENT).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = b"GET /a?select=b->>c&d=in.(\"e\") HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        client.write_all(request).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("/a?select=b-%3E%3Ec&d=in.(%22e%22)"), "{answer}");
    }

    #[tokio::test]
    async fn half_a_head_is_cut() {
        let limits = Limits { head: Duration::from_millis(50), ..PATIENT };
        let (address, ..) = start(poem::endpoint::make_sync(|_| "hello"), limits).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nX: a").await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn half_a_body_is_cut() {
        let routes = poem::endpoint::make(|mut request: Request| async move {
            let body = request.take_body().into_bytes().await;
            Ok::<_, poem::Error>(if body.is_ok() { "whole" } else { "broken" })
        });
        let (address, ..) = start(routes, Limits { silence: Duration::from_millis(50), ..PATIENT }).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&answer).contains("whole"));
    }

    #[tokio::test]
    async fn what_is_under_way_is_finished_before_the_server_ends() {
        let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (asks, goes) = (Arc::clone(&asked), Arc::clone(&go));
        let routes = poem::endpoint::make(move |_| {
            let (asks, goes) = (Arc::clone(&asks), Arc::clone(&goes));
            async move {
                asks.notify_one();
                goes.notified().await;
                Ok::<_, poem::Error>("late, but whole")
            }
        });
        let (address, stop, server) = start(routes, PATIENT).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        asked.notified().await;
        stop.cancel();
        go.notify_one();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("late, but whole"), "{answer}");
        tokio::time::timeout(PATIENCE, server).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_does_not_end_is_cut_off() {
        let asked = Arc::new(Notify::new());
        let asks = Arc::clone(&asked);
        let routes = poem::endpoint::make(move |_| {
            asks.notify_one();
            std::future::pending::<poem::Result<&'static str>>()
        });
        let limits = Limits { drain: Duration::from_millis(10), ..PATIENT };
        let (address, stop, server) = start(routes, limits).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        asked.notified().await;
        stop.cancel();
        tokio::time::timeout(PATIENCE, server).await.unwrap().unwrap();
    }
}
