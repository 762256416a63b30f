//! Tests of the server that accepts connections.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use poem::http::Version;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::*;
use crate::ports::{self, Connections};

const TIMEOUT: Duration = Duration::from_secs(60);
const LONG_LIMITS: Limits = Limits {
    head: TIMEOUT,
    idle: TIMEOUT,
    silence: TIMEOUT,
    drain: TIMEOUT,
    connections: MAX_CONNECTIONS,
    network_shares: false,
};

async fn start(
    routes: impl Endpoint + 'static,
    limits: Limits,
) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await.unwrap();
    let connections = Connections::new(listener).unwrap();
    let (address, stop) = (connections.address(), CancellationToken::new());
    (address, stop.clone(), tokio::spawn(serve(connections, routes, may_write, stop, limits)))
}

/// Reads until the server ends the connection.
async fn read_all(client: &mut TcpStream) -> String {
    let mut response = Vec::new();
    tokio::time::timeout(TIMEOUT, client.read_to_end(&mut response)).await.unwrap().unwrap();
    String::from_utf8(response).unwrap()
}

/// Reads one response without a body from a connection that is kept alive.
async fn read_head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let read = tokio::time::timeout(TIMEOUT, client.read_buf(&mut head)).await.unwrap().unwrap();
        assert_ne!(read, 0, "the connection ended in {head:?}");
    }
    String::from_utf8(head).unwrap()
}

fn refusing_endpoint() -> impl Endpoint {
    poem::endpoint::make_sync(|_| StatusCode::UNAUTHORIZED)
}

#[tokio::test]
async fn targets_may_have_bytes_that_uris_may_not() {
    let routes = poem::endpoint::make_sync(|request| request.uri().to_string());
    let (address, ..) = start(routes, LONG_LIMITS).await;
    for (target, expected) in [
        ("/a?select=b->>c&d=in.(\"e\")", "/a?select=b-%3E%3Ec&d=in.(%22e%22)"),
        ("/a?b=cs.{c,d}&e=`f|g^h\\i[1]é", "/a?b=cs.{c,d}&e=%60f|g^h\\i[1]é"),
        ("/<a>/`b`/\"c\"/{d|e}^\\[1]é", "/%3Ca%3E/%60b%60/%22c%22/{d|e}^\\[1]é"),
    ] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let response = read_all(&mut client).await;
        assert!(response.ends_with(&format!("\r\n\r\n{expected}")), "{response}");
    }
}

#[tokio::test]
async fn an_incomplete_head_ends_the_connection_for_any_pieces() {
    let limits = Limits { head: Duration::from_millis(200), ..LONG_LIMITS };
    let (address, ..) = start(poem::endpoint::make_sync(|_| "hello"), limits).await;
    for begin in [&b"GET / HTTP/1.1\r\nX: a"[..], b"PRI * HT", b""] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(begin).await.unwrap();
        // A reset also ends the connection.
        let _ = tokio::time::timeout(TIMEOUT, client.read_to_end(&mut Vec::new())).await.unwrap();

        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nX: a").await.unwrap();
        let dripping = async {
            while client.write_all(b"b").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, dripping).await.unwrap();
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_a_while() {
    let limits = Limits { idle: Duration::from_millis(100), ..LONG_LIMITS };
    let (address, ..) = start(poem::endpoint::make_sync(|_| "hello"), limits).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(read_all(&mut client).await.ends_with("hello"));
}

/// Returns an endpoint that reads the body, and a receiver of whether it was complete.
fn reading_endpoint() -> (impl Endpoint + 'static, mpsc::UnboundedReceiver<bool>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let routes = poem::endpoint::make(move |mut request: Request| {
        let sender = sender.clone();
        async move {
            let body = request.take_body().into_bytes().await;
            sender.send(body.is_ok()).unwrap();
            Ok::<_, poem::Error>("read")
        }
    });
    (routes, receiver)
}

