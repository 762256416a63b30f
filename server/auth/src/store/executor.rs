//! Where the store's statements run: alone, each in a transaction of its own, or within a [`Work`].

use postgres::{Database, Work};
use serde::de::DeserializeOwned;

use super::{Parameter, fetch, transaction};
use crate::Error;

/// Where a statement of the store runs. A [`Database`] runs it alone: one round trip. A [`Work`] runs it in a
/// transaction that goes on afterwards.
pub(crate) trait Executor: Sync {
    /// Whether a lock that a statement takes is still held when the next one runs. Alone, it would be gone at once.
    const HOLDS_LOCKS: bool;

    /// Runs `sql`, which changes nothing, takes no lock and runs no code of others (triggers, for example), and reads
    /// the JSON document in its only row, if there is a row.
    fn read<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send;

    /// Runs `sql`, which may change anything and take locks. Returns how many rows it has changed or, as a select,
    /// found.
    fn change(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// As [`change`](Self::change), but reads the JSON document in the only row of the result, if there is a row.
    fn change_returning<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> impl Future<Output = Result<Option<T>, Error>> + Send;
}

impl Executor for Database {
    const HOLDS_LOCKS: bool = false;

    async fn read<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> Result<Option<T>, Error> {
        fetch(self, transaction().statement(sql, parameters).leaves_session_unchanged()).await
    }

    async fn change(&self, sql: &str, parameters: Vec<Parameter<'_>>) -> Result<u64, Error> {
        let results = self.run(&transaction().statement(sql, parameters)).await?;
        let rows = results.last().and_then(|rows| rows.tag().rsplit(' ').next()?.parse().ok());
        Ok(rows.unwrap_or_default())
    }

    async fn change_returning<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> Result<Option<T>, Error> {
        fetch(self, transaction().statement(sql, parameters)).await
    }
}

impl Executor for Work {
    const HOLDS_LOCKS: bool = true;

    async fn read<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> Result<Option<T>, Error> {
        Ok(self.document(sql, &parameters).await?)
    }

    async fn change(&self, sql: &str, parameters: Vec<Parameter<'_>>) -> Result<u64, Error> {
        Ok(self.execute(sql, &parameters).await?)
    }

    async fn change_returning<T: DeserializeOwned>(
        &self,
        sql: &str,
        parameters: Vec<Parameter<'_>>,
    ) -> Result<Option<T>, Error> {
        Ok(self.document(sql, &parameters).await?)
    }
}
