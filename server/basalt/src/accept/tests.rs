use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use poem::http::Version;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::*;
use crate::ports::{self, Connections};

const PATIENCE: Duration = Duration::from_secs(60);
const PATIENT: Limits = Limits { head: PATIENCE, idle: PATIENCE, silence: PATIENCE, drain: PATIENCE };

async fn start(
    routes: impl Endpoint + 'static,
    limits: Limits,
) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = ports::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).await.unwrap();
    let connections = Connections::new(listener).unwrap();
    let (address, stop) = (connections.address(), CancellationToken::new());
    (address, stop.clone(), tokio::spawn(serve(connections, routes, may_write, stop, limits)))
}

/// What comes until the server ends the connection.
async fn answer_of(client: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

/// Reads one answer without a body off a connection that is kept open.
async fn head_of(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let read = tokio::time::timeout(PATIENCE, client.read_buf(&mut head)).await.unwrap().unwrap();
        assert_ne!(read, 0, "the connection ended in {head:?}");
    }
    String::from_utf8(head).unwrap()
}

fn refuses() -> impl Endpoint {
    poem::endpoint::make_sync(|_| StatusCode::UNAUTHORIZED)
}

#[tokio::test]
async fn targets_may_be_written_as_people_type_them() {
    let routes = poem::endpoint::make_sync(|request| request.uri().to_string());
    let (address, ..) = start(routes, PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = b"GET /a?select=b->>c&d=in.(\"e\") HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(request).await.unwrap();
    let answer = answer_of(&mut client).await;
    assert!(answer.ends_with("/a?select=b-%3E%3Ec&d=in.(%22e%22)"), "{answer}");
}

#[tokio::test]
async fn half_a_head_is_cut_however_it_comes() {
    let limits = Limits { head: Duration::from_millis(200), ..PATIENT };
    let (address, ..) = start(poem::endpoint::make_sync(|_| "hello"), limits).await;
    for begin in [&b"GET / HTTP/1.1\r\nX: a"[..], b"PRI * HT", b""] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(begin).await.unwrap();
        // A reset is an end, too.
        let _ = tokio::time::timeout(PATIENCE, client.read_to_end(&mut Vec::new())).await.unwrap();

        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nX: a").await.unwrap();
        let dripping = async {
            while client.write_all(b"b").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, dripping).await.unwrap();
    }
}

#[tokio::test]
async fn a_kept_connection_is_closed_after_a_while() {
    let limits = Limits { idle: Duration::from_millis(100), ..PATIENT };
    let (address, ..) = start(poem::endpoint::make_sync(|_| "hello"), limits).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(answer_of(&mut client).await.ends_with("hello"));
}

/// Says whether the body came whole.
fn reads() -> (impl Endpoint + 'static, mpsc::UnboundedReceiver<bool>) {
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
async fn half_a_body_is_cut() {
    let (routes, mut whole) = reads();
    let (address, ..) = start(routes, Limits { silence: Duration::from_millis(50), ..PATIENT }).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
    answer_of(&mut client).await;
    assert_eq!(whole.recv().await, Some(false));
}

#[tokio::test]
async fn half_a_body_is_none_when_the_client_leaves() {
    let (routes, mut whole) = reads();
    let (address, ..) = start(routes, PATIENT).await;
    for body in ["Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{body}").as_bytes()).await.unwrap();
        drop(client);
        assert_eq!(whole.recv().await, Some(false), "{body}");
    }
}

/// Says when it begins, and when it is done after it was let go on. One that is dropped before sends `false`.
struct Work {
    begun: Arc<Notify>,
    go: Arc<Notify>,
    done: mpsc::UnboundedReceiver<bool>,
}

struct Doing(mpsc::UnboundedSender<bool>, bool);

impl Drop for Doing {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

fn works() -> (impl Endpoint + 'static, Work) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (sender, done) = mpsc::unbounded_channel();
    let work = Work { begun: Arc::clone(&begun), go: Arc::clone(&go), done };
    let routes = poem::endpoint::make(move |mut request: Request| {
        let (begun, go, doing) = (Arc::clone(&begun), Arc::clone(&go), Doing(sender.clone(), false));
        async move {
            let mut doing = doing;
            request.take_body().into_bytes().await?;
            begun.notify_one();
            go.notified().await;
            doing.1 = true;
            Ok::<_, poem::Error>("late, but whole")
        }
    });
    (routes, work)
}

#[tokio::test]
async fn a_write_goes_on_without_its_client() {
    let (routes, mut work) = works();
    let (address, ..) = start(routes, PATIENT).await;
    for resets in [false, true] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody").await.unwrap();
        work.begun.notified().await;
        if resets {
            client.set_zero_linger().unwrap();
        }
        drop(client);
        // What comes later finds the one before gone.
        let mut other = TcpStream::connect(address).await.unwrap();
        other.write_all(b"BAD\r\n\r\n").await.unwrap();
        answer_of(&mut other).await;
        work.go.notify_one();
        assert_eq!(work.done.recv().await, Some(true), "{resets}");
    }
}

