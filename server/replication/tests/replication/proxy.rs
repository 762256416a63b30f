//! A relay in front of Postgres that can stop relaying, as a broken network does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use postgres::conninfo::Conninfo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    port: u16,
    is_silent: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    /// Relays to the server of `uri`.
    pub(crate) async fn start(uri: &str) -> Self {
        let server: Conninfo = uri.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_silent = watch::Sender::new(false);
        let connections = Arc::new(AtomicUsize::new(0));
        let (silence, count) = (is_silent.clone(), Arc::clone(&connections));
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                let (host, port) = (server.get("host").unwrap(), server.get("port").unwrap());
                if host.starts_with('/') {
                    relay(
                        client,
                        UnixStream::connect(format!("{host}/.s.PGSQL.{port}")).await.unwrap(),
                        &silence,
                    );
                } else {
                    relay(client, TcpStream::connect(format!("{host}:{port}")).await.unwrap(), &silence);
                }
            }
        });
        Self { port, is_silent, connections }
    }

    /// Returns the parameters of `uri` with the relay as the server.
    pub(crate) fn conninfo(&self, uri: &str) -> Conninfo {
        let mut conninfo: Conninfo = uri.parse().unwrap();
        conninfo.set("host", "127.0.0.1");
        conninfo.set("port", self.port.to_string());
        conninfo.set("sslmode", "disable");
        conninfo
    }

    /// Stops relaying; the connections stay open.
    pub(crate) fn fall_silent(&self) {
        self.is_silent.send_replace(true);
    }

    /// Returns how many connections there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn relay<S>(client: TcpStream, server: S, silence: &watch::Sender<bool>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (client_reader, client_writer) = client.into_split();
    let (server_reader, server_writer) = tokio::io::split(server);
    tokio::spawn(pump(client_reader, server_writer, silence.subscribe()));
    tokio::spawn(pump(server_reader, client_writer, silence.subscribe()));
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut is_silent: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if is_silent.wait_for(|is_silent| !is_silent).await.is_err()
            || to.write_all(&buffer[..length]).await.is_err()
        {
            break;
        }
    }
    let _ = to.shutdown().await;
}
