//! The pool of `tokio-postgres` clients, for everything that is not on the hot path.

use std::sync::Arc;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Metrics, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connect::Target;
use crate::{Error, Settings};

/// A `tokio-postgres` client on loan from a [`crate::Database`]. Derefs to [`tokio_postgres::Client`].
pub type Client = deadpool_postgres::Object;

/// A client that `Client::take` has taken out of its pool. Its connection is closed when it is dropped.
pub type DetachedClient = deadpool_postgres::ClientWrapper;

pub(crate) struct Clients {
    pool: Pool,
    settings: Settings,
}

impl Clients {
    pub(crate) fn new(target: &Arc<Target>, settings: &Settings) -> Result<Self, Error> {
        let manager = Manager::from_config(
            target.config.clone(),
            MakeRustlsConnect::new(target.tls.clone()),
            // Undoes what a trigger or a hook has set for the session.
            ManagerConfig { recycling_method: RecyclingMethod::Clean },
        );
        let renewal = settings.renewal.clone();
        let is_current = Hook::sync_fn(move |_, metrics: &Metrics| {
            let is_outdated = renewal.is_outdated(metrics.created);
            if is_outdated { Err(HookError::message("the connection is outdated")) } else { Ok(()) }
        });
        let pool = Pool::builder(manager)
            .pre_recycle(is_current)
            .max_size(settings.client_pool_size.max(1))
            .wait_timeout(Some(settings.acquisition_timeout))
            .create_timeout(Some(settings.connect_timeout))
            .recycle_timeout(Some(settings.connect_timeout))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Error::Configuration(error.to_string()))?;
        Ok(Self { pool, settings: settings.clone() })
    }

    pub(crate) async fn get(&self) -> Result<Client, Error> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::AcquireTimeout(self.settings.acquisition_timeout),
            PoolError::Timeout(_) => {
                Error::Unavailable(format!("no connection within {:?}", self.settings.connect_timeout))
            }
            PoolError::Backend(error) => error.into(),
            other => Error::Unavailable(other.to_string()),
        })
    }

    /// Returns the settings of the database that the pool belongs to.
    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}
