//! The life cycle of the service: loading, reloading, and waiting for the schema cache.

use std::sync::Arc;

use gateway::Nodes;
use postgres::Database;
use tokio_util::sync::CancellationToken;

use super::Rest;
use crate::configuration::Configuration;
use crate::plan_cache::PlanCache;
use crate::schema_cache::LoadError;
use crate::schema_cache::reload::SharedCache;
use crate::settings::Settings;

impl Rest {
    /// Loads the database's settings and the schema cache and keeps them fresh until `stop` is cancelled: on notices
    /// from the database, and after its connection was lost. While Postgres is down it retries with a growing pause of
    /// at most 32 s.
    pub async fn keep_fresh(&self, stop: CancellationToken) {
        let inner = &self.inner;
        let reloading = inner.cache.keep_fresh(&inner.database, &inner.configuration);
        stop.run_until_cancelled(reloading).await;
    }

    /// Reads settings and schema cache once, for callers that inspect them without serving.
    ///
    /// Errors: when the database is not there or the catalog cannot be read.
    pub async fn load(&self) -> Result<(), LoadError> {
        self.inner.cache.refresh(&self.inner.database, &self.inner.configuration).await
    }

    /// Reads the database's settings once, for callers that inspect them without serving.
    ///
    /// Errors: when the database is not there.
    pub async fn read_settings(&self) -> Result<(), postgres::Error> {
        self.inner.configuration.reread(&self.inner.database).await
    }

    /// Changes the settings that [`service`](crate::service()) was given. Those in the database still precede them.
    ///
    /// Errors: when the database is not there; the settings are then used as soon as it is.
    pub async fn configure(&self, settings: Settings) -> Result<(), postgres::Error> {
        self.inner.configuration.set_base(settings);
        self.read_settings().await
    }

    /// Reads settings and schema cache again, as a notice from the database would.
    pub fn reload(&self) {
        self.inner.cache.reload();
    }

    /// Does what [`Self::reload`] does, and waits until it is done. [`Self::keep_fresh`] must be running.
    pub async fn reloaded(&self) {
        self.inner.cache.reloaded().await;
    }

    /// Waits until a schema cache is loaded. [`Self::keep_fresh`] must be running.
    pub async fn loaded(&self) {
        self.inner.cache.loaded().await;
    }

    /// Waits as [`Self::loaded`] does, but no longer than for the first attempt, whether it succeeds or not.
    pub async fn tried(&self) {
        self.inner.cache.tried().await;
    }

    /// Reports whether a schema cache is loaded, so that requests can be handled.
    pub fn is_ready(&self) -> bool {
        self.inner.cache.current().is_some()
    }

    /// Exchanges the positions of writes with `nodes`, if reads may go to replicas. Only the first call has an effect.
    pub fn share_writes_with(&self, nodes: &Nodes) {
        self.inner.write_positions.share_with(nodes);
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn plans(&self) -> &PlanCache {
        &self.inner.plans
    }

    pub(crate) fn cache(&self) -> &SharedCache {
        &self.inner.cache
    }

    pub(crate) fn current_configuration(&self) -> Arc<Configuration> {
        self.inner.configuration.current()
    }
}
