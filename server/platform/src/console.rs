//! SQL of operators: run as the project's administrator or, if it may only read, as a role that can do nothing else.
//!
//! Each text has a connection of its own, which ends with it. So nothing that the text sets outlasts it.

mod array;
mod document;
mod value;

use std::sync::Arc;
use std::time::Duration;

use fairness::FairSemaphore;
use http::StatusCode;
use migrations::Statement;
use postgres::{Connection, Database, Limits, Parameter, Rows};
use serde_json::Value;

use crate::Error;

/// The name of connections in `pg_stat_activity`.
const APPLICATION: &str = "basalt-platform";
/// How many texts run at the same time, and how many others wait.
const CONCURRENCY: usize = 8;
const QUEUE: usize = 64;
/// How long a text waits for its turn.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of memory that the results of a text may take, and the most that their JSON may take.
const MAX_BYTES: usize = 32 << 20;

/// Statements that would end the transaction in which only reads are allowed. What would change it, Postgres refuses.
const TRANSACTION_CONTROL: [&str; 7] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE"];

/// Begins a transaction that only reads. Settings of the database or of the role may have strings mean something else
/// than [`refuse_transaction_control`] takes them for: here they mean that. Postgres reads a text as a whole before it
/// runs the first of its statements, so that none of them changes how the others are read.
const BEGIN_READING: &str = "begin transaction read only; set local standard_conforming_strings = on; \
     set local client_encoding = 'UTF8'; select 1";

/// Runs SQL of operators.
#[derive(Clone)]
pub(crate) struct Console {
    /// Connects as the project's administrator.
    project: Database,
    /// Connects as a role that can only read; `None` if this server may not have one.
    reader: Option<Database>,
    turns: Arc<FairSemaphore>,
}

/// A text to be run.
pub(crate) struct Query<'q> {
    pub(crate) sql: &'q str,
    /// The values of `$1`, `$2`, …; with one or more, the text has to be one statement.
    pub(crate) parameters: &'q [Value],
    pub(crate) is_read_only: bool,
    pub(crate) time: Duration,
}

impl Console {
    pub(crate) fn new(project: Database, reader: Option<Database>) -> Self {
        Self { project, reader, turns: Arc::new(FairSemaphore::new(CONCURRENCY, QUEUE)) }
    }

    /// Runs `query` and returns the rows of the last statement that returned any, as an array of objects in JSON.
    ///
    /// Errors: [`Error::Sql`] if Postgres refuses it; [`Error::Database`] if it takes too long, returns too much, or
    /// there is no database; 429 if too many others run.
    pub(crate) async fn run(&self, query: &Query<'_>) -> Result<String, Error> {
        if query.sql.contains('\0') {
            return Err(Error::unwritable());
        }
        let _turn = self.turns.acquire(fairness::caller(), PATIENCE).await.map_err(|_| {
            Error::Refused(StatusCode::TOO_MANY_REQUESTS, "Too many queries run at the same time".into())
        })?;
        let results = if query.is_read_only { self.read(query).await } else { self.write(query).await };
        let results = results.map_err(|error| match error {
            Error::Database(postgres::Error::Postgres(refusal)) => Error::Sql(refusal, query.sql.to_owned()),
            other => other,
        })?;
        Ok(document::of(results, MAX_BYTES)?)
    }

    async fn write(&self, query: &Query<'_>) -> Result<Vec<Rows>, Error> {
        let sql = match query.parameters.is_empty() {
            true => Some(with_privileges(&self.project, query.sql).await?),
            false => None,
        };
        let mut connection = self.project.open(None, APPLICATION).await?;
        run_on(&mut connection, query, sql.as_deref()).await
    }

    async fn read(&self, query: &Query<'_>) -> Result<Vec<Rows>, Error> {
        // The role alone is not enough: what everybody may execute may write with the rights of its owner.
        refuse_transaction_control(query.sql)?;
        let database = self.reader.as_ref().unwrap_or(&self.project);
        let mut connection = database.open(None, APPLICATION).await?;
        // After the first statement of a transaction that only reads, nothing can let it write.
        connection.query(BEGIN_READING, limits(query.time)).await?;
        let results = run_on(&mut connection, query, None).await?;
        // The end of a connection in a transaction would be a line in Postgres' log.
        connection.query("rollback", limits(query.time)).await?;
        Ok(results)
    }
}

/// Runs `query`, or `sql` in its place.
async fn run_on(
    connection: &mut Connection,
    query: &Query<'_>,
    sql: Option<&str>,
) -> Result<Vec<Rows>, Error> {
    let limits = limits(query.time);
    if query.parameters.is_empty() {
        return Ok(connection.query(sql.unwrap_or(query.sql), limits).await?);
    }
    let texts: Vec<Option<String>> = query.parameters.iter().map(value::parameter).collect();
    let parameters: Vec<Parameter<'_>> =
        texts.iter().map(|text| text.as_deref().and_then(postgres::text)).collect();
    Ok(connection.query_with(query.sql, &parameters, limits).await?)
}

const fn limits(time: Duration) -> Limits {
    Limits { time, bytes: MAX_BYTES }
}

/// Returns `sql` with those statements that the project's administrator may not run itself, such as `create extension`,
/// replaced by calls of the functions that do it.
async fn with_privileges(project: &Database, sql: &str) -> Result<String, Error> {
    let client = project.client().await?;
    migrations::with_privileges(&client, sql).await.map_err(|error| Error::Internal(error.to_string()))
}

/// Refuses a text that could end the transaction in which it may only read.
fn refuse_transaction_control(sql: &str) -> Result<(), Error> {
    let is_control = |statement: &Statement<'_>| {
        let first = statement.words.first().map(String::as_str).unwrap_or_default();
        TRANSACTION_CONTROL.contains(&first)
    };
    match migrations::split(sql) {
        Ok(statements) if !statements.iter().any(is_control) => Ok(()),
        Ok(_) => Err(Error::invalid("A query that only reads may not control its transaction")),
        // Postgres itself says best what is wrong, but might read it in another way.
        Err(_) => Err(Error::invalid("A query that only reads has to be statements of SQL")),
    }
}

/// Returns `values` as the text of an array.
pub(crate) fn array_of(values: &[String]) -> String {
    let values: Vec<Value> = values.iter().map(|value| Value::String(value.clone())).collect();
    array::write(&values)
}
