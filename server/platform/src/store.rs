//! What the platform interface keeps in the database: schema `basalt_platform`, which belongs to the server.
//!
//! Values go to Postgres as text, and rows come back as JSON documents.

pub(crate) mod api_keys;
pub(crate) mod functions;
pub(crate) mod login_roles;
pub(crate) mod network;
pub(crate) mod oauth;
pub(crate) mod projects;
pub(crate) mod restore_points;
pub(crate) mod secrets;
pub(crate) mod settings;
pub(crate) mod tokens;

use std::time::Duration;

use postgres::{Database, Parameter, Transaction, text};
use serde::de::DeserializeOwned;

use crate::Error;

/// How long a statement may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The channel in which nodes tell each other that API keys, secrets or functions have changed.
pub const CHANNEL: &str = "basalt_platform";

/// Statements that are run in one transaction, whose changes other nodes hear of.
pub(crate) struct Changes<'a>(Transaction<'a>);

impl<'a> Changes<'a> {
    /// Returns a transaction in which rows go with those that they depend on. Triggers of Postgres do that, and sessions
    /// of the server's administrator run none otherwise.
    pub(crate) fn new() -> Self {
        let sql = "select pg_catalog.set_config('session_replication_role', 'origin', true) \
                    where pg_catalog.current_setting('session_replication_role') <> 'origin'";
        Self(Transaction::anonymous().statement(sql, Vec::new()))
    }

    /// Appends a statement.
    pub(crate) fn and(self, sql: &'a str, parameters: Vec<Parameter<'a>>) -> Self {
        Self(self.0.statement(sql, parameters))
    }

    /// Runs the statements, notifies all nodes, and returns the documents that the last of the statements returned.
    pub(crate) async fn commit<T: DeserializeOwned>(self, database: &Database) -> Result<Vec<T>, Error> {
        let notice = "select pg_catalog.pg_notify($1, '')";
        let transaction = self.0.statement(notice, vec![text(CHANNEL)]).leaves_session_unchanged();
        let reply = database.run(&transaction.timeout(TIME_LIMIT)).await?;
        let statements = reply.statements();
        let last = statements.len().checked_sub(2).and_then(|index| statements.get(index));
        last.into_iter().flat_map(postgres::Rows::iter).map(document).collect()
    }
}

/// Runs one statement, and returns the documents in the first column of its rows.
pub(crate) async fn documents<T: DeserializeOwned>(
    database: &Database,
    sql: &str,
    parameters: Vec<Parameter<'_>>,
) -> Result<Vec<T>, Error> {
    let transaction = Transaction::anonymous().statement(sql, parameters).leaves_session_unchanged();
    let reply = database.run(&transaction.timeout(TIME_LIMIT)).await?;
    reply.rows().iter().map(document).collect()
}

/// Runs one statement, and returns the document in the first column of its first row; `None` without a row.
pub(crate) async fn document_of<T: DeserializeOwned>(
    database: &Database,
    sql: &str,
    parameters: Vec<Parameter<'_>>,
) -> Result<Option<T>, Error> {
    Ok(documents(database, sql, parameters).await?.into_iter().next())
}

/// Reads the JSON document in the first column of `row`.
fn document<T: DeserializeOwned>(row: &postgres::Row) -> Result<T, Error> {
    let read = serde_json::from_slice(row.get(0).unwrap_or(b"null"));
    read.map_err(|error| Error::Internal(format!("a row of the platform interface: {error}")))
}

/// Returns bytes as a parameter of type `bytea`.
pub(crate) fn bytes(bytes: &[u8]) -> Parameter<'static> {
    let text = format!("\\x{}", data_encoding::HEXLOWER.encode(bytes));
    Some(text.into_bytes().into())
}

/// Returns a list as a parameter of type `jsonb`.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> Parameter<'static> {
    // What is written here are texts and numbers, which JSON has.
    Some(serde_json::to_vec(value).unwrap_or_default().into())
}

/// Returns a text, or NULL, as a parameter.
pub(crate) fn optional(value: Option<&str>) -> Parameter<'_> {
    value.and_then(text)
}
