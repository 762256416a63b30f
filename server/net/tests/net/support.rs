//! A server that the tests' requests go to.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_postgres::Client;

/// The maximum time that any step may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The URL of an API that no test calls.
pub(crate) const UNREACHABLE: &str = "http://127.0.0.1:1";

/// Starts a server that returns the requests that it has received, and responds to each with 201 and a header; `/slow`
/// gets no response, `/later` after two seconds, `/elsewhere` leads to `/get`, `/latin` is in Latin-1, and `/picture`
/// is no text.
pub(crate) async fn listen() -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut text = Vec::new();
                let length = loop {
                    let mut part = [0; 4096];
                    let read = socket.read(&mut part).await.unwrap();
                    text.extend_from_slice(&part[..read]);
                    let Some(head) = text.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
                    let head_text = String::from_utf8_lossy(&text[..head]).to_ascii_lowercase();
                    let length = head_text.lines().find_map(|line| line.strip_prefix("content-length: "));
                    let length: usize = length.map_or(0, |length| length.parse().unwrap());
                    if text.len() >= head + 4 + length {
                        break length;
                    }
                };
                let text = String::from_utf8(text).unwrap();
                let is_head = text.starts_with("HEAD ");
                let path = text.split(' ').nth(1).unwrap().to_owned();
                sender.send(text).unwrap();
                if path == "/slow" {
                    std::future::pending::<()>().await;
                }
                if path == "/later" {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                let content = match path.as_str() {
                    "/latin" | "/picture" => vec![b'\xe9'],
                    _ => format!("got {length}").into_bytes(),
                };
                let head = match path.as_str() {
                    "/elsewhere" => "302 Found\r\nlocation: /get",
                    "/latin" => "200 OK\r\ncontent-type: text/plain; charset=ISO-8859-1",
                    "/picture" => "200 OK\r\ncontent-type: image/png",
                    _ => "201 Created\r\ncontent-type: text/plain\r\nx-made: yes",
                };
                let head = format!(
                    "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    content.len()
                );
                socket.write_all(head.as_bytes()).await.unwrap();
                if !is_head {
                    socket.write_all(&content).await.unwrap();
                }
            });
        }
    });
    (origin, requests)
}

/// Returns the next request that the server has received.
pub(crate) async fn next(requests: &mut mpsc::UnboundedReceiver<String>) -> String {
    tokio::time::timeout(PATIENCE, requests.recv()).await.unwrap().unwrap()
}

/// Returns the number that `sql` returns.
pub(crate) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}
