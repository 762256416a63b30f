//! What one network may hold of a function, and what others still get.

use std::net::SocketAddr;
use std::time::Duration;

use functions::Limits;
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Project};

/// More than a function takes at the same time, of calls and of sockets.
const CROWD: usize = 300;

const LENGTH: &str = "Deno.serve(async (request) => new Response(String((await request.text()).length)))";
const ECHO: &str = r"
Deno.serve(async (request) => {
  if (request.headers.get('upgrade') === null) return new Response(await request.text())
  return Deno.upgradeWebSocket(request).response
})";

/// Parses bodies, and responds to calls of `/held` after one of `/open`.
const PARSE: &str = r"
let open
const opened = new Promise((resolve) => (open = resolve))
Deno.serve(async (request) => {
  if (request.url.endsWith('/open')) open()
  const values = await request.json()
  if (request.url.endsWith('/held')) await opened
  return new Response(`${values.length} values`)
})";

async fn echo() -> (Project, SocketAddr) {
    let files = [("echo/index.ts", ECHO), ("length/index.ts", LENGTH), ("parse/index.ts", PARSE)];
    let project = Project::with(&files, |settings| {
        // Longer than the test, so that nobody gives up.
        settings.limits = Limits { request: 5 * PATIENCE, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let address = project.listen().await;
    assert!(ask(address, "192.0.2.9", "started").await.ends_with("started"));
    (project, address)
}

/// Sends `text` as it is, on a connection of its own.
async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Returns the head of a call from `client` with a body of `length` bytes.
fn head(client: &str, length: usize) -> String {
    head_of("echo", client, &format!("Content-Length: {length}"))
}

/// Returns the head of a call of `function` from `client`, with a line about its body.
fn head_of(function: &str, client: &str, body: &str) -> String {
    format!(
        "POST /{function} HTTP/1.1\r\nHost: fans.example\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n\
         {body}\r\n\r\n"
    )
}

/// Makes a call from `client` and returns the whole response.
async fn ask(address: SocketAddr, client: &str, body: &str) -> String {
    exchange(address, &format!("{}{body}", head(client, body.len()))).await
}

/// Sends `text`, whole, and returns the whole response.
async fn exchange(address: SocketAddr, text: &str) -> String {
    let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    let mut response = Vec::new();
    // A refusal may come, and the connection end, before all is sent.
    let exchanged =
        async { tokio::join!(writer.write_all(text.as_bytes()), reader.read_to_end(&mut response)) };
    let _ = timeout(PATIENCE, exchanged).await.expect("a response in time");
    String::from_utf8(response).unwrap()
}

/// Asks for a WebSocket from `client`, and returns the status of the response with the connection.
async fn upgrade(address: SocketAddr, client: &str) -> (String, TcpStream) {
    let handshake = format!(
        "GET /echo HTTP/1.1\r\nHost: fans.example\r\nX-Forwarded-For: {client}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let mut stream = send(address, &handshake).await;
    let mut status = [0; 12];
    timeout(PATIENCE, stream.read_exact(&mut status)).await.expect("a response in time").unwrap();
    (String::from_utf8_lossy(&status[9..]).into_owned(), stream)
}

#[tokio::test]
async fn calls_that_have_not_begun_to_arrive_hold_nothing() {
    let (project, address) = echo().await;
    // Each is of another network, so that no share limits them.
    let waiting = join_all((0..CROWD).map(|number| async move {
        send(address, &head(&format!("198.51.{}.{}", 100 + number / 250, number % 250), 5)).await
    }));
    let _waiting = waiting.await;
    let responses = join_all((0..20).map(|_| ask(address, "192.0.2.2", "hello"))).await;
    assert!(responses.iter().all(|response| response.ends_with("hello")), "{responses:?}");
    assert_eq!(project.calls_under_way("echo"), 0);
    project.functions.stop().await;
}

#[tokio::test]
async fn a_network_that_sends_slowly_leaves_calls_to_others() {
    let (project, address) = echo().await;
    let begun = format!("{}h", head("2001:db8:1:1::1", 5));
    let mut slow = join_all((0..CROWD).map(|_| send(address, &begun))).await;
    let taken = async {
        while project.calls_under_way("echo") < 192 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, taken).await.expect("three quarters of the calls");
    for client in ["2001:db8:1:2::1", "192.0.2.2"] {
        let responses = join_all((0..20).map(|_| ask(address, client, "hello"))).await;
        assert!(responses.iter().all(|response| response.ends_with("hello")), "{responses:?}");
    }
    assert_eq!(project.calls_under_way("echo"), 192);
    // Those that wait are of the same network, though of another address, and have their turn.
    let waits = tokio::spawn(async move { ask(address, "2001:db8:1:1:2::3", "patience").await });
    for stream in &mut slow {
        stream.write_all(b"ello").await.unwrap();
    }
    assert!(timeout(PATIENCE, waits).await.unwrap().unwrap().ends_with("patience"));
    project.functions.stop().await;
}

#[tokio::test]
async fn idle_sockets_of_one_network_leave_calls_and_sockets_to_others() {
    let (project, address) = echo().await;
    let sockets = join_all((0..CROWD).map(|_| upgrade(address, "192.0.2.1"))).await;
    let count = |expected| sockets.iter().filter(|(status, _)| status == expected).count();
    assert_eq!((count("101"), count("546")), (192, CROWD - 192));
    for client in ["192.0.2.1", "192.0.2.2"] {
        assert!(ask(address, client, "hello").await.ends_with("hello"), "sockets are no calls");
    }
    assert_eq!(upgrade(address, "192.0.2.2").await.0, "101");
    project.functions.stop().await;
}

#[tokio::test]
async fn large_bodies_of_one_network_do_not_end_the_process_of_all() {
    const LARGE: usize = 15 << 20;
    let (project, address) = echo().await;
    let body = "a".repeat(LARGE);
    let known = format!("{}{body}", head_of("length", "192.0.2.1", &format!("Content-Length: {LARGE}")));
    let chunked = format!(
        "{}{LARGE:x}\r\n{body}\r\n0\r\n\r\n",
        head_of("length", "192.0.2.1", "Transfer-Encoding: chunked")
    );
    let small =
        format!("{}5\r\nhello\r\n0\r\n\r\n", head_of("length", "192.0.2.2", "Transfer-Encoding: chunked"));
    let large = join_all((0..40).map(|_| exchange(address, &known)));
    // What is not announced has no place in line.
    let unknown = join_all((0..4).map(|_| exchange(address, &chunked)));
    let others = async {
        for _ in 0..20 {
            assert!(exchange(address, &small).await.ends_with("\r\n\r\n5"));
        }
    };
    let (responses, unknown, ()) = futures_util::join!(large, unknown, others);
    for response in responses {
        assert!(response.ends_with(&LARGE.to_string()), "{response}");
    }
    for response in unknown {
        assert!(response.ends_with(&LARGE.to_string()) || response.contains("WORKER_LIMIT"), "{response}");
    }
    assert!(exchange(address, &chunked).await.ends_with(&LARGE.to_string()));
    project.functions.stop().await;
}

/// Returns a call of a path of the function `parse`, with so many objects in an array: three bytes, of which V8
/// makes 64.
fn objects(path: &str, client: &str, number: usize) -> String {
    let body = format!("[{}0]", "{},".repeat(number - 1));
    let path = format!("parse{path}");
    format!("{}{body}", head_of(&path, client, &format!("Content-Length: {}", body.len())))
}

/// Waits until so many calls of the function `parse` are under way.
async fn under_way(project: &Project, number: usize) {
    let begun = async {
        while project.calls_under_way("parse") < number {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, begun).await.expect("calls that have begun");
}

#[tokio::test]
async fn what_a_function_makes_of_a_long_body_ends_no_call_with_a_short_one() {
    let (project, address) = echo().await;
    assert!(exchange(address, &objects("", "192.0.2.2", 3)).await.ends_with("3 values"));
    let held = tokio::spawn(async move { exchange(address, &objects("/held", "192.0.2.2", 5)).await });
    under_way(&project, 1).await;
    let refused = exchange(address, &objects("", "192.0.2.1", 5 << 20)).await;
    assert!(refused.contains("WORKER_RESOURCE_LIMIT"), "{refused}");
    assert!(exchange(address, &objects("/open", "192.0.2.2", 1)).await.ends_with("1 values"));
    assert!(held.await.unwrap().ends_with("5 values"));
    let number = 100 << 10;
    let long = exchange(address, &objects("", "192.0.2.1", number)).await;
    assert!(long.ends_with(&format!("{number} values")), "{long}");
    project.functions.stop().await;
}

#[tokio::test]
async fn what_a_function_makes_of_many_short_bodies_does_not_end_its_process() {
    const NUMBER: usize = 21 << 10;
    let (project, address) = echo().await;
    assert!(exchange(address, &objects("", "192.0.2.2", 3)).await.ends_with("3 values"));
    let held = tokio::spawn(async move {
        let calls = ["192.0.2.1", "192.0.2.3"].map(|client| objects("/held", client, NUMBER));
        join_all((0..CROWD).map(|number| exchange(address, &calls[number % 2]))).await
    });
    under_way(&project, 16).await;
    for _ in 0..20 {
        assert!(exchange(address, &objects("", "192.0.2.2", 3)).await.ends_with("3 values"));
    }
    assert!(exchange(address, &objects("/open", "192.0.2.2", 1)).await.ends_with("1 values"));
    for response in held.await.unwrap() {
        assert!(response.ends_with(&format!("{NUMBER} values")), "{response}");
    }
    project.functions.stop().await;
}