#[tokio::test]
async fn an_incomplete_body_ends_the_connection() {
    let (routes, mut complete) = reading_endpoint();
    let (address, ..) = start(routes, Limits { silence: Duration::from_millis(50), ..LONG_LIMITS }).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
    read_all(&mut client).await;
    assert_eq!(complete.recv().await, Some(false));
}

#[tokio::test]
async fn a_body_is_incomplete_if_the_client_disconnects() {
    let (routes, mut complete) = reading_endpoint();
    let (address, ..) = start(routes, LONG_LIMITS).await;
    for body in ["Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{body}").as_bytes()).await.unwrap();
        drop(client);
        assert_eq!(complete.recv().await, Some(false), "{body}");
    }
}

/// Controls an endpoint that notifies `begun`, waits for `resume`, and sends whether it was completed or dropped.
struct Work {
    begun: Arc<Notify>,
    resume: Arc<Notify>,
    done: mpsc::UnboundedReceiver<bool>,
}

/// Sends its flag when it is dropped.
struct CompletionGuard(mpsc::UnboundedSender<bool>, bool);

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

fn working_endpoint() -> (impl Endpoint + 'static, Work) {
    let (begun, resume) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (sender, done) = mpsc::unbounded_channel();
    let work = Work { begun: Arc::clone(&begun), resume: Arc::clone(&resume), done };
    let routes = poem::endpoint::make(move |mut request: Request| {
        let (begun, resume) = (Arc::clone(&begun), Arc::clone(&resume));
        let guard = CompletionGuard(sender.clone(), false);
        async move {
            // Moves the whole guard into the future, and not only its flag.
            let mut guard = guard;
            request.take_body().into_bytes().await?;
            begun.notify_one();
            resume.notified().await;
            guard.1 = true;
            Ok::<_, poem::Error>("late, but complete")
        }
    });
    (routes, work)
}

#[tokio::test]
async fn a_write_is_completed_without_its_client() {
    let (routes, mut work) = working_endpoint();
    let (address, ..) = start(routes, LONG_LIMITS).await;
    for resets in [false, true] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody").await.unwrap();
        work.begun.notified().await;
        if resets {
            client.set_zero_linger().unwrap();
        }
        drop(client);
        // After the response to a later request, the server has noticed the end of the earlier connection.
        let mut other = TcpStream::connect(address).await.unwrap();
        other.write_all(b"BAD\r\n\r\n").await.unwrap();
        read_all(&mut other).await;
        work.resume.notify_one();
        assert_eq!(work.done.recv().await, Some(true), "{resets}");
    }
}

#[tokio::test]
async fn a_client_that_has_closed_its_sending_side_gets_its_response() {
    let (routes, work) = working_endpoint();
    let (address, ..) = start(routes, LONG_LIMITS).await;
    for method in ["GET", "POST"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        work.begun.notified().await;
        work.resume.notify_one();
        let response = read_all(&mut client).await;
        assert!(response.ends_with("late, but complete"), "{response}");
    }
}

#[tokio::test]
async fn a_cancelled_http_2_request_is_completed_if_it_writes() {
    use hyper::client::conn::http2::handshake;

    let (routes, mut work) = working_endpoint();
    let (address, ..) = start(routes, LONG_LIMITS).await;
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut client, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for (method, finishes) in [("POST", true), ("GET", false)] {
        let request = hyper::Request::builder().method(method).uri(format!("http://{address}/"));
        let sent = client.send_request(request.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap());
        let sent = tokio::spawn(sent);
        work.begun.notified().await;
        sent.abort();
        assert!(sent.await.unwrap_err().is_cancelled());
        if finishes {
            work.resume.notify_one();
        }
        assert_eq!(work.done.recv().await, Some(finishes), "{method}");
    }
}

