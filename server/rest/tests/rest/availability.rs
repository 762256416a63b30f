//! Postgres that is not there, does not respond or responds with nonsense: what clients are told, and that it passes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::harness::League;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What becomes of connections to Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// They work.
    Sound,
    /// They are cut, and new ones are refused.
    Cut,
    /// Every request on them gets what is no message of the protocol.
    Noisy,
}

/// Stands between the service and its Postgres.
struct Proxy {
    port: u16,
    line: watch::Sender<Line>,
}

impl Proxy {
    async fn start(postgres: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = watch::Sender::new(Line::Sound);
        let (changes, postgres) = (line.clone(), Arc::<str>::from(postgres));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (line, postgres) = (changes.subscribe(), Arc::clone(&postgres));
                if *line.borrow() != Line::Cut {
                    tokio::spawn(async move { pass(client, &postgres, line).await });
                }
            }
        });
        Self { port, line }
    }
}

/// Passes bytes on until the line is cut.
async fn pass(client: TcpStream, postgres: &str, line: watch::Receiver<Line>) {
    let server = connect(postgres).await;
    let mut cuts = line.clone();
    let cut = async move { cuts.wait_for(|line| *line == Line::Cut).await.is_ok() };
    tokio::select! {
        _ = cut => {}
        _ = talk(client, server, line) => {}
    }
}

/// Passes bytes on until either side is gone.
async fn talk(
    mut client: TcpStream,
    mut server: Pin<Box<dyn Stream>>,
    line: watch::Receiver<Line>,
) -> std::io::Result<()> {
    let (mut client_bytes, mut server_bytes) = ([0; 4096], [0; 4096]);
    loop {
        let (from_client, length) = tokio::select! {
            read = client.read(&mut client_bytes) => (true, read?),
            read = server.read(&mut server_bytes) => (false, read?),
        };
        if length == 0 {
            return Ok(());
        }
        let is_noisy = *line.borrow() == Line::Noisy;
        match from_client {
            true if is_noisy => client.write_all(b"?\0\0\0\0").await?,
            true => server.write_all(&client_bytes[..length]).await?,
            false => client.write_all(&server_bytes[..length]).await?,
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send {}
impl<S: AsyncRead + AsyncWrite + Send> Stream for S {}

/// Connects to the Postgres of a URI as the testkit makes them: of a host's name or of a unix socket's folder.
async fn connect(uri: &str) -> Pin<Box<dyn Stream>> {
    let place = uri.rsplit_once('@').unwrap().1.split('/').next().unwrap();
    let (host, port) = place.rsplit_once(':').unwrap();
    let host = percent_decode_str(host).decode_utf8().unwrap();
    if host.starts_with('/') {
        let socket = PathBuf::from(&*host).join(format!(".s.PGSQL.{port}"));
        return Box::pin(UnixStream::connect(socket).await.unwrap());
    }
    Box::pin(TcpStream::connect((&*host, port.parse::<u16>().unwrap())).await.unwrap())
}

/// Starts the service with a proxy between it and Postgres.
async fn start() -> (League, Proxy) {
    let database = testkit::Database::create().await;
    let uri = database.uri_as("authenticator");
    let proxy = Proxy::start(&uri).await;
    let (login, place) = uri.rsplit_once('@').unwrap();
    let through = format!("{login}@127.0.0.1:{}/{}", proxy.port, place.rsplit_once('/').unwrap().1);
    let league =
        League::on(database, "", |_| {}, |connection| connection.server = through.parse().unwrap()).await;
    (league, proxy)
}

async fn until_responsive(league: &League) {
    let responded = async {
        while league.get("/clubs").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, responded).await.unwrap();
}

#[tokio::test]
async fn lost_connections_are_reported_and_replaced() {
    let (league, proxy) = start().await;
    assert_eq!(league.ids("/clubs?select=id&order=id").await, [1, 2, 3]);
    proxy.line.send_replace(Line::Cut);
    let gone = league.get("/clubs").await;
    assert_eq!((gone.status, gone.code().as_str()), (503, "PGRST000"), "{gone:?}");
    assert_eq!(gone.json()["message"], "Database connection error.");
    assert_eq!(gone.header("proxy-status"), "PostgREST; error=PGRST000");
    assert!(gone.header("retry-after").parse::<u64>().unwrap() >= 1);
    let write = league.change("POST", "/clubs", &[], r#"{"name":"Lost"}"#).await;
    assert_eq!((write.status, write.code().as_str()), (503, "PGRST000"), "{write:?}");
    proxy.line.send_replace(Line::Sound);
    until_responsive(&league).await;
    assert_eq!(league.rows("/clubs?name=eq.Lost").await, json!([]));
}

#[tokio::test]
async fn what_changed_while_the_connection_was_lost_is_seen_after_it() {
    let (league, proxy) = start().await;
    assert_eq!(league.get("/seasons").await.status, 404);
    proxy.line.send_replace(Line::Cut);
    assert_eq!(league.get("/clubs").await.status, 503);
    let table = "create table league.seasons (id int); grant select on league.seasons to anon; notify pgrst";
    league.database.client().await.batch_execute(table).await.unwrap();
    proxy.line.send_replace(Line::Sound);
    let seen = async {
        while league.get("/seasons").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, seen).await.unwrap();
}

#[tokio::test]
async fn malformed_replies_of_postgres_are_reported() {
    let (league, proxy) = start().await;
    // A connection that cannot be opened is another error.
    assert_eq!(league.get("/clubs").await.status, 200);
    proxy.line.send_replace(Line::Noisy);
    let noise = league.get("/clubs").await;
    assert_eq!((noise.status, noise.code().as_str()), (503, "PGRST001"), "{noise:?}");
    assert_eq!(noise.json()["message"], "Database client error. Retrying the connection.");
    assert!(noise.header("retry-after").parse::<u64>().unwrap() >= 1);
    proxy.line.send_replace(Line::Sound);
    until_responsive(&league).await;
}

#[tokio::test]
async fn who_waits_too_long_for_a_connection_is_told() {
    let sql = "create function league.wait() returns void stable language plpgsql as $$
                 begin perform pg_advisory_xact_lock_shared(4711); end $$;
               alter function league.wait() set statement_timeout = '30s'";
    let database = testkit::Database::create().await;
    let only_one = |connection: &mut postgres::Settings| {
        connection.pool_size = 1;
        connection.acquisition_timeout = Duration::from_millis(500);
        // A reload of the schema cache would want the one connection, too.
        connection.channel = None;
    };
    let league = League::on(database, sql, |_| {}, only_one).await;
    let superuser = league.database.client().await;
    superuser.batch_execute("select pg_advisory_lock(4711)").await.unwrap();
    let impatient = async {
        let waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted
                       and database = (select oid from pg_database where datname = current_database())";
        while superuser.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = league.get("/clubs").await;
        superuser.batch_execute("select pg_advisory_unlock(4711)").await.unwrap();
        refused
    };
    let both = async { tokio::join!(league.get("/rpc/wait"), impatient) };
    let (patient, refused) = tokio::time::timeout(LIMIT, both).await.unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (504, "PGRST003"), "{refused:?}");
    assert_eq!(refused.json()["message"], "Timed out acquiring connection from connection pool.");
    assert_eq!(patient.status, 204, "{patient:?}");
    until_responsive(&league).await;
}