#[tokio::test]
async fn who_has_said_all_may_still_listen() {
    let (routes, work) = works();
    let (address, ..) = start(routes, PATIENT).await;
    for method in ["GET", "POST"] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        work.begun.notified().await;
        work.go.notify_one();
        let answer = answer_of(&mut client).await;
        assert!(answer.ends_with("late, but whole"), "{answer}");
    }
}

#[tokio::test]
async fn what_http_2_takes_back_is_finished_where_it_writes() {
    use hyper::client::conn::http2::handshake;

    let (routes, mut work) = works();
    let (address, ..) = start(routes, PATIENT).await;
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
            work.go.notify_one();
        }
        assert_eq!(work.done.recv().await, Some(finishes), "{method}");
    }
}

#[tokio::test]
async fn a_small_body_that_nobody_reads_does_not_cost_the_connection() {
    let (address, ..) = start(refuses(), PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n").await.unwrap();
        tokio::task::yield_now().await;
        client.write_all(b"some body").await.unwrap();
        let head = head_of(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 401") && !head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn who_sends_all_before_reading_sees_an_early_answer() {
    let (address, ..) = start(refuses(), PATIENT).await;
    let body = vec![b'x'; 8 << 20];
    let length = format!("Content-Length: {}\r\n\r\n", body.len());
    let chunk = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len());
    for begin in [length, chunk] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{begin}").as_bytes()).await.unwrap();
        client.write_all(&body).await.unwrap();
        client.shutdown().await.unwrap();
        let answer = answer_of(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_told_so_whatever_follows() {
    let (address, ..) = start(refuses(), PATIENT).await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20)), 431),
    ] {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client.write_all(&vec![b'x'; 4 << 20]).await.unwrap();
        client.shutdown().await.unwrap();
        let answer = answer_of(&mut client).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_wanted_is_not_asked_for() {
    let (address, ..) = start(refuses(), PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head).await.unwrap();
    let head = head_of(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 401") && head.contains("connection: close"), "{head}");

    let (routes, mut whole) = reads();
    let (address, ..) = start(routes, PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    client.write_all(head).await.unwrap();
    assert!(head_of(&mut client).await.starts_with("HTTP/1.1 100"));
    client.write_all(b"some body").await.unwrap();
    assert_eq!(whole.recv().await, Some(true));
}

#[tokio::test]
async fn whoever_says_nothing_makes_room() {
    let places = Places::new(2);
    let stop = CancellationToken::new();
    let (silent, kept, late) = (Life::new(&stop), Life::new(&stop), Life::new(&stop));
    let first = places.take(&silent).await;
    let second = places.take(&kept).await;
    drop(kept.begin(Version::HTTP_11));
    let taken = AtomicUsize::new(0);
    let leaving = async {
        silent.end.cancelled().await;
        assert_eq!(taken.load(Ordering::Relaxed), 0, "there was no room");
        drop(first);
    };
    let taking = async {
        let place = places.take(&late).await;
        taken.fetch_add(1, Ordering::Relaxed);
        place
    };
    let ((), _third) = tokio::join!(leaving, taking);
    assert!(!kept.end.is_cancelled() && !late.end.is_cancelled());
    drop(second);
}

#[tokio::test]
async fn what_is_under_way_is_finished_before_the_server_ends() {
    let (routes, work) = works();
    let (address, stop, server) = start(routes, PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    work.begun.notified().await;
    stop.cancel();
    work.go.notify_one();
    let answer = answer_of(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("late, but whole"), "{answer}");
    tokio::time::timeout(PATIENCE, server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_write_whose_client_has_gone_is_finished_before_the_server_ends() {
    let (routes, mut work) = works();
    let (address, stop, server) = start(routes, PATIENT).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    work.begun.notified().await;
    drop(client);
    stop.cancel();
    tokio::task::yield_now().await;
    assert!(!server.is_finished());
    work.go.notify_one();
    tokio::time::timeout(PATIENCE, server).await.unwrap().unwrap();
    assert_eq!(work.done.recv().await, Some(true));
}

#[tokio::test]
async fn what_does_not_end_is_cut_off() {
    for method in ["GET", "POST"] {
        let (routes, mut work) = works();
        let limits = Limits { drain: Duration::from_millis(10), ..PATIENT };
        let (address, stop, server) = start(routes, limits).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        work.begun.notified().await;
        stop.cancel();
        tokio::time::timeout(PATIENCE, server).await.unwrap().unwrap();
        assert_eq!(work.done.recv().await, Some(false));
    }
}
