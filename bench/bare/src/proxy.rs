//! A minimal reverse proxy with hyper and tokio: it opens one connection to the server for each connection of a client,
//! and forwards every request without reading it.

use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, client, server};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Mutex;

/// The error that ends a connection.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Prints `{"url": …}` with a free port and forwards its requests to `socket` until the process ends.
///
/// Errors: there is no free port.
pub(crate) fn serve(socket: &Path) -> io::Result<()> {
    listen("http", |stream| pass(stream, socket.to_owned()))
}

/// Prints `{"url": …}` with a free port and `scheme`, and runs `pass` for each connection until the process ends.
///
/// Errors: there is no free port.
pub(crate) fn listen<F>(scheme: &str, mut pass: impl FnMut(TcpStream) -> F) -> io::Result<()>
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("{scheme}://{}", listener.local_addr()?);
        writeln!(io::stdout(), "{}", serde_json::json!({ "url": url }))?;
        loop {
            let (stream, _) = listener.accept().await?;
            let passing = pass(stream);
            tokio::spawn(async move {
                if let Err(error) = passing.await {
                    let _ = writeln!(io::stderr(), "bare: {error}");
                }
            });
        }
    })
}

/// Forwards the requests of one connection.
async fn pass(stream: TcpStream, socket: PathBuf) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let behind = TokioIo::new(UnixStream::connect(socket).await?);
    let (sender, connection) = client::conn::http1::handshake::<_, Incoming>(behind).await?;
    tokio::spawn(connection);
    // There is no contention: a client of HTTP/1.1 has one request at a time.
    let sender = Arc::new(Mutex::new(sender));
    let service = service_fn(move |request: Request<Incoming>| {
        let sender = Arc::clone(&sender);
        async move {
            let mut sender = sender.lock().await;
            sender.ready().await?;
            sender.send_request(request).await
        }
    });
    Ok(server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?)
}
