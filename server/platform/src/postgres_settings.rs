//! The settings of Postgres that the interface changes. What it shows are those that were changed, as hosted Supabase
//! does; a change names all of them. Sources: the Management API's OpenAPI document; the Supabase CLI, `postgres-config`.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use http::StatusCode;
use serde_json::{Map, Value};

use crate::Error;

/// How the interface writes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Flag,
    /// With a unit, or a word.
    Text,
}

const KINDS: [(&str, Kind); 25] = [
    ("checkpoint_timeout", Kind::Text),
    ("effective_cache_size", Kind::Text),
    ("hot_standby_feedback", Kind::Flag),
    ("logical_decoding_work_mem", Kind::Text),
    ("maintenance_work_mem", Kind::Text),
    ("max_connections", Kind::Number),
    ("max_locks_per_transaction", Kind::Number),
    ("max_parallel_maintenance_workers", Kind::Number),
    ("max_parallel_workers", Kind::Number),
    ("max_parallel_workers_per_gather", Kind::Number),
    ("max_replication_slots", Kind::Number),
    ("max_slot_wal_keep_size", Kind::Text),
    ("max_standby_archive_delay", Kind::Text),
    ("max_standby_streaming_delay", Kind::Text),
    ("max_wal_senders", Kind::Number),
    ("max_wal_size", Kind::Text),
    ("max_worker_processes", Kind::Number),
    ("session_replication_role", Kind::Text),
    ("shared_buffers", Kind::Text),
    ("statement_timeout", Kind::Text),
    ("track_activity_query_size", Kind::Text),
    ("track_commit_timestamp", Kind::Flag),
    ("wal_keep_size", Kind::Text),
    ("wal_sender_timeout", Kind::Text),
    ("work_mem", Kind::Text),
];

/// The field of a change that says whether Postgres may be restarted for it.
const RESTART: &str = "restart_database";

/// Why settings of Postgres were not changed.
#[derive(Debug)]
pub enum PostgresRefusal {
    /// A sentence for whoever asked: Postgres does not take a value, or does not start with it.
    Refused(String),
    /// A sentence for the log.
    Failed(String),
}

impl From<PostgresRefusal> for Error {
    fn from(refusal: PostgresRefusal) -> Self {
        match refusal {
            PostgresRefusal::Refused(message) => Self::invalid(message),
            PostgresRefusal::Failed(message) => Self::Internal(message),
        }
    }
}

/// Changes settings of the Postgres that belongs to this server.
pub trait PostgresSettings: Send + Sync + 'static {
    /// Returns which of the settings `names` were changed, with their values.
    fn read<'a>(
        &'a self,
        names: &'a [&'a str],
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, PostgresRefusal>>;

    /// Makes `values` the changed settings among `names`, if `may_restart` with a restart for those that need it.
    fn replace<'a>(
        &'a self,
        names: &'a [&'a str],
        values: &'a BTreeMap<String, String>,
        may_restart: bool,
    ) -> BoxFuture<'a, Result<(), PostgresRefusal>>;
}

/// Returns the names of the settings that the interface changes.
pub(crate) fn names() -> [&'static str; KINDS.len()] {
    KINDS.map(|(name, _)| name)
}

/// Returns the settings that were changed, as the interface shows them.
pub(crate) fn shown(values: &BTreeMap<String, String>) -> Value {
    let shown = KINDS.iter().filter_map(|(name, kind)| {
        let value = values.get(*name)?;
        let text = || Value::from(value.as_str());
        let shown = match kind {
            Kind::Number => value.parse::<i64>().map_or_else(|_| text(), Value::from),
            // Postgres takes other words, too, from whoever writes the file by hand.
            Kind::Flag => match value.to_lowercase().as_str() {
                "on" | "true" | "yes" | "1" => Value::from(true),
                "off" | "false" | "no" | "0" => Value::from(false),
                _ => text(),
            },
            Kind::Text => text(),
        };
        Some(((*name).to_owned(), shown))
    });
    Value::Object(shown.collect::<Map<_, _>>())
}

/// Returns the settings that the body of a request names, and whether Postgres may be restarted for them.
///
/// Errors: 400 for anything but an object of settings that the interface has, with values of their kind.
pub(crate) fn asked(body: &Value) -> Result<(BTreeMap<String, String>, bool), Error> {
    let Value::Object(fields) = body else { return Err(Error::invalid("Expected an object")) };
    let mut values = BTreeMap::new();
    let mut may_restart = true;
    for (name, value) in fields {
        if name == RESTART {
            may_restart = value.as_bool().ok_or_else(|| wrong(name, "a flag"))?;
            continue;
        }
        let known = KINDS.iter().find(|(known, _)| known == name);
        let (_, kind) = known.ok_or_else(|| Error::invalid(format!("Unrecognized key: {name:?}")))?;
        let value = match (kind, value) {
            (_, Value::Null) => continue,
            (Kind::Flag, Value::Bool(flag)) => if *flag { "on" } else { "off" }.to_owned(),
            // The CLI writes any number as one, in the setting's usual unit.
            (Kind::Number | Kind::Text, Value::Number(number)) => number.to_string(),
            (Kind::Text, Value::String(text)) => text.clone(),
            (Kind::Flag, _) => return Err(wrong(name, "a flag")),
            (Kind::Number, _) => return Err(wrong(name, "a number")),
            (Kind::Text, _) => return Err(wrong(name, "a text")),
        };
        values.insert(name.clone(), value);
    }
    Ok((values, may_restart))
}

fn wrong(name: &str, expected: &str) -> Error {
    Error::invalid(format!("{name}: expected {expected}"))
}

/// Returns the refusal to change a Postgres that does not belong to this server.
pub(crate) fn not_ours() -> Error {
    let message = "This server does not run the database: its settings are its operator's";
    Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(names().is_sorted());
    }

    #[test]
    fn a_change_takes_values_of_the_settings_kind() {
        let (values, may_restart) = asked(&json!({
            "max_connections": 120, "work_mem": "8MB", "statement_timeout": 5000, "hot_standby_feedback": true,
            "shared_buffers": null, "restart_database": false
        }))
        .unwrap();
        let expected = [
            ("hot_standby_feedback", "on"),
            ("max_connections", "120"),
            ("statement_timeout", "5000"),
            ("work_mem", "8MB"),
        ];
        let values_of = values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        assert_eq!(values_of.collect::<Vec<_>>(), expected);
        assert!(!may_restart);
        assert_eq!(
            shown(&values),
            json!({ "max_connections": 120, "work_mem": "8MB", "statement_timeout": "5000", "hot_standby_feedback": true })
        );
    }

    #[test]
    fn other_settings_and_values_of_other_kinds_are_refused() {
        for (body, message) in [
            (json!([]), "Expected an object"),
            (json!({ "archive_command": "touch /tmp/x" }), "Unrecognized key: \"archive_command\""),
            (json!({ "max_connections": "many" }), "max_connections: expected a number"),
            (json!({ "work_mem": [] }), "work_mem: expected a text"),
            (json!({ "track_commit_timestamp": "on" }), "track_commit_timestamp: expected a flag"),
            (json!({ "restart_database": 1 }), "restart_database: expected a flag"),
        ] {
            let Error::Refused(StatusCode::BAD_REQUEST, found) = asked(&body).unwrap_err() else {
                panic!("{body}")
            };
            assert_eq!(found, message);
        }
    }
}
