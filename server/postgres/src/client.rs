//! The pool of `tokio-postgres` clients, for everything that is not on the hot path.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Metrics, Object, Pool, PoolError,
    RecyclingMethod, Runtime, Status, TimeoutType,
};
use fairness::{FairSemaphore, Permit, Refusal};
use prometheus_client::metrics::histogram::Histogram;
use telemetry::Statements;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::batch::RESET_SESSION;
use crate::connect::Target;
use crate::error::Error;
use crate::pool::MAX_WAITING;
use crate::repair::Repair;
use crate::settings::Settings;
use crate::waits;

/// How long the reset of a session may take.
const RESET_LIMIT: Duration = Duration::from_secs(5);

/// A `tokio-postgres` client on loan from a [`crate::database::Database`]. Derefs to [`tokio_postgres::Client`].
pub struct Client {
    /// `None` once it was taken out.
    client: Option<Object>,
    permit: Option<Permit>,
    statements: Statements,
    /// Whether a [`Work`](crate::work::Work) on it may have left a transaction open.
    pub(crate) is_in_transaction: bool,
}

/// A client that [`Client::detach`] has taken out of its pool. Its connection is closed when it is dropped.
pub type DetachedClient = ClientWrapper;

impl Client {
    /// Takes the client out of its pool.
    pub fn detach(mut self) -> DetachedClient {
        match self.client.take() {
            Some(client) => Object::take(client),
            None => unreachable!("a client is taken once"),
        }
    }

    /// Returns the telemetry of its statements, in which callers that run statements must record them.
    pub const fn statements(&self) -> &Statements {
        &self.statements
    }
}

impl Deref for Client {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        match &self.client {
            Some(client) => client,
            None => unreachable!("a client is there until it is dropped"),
        }
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut ClientWrapper {
        match &mut self.client {
            Some(client) => client,
            None => unreachable!("a client is there until it is dropped"),
        }
    }
}

impl Drop for Client {
    /// Rolls an open transaction back, undoes what a trigger or a hook has set for the session, and returns the client
    /// to the pool. The caller does not wait for that; a session that cannot be reset is closed.
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let permit = self.permit.take();
        let reset = match self.is_in_transaction {
            true => Cow::Owned(format!("rollback; {RESET_SESSION}")),
            false => Cow::Borrowed(RESET_SESSION),
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            drop(Object::take(client));
            return;
        };
        runtime.spawn(async move {
            let reset = tokio::time::timeout(RESET_LIMIT, client.batch_execute(&reset)).await;
            if !matches!(reset, Ok(Ok(()))) {
                drop(Object::take(client));
            }
            drop(permit);
        });
    }
}

pub(crate) struct Clients {
    pool: Pool,
    /// A permit for each client that may be lent. The pool's own queue has no bound, and serves callers as they come.
    permits: FairSemaphore,
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
            // The session is reset when a client is returned, so that the next caller does not wait for it.
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
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
        let permits = FairSemaphore::new(settings.client_pool_size.max(1), MAX_WAITING);
        Ok(Self { pool, permits, waits: waits::seconds(), statements, settings: settings.clone() })
    }

    pub(crate) async fn get(&self) -> Result<Client, Error> {
        let permit = self.permit().await?;
        let client = match self.lend().await {
            Err(error) if Repair::of(self.settings.repair.as_ref(), &error).await => self.lend().await?,
            lent => lent?,
        };
        Ok(Client {
            client: Some(client),
            permit: Some(permit),
            statements: self.statements.clone(),
            is_in_transaction: false,
        })
    }

    async fn lend(&self) -> Result<Object, Error> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Error::AcquireTimeout(self.settings.acquisition_timeout),
            PoolError::Timeout(_) => {
                Error::Unavailable(format!("no connection within {:?}", self.settings.connect_timeout))
            }
            PoolError::Backend(error) => error.into(),
            other => Error::Unavailable(other.to_string()),
        })
    }

    async fn permit(&self) -> Result<Permit, Error> {
        let (caller, limit) = (fairness::caller(), self.settings.acquisition_timeout);
        if let Some(permit) = self.permits.try_acquire(caller) {
            return Ok(permit);
        }
        let since = Instant::now();
        let permit = self.permits.acquire(caller, limit).await;
        self.waits.observe(since.elapsed().as_secs_f64());
        permit.map_err(|refusal| match refusal {
            Refusal::Full => Error::AcquireTimeout(Duration::ZERO),
            Refusal::Late => Error::AcquireTimeout(limit),
            Refusal::Closed => Error::Unavailable("the pool is closed".to_owned()),
        })
    }

    /// Returns how many callers wait for a client.
    pub(crate) fn waiting(&self) -> usize {
        self.permits.waiting()
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
        self.permits.close();
        self.pool.close();
    }
}
