//! Counts the round trips of a request with a proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::{Harness, text};
use postgres::{Database, Settings, Transaction};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Forwards bytes between a client and Postgres and counts how often the direction changes towards Postgres.
struct Proxy {
    port: u16,
    round_trips: Arc<AtomicUsize>,
}

impl Proxy {
    async fn start(host: String, postgres_port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let round_trips = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&round_trips);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = connect(&host, postgres_port).await;
                tokio::spawn(forward(client, server, Arc::clone(&counter)));
            }
        });
        Self { port, round_trips }
    }

    fn take(&self) -> usize {
        self.round_trips.swap(0, Ordering::SeqCst)
    }
}

trait Duplex: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Duplex for T {}

async fn connect(host: &str, port: u16) -> Box<dyn Duplex> {
    if host.starts_with('/') {
        Box::new(tokio::net::UnixStream::connect(format!("{host}/.s.PGSQL.{port}")).await.unwrap())
    } else {
        Box::new(TcpStream::connect((host, port)).await.unwrap())
    }
}

async fn forward(mut client: TcpStream, mut server: Box<dyn Duplex>, round_trips: Arc<AtomicUsize>) {
    let (mut request, mut reply) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut responding = true;
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let Ok(length @ 1..) = read else { return };
                if std::mem::take(&mut responding) {
                    round_trips.fetch_add(1, Ordering::SeqCst);
                }
                if server.write_all(&request[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut reply) => {
                let Ok(length @ 1..) = read else { return };
                responding = true;
                if client.write_all(&reply[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_transaction_is_one_round_trip() {
    let harness = Harness::new().await;
    let config: tokio_postgres::Config = harness.uri.parse().unwrap();
    let host = match &config.get_hosts()[0] {
        tokio_postgres::config::Host::Tcp(name) => name.clone(),
        tokio_postgres::config::Host::Unix(folder) => folder.to_str().unwrap().to_owned(),
    };
    let proxy = Proxy::start(host, config.get_ports().first().copied().unwrap_or(5432)).await;
    let uri = format!(
        "postgres://{}:{}@127.0.0.1:{}/{}?sslmode=disable",
        config.get_user().unwrap(),
        String::from_utf8_lossy(config.get_password().unwrap_or_default()),
        proxy.port,
        config.get_dbname().unwrap(),
    );
    let mut settings = Settings::new(uri.parse().unwrap());
    settings.pool_size = 1;
    let database = Database::connect(settings).await.unwrap();
    let select = Transaction::anonymous().read_only().statement("select 1", Vec::new());
    database.run(&select.leaves_session_unchanged()).await.unwrap();
    proxy.take();

    let transaction = |value| {
        Transaction::new("anon")
            .setting("request.jwt.claims", "{}")
            .setting("request.method", "GET")
            .statement("select $1::text, current_user", vec![text(value)])
            .leaves_session_unchanged()
    };
    // Parsed, described, bound, run and committed: one round trip even the first time.
    for value in ["first", "second", "third"] {
        let reply = database.run(&transaction(value)).await.unwrap();
        assert_eq!(reply.row().unwrap().text(0), Some(value));
        assert_eq!(proxy.take(), 1, "{value}");
    }
    // Not when it is planned, which would be repeated without the plan.
    let failing = Transaction::new("anon").statement("select 1 / (random() * 0)::int", Vec::new());
    database.run(&failing.clone().leaves_session_unchanged()).await.unwrap_err();
    assert_eq!(proxy.take(), 1);
    // The reset of the session travels with the transaction, also if that fails.
    let resetting = Transaction::new("anon").statement("select 'reset'", Vec::new());
    for _ in 0..3 {
        assert_eq!(database.run(&resetting).await.unwrap().row().unwrap().text(0), Some("reset"));
        database.run(&failing).await.unwrap_err();
        assert_eq!(proxy.take(), 2);
    }
}
