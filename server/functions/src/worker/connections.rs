//! The connections to one function's process, which are reused.

use std::path::{Path, PathBuf};

use http::header::HOST;
use http::response::Parts;
use http::{HeaderValue, Request, Uri};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::connection::{Body, Connection, Failure};

/// The sockets of one worker, and the idle connections to it.
pub(crate) struct Connections {
    /// The socket for calls.
    calls: PathBuf,
    /// The socket for the server's own commands.
    orders: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// The maximum number of idle connections that are kept.
    max_idle: usize,
}

impl Connections {
    /// Returns the connections to the worker that listens in `folder`. Up to `max_idle` are kept open.
    pub(super) fn new(folder: &Path, max_idle: usize) -> Self {
        let (calls, orders) = sockets(folder);
        Self { calls, orders, idle: Mutex::new(Vec::new()), max_idle }
    }

    /// Sends `call` and waits until `deadline` for the head of its response.
    ///
    /// Errors: [`Failure`].
    pub(crate) async fn send(
        &self,
        call: Box<Request<Body>>,
        deadline: Instant,
    ) -> Result<(Parts, Connection), Failure> {
        timeout_at(deadline, self.send_on_any(call)).await.map_err(|_| Failure::Late)?
    }

    /// Sends `call` on the first idle connection that is still open, else on a new one.
    async fn send_on_any(&self, mut call: Box<Request<Body>>) -> Result<(Parts, Connection), Failure> {
        while let Some(connection) = self.take() {
            match connection.exchange(call).await {
                Err(Failure::Unsent(unsent)) => call = unsent,
                outcome => return outcome,
            }
        }
        // Boxed because it is rare, and every call moves the whole future.
        match Box::pin(Connection::open(&self.calls)).await {
            Ok(connection) => connection.exchange(call).await,
            Err(_) => Err(Failure::Unsent(call)),
        }
    }

    /// Takes back a connection whose response has been read completely.
    pub(crate) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < self.max_idle && connection.is_idle() {
            idle.push(connection);
        }
    }

    /// Sends the worker the command `order` and waits until it is done.
    pub(super) async fn order(&self, order: &'static str) -> Result<(), Failure> {
        let mut call = Box::new(Request::new(poem::Body::empty().into()));
        *call.uri_mut() = Uri::from_static(order);
        call.headers_mut().insert(HOST, HeaderValue::from_static("worker"));
        // A separate connection, which is closed afterwards.
        Connection::open(&self.orders).await?.exchange(call).await.map(drop)
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().pop()
    }
}

