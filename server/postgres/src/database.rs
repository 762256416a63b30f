//! A database, which everything else in this crate is for.

use std::sync::Arc;

use telemetry::Statements;
use tokio::sync::watch;

use crate::client::Client;
use crate::connect::{self, Session};
use crate::connection::Connection;
use crate::conninfo::Conninfo;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::pool::{self, PoolStatistics};
use crate::renewal::Renewal;
use crate::reply::Reply;
use crate::settings::Settings;
use crate::transaction::Transaction;
use crate::work::Work;
use crate::{client, listener, ping, replicas};

/// A database, accessed with one login role. Cheap to clone: clones share their connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    target: Arc<connect::Target>,
    renewal: Renewal,
    pub(crate) batches: Arc<pool::Pool>,
    reserved: Arc<pool::Pool>,
    ping: ping::Ping,
    pub(crate) replicas: replicas::Replicas,
    pub(crate) clients: client::Clients,
    listener: listener::Listener,
    statements: Statements,
}

impl Database {
    /// Prepares the pools for `settings.server`. Postgres need not be up: connections are opened on demand, and the
    /// listener (started if `settings.channel` is set) retries with a growing pause.
    ///
    /// Errors: [`Error::Configuration`] for invalid parameters or unreadable certificates. Must be called inside a
    /// Tokio runtime.
    pub async fn connect(settings: Settings) -> Result<Self, Error> {
        let target = Arc::new(connect::Target::new(&settings.server, &settings)?);
        let listener = match &settings.channel {
            Some(channel) => listener::Listener::start(Arc::clone(&target), channel.clone()),
            None => listener::Listener::disabled(),
        };
        let statements = Statements::new(target.description(), settings.slow.clone());
        let clients = client::Clients::new(&target, &settings, statements.clone())?;
        let batches = pool::Pool::start(Arc::clone(&target), &settings);
        let reserved = pool::Pool::start(Arc::clone(&target), &settings.reserved());
        let ping = ping::Ping::new(&reserved, &batches);
        let replicas = replicas::Replicas::start(&reserved, &settings)?;
        let renewal = settings.renewal;
        let inner =
            Inner { target, renewal, batches, reserved, ping, replicas, clients, listener, statements };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Lends a `tokio-postgres` client for work that is not on the hot path. It returns to the pool when dropped.
    ///
    /// Errors: [`Error::AcquireTimeout`] if none becomes free in time, [`Error::Unavailable`] if Postgres cannot be
    /// reached.
    pub async fn client(&self) -> Result<Client, Error> {
        self.inner.clients.get().await
    }

    /// Begins a transaction of several round trips on a pooled client, which it gives back at its end. `settings`
    /// (names and values) apply to this transaction only. Isolation level and access mode do not depend on the
    /// session's defaults.
    ///
    /// Errors: those of [`Self::client`]; [`Error::Postgres`] for a setting that is not accepted.
    pub async fn begin(&self, settings: &[(&str, &str)]) -> Result<Work, Error> {
        Work::begin(self.client().await?, settings).await
    }

    /// Opens a connection outside the pools, with `login` (a role and its password) or, without it, with the pools'
    /// role. `application` is the name shown in `pg_stat_activity`. The connection is closed when dropped.
    ///
    /// Errors: [`Error::Unavailable`] if Postgres cannot be reached; [`Error::Postgres`] if the login is refused.
    pub async fn open(&self, login: Option<(&str, &str)>, application: &str) -> Result<Connection, Error> {
        let mut target = connect::Target::clone(&self.inner.target);
        if let Some((role, password)) = login {
            target.repair = None;
            // The options are for the pools' role: another one may not set them, or must not have them.
            target.config.user(role).password(password).options("");
        }
        target.config.application_name(application);
        let session = target.open().await?;
        Ok(Connection::new(session, target))
    }

    /// Opens a connection for logical replication, to `server` or without it to the pools' server, with `options` that
    /// override those of the connection string. If that names several servers, the primary is used unless a standby is
    /// required.
    ///
    /// Errors: [`Error::Unavailable`] if the server cannot be reached; [`Error::Postgres`] if the login is refused;
    /// [`Error::Configuration`] for an invalid `server`.
    pub async fn open_replication(&self, server: Option<&Conninfo>, options: &str) -> Result<Session, Error> {
        let target = match server {
            Some(server) => &connect::Target::new(server, self.inner.clients.settings())?,
            None => &*self.inner.target,
        };
        target.for_replication(options).open().await
    }

    /// Runs `transaction` in one network round trip and returns the rows of each of its statements.
    ///
    /// The transaction is committed when this returns `Ok`. If it fails because the catalog has changed since one of
    /// its statements was prepared, the statements are prepared again and the transaction is repeated; the caller does
    /// not notice. A read-only transaction is repeated on a new connection if the pooled one turns out to be dead.
    /// Nothing else is ever run twice.
    ///
    /// Isolation level and access mode do not depend on the session's defaults. What the transaction's code may have
    /// changed in the session is undone before the connection is used again, unless
    /// [`Transaction::leaves_session_unchanged`].
    ///
    /// A read-only transaction is sent to one of the healthy replicas in turn, if there are any, unless it is
    /// [`Transaction::on_primary`], or has to see a write that they have not replayed ([`Transaction::sees`]). If they
    /// cannot respond, the primary runs it. If the primary has no free connection in time, a replica runs the read that
    /// has replayed the write in the meantime. While there is no primary, any healthy replica runs any read: no new
    /// write can be missing, except those that the primary acknowledged just before its end.
    ///
    /// Errors: [`Error::Postgres`] with the complete error of the server; [`Error::Timeout`] after
    /// [`Transaction::timeout`], in which case the statement has been cancelled; [`Error::AcquireTimeout`];
    /// [`Error::Unavailable`]; [`Error::TooManyConnections`].
    pub async fn run(&self, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        let statement = self.inner.statements.begin(|| transaction.sql());
        let reply = self.run_unwatched(transaction).await;
        statement.end(|| transaction.sql(), reply.as_ref().err().map(Error::kind));
        reply
    }

    async fn run_unwatched(&self, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        if transaction.may_run_on_replica()
            && let Some(reply) = self.inner.replicas.run(transaction, transaction.must_see()).await
        {
            return reply;
        }
        let reply = self.inner.batches.run(transaction).await;
        let other = match &reply {
            // A primary that is full or does not respond may have writes that the replicas lack.
            Err(Error::AcquireTimeout(_)) if transaction.may_run_on_replica() => {
                self.inner.replicas.run(transaction, transaction.must_see()).await
            }
            Err(error) => self.run_without_primary(transaction, error).await,
            Ok(_) => None,
        };
        other.unwrap_or(reply)
    }

    /// Runs a read that has failed with `error` on a replica, if the reason is that there is no primary. Then there are
    /// no new writes that a replica could lack.
    async fn run_without_primary(
        &self,
        transaction: &Transaction<'_>,
        error: &Error,
    ) -> Option<Result<Reply, Error>> {
        if !matches!(error, Error::Unavailable(_)) || !transaction.is_read_only() {
            return None;
        }
        self.inner.replicas.run(transaction, Lsn(0)).await
    }

    /// Runs a transaction of the server itself on the primary, as [`Self::run`] does, but on connections that no
    /// transaction of a caller can occupy. While there is no primary, a healthy replica runs a read.
    ///
    /// Errors: those of [`Self::run`].
    pub async fn run_reserved(&self, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        let statement = self.inner.statements.begin(|| transaction.sql());
        let reply = self.inner.reserved.run(transaction).await;
        let other = match &reply {
            Err(error) => self.run_without_primary(transaction, error).await,
            Ok(_) => None,
        };
        let reply = other.unwrap_or(reply);
        statement.end(|| transaction.sql(), reply.as_ref().err().map(Error::kind));
        reply
    }

    /// Returns the current state of the hot path's pool of connections to the primary.
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.inner.batches.statistics()
    }

