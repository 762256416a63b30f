//! Slow statements: a log line for each, and a table of the worst.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{Span, request, sql};

/// The maximum number of statements in the table. If it is full, the one with the least total time is replaced.
const MAX_ENTRIES: usize = 100;
/// The longest shape of a request, in bytes.
const LONGEST_SHAPE: usize = 1000;

/// The record of slow statements. Cheap to clone: clones share their table. The default records nothing.
#[derive(Debug, Clone, Default)]
pub struct SlowStatements(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    threshold: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    count: u64,
    entries: HashMap<Key, Entry>,
}

/// The key of the table. Statements with the same key are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Key {
    service: &'static str,
    method: String,
    shape: String,
    sql: String,
}

#[derive(Debug, Clone)]
struct Entry {
    count: u64,
    total: Duration,
    longest: Duration,
    last: SystemTime,
    last_request: String,
}

impl SlowStatements {
    /// Returns a record of statements that take `threshold` or longer; nothing is recorded if that is zero.
    pub fn new(threshold: Duration) -> Self {
        let inner = || Arc::new(Inner { threshold, table: Mutex::default() });
        Self((!threshold.is_zero()).then(inner))
    }

    /// Records the SQL `text` if the time `took` is too long.
    pub(crate) fn record<'t>(
        &self,
        took: Duration,
        span: Option<&Span>,
        text: impl FnOnce() -> Cow<'t, str>,
    ) {
        let Some(inner) = self.0.as_ref().filter(|inner| took >= inner.threshold) else { return };
        let sql = sql::without_values(&text());
        let known = request::current(|request| {
            let mut shape = request.shape();
            sql::truncate(&mut shape, LONGEST_SHAPE);
            let id = request.id.to_str().unwrap_or_default().to_owned();
            (request.service, request.method.to_string(), shape, id)
        });
        let (service, method, shape, id) = known.unwrap_or_default();
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        tracing::warn!(
            target: "slow",
            request_id = given(&id),
            trace_id = span.and_then(Span::trace_id),
            service = given(service),
            method = given(&method),
            shape = given(&shape),
            milliseconds,
            sql,
            "a slow statement",
        );
        inner.table.lock().add(Key { service, method, shape, sql }, took, id);
    }

    /// Returns the number of slow statements since the start.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.table.lock().count)
    }

    /// Returns the table as a JSON document, sorted by total time, the longest first.
    pub fn to_json(&self) -> Value {
        let Some(inner) = &self.0 else {
            return json!({ "threshold_seconds": 0, "count": 0, "statements": [] });
        };
        let table = inner.table.lock();
        let mut entries: Vec<(&Key, &Entry)> = table.entries.iter().collect();
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.total));
        let rows: Vec<Value> = entries.into_iter().map(|(key, entry)| entry.to_json(key)).collect();
        json!({
            "threshold_seconds": inner.threshold.as_secs_f64(),
            "count": table.count,
            "statements": rows,
        })
    }
}

impl Table {
    fn add(&mut self, key: Key, took: Duration, request: String) {
        self.count += 1;
        let last = SystemTime::now();
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.count += 1;
            entry.total += took;
            entry.longest = entry.longest.max(took);
            (entry.last, entry.last_request) = (last, request);
            return;
        }
        if self.entries.len() >= MAX_ENTRIES {
            let least = self.entries.iter().min_by_key(|(_, entry)| entry.total).map(|(key, _)| key.clone());
            least.map(|key| self.entries.remove(&key));
        }
        let entry = Entry { count: 1, total: took, longest: took, last, last_request: request };
        self.entries.insert(key, entry);
    }
}

impl Entry {
    fn to_json(&self, key: &Key) -> Value {
        let last = self.last.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "service": key.service,
            "method": key.method,
            "shape": key.shape,
            "sql": key.sql,
            "count": self.count,
            "total_seconds": self.total.as_secs_f64(),
            "longest_seconds": self.longest.as_secs_f64(),
            "last_timestamp_seconds": last.as_secs(),
            "last_request_id": self.last_request,
        })
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Method, Uri};

    use super::*;
    use crate::{Request, handling, names_only};

    const SECOND: Duration = Duration::from_secs(1);

    async fn note(slow: &SlowStatements, uri: &str, took: Duration, text: &str) {
        let request = Request {
            service: "rest",
            method: Method::GET,
            uri: uri.parse::<Uri>().unwrap(),
            id: HeaderValue::from_static("r1"),
            query_shape: names_only,
            route: None,
            parent: None,
        };
        handling(request, async { slow.record(took, None, || text.into()) }).await;
    }

    #[tokio::test]
    async fn only_slow_statements_are_recorded_by_their_shape() {
        let slow = SlowStatements::new(SECOND);
        note(&slow, "/goods?id=1", SECOND / 2, "select 1").await;
        note(&slow, "/goods?id=1", SECOND, "select * from goods where id = 1").await;
        note(&slow, "/goods?id=2", SECOND * 3, "select * from goods where id = 2").await;
        let table = slow.to_json();
        assert_eq!((slow.count(), &table["count"]), (2, &json!(2)));
        let rows = table["statements"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{table}");
        let row = &rows[0];
        assert_eq!((&row["shape"], &row["count"]), (&json!("/goods?id=?"), &json!(2)));
        assert_eq!((&row["total_seconds"], &row["longest_seconds"]), (&json!(4.0), &json!(3.0)));
        assert_eq!(
            (&row["sql"], &row["last_request_id"]),
            (&json!("select * from goods where id = ?"), &json!("r1"))
        );
    }

    #[tokio::test]
    async fn the_table_keeps_the_worst() {
        let slow = SlowStatements::new(SECOND);
        note(&slow, "/worst", SECOND * 9, "select").await;
        for number in 0..2 * MAX_ENTRIES {
            note(&slow, &format!("/{number}"), SECOND, "select").await;
        }
        let table = slow.to_json();
        let rows = table["statements"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["shape"]), (MAX_ENTRIES, &json!("/worst")));
        assert_eq!(slow.count(), 2 * MAX_ENTRIES as u64 + 1);
    }

    #[tokio::test]
    async fn zero_disables_it() {
        let slow = SlowStatements::new(Duration::ZERO);
        note(&slow, "/", SECOND * 1000, "select").await;
        assert_eq!((slow.count(), &slow.to_json()["statements"]), (0, &json!([])));
    }
}
