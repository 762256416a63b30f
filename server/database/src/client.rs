//! The pool of `tokio-postgres` clients, for everything that is not on the hot path.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Metrics, Object, Pool, PoolError,
    RecyclingMethod, Runtime, Status, TimeoutType,
};
use prometheus_client::metrics::histogram::Histogram;
use telemetry::Statements;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connect::Target;
use crate::{Error, Settings, metrics};

/// A `tokio-postgres` client on loan from a [`crate::Database`]. Derefs to [`tokio_postgres::Client`].
pub struct Client {
    client: Object,
    statements: Statements,
}

/// A client that [`Client::detach`] has taken out of its pool. Its connection is closed when it is dropped.
pub type DetachedClient = ClientWrapper;

impl Client {
    /// Takes the client out of its pool.
    pub fn detach(self) -> DetachedClient {
        Object::take(self.client)
    }

    /// Returns the telemetry of its statements, in which callers that run statements must record them.
    pub const fn statements(&self) -> &Statements {
        &self.statements
    }
}

impl Deref for Client {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut ClientWrapper {
        &mut self.client
    }
}

pub(crate) struct Clients {
    pool: Pool,
    /// The time in seconds that callers waited for a client. Callers that got one at once are not counted.
    pub(crate) waits: Histogram,
    statements: Statements,
    settings: Settings,
}

impl Clients {
    pub(crate) fn new(
        target: &Arc<Target>,
        settings: &Settings,
        statements: Statements,
    ) -> Result<Self, Error> {
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
        Ok(Self { pool, waits: metrics::seconds(), statements, settings: settings.clone() })
    }

    pub(crate) async fn get(&self) -> Result<Client, Error> {
        let Status { max_size, size, available, .. } = self.pool.status();
        let waiting_since = (available == 0 && size >= max_size).then(Instant::now);
        let client = self.pool.get().await;
        if let Some(since) = waiting_since {
            self.waits.observe(since.elapsed().as_secs_f64());
        }
        let client = client.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::AcquireTimeout(self.settings.acquisition_timeout),
            PoolError::Timeout(_) => {
                Error::Unavailable(format!("no connection within {:?}", self.settings.connect_timeout))
            }
            PoolError::Backend(error) => error.into(),
            other => Error::Unavailable(other.to_string()),
        })?;
        Ok(Client { client, statements: self.statements.clone() })
    }

    /// Returns the current state of the pool.
    pub(crate) fn status(&self) -> Status {
        self.pool.status()
    }

    /// Returns the settings of the database that the pool belongs to.
    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}
