//! WebSockets of functions.

use std::net::SocketAddr;
use std::time::Duration;

use functions::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{Listener, PATIENCE, Project};

const GREETING: &str = r"
Deno.serve((request) => {
  if (request.headers.get('upgrade') === null) return new Response('no socket')
  const { socket, response } = Deno.upgradeWebSocket(request)
  socket.onopen = () => socket.send('hello')
  socket.onmessage = ({ data }) => { if (data === 'end') Deno.exit(1) }
  return response
})";

/// The handshake of RFC 6455, section 1.3.
const HANDSHAKE: &[u8] =
    b"GET /greeting HTTP/1.1\r\nHost: fans.example\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const ACCEPTED: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// A frame with the text `hello`, and one of a client with the text `end` (RFC 6455, section 5.2).
const HELLO: &[u8] = b"\x81\x05hello";
const END: &[u8] = b"\x81\x83\0\0\0\0end";
/// The first byte of a close frame.
const CLOSE: u8 = 0x88;

/// Opens a socket. Returns its connection and the bytes that have arrived on it so far.
async fn open(address: SocketAddr) -> (TcpStream, Vec<u8>) {
    open_with(address, HANDSHAKE).await
}

async fn open_with(address: SocketAddr, handshake: &[u8]) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(handshake).await.unwrap();
    let mut seen = Vec::new();
    let head = async {
        while !seen.windows(4).any(|part| part == b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "{}", String::from_utf8_lossy(&seen));
        }
    };
    timeout(2 * PATIENCE, head).await.expect("a response in time");
    let text = String::from_utf8_lossy(&seen);
    assert!(text.starts_with("HTTP/1.1 101 ") && text.contains(ACCEPTED), "{text}");
    (stream, seen)
}

/// Reads until the server closes the connection, and returns the code and the reason of its close frame.
async fn closed(stream: &mut TcpStream, mut seen: Vec<u8>) -> (u16, String) {
    timeout(PATIENCE, stream.read_to_end(&mut seen)).await.expect("an end in time").unwrap();
    let frame = seen.iter().rposition(|&byte| byte == CLOSE).expect("a close");
    let (length, payload) = seen[frame + 1..].split_first().expect("a length");
    assert_eq!(usize::from(*length), payload.len());
    let (code, reason) = payload.split_first_chunk().expect("a code");
    (u16::from_be_bytes(*code), String::from_utf8_lossy(reason).into_owned())
}

#[tokio::test]
async fn a_socket_keeps_its_permit_until_its_time_limit() {
    let project = Project::with(&[("greeting/index.ts", GREETING)], |settings| {
        let wall_clock = Duration::from_secs(5);
        settings.limits =
            Limits { concurrency: 1, sockets: 1, wall_clock, boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let address = project.listen().await;
    let (mut stream, seen) = open(address).await;
    // It is no call, and the only socket.
    assert_eq!(project.get("/greeting").await.text, "no socket");
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(HANDSHAKE).await.unwrap();
    let mut refusal = vec![0; 12];
    timeout(PATIENCE, second.read_exact(&mut refusal)).await.expect("a response in time").unwrap();
    assert_eq!(refusal, b"HTTP/1.1 546");
    assert_eq!(closed(&mut stream, seen).await, (1001, "the time limit of the call was reached".to_owned()));
    drop(stream);
    // Its permit is free a moment after the caller has seen its end.
    let again = async {
        loop {
            let mut third = TcpStream::connect(address).await.unwrap();
            third.write_all(HANDSHAKE).await.unwrap();
            third.read_exact(&mut refusal).await.unwrap();
            if refusal == b"HTTP/1.1 101" {
                return;
            }
        }
    };
    timeout(PATIENCE, again).await.expect("its permit is free");
    project.functions.stop().await;
}

#[tokio::test]
async fn a_silent_socket_is_closed() {
    let project = Project::with(&[("greeting/index.ts", GREETING)], |settings| {
        settings.limits =
            Limits { socket_silence: Duration::from_secs(1), boot: PATIENCE, ..Limits::default() };
    })
    .await;
    let (mut stream, seen) = open(project.listen().await).await;
    assert_eq!(closed(&mut stream, seen).await, (1001, "nothing was said for too long".to_owned()));
    project.functions.stop().await;
}

#[tokio::test]
async fn a_socket_ends_with_its_process() {
    let project = Project::new(&[("greeting/index.ts", GREETING)]).await;
    let address = project.listen().await;
    let (mut stream, mut seen) = open(address).await;
    let greeted = async {
        while !seen.ends_with(HELLO) {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
        }
    };
    timeout(PATIENCE, greeted).await.expect("a greeting in time");
    stream.write_all(END).await.unwrap();
    assert_eq!(closed(&mut stream, seen).await, (1011, "the function has ended".to_owned()));
    // The end of the process may be noticed later than that of its sockets.
    let another = async { while project.get("/greeting").await.text != "no socket" {} };
    timeout(PATIENCE, another).await.expect("another process");
    open(address).await;
    project.functions.stop().await;
}

#[tokio::test]
async fn a_stopping_server_closes_sockets_at_both_ends() {
    let source = r"
const closure = Promise.withResolvers()
Deno.serve((request) => {
  if (request.headers.get('upgrade') === null) return new Response('no socket')
  const { socket, response } = Deno.upgradeWebSocket(request)
  socket.onclose = ({ code, reason }) => closure.resolve(`${code} ${reason}`)
  EdgeRuntime.waitUntil(closure.promise.then((text) => Deno.connect({ port: Number(new URL(request.url).searchParams.get('tell')) })
    .then((connection) => connection.write(new TextEncoder().encode(text)))))
  return response
})";
    let project = Project::new(&[("greeting/index.ts", source)]).await;
    let listener = Listener::open().await;
    let target = format!("GET /greeting?tell={} ", listener.port());
    let address = project.listen().await;
    let handshake = String::from_utf8_lossy(HANDSHAKE).replace("GET /greeting ", &target);
    let (mut stream, seen) = open_with(address, handshake.as_bytes()).await;
    let ((), closed, message) =
        tokio::join!(project.functions.stop(), closed(&mut stream, seen), listener.read());
    let reason = "the server is shutting down";
    assert_eq!(closed, (1001, reason.to_owned()));
    assert_eq!(message, format!("1001 {reason}"));
}
