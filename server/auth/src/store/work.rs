//! Where statements run: alone, or within a transaction of several round trips.

use std::borrow::Cow;

use deadpool_postgres::Transaction;
use postgres::{Client, Database};
use serde::de::DeserializeOwned;
use telemetry::Statements;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Json, ToSql, Type, to_sql_checked};

use super::{LOCK_TIMEOUT, Parameter};
use crate::Error;

/// A transaction of several round trips. Dropped without [`commit`](Work::commit), it leaves nothing behind.
pub(crate) struct Work<'c> {
    transaction: Transaction<'c>,
    statements: Statements,
}

impl<'c> Work<'c> {
    /// Begins a transaction on `client`, each statement of which sees what others have committed before it.
    pub(crate) async fn begin(client: &'c mut Client) -> Result<Work<'c>, Error> {
        let statements = client.statements().clone();
        let transaction = client.transaction().await?;
        transaction.batch_execute(&format!("set local lock_timeout = '{LOCK_TIMEOUT}'")).await?;
        Ok(Work { transaction, statements })
    }

    /// Commits the transaction.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        Ok(self.transaction.commit().await?)
    }

    /// Runs the statement `running` and records it in the statistics.
    async fn watch<T>(
        &self,
        sql: &str,
        running: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, tokio_postgres::Error> {
        let statement = self.statements.begin(|| Cow::Borrowed(sql));
        let result = running.await;
        let failure = result.as_ref().err();
        statement.end(
            || Cow::Borrowed(sql),
            failure.map(|error| error.code().map_or("unavailable", |code| code.code())),
        );
        result
    }
}

/// Where a statement of the store runs.
#[derive(Clone, Copy)]
pub(crate) enum Executor<'a> {
    /// In a transaction of its own: one round trip.
    Alone(&'a Database),
    /// In a transaction that goes on afterwards.
    Within(&'a Work<'a>),
}

impl<'a> From<&'a Database> for Executor<'a> {
    fn from(database: &'a Database) -> Self {
        Executor::Alone(database)
    }
}

impl<'a, 'c: 'a> From<&'a Work<'c>> for Executor<'a> {
    fn from(work: &'a Work<'c>) -> Self {
        Executor::Within(work)
    }
}

impl Executor<'_> {
    /// Runs `sql` and reads the JSON document in its only row, if there is a row.
    pub(crate) async fn fetch<T: DeserializeOwned>(
        self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> Result<Option<T>, Error> {
        match self {
            Executor::Alone(database) => {
                let mut transaction = super::transaction().statement(sql, parameters);
                if sql.starts_with("select ") {
                    // Triggers and hooks are where others' code runs.
                    transaction = transaction.leaves_session_unchanged();
                }
                super::fetch(database, transaction).await
            }
            Executor::Within(work) => {
                let values: Vec<Text<'_>> = parameters.iter().map(Text).collect();
                let values = untyped(&values);
                let row = work.watch(sql, work.transaction.query_typed_opt(sql, &values)).await?;
                let document = row.map(|row| row.try_get::<_, Json<T>>(0)).transpose()?;
                Ok(document.map(|Json(document)| document))
            }
        }
    }

    /// Runs `sql`, which answers nothing that matters; returns how many rows it changed.
    pub(crate) async fn execute(self, sql: &str, parameters: Vec<Parameter<'_>>) -> Result<u64, Error> {
        match self {
            Executor::Alone(database) => {
                let answer = database.run(&super::transaction().statement(sql, parameters)).await?;
                let rows = answer.last().and_then(|rows| rows.tag().rsplit(' ').next()?.parse().ok());
                Ok(rows.unwrap_or_default())
            }
            Executor::Within(work) => {
                let values: Vec<Text<'_>> = parameters.iter().map(Text).collect();
                let values = untyped(&values);
                Ok(work.watch(sql, work.transaction.execute_typed(sql, &values)).await?)
            }
        }
    }
}

/// Returns the parameters of a statement that is not prepared, for Postgres to infer their types: a prepared one costs
/// a round trip more where it is new, and may be outdated or gone where it is not.
fn untyped<'t>(values: &'t [Text<'t>]) -> Vec<(&'t (dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), Type::UNKNOWN)).collect()
}

/// A parameter that Postgres parses itself, whatever its type is: the same text as on the other way.
#[derive(Debug)]
struct Text<'a>(&'a Parameter<'a>);

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(value) = self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(value);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
