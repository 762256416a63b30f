//! Which changes are sent again after the end of a stream.

use std::time::Duration;

use postgres::Error;
use replication::{Event, Lsn, ResumePoint, slot};

use crate::harness::{Harness, PATIENCE, next, transaction, transaction_of};

const TABLE: &str = "create table t (id int primary key)";

/// Ends the server process of the slot as an administrator would.
async fn kill(harness: &Harness, process_id: i32) {
    assert_eq!(harness.query(&format!("select pg_terminate_backend({process_id}, 10000)")).await, "t");
}

#[tokio::test]
async fn after_a_broken_connection_only_confirmed_changes_are_not_sent_again() {
    let harness = Harness::new(TABLE).await;
    let mut stream = harness.stream().await;
    for id in 1..=3 {
        harness.run(&format!("insert into t values ({id})")).await;
    }
    let (_, end) = transaction_of(&mut stream).await;
    stream.confirm(end);
    stream.flush_confirmation().await.unwrap();
    assert_eq!(transaction(&mut stream).await, ["insert t (2)"]);
    while harness.lag().await.confirmed_position < Some(end) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    kill(&harness, stream.process_id()).await;
    let error = loop {
        // What had been sent before may still be read.
        if let Err(error) = stream.next().await {
            break error;
        }
    };
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert!(stream.next().await.is_err(), "what follows an error is not understood");

    let mut stream = harness.stream_when_free().await;
    assert_eq!(transaction(&mut stream).await, ["insert t (2)"]);
    let (_, end) = transaction_of(&mut stream).await;
    stream.confirm(end);
    stream.confirm(Lsn(1));
    assert_eq!(stream.confirmed_position(), end, "it never goes back");
    // Closing sends the confirmed position.
    stream.close().await.unwrap();
    let mut stream = harness.stream().await;
    harness.run("insert into t values (4)").await;
    assert_eq!(transaction(&mut stream).await, ["insert t (4)"]);
    harness.finish(stream).await;
}

#[tokio::test]
async fn an_interrupted_transaction_is_sent_again_from_its_beginning() {
    let harness = Harness::new(TABLE).await;
    let mut stream = harness.stream().await;
    harness.run("insert into t select generate_series(1, 50000)").await;
    for _ in 0..1000 {
        // Reading alone must not confirm anything.
        next(&mut stream).await;
    }
    assert!(slot::release(&harness.database, &harness.settings.slot).await.unwrap());
    drop(stream);
    let mut stream = harness.stream().await;
    let (events, end) = transaction_of(&mut stream).await;
    assert_eq!(events.len(), 50_000);
    stream.confirm(end);
    harness.finish(stream).await;
}

#[tokio::test]
async fn a_stream_resumes_only_on_the_server_that_it_knows() {
    let mut harness = Harness::new(TABLE).await;
    let mut stream = harness.stream().await;
    harness.run("insert into t values (1)").await;
    let (_, end) = transaction_of(&mut stream).await;
    let before = stream.resume_point();
    stream.confirm(end);
    let known = stream.resume_point();
    assert_eq!((before.position, known.position), (Lsn(0), end));
    drop(stream);

    let beyond = Lsn(harness.position().await.0 + 1_000_000);
    for other in [
        ResumePoint { system: known.system + 1, ..known },
        ResumePoint { timeline: known.timeline + 1, ..known },
        ResumePoint { position: beyond, ..known },
        before,
    ] {
        harness.settings.resume = Some(other);
        let mut stream = harness.stream_when_free().await;
        assert_eq!(transaction(&mut stream).await, ["insert t (1)"], "{other:?}");
    }
    harness.settings.resume = Some(known);
    let mut stream = harness.stream_when_free().await;
    harness.run("insert into t values (2)").await;
    assert_eq!(transaction(&mut stream).await, ["insert t (2)"]);
    assert_eq!(stream.confirmed_position(), end);
    harness.finish(stream).await;
}

#[tokio::test]
async fn the_slot_advances_while_nothing_published_changes() {
    let mut harness = Harness::new("create table t (id int); create publication t_only for table t").await;
    harness.settings.publications = vec!["t_only".to_owned()];
    let mut stream = harness.stream().await;
    let before = harness.lag().await;
    harness.run("create table unpublished as select generate_series(1, 10000)").await;
    let written = harness.position().await;
    let advanced = async {
        loop {
            if let Event::Keepalive { end } = next(&mut stream).await {
                stream.confirm(end);
                assert!(stream.server_position() >= end);
                if end >= written {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, advanced).await.unwrap();
    stream.flush_confirmation().await.unwrap();
    let wait = async {
        while harness.lag().await.confirmed_position < Some(written) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
    assert!(before.confirmed_position < Some(written));
    harness.finish(stream).await;
}

#[tokio::test]
async fn waiting_may_be_cancelled_at_any_time() {
    let harness = Harness::new("create table t (id int primary key, filler text)").await;
    let mut stream = harness.stream().await;
    let writer = {
        let uri = harness.uri.clone();
        tokio::spawn(async move {
            let (client, connection) = tokio_postgres::connect(&uri, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            for id in 0..300 {
                let sql = format!("insert into t values ({id}, repeat('x', {}))", id % 7 * 30_000);
                client.batch_execute(&sql).await.unwrap();
            }
        })
    };
    let (mut found, mut cancelled) = (0, 0);
    while found < 300 {
        let pause = Duration::from_micros(cancelled % 5 * 200);
        tokio::select! {
            biased;
            event = stream.next() => match event.unwrap() {
                Event::Insert { new, .. } => {
                    assert_eq!(new.bytes(0).unwrap(), found.to_string());
                    assert_eq!(new.bytes(1).unwrap().len(), found % 7 * 30_000);
                    found += 1;
                }
                Event::Commit { end, .. } => stream.confirm(end),
                _ => {}
            },
            () = tokio::time::sleep(pause) => cancelled += 1,
        }
    }
    writer.await.unwrap();
    assert!(cancelled > 0);
    harness.finish(stream).await;
}

#[tokio::test]
async fn what_has_been_read_can_be_taken_without_waiting() {
    let harness = Harness::new(TABLE).await;
    let mut stream = harness.stream().await;
    // The server may have begun with a keepalive message.
    while let Some(event) = stream.next_buffered().unwrap() {
        assert!(matches!(event, Event::Keepalive { .. }), "{event:?}");
    }
    harness.run("insert into t select generate_series(1, 10)").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    while matches!(next(&mut stream).await, Event::Keepalive { .. }) {}
    let mut found = 0;
    while let Some(event) = stream.next_buffered().unwrap() {
        found += usize::from(matches!(event, Event::Insert { .. }));
    }
    assert!(found > 0);
    harness.finish(stream).await;
}