    /// Closes all connections that are open now, also those of other databases that share [`Settings::renewal`]: idle
    /// ones at once or before their next use, others when they are returned. To be called when the catalog has changed.
    pub fn renew(&self) {
        self.inner.renewal.renew();
        self.inner.batches.close_outdated();
        self.inner.reserved.close_outdated();
        self.inner.replicas.close_outdated();
    }

    /// Waits, for a second at most, until all notifications that Postgres has sent so far are counted.
    pub async fn await_notifications(&self) {
        self.inner.listener.catch_up().await;
    }

    /// Reports whether reads may go to replicas, healthy or not.
    pub fn has_replicas(&self) -> bool {
        !self.inner.replicas.is_empty()
    }

    /// Returns a position of the primary's write-ahead log that is not before any transaction that has been committed.
    ///
    /// Errors: those of [`Self::run`].
    pub async fn write_position(&self) -> Result<Lsn, Error> {
        replicas::query_position(&self.inner.batches, "select pg_current_wal_insert_lsn()").await
    }

    /// Returns the number of replicas that accept reads now.
    pub fn healthy_replicas(&self) -> usize {
        self.inner.replicas.healthy()
    }

    /// Returns a counter that grows with every notification in `settings.channel` and each time the listener connects,
    /// since earlier notifications did not arrive. It stays at 0 without a channel.
    pub fn notifications(&self) -> watch::Receiver<u64> {
        self.inner.listener.subscribe()
    }

    /// Returns the current count of [`Self::notifications`].
    pub fn notification_count(&self) -> u64 {
        self.inner.listener.count()
    }

    /// Reports whether there is a listener for notifications, even if Postgres cannot be reached now.
    pub fn has_listener(&self) -> bool {
        self.inner.listener.has_channel()
    }

    /// Reports whether the listener is connected and listens to `channel`, so that [`Self::notifications`] counts its
    /// notifications.
    pub fn is_listening_to(&self, channel: &str) -> bool {
        self.inner.listener.is_listening_to(channel)
    }

    /// Checks that reads can be run: a replica is healthy, or the primary responds to a statement within two seconds.
    /// The statement waits behind no other work, so a pool that is full does not make it fail. Callers that check at
    /// the same time share one statement.
    ///
    /// Errors: those of [`Self::run`]. If Postgres accepts no more connections, this fails only if the hot path has
    /// none.
    pub async fn ping(&self) -> Result<(), Error> {
        // A primary that does not respond would delay the reply.
        if self.healthy_replicas() > 0 { Ok(()) } else { self.inner.ping.ping().await }
    }

    /// Closes all idle connections, refuses new work, and ends the background tasks.
    pub async fn close(&self) {
        self.inner.listener.stop().await;
        self.inner.clients.close();
        self.inner.replicas.close().await;
        self.inner.batches.close().await;
        self.inner.reserved.close().await;
    }
}
