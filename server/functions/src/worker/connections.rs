//! Connections to one function's process, kept for the next call.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method};
use tokio::time::Instant;

use super::connection::{Connection, Failure, Head, Outgoing, Upload};

/// Connections that are tried when those before turn out to be closed.
const TRIES: usize = 3;

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

impl Connections {
    /// Of the worker that listens in `folder`; up to `kept` are kept open.
    pub(super) fn new(folder: &Path, kept: usize) -> Self {
        let (calls, orders) = sockets(folder);
        Self { calls, orders, idle: Mutex::new(Vec::new()), kept }
    }

    /// Sends `call` and waits until `deadline` for the head of its answer.
    ///
    /// Errors: [`Failure`]; where nothing of the call was sent, the worker is gone.
    pub(crate) async fn send(
        &self,
        mut call: Outgoing,
        deadline: Instant,
    ) -> Result<(Head, Connection), Failure> {
        for _ in 0..TRIES {
            match self.take().await?.exchange(call, Some(deadline)).await {
                Ok(answered) => return Ok(answered),
                Err((Failure::Unsent, unsent)) => call = unsent,
                Err((failure, _)) => return Err(failure),
            }
        }
        Err(Failure::Unsent)
    }

    /// Takes a connection back whose answer was read to its end.
    pub(crate) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.kept && connection.is_idle() {
            idle.push(connection);
        }
    }

    /// Tells the worker `order`; ends when it was carried out.
    pub(super) async fn order(&self, order: &'static str) -> Result<(), Failure> {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("worker"))]);
        let call = Outgoing::new(Method::GET, order, &headers, Upload::Nothing, None);
        // On a connection of its own, which ends with it.
        let connection = Connection::open(&self.orders).await.map_err(|_| Failure::Unsent)?;
        connection.exchange(call, None).await.map(drop).map_err(|(failure, _)| failure)
    }

    async fn take(&self) -> Result<Connection, Failure> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(connection) if connection.is_idle() => return Ok(connection),
                Some(_) => {}
                None => break,
            }
        }
        // Boxed, as it is rare: what a call's future has room for is moved with every call.
        Box::pin(Connection::open(&self.calls)).await.map_err(|_| Failure::Unsent)
    }
}

/// Where a worker in `folder` listens: for calls, and for our own orders, which no caller can give that way. Short, since
/// a socket's path may have 104 bytes (unix(7); 108 on Linux).
pub(super) fn sockets(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("s"), folder.join("o"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn call() -> Outgoing {
        Outgoing::new(Method::GET, "/", &HeaderMap::new(), Upload::Nothing, None)
    }

    /// Reads a call to the end of its head.
    async fn read_call(stream: &mut UnixStream) {
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
        }
    }

    /// Takes a connection, and answers the call that comes on it.
    async fn answer(listener: &UnixListener, answer: &[u8]) -> UnixStream {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_call(&mut stream).await;
        stream.write_all(answer).await.unwrap();
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
        let answering = async {
            for _ in 0..3 {
                drop(answer(&listener, ANSWER).await);
            }
        };
        let calling = async {
            for _ in 0..3 {
                let (head, connection) = connections.send(call(), soon()).await.unwrap();
                assert_eq!((head.status.as_u16(), connection.is_read()), (200, true));
                // As one that was kept, whatever is known of its end by now.
                connections.idle.lock().unwrap().push(connection);
            }
        };
        tokio::join!(answering, calling);
    }

    #[tokio::test]
    async fn a_call_that_may_have_begun_is_not_made_twice() {
        let (_folder, listener, connections) = worker();
        let closing = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_call(&mut stream).await;
        };
        let (outcome, ()) = tokio::join!(connections.send(call(), soon()), closing);
        assert_eq!(outcome.err(), Some(Failure::Broken));
        let another = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(another.is_err());
    }

    #[tokio::test]
    async fn an_answer_that_says_so_is_the_last_of_its_connection() {
        let (_folder, listener, connections) = worker();
        let last = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        let (outcome, _stream) = tokio::join!(connections.send(call(), soon()), answer(&listener, last));
        connections.give_back(outcome.unwrap().1);
        assert!(connections.idle.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_of_a_connection_has_its_own_time() {
        let (_folder, listener, connections) = worker();
        let second = Duration::from_secs(1);
        let answering = async {
            let mut stream = answer(&listener, ANSWER).await;
            read_call(&mut stream).await;
            stream
        };
        let calling = async {
            let (_, connection) = connections.send(call(), Instant::now() + 100 * second).await.unwrap();
            connections.give_back(connection);
            let begun = Instant::now();
            let late = connections.send(call(), begun + second).await.err();
            assert_eq!((late, begun.elapsed().as_secs()), (Some(Failure::Late), 1));
        };
        tokio::join!(answering, calling);
    }
}
