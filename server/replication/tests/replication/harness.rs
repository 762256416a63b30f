//! Helpers of the tests of replication.

use std::time::{Duration, Instant};

use postgres::{Database, Settings};
use replication::{
    Event, Lsn, OldTuple, Relation, ReplicationSettings, ReplicationStream, Tuple, Value, slot,
};

/// How long a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A database whose tables are all published, and a slot.
pub(crate) struct Harness {
    /// A plain client of the superuser, which makes the changes.
    pub(crate) admin: tokio_postgres::Client,
    /// The value under test.
    pub(crate) database: Database,
    /// The superuser's URI.
    pub(crate) uri: String,
    /// Settings for the slot.
    pub(crate) settings: ReplicationSettings,
    _test_database: testkit::Database,
}

impl Harness {
    /// Returns a harness whose slot begins after `setup`.
    pub(crate) async fn new(setup: &str) -> Self {
        let test_database = testkit::Database::empty().await;
        let uri = test_database.uri();
        let admin = test_database.client().await;
        admin.batch_execute(setup).await.unwrap();
        // The test's Postgres has it off, and only WAL that is on disk is streamed.
        admin.batch_execute("set synchronous_commit = on").await.unwrap();
        admin.batch_execute("create publication \"All 'of' \"\"them\" for all tables").await.unwrap();
        let database = Database::connect(Settings::new(uri.parse().unwrap())).await.unwrap();
        let mut settings = ReplicationSettings::new(test_database.name(), ["All 'of' \"them"]);
        settings.status_interval = Duration::from_millis(100);
        slot::ensure(&database, &settings.slot).await.unwrap();
        Self { admin, database, uri, settings, _test_database: test_database }
    }

    /// Runs `sql` as superuser, in one transaction unless the text itself controls transactions.
    pub(crate) async fn run(&self, sql: &str) {
        self.admin.batch_execute(sql).await.unwrap();
    }

    /// Returns the first value of `sql`, as text.
    pub(crate) async fn query(&self, sql: &str) -> String {
        for message in self.admin.simple_query(sql).await.unwrap() {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                return row.get(0).unwrap_or_default().to_owned();
            }
        }
        panic!("no row");
    }

    pub(crate) async fn stream(&self) -> ReplicationStream {
        ReplicationStream::open(&self.database, &self.settings).await.unwrap()
    }

    /// Opens a stream as soon as the slot is free.
    pub(crate) async fn stream_when_free(&self) -> ReplicationStream {
        let start = Instant::now();
        loop {
            match ReplicationStream::open(&self.database, &self.settings).await {
                Err(error) if error.is_slot_active() && start.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                stream => return stream.unwrap(),
            }
        }
    }

    pub(crate) async fn lag(&self) -> slot::Lag {
        slot::lag(&self.database, &self.settings.slot).await.unwrap().unwrap()
    }

    /// Returns the end of the server's WAL.
    pub(crate) async fn position(&self) -> Lsn {
        self.query("select pg_current_wal_lsn()").await.parse().unwrap()
    }

    /// Ends the test: the slot must be free as soon as its stream has been closed.
    pub(crate) async fn finish(self, stream: ReplicationStream) {
        stream.close().await.unwrap();
        assert!(slot::drop(&self.database, &self.settings.slot).await.unwrap());
    }
}

/// Waits for the next event.
pub(crate) async fn next(stream: &mut ReplicationStream) -> Event {
    tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap()
}

/// Waits for the next transaction, and returns its changes and its end.
pub(crate) async fn transaction_of(stream: &mut ReplicationStream) -> (Vec<Event>, Lsn) {
    let mut changes = Vec::new();
    let mut begun = None;
    loop {
        match next(stream).await {
            Event::Keepalive { .. } => assert!(begun.is_none(), "not within a transaction"),
            Event::Begin { final_position, committed_at, .. } => {
                assert_eq!(begun.replace((final_position, committed_at)), None);
            }
            Event::Commit { position, end, committed_at } => {
                assert_eq!(begun, Some((position, committed_at)));
                assert!(end > position && stream.server_position() >= end);
                return (changes, end);
            }
            change => changes.push(change),
        }
    }
}

/// Waits for the next transaction, and returns its changes as text.
pub(crate) async fn transaction(stream: &mut ReplicationStream) -> Vec<String> {
    let (changes, _) = transaction_of(stream).await;
    changes.iter().map(text).collect()
}

/// Returns a change as text: `update t (1,∅) to (1,a)`.
pub(crate) fn text(event: &Event) -> String {
    match event {
        Event::Insert { relation, new } => format!("insert {} {}", relation.name, row(relation, new)),
        Event::Update { relation, old: None, new } => {
            format!("update {} to {}", relation.name, row(relation, new))
        }
        Event::Update { relation, old: Some(old), new } => {
            format!("update {} {} to {}", relation.name, old_row(relation, old), row(relation, new))
        }
        Event::Delete { relation, old } => format!("delete {} {}", relation.name, old_row(relation, old)),
        Event::Truncate { relations } => {
            let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
            format!("truncate {}", names.join(","))
        }
        other => panic!("{other:?} is no change"),
    }
}

fn old_row(relation: &Relation, old: &OldTuple) -> String {
    let kind = if matches!(old, OldTuple::Key(_)) { "key" } else { "full" };
    format!("{kind} {}", row(relation, old.tuple()))
}

fn row(relation: &Relation, tuple: &Tuple) -> String {
    assert_eq!(tuple.len(), relation.columns.len());
    let values = tuple.values().map(|value| match value {
        Value::Null => "∅".to_owned(),
        Value::Unchanged => "…".to_owned(),
        Value::Text(text) => std::str::from_utf8(text).unwrap().to_owned(),
    });
    format!("({})", values.collect::<Vec<_>>().join(","))
}
