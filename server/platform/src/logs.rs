//! Logs: what has happened on this node, as a table that operators query with SQL.
//!
//! Events are in memory, and Postgres' log is a file. A query gets those of its time as a parameter, as the table
//! `logs`, and runs in Postgres as a role that has no right to anything else. So nothing is written while nobody
//! asks.

mod dialect;
mod masked;
mod postgres_log;
mod rows;
mod window;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use events::Events;
use fairness::FairSemaphore;
use http::StatusCode;
use postgres::{Database, Limits};
use serde_json::Value;
use settings::Bytes;

use crate::Error;
use rows::Names;

pub(crate) use window::{DAY, Window};

/// The login of queries. Tools leave roles with this beginning out of dumps and comparisons.
pub const READER: &str = "supabase_logs_reader";
/// The name of their connections in `pg_stat_activity`.
const APPLICATION: &str = "basalt-logs";
/// How many queries run at the same time, how many others wait, and for how long.
const CONCURRENCY: usize = 2;
const QUEUE: usize = 32;
const PATIENCE: Duration = Duration::from_secs(20);
/// What a query may take and return.
const LIMITS: Limits = Limits { time: Duration::from_secs(10), bytes: 16 << 20 };
/// How many rows it may return.
const MOST_ROWS: usize = 10_000;

/// The query if there is none: the requests. Source: the OpenAPI document of the Management API.
pub(crate) const REQUESTS: &str = "select id, timestamp, event_message, log_attributes from logs \
     where source = 'edge_logs' order by timestamp desc limit 100";

/// What logs are made of.
pub struct LogParts {
    /// The recent events.
    pub events: Arc<Events>,
    /// Postgres' log; `None` if its server is not this program's.
    pub postgres_log: Option<PathBuf>,
    /// The password of [`crate::LOGS_READER`]; `None` if this server may not have that role.
    pub password: Option<String>,
}

/// Answers queries of logs.
pub(crate) struct Logs {
    parts: LogParts,
    turns: Arc<FairSemaphore>,
}

impl Logs {
    pub(crate) fn new(parts: LogParts) -> Self {
        Self { parts, turns: Arc::new(FairSemaphore::new(CONCURRENCY, QUEUE)) }
    }

    /// Sets how much memory events may take.
    pub(crate) fn limit(&self, memory: Bytes) {
        self.parts.events.limit(usize::try_from(memory.0).unwrap_or(usize::MAX));
    }

    /// Returns the rows that `sql` makes of what has happened in `window`. `functions` are the ids of deployed
    /// functions by their names, `project` is the reference.
    ///
    /// Errors: [`Error::Sql`] if Postgres refuses it, 400 for what a query of logs may not do, 429 if too many others
    /// run, 501 if there are no logs.
    pub(crate) async fn query(
        &self,
        database: &Database,
        sql: &str,
        window: Window,
        (project, functions): (&str, HashMap<String, String>),
    ) -> Result<Vec<Value>, Error> {
        let password = self.parts.password.as_deref().ok_or_else(|| {
            let message =
                format!("Logs need the role {READER}, as which this server does not log in to its database");
            Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into())
        })?;
        if !self.parts.events.are_kept() {
            let message = "This server keeps no logs: basalt.platform.log_memory is 0";
            return Err(Error::Refused(StatusCode::NOT_IMPLEMENTED, message.into()));
        }
        if sql.contains('\0') {
            return Err(Error::unwritable());
        }
        let sql = dialect::translated(sql).map_err(Error::invalid)?;
        let _turn = self.turns.acquire(fairness::caller(), PATIENCE).await.map_err(|_| {
            Error::Refused(StatusCode::TOO_MANY_REQUESTS, "Too many queries run at the same time".into())
        })?;
        let names = Names { project: project.to_owned(), functions };
        let (events, file) = (Arc::clone(&self.parts.events), self.parts.postgres_log.clone());
        let document = tokio::task::spawn_blocking(move || {
            let lines = file.map(|file| postgres_log::read(&file)).unwrap_or_default();
            rows::document(events.between(window.begin, window.end), &lines, window, &names)
        });
        let document = document.await.map_err(|error| Error::Internal(error.to_string()))?;
        // The names in the query are the caller's, and a name that is not qualified leads nowhere else.
        let statement = format!(
            "with logs as (select * from jsonb_to_recordset($1::jsonb) as event (id text, timestamp timestamptz, \
               event_message text, source text, severity_text text, log_attributes jsonb)) \
             select pg_catalog.row_to_json(result)::text from (\n{sql}\n) as result limit {MOST_ROWS}"
        );
        let mut connection = database.open(Some((READER, password)), APPLICATION).await?;
        // No transaction is open when the connection ends: that would be a line in Postgres' log.
        connection.query("set default_transaction_read_only = on", LIMITS).await?;
        // Ends a query whose connection is lost. As a setting of the role it would be part of dumps of roles.
        connection.query("set statement_timeout = '15s'", LIMITS).await?;
        let results = connection.query_with(&statement, &[Some(document.into())], LIMITS).await;
        let results = results.map_err(|error| match error {
            postgres::Error::Postgres(refusal) => Error::Sql(refusal, String::new()),
            other => other.into(),
        })?;
        let rows = results.iter().flat_map(|rows| rows.iter());
        Ok(rows
            .map(|row| serde_json::from_slice(row.get(0).unwrap_or(b"null")).unwrap_or_default())
            .collect())
    }
}
