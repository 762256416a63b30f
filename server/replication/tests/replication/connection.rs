//! The connection: keepalive messages, silence, and a separate server.

use std::time::{Duration, Instant};

use postgres::Error;
use replication::{ReplicationStream, slot};

use crate::harness::{Harness, PATIENCE, transaction};
use crate::proxy::Proxy;

const TABLE: &str = "create table t (id int primary key)";

const SILENCE: Duration = Duration::from_secs(2);

/// Waits until the stream fails, and returns the error.
async fn failure(stream: &mut replication::ReplicationStream) -> Error {
    let failure = async {
        loop {
            if let Err(error) = stream.next().await {
                return error;
            }
        }
    };
    tokio::time::timeout(PATIENCE, failure).await.unwrap()
}

#[tokio::test]
async fn a_silent_server_is_noticed_and_the_server_notices_too() {
    let mut harness = Harness::new(TABLE).await;
    let proxy = Proxy::start(&harness.uri).await;
    harness.settings.server = Some(proxy.conninfo(&harness.uri));
    harness.settings.silence_limit = SILENCE;
    let mut stream = harness.stream().await;
    assert_eq!(proxy.connections(), 1, "replication has a server of its own");
    harness.run("insert into t values (1)").await;
    assert_eq!(transaction(&mut stream).await, ["insert t (1)"]);

    proxy.fall_silent();
    let start = Instant::now();
    let error = failure(&mut stream).await;
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("sent nothing for 2s")), "{error}");
    assert!((SILENCE / 2..3 * SILENCE).contains(&start.elapsed()), "{:?}", start.elapsed());

    // The server is not notified that this side is gone. It ends the connection after the same time limit.
    harness.settings.server = None;
    let mut second = harness.stream_when_free().await;
    assert!(start.elapsed() < 4 * SILENCE, "{:?}", start.elapsed());
    assert_eq!(transaction(&mut second).await, ["insert t (1)"]);
    harness.finish(second).await;
}

#[tokio::test]
async fn an_idle_connection_stays_open() {
    let mut harness = Harness::new(TABLE).await;
    harness.settings.silence_limit = SILENCE;
    // So long that only the silence limit matters.
    harness.settings.status_interval = PATIENCE;
    let mut stream = harness.stream().await;
    let idle = async {
        loop {
            stream.next().await.unwrap();
        }
    };
    let cancelled: Result<(), _> = tokio::time::timeout(2 * SILENCE, idle).await;
    assert!(cancelled.is_err());
    harness.run("insert into t values (1)").await;
    assert_eq!(transaction(&mut stream).await, ["insert t (1)"]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn a_busy_user_keeps_the_connection_alive() {
    let mut harness = Harness::new(TABLE).await;
    harness.settings.silence_limit = SILENCE;
    let mut stream = harness.stream().await;
    harness.run("insert into t values (1)").await;
    tokio::select! {
        ended = stream.keep_alive() => panic!("{ended:?}"),
        () = tokio::time::sleep(2 * SILENCE) => {}
    }
    assert_eq!(transaction(&mut stream).await, ["insert t (1)"]);

    // Without it, the server ends the connection.
    tokio::time::sleep(2 * SILENCE).await;
    harness.run("insert into t values (2)").await;
    assert!(matches!(failure(&mut stream).await, Error::Unavailable(_)));
    drop(stream);
    slot::drop(&harness.database, &harness.settings.slot).await.unwrap();
}

#[tokio::test]
async fn refusals_of_the_server_are_returned() {
    let mut harness = Harness::new(TABLE).await;
    let slot = std::mem::replace(&mut harness.settings.slot, "no_such_slot".to_owned());
    let error = ReplicationStream::open(&harness.database, &harness.settings).await.unwrap_err();
    assert_eq!(error.server().unwrap().code, "42704", "{error}");
    harness.settings.slot = slot;
    harness.settings.publications = vec!["no_such_publication".to_owned()];
    let mut stream = harness.stream().await;
    harness.run("insert into t values (1)").await;
    // Postgres 18 reports it only as a warning.
    if harness.query("select current_setting('server_version_num')::int < 180000").await == "t" {
        let error = failure(&mut stream).await;
        assert_eq!(error.server().unwrap().code, "42704", "{error}");
        assert!(stream.close().await.is_err());
    }
    let unreachable = "postgres://u@127.0.0.1:1/d".parse().unwrap();
    harness.settings.server = Some(unreachable);
    assert!(
        ReplicationStream::open(&harness.database, &harness.settings).await.unwrap_err().is_unavailable()
    );
}
