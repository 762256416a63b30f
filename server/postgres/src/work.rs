//! A transaction of several round trips, for work that decides by what it has read. What fits into one round trip is a
//! [`Transaction`](crate::transaction::Transaction).

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Json, ToSql, Type, to_sql_checked};

use crate::client::Client;
use crate::error::Error;
use crate::identifier::push_literal;
use crate::transaction::{Isolation, Parameter};

/// A transaction of several round trips on a pooled client of its own, begun by [`Database::begin`]. Each statement
/// sees what others have committed before it. Dropped without [`commit`](Work::commit), it leaves nothing behind.
///
/// [`Database::begin`]: crate::database::Database::begin
pub struct Work {
    client: Client,
}

impl Work {
    /// Begins a transaction on `client`, in which `settings` apply.
    pub(crate) async fn begin(mut client: Client, settings: &[(&str, &str)]) -> Result<Self, Error> {
        let mut sql = Isolation::ReadCommitted.opening(false).to_owned();
        for (name, value) in settings {
            sql.push_str("; select set_config(");
            push_literal(&mut sql, name);
            sql.push_str(", ");
            push_literal(&mut sql, value);
            sql.push_str(", true)");
        }
        client.is_in_transaction = true;
        client.batch_execute(&sql).await?;
        Ok(Self { client })
    }

    /// Commits the transaction.
    ///
    /// Errors: those of [`Database::run`](crate::database::Database::run); nothing is stored then, unless the
    /// connection broke.
    pub async fn commit(mut self) -> Result<(), Error> {
        self.client.batch_execute("commit").await?;
        self.client.is_in_transaction = false;
        Ok(())
    }

    /// Runs `sql` and reads the JSON document in the first column of its only row, if there is a row. `parameters` are
    /// in text format; Postgres infers their types.
    ///
    /// Errors: [`Error::Postgres`], after which the transaction accepts no more statements; [`Error::Unavailable`];
    /// [`Error::Protocol`] for several rows, and for a document that is no `T`.
    pub async fn document<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<T>, Error> {
        let values: Vec<Text<'_>> = parameters.iter().map(Text).collect();
        let values = untyped(&values);
        let row = self.watch(sql, self.client.query_typed_opt(sql, &values)).await?;
        let document = row.map(|row| row.try_get::<_, Json<T>>(0)).transpose()?;
        Ok(document.map(|Json(document)| document))
    }

    /// Runs `sql` and returns how many rows it changed or returned. `parameters` are as in
    /// [`document`](Self::document).
    ///
    /// Errors: [`Error::Postgres`], after which the transaction accepts no more statements; [`Error::Unavailable`].
    pub async fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64, Error> {
        let values: Vec<Text<'_>> = parameters.iter().map(Text).collect();
        let values = untyped(&values);
        Ok(self.watch(sql, self.client.execute_typed(sql, &values)).await?)
    }

    /// Runs the statement `running` and records it in the statistics.
    async fn watch<T>(
        &self,
        sql: &str,
        running: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, tokio_postgres::Error> {
        let statement = self.client.statements().begin(|| Cow::Borrowed(sql));
        let result = running.await;
        let failure = result.as_ref().err();
        statement.end(
            || Cow::Borrowed(sql),
            failure.map(|error| error.code().map_or("unavailable", |code| code.code())),
        );
        result
    }
}

/// Returns the parameters of a statement that is not prepared, for Postgres to infer their types: a prepared one costs
/// a round trip more where it is new, and may be outdated or gone where it is not.
fn untyped<'t>(values: &'t [Text<'t>]) -> Vec<(&'t (dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), Type::UNKNOWN)).collect()
}

/// A parameter that Postgres parses itself, whatever its type is: the same text as in a
/// [`crate::transaction::Transaction`].
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