/// Returns the paths of a worker's sockets in `folder`: the one for calls, and the one for the server's own commands,
/// which no caller can reach. The names are short because a socket's path may have 104 bytes (unix(7); 108 on Linux).
pub(super) fn sockets(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("s"), folder.join("o"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn call() -> Box<Request<Body>> {
        Box::new(Request::new(poem::Body::empty().into()))
    }

    /// Reads a call up to the end of its head.
    async fn read_call(stream: &mut UnixStream) {
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
        }
    }

    /// Accepts a connection, and responds to the call that arrives on it.
    async fn respond(listener: &UnixListener, response: &[u8]) -> UnixStream {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_call(&mut stream).await;
        stream.write_all(response).await.unwrap();
        stream
    }

    fn worker() -> (tempfile::TempDir, UnixListener, Connections) {
        let folder = tempfile::tempdir().unwrap();
        let connections = Connections::new(folder.path(), 1);
        let listener = UnixListener::bind(&connections.calls).unwrap();
        (folder, listener, connections)
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_meanwhile_costs_no_call() {
        let (_folder, listener, connections) = worker();
        let responding = async {
            for _ in 0..3 {
                drop(respond(&listener, RESPONSE).await);
            }
        };
        let calling = async {
            for _ in 0..3 {
                let (head, connection) = connections.send(call(), soon()).await.unwrap();
                assert_eq!((head.status.as_u16(), connection.is_read()), (200, true));
                // As if it had been kept, whether or not its end has been noticed.
                connections.idle.lock().push(connection);
            }
        };
        tokio::join!(responding, calling);
    }

    #[tokio::test]
    async fn a_call_that_may_have_begun_is_not_repeated() {
        let (_folder, listener, connections) = worker();
        let closing = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_call(&mut stream).await;
        };
        let (outcome, ()) = tokio::join!(connections.send(call(), soon()), closing);
        assert!(matches!(outcome.err(), Some(Failure::Broken)));
        let another = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(another.is_err());
    }

    #[tokio::test]
    async fn a_response_with_connection_close_is_the_last_of_its_connection() {
        let (_folder, listener, connections) = worker();
        let last = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        let (outcome, _stream) = tokio::join!(connections.send(call(), soon()), respond(&listener, last));
        connections.give_back(outcome.unwrap().1);
        assert!(connections.idle.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_of_a_connection_has_its_own_time_limit() {
        let (_folder, listener, connections) = worker();
        let second = Duration::from_secs(1);
        let responding = async {
            let mut stream = respond(&listener, RESPONSE).await;
            read_call(&mut stream).await;
            stream
        };
        let calling = async {
            let (_, connection) = connections.send(call(), Instant::now() + 100 * second).await.unwrap();
            connections.give_back(connection);
            let begun = Instant::now();
            let late = connections.send(call(), begun + second).await.err();
            assert!(matches!(late, Some(Failure::Late)));
            assert_eq!(begun.elapsed().as_secs(), 1);
        };
        tokio::join!(responding, calling);
    }

    /// Returns the response to a call, its status and its body, or the reason why there is none.
    async fn outcome(bytes: &[u8]) -> Result<(u16, String), String> {
        let (_folder, listener, connections) = worker();
        let responding = async { drop(respond(&listener, bytes).await) };
        let calling = async {
            let (head, mut connection) =
                connections.send(call(), soon()).await.map_err(|failure| format!("{failure:?}"))?;
            let mut body = Vec::new();
            while let Some(part) = std::future::poll_fn(|context| connection.poll_body(context)).await {
                body.extend(part.map_err(|error| error.to_string())?);
            }
            Ok((head.status.as_u16(), String::from_utf8(body).unwrap()))
        };
        tokio::join!(calling, responding).0
    }

    #[tokio::test]
    async fn responses_end_according_to_their_headers() {
        for (bytes, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (200, "hello")),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", (201, "ok")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: 1\r\n\r\n",
                (200, "ok"),
            ),
            ("HTTP/1.1 200 OK\r\n\r\nall there is", (200, "all there is")),
        ] {
            let (status, body) = outcome(bytes.as_bytes()).await.unwrap();
            assert_eq!((status, body.as_str()), expected, "{bytes}");
        }
        for cut in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
            "HTTP/1.1 200 OK\r\nContent-Le",
        ] {
            assert!(outcome(cut.as_bytes()).await.is_err(), "{cut}");
        }
    }

    #[tokio::test]
    async fn heads_have_as_many_headers_and_bytes_as_they_may() {
        let head = |lines: &str| format!("HTTP/1.1 204 No Content\r\n{lines}\r\n");
        let line = |length: usize| format!("A: {}\r\n", "b".repeat(length));
        for (lines, is_response) in [
            ("A: b\r\n".repeat(128), true),
            ("A: b\r\n".repeat(129), false),
            (line(255 * 1024), true),
            (line(257 * 1024), false),
        ] {
            assert_eq!(outcome(head(&lines).as_bytes()).await.is_ok(), is_response, "{}", lines.len());
        }
    }

    /// Repeats the test, because the end of a connection may arrive before or after a write to it.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_response_is_read_even_if_the_rest_of_its_call_is_not() {
        use std::io::{Read as _, Write as _};

        const TRIES: usize = 200;
        let (_folder, listener, connections) = worker();
        let listener = listener.into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        let responding = std::thread::spawn(move || {
            for _ in 0..TRIES {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0]).unwrap();
                stream.write_all(RESPONSE).unwrap();
            }
        });
        for _ in 0..TRIES {
            let endless =
                futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[0; 64])));
            let call = Request::post("/").body(poem::Body::from_bytes_stream(endless).into()).unwrap();
            let (head, _) = connections.send(Box::new(call), soon()).await.unwrap();
            assert_eq!(head.status, 200);
        }
        responding.join().unwrap();
    }
}
