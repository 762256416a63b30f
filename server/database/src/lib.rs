//! Everything that talks to Postgres.
//!
//! Two ways lead through a [`Database`]. [`Database::run`] is the hot path: a [`Transaction`] (a role, its settings,
//! its statements) goes out in one write and comes back after one `Sync`, on a connection that speaks the wire
//! protocol itself. [`Database::client`] lends a pooled `tokio-postgres` client to everything that is not hot.
//!
//! This crate refuses to know what any service's tables mean: SQL texts live with their services, except for the
//! platform's migrations in [`migrate`].

mod answer;
mod batch;
mod catalog;
mod client;
mod client_uri;
pub mod cluster;
mod connect;
mod connection;
pub mod conninfo;
mod error;
pub mod extensions;
mod identifier;
mod json;
pub mod migrate;
mod pool;
mod renewal;
mod replicas;
mod servers;
mod settings;
mod settings_texts;
mod statement_cache;
mod timer;
mod tls;
mod transaction;
pub mod vault;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub use answer::{Answer, Column, Row, Rows};
pub use client::{Client, DetachedClient};
pub use client_uri::client_uri;
pub use connection::{Connection, Outcome};
pub use error::{Error, ServerError};
pub use identifier::{push_identifier, push_literal, quote_identifier, quote_literal};
pub use json::JsonArray;
pub use pool::PoolStatistics;
pub use renewal::Renewal;
pub use settings::Settings;
pub use transaction::{Isolation, Transaction};

/// How long [`Database::ping`] waits for an answer.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// A database as one login role sees it. Cheap to clone: clones share their connections.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    target: Arc<connect::Target>,
    renewal: Renewal,
    batches: Arc<pool::Pool>,
    replicas: replicas::Replicas,
    clients: client::Clients,
    catalog: catalog::Listener,
}

impl Database {
    /// Prepares the pools for `settings.server`. Postgres need not be up: connections are made when they are needed,
    /// and the catalog listener (where `settings.channel` asks for one) retries with a growing pause.
    ///
    /// Errors: [`Error::Configuration`] for parameters that cannot be understood or certificates that cannot be read.
    /// Must be called inside a Tokio runtime.
    pub async fn connect(settings: Settings) -> Result<Self, Error> {
        let target = Arc::new(connect::Target::new(&settings.server, &settings)?);
        let catalog = match &settings.channel {
            Some(channel) => catalog::Listener::start(Arc::clone(&target), channel.clone()),
            None => catalog::Listener::silent(),
        };
        let clients = client::Clients::new(&target, &settings)?;
        let batches = pool::Pool::start(Arc::clone(&target), &settings);
        let replicas = replicas::Replicas::start(&batches, &settings)?;
        let renewal = settings.renewal;
        Ok(Self { inner: Arc::new(Inner { target, renewal, batches, replicas, clients, catalog }) })
    }

    /// Lends a `tokio-postgres` client for work that is not hot. It returns to the pool when dropped.
    ///
    /// Errors: [`Error::AcquireTimeout`] when none is free in time, [`Error::Unavailable`] when Postgres is gone.
    pub async fn client(&self) -> Result<Client, Error> {
        self.inner.clients.get().await
    }

    /// Opens a connection of its own beside the pools, as `login` (a role and its password), else as the pools' role.
    /// `application` is what `pg_stat_activity` shows. It is closed when dropped.
    ///
    /// Errors: [`Error::Unavailable`] when Postgres is gone; [`Error::Postgres`] when the login is refused.
    pub async fn open(&self, login: Option<(&str, &str)>, application: &str) -> Result<Connection, Error> {
        let mut target = connect::Target::clone(&self.inner.target);
        if let Some((role, password)) = login {
            target.config.user(role).password(password);
        }
        target.config.application_name(application);
        Ok(Connection::new(target.open().await?))
    }

    /// Runs `transaction` in one network round trip and returns the rows of each of its statements.
    ///
    /// The transaction is committed when this returns `Ok`. A statement that the catalog may have outdated since it was
    /// prepared is prepared anew, and what failed because of it run once more, without the caller's notice; nothing
    /// else is ever run twice, except that a read-only transaction is tried again on a fresh connection when the pooled
    /// one turns out to be dead.
    ///
    /// Its isolation level and access mode do not depend on the session's defaults. What its code may have changed of
    /// the session is undone before the connection is lent again, unless [`Transaction::leaves_nothing`].
    ///
    /// A read-only transaction goes to one of the healthy replicas in turn, where there are any, unless
    /// [`Transaction::on_primary`] keeps it from there; the primary answers when they cannot.
    ///
    /// Errors: [`Error::Postgres`] with everything that the server said; [`Error::Timeout`] after
    /// [`Transaction::timeout`], the statement having been cancelled; [`Error::AcquireTimeout`];
    /// [`Error::Unavailable`].
    pub async fn run(&self, transaction: &Transaction<'_>) -> Result<Answer, Error> {
        if transaction.may_be_late()
            && let Some(answer) = self.inner.replicas.run(transaction).await
        {
            return answer;
        }
        self.inner.batches.run(transaction).await
    }

    /// How the hot path's pool of connections to the primary does at this moment.
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.inner.batches.statistics()
    }

    /// Gives up all connections that are open now, and those of all who share [`Settings::renewal`]: idle ones at once
    /// or when their turn comes, others when they come back. Call it when the catalog has changed.
    pub fn renew(&self) {
        self.inner.renewal.renew();
        self.inner.batches.close_outdated();
        self.inner.replicas.close_outdated();
    }

    /// Waits, for a second at most, until all notices are counted that Postgres has sent by now.
    pub async fn hear_notices(&self) {
        self.inner.catalog.catch_up().await;
    }

    /// How many replicas take reads now.
    pub fn healthy_replicas(&self) -> usize {
        self.inner.replicas.healthy()
    }

    /// A counter that grows whenever the catalog may have changed: on a notification in `settings.channel` and
    /// each time that the listener connects again. It stays at 0 without a channel.
    pub fn catalog_changes(&self) -> watch::Receiver<u64> {
        self.inner.catalog.subscribe()
    }

    /// Whether notices are listened for at all, be it that Postgres cannot be reached at this moment.
    pub fn has_listener(&self) -> bool {
        self.inner.catalog.has_channel()
    }

    /// Whether notices in `channel` come in at this moment, so that [`Self::catalog_changes`] tells of them.
    pub fn is_listening_to(&self, channel: &str) -> bool {
        self.inner.catalog.is_listening_to(channel)
    }

    /// Answers whether Postgres takes and answers a statement now, within two seconds.
    pub async fn ping(&self) -> Result<(), Error> {
        let transaction = Transaction::anonymous().read_only().on_primary().statement("select 1", Vec::new());
        self.run(&transaction.leaves_nothing().timeout(PING_TIMEOUT)).await.map(drop)
    }

    /// Closes all idle connections, refuses new work, and ends the background tasks.
    pub async fn close(&self) {
        self.inner.catalog.stop().await;
        self.inner.clients.close();
        self.inner.replicas.close().await;
        self.inner.batches.close().await;
    }
}
