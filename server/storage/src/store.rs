//! Where objects are: their rows in the database, and their bytes in the backend.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use fairness::FairSemaphore;
use postgres::{Database, Parameter, Reply, Transaction};
use uuid::Uuid;

use crate::backend::Backend;
use crate::caller::{self, Caller};
use crate::error::Error;
use crate::keeper::Keeper;
use crate::public_objects::PublicObjects;
use crate::render::Pictures;

/// Rows of objects and buckets. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Rows {
    database: Database,
    public_objects: Arc<PublicObjects>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

impl Rows {
    /// Returns the rows in `database`, of which no public object has been read yet.
    pub(crate) fn new(database: Database) -> Self {
        let public_objects = Arc::new(PublicObjects::new(database.clone()));
        Self { database, public_objects }
    }

    /// Returns the database itself, for transactions of several round trips.
    pub(crate) const fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the objects of public buckets that are kept in memory.
    pub(crate) fn public_objects(&self) -> &PublicObjects {
        &self.public_objects
    }

    /// Runs a transaction that changes nothing that is kept in memory.
    pub(crate) async fn run(&self, transaction: &Transaction<'_>) -> Result<Reply, postgres::Error> {
        self.database.run(transaction).await
    }

    /// Runs a query on the primary with the service's own rights, which policies do not restrict. The query must run
    /// none of the users' code: it has no settings that describe the request, and no session is reset for it.
    pub(crate) async fn look_up<'a>(
        &self,
        sql: impl Into<Cow<'a, str>>,
        parameters: Vec<Parameter<'a>>,
    ) -> Result<Reply, Error> {
        let query = caller::lookup().statement(sql, parameters);
        Ok(self.database.run(&query).await?)
    }

    /// Runs a query on the primary with row-level security as for `caller`. `operation` is what `storage.operation()`
    /// tells policies.
    ///
    /// Errors: [`Caller::refusal`].
    pub(crate) async fn look_up_as<'a>(
        &self,
        caller: &'a Caller,
        operation: &'static str,
        sql: impl Into<Cow<'a, str>>,
        parameters: Vec<Parameter<'a>>,
    ) -> Result<Reply, Error> {
        let query = caller.transaction(operation).read_only().on_primary().statement(sql, parameters);
        self.database.run(&query).await.map_err(|error| caller.refusal(error))
    }

    /// Runs a transaction that changes or removes rows of objects or buckets. What was read before is forgotten: this
    /// node's own changes take effect at once, before their notification arrives.
    pub(crate) async fn change(&self, transaction: &Transaction<'_>) -> Result<Reply, postgres::Error> {
        let reply = self.database.run(transaction).await;
        self.public_objects.forget();
        reply
    }
}

/// Bytes of objects, with the pictures that were rendered from them. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Blobs {
    pub(crate) backend: Backend,
    pub(crate) pictures: Pictures,
    /// A permit for each upload whose bytes are being received.
    pub(crate) uploads: FairSemaphore,
    /// Takes the versions that no object has any more, if there are backups.
    pub(crate) keeper: Arc<OnceLock<Box<dyn Keeper>>>,
}

impl Blobs {
    /// Removes the bytes of versions that objects had and no longer have; with backups, once a backup has them.
    pub(crate) async fn retire(&self, versions: &[Uuid]) {
        let Some(keeper) = self.keeper.get() else { return self.discard(versions).await };
        keeper.retire(versions);
        for version in versions {
            self.backend.forget(*version);
            self.pictures.forget(*version).await;
        }
    }

    /// Removes the bytes of versions that are no object's. What cannot be removed now is left to the sweeper.
    pub(crate) async fn discard(&self, versions: &[Uuid]) {
        for version in versions {
            if let Err(error) = self.backend.remove(*version).await {
                tracing::warn!(%version, %error, "bytes that no object needs could not be removed");
            }
            self.pictures.forget(*version).await;
        }
    }

    /// Removes the bytes of `version`, whose row could not be written because of `error`; unless the row may have been
    /// written nevertheless, since the connection broke before Postgres had responded.
    pub(crate) async fn discard_after(&self, error: &Error, version: Uuid) {
        use postgres::Error::{AcquireTimeout, Configuration, Postgres};
        let is_certain = !matches!(error, Error::Database(error) if !matches!(error, Postgres(_) | AcquireTimeout(_) | Configuration(_)));
        if is_certain {
            self.discard(&[version]).await;
        }
    }
}

/// The rows of objects and their bytes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) rows: Rows,
    pub(crate) blobs: Blobs,
    /// The maximum size of an object in bytes. A bucket may have a lower limit.
    pub(crate) max_size: u64,
}