#[tokio::test]
async fn a_small_unread_body_does_not_end_the_connection() {
    let (address, ..) = start(refusing_endpoint(), LONG_LIMITS).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n").await.unwrap();
        tokio::task::yield_now().await;
        client.write_all(b"some body").await.unwrap();
        let head = read_head(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 401") && !head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn a_client_that_sends_all_before_reading_gets_an_early_response() {
    let (address, ..) = start(refusing_endpoint(), LONG_LIMITS).await;
    let body = vec![b'x'; 8 << 20];
    let length = format!("Content-Length: {}\r\n\r\n", body.len());
    let chunk = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len());
    for begin in [length, chunk] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{begin}").as_bytes()).await.unwrap();
        client.write_all(&body).await.unwrap();
        client.shutdown().await.unwrap();
        let response = read_all(&mut client).await;
        assert!(response.starts_with("HTTP/1.1 401") && response.contains("connection: close"), "{response}");
    }
}

#[tokio::test]
async fn invalid_requests_get_a_response_with_any_following_bytes() {
    let (address, ..) = start(refusing_endpoint(), LONG_LIMITS).await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20)), 431),
    ] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client.write_all(&vec![b'x'; 4 << 20]).await.unwrap();
        client.shutdown().await.unwrap();
        let response = read_all(&mut client).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
    }
}

#[tokio::test]
async fn an_unneeded_body_is_not_requested_with_100_continue() {
    let (address, ..) = start(refusing_endpoint(), LONG_LIMITS).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head).await.unwrap();
    let head = read_head(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 401") && head.contains("connection: close"), "{head}");

    let (routes, mut complete) = reading_endpoint();
    let (address, ..) = start(routes, LONG_LIMITS).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head).await.unwrap();
    assert!(read_head(&mut client).await.starts_with("HTTP/1.1 100"));
    client.write_all(b"some body").await.unwrap();
    assert_eq!(complete.recv().await, Some(true));
}

#[tokio::test]
async fn a_silent_connection_is_evicted() {
    let slots = ConnectionSlots::new(2);
    let stop = CancellationToken::new();
    let (silent, kept, late) = (Activity::new(&stop), Activity::new(&stop), Activity::new(&stop));
    let first = slots.acquire(&silent, None).await.unwrap();
    let second = slots.acquire(&kept, None).await.unwrap();
    drop(kept.begin_request(Version::HTTP_11));
    let acquired = AtomicUsize::new(0);
    let leaving = async {
        silent.end.cancelled().await;
        assert_eq!(acquired.load(Ordering::Relaxed), 0, "no slot was free");
        drop(first);
    };
    let taking = async {
        let slot = slots.acquire(&late, None).await.unwrap();
        acquired.fetch_add(1, Ordering::Relaxed);
        slot
    };
    let ((), _third) = tokio::join!(leaving, taking);
    assert!(!kept.end.is_cancelled() && !late.end.is_cancelled());
    drop(second);
}

#[tokio::test]
async fn running_requests_are_completed_before_the_server_ends() {
    let (routes, work) = working_endpoint();
    let (address, stop, server) = start(routes, LONG_LIMITS).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    work.begun.notified().await;
    stop.cancel();
    work.resume.notify_one();
    let response = read_all(&mut client).await;
    assert!(
        response.starts_with("HTTP/1.1 200 OK") && response.ends_with("late, but complete"),
        "{response}"
    );
    tokio::time::timeout(TIMEOUT, server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_write_without_its_client_is_completed_before_the_server_ends() {
    let (routes, mut work) = working_endpoint();
    let (address, stop, server) = start(routes, LONG_LIMITS).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    work.begun.notified().await;
    drop(client);
    stop.cancel();
    tokio::task::yield_now().await;
    assert!(!server.is_finished());
    work.resume.notify_one();
    tokio::time::timeout(TIMEOUT, server).await.unwrap().unwrap();
    assert_eq!(work.done.recv().await, Some(true));
}

#[tokio::test]
async fn requests_that_do_not_end_are_aborted() {
    for method in ["GET", "POST"] {
        let (routes, mut work) = working_endpoint();
        let limits = Limits { drain: Duration::from_millis(10), ..LONG_LIMITS };
        let (address, stop, server) = start(routes, limits).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        work.begun.notified().await;
        stop.cancel();
        tokio::time::timeout(TIMEOUT, server).await.unwrap().unwrap();
        assert_eq!(work.done.recv().await, Some(false));
    }
}
