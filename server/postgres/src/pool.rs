//! The pool of the hot path's connections.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fairness::{FairSemaphore, Permit, Refusal};
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;

use crate::batch::Connection;
use crate::connect::Target;
use crate::error::Error;
use crate::renewal::Renewal;
use crate::reply::Reply;
use crate::retry::{self, Rung};
use crate::settings::Settings;
use crate::transaction::Transaction;
use crate::waits;

/// The maximum number of callers that wait for a connection; the next one is refused at once.
pub(crate) const MAX_WAITING: usize = 4096;

/// The maximum number of connections on which a transaction is tried.
const MAX_CONNECTIONS: u32 = 3;

/// How long a cancelled statement may take to end before its connection is closed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of the hot path's pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    /// The maximum number of connections.
    pub max: usize,
    /// Connections that are open and idle.
    pub available: usize,
    /// Connections that are lent, being opened or being reset.
    pub busy: usize,
    /// Callers that wait for a connection.
    pub waiting: usize,
    /// Callers that waited too long and got no connection, since the start.
    pub timeouts: u64,
}

/// Idle connections. Boxed, because they are large and moved several times with every request.
type Idle = Vec<Box<Connection>>;

pub(crate) struct Pool {
    target: Arc<Target>,
    permits: FairSemaphore,
    /// Cloned into every open connection, which counts them.
    open: Arc<()>,
    timeouts: AtomicU64,
    /// The time in seconds that callers waited for a connection. Callers that got one at once are not counted.
    pub(crate) waits: Histogram,
    /// The time in seconds that opening a connection took.
    pub(crate) openings: Histogram,
    /// The most recently used connection is last and lent first, so that surplus connections stay idle and are closed.
    idle: Mutex<Idle>,
    /// Whether prepared statements are named and reused. Turned off permanently when a connection pooler turns out not
    /// to support them.
    reuses_statements: AtomicBool,
    cache_size: usize,
    acquisition_timeout: Duration,
    max_idle_time: Duration,
    max_lifetime: Duration,
    transaction_timeout: Duration,
    renewal: Renewal,
}

impl Pool {
    pub(crate) fn start(target: Arc<Target>, settings: &Settings) -> Arc<Self> {
        let size = settings.pool_size.clamp(1, 10_000);
        let pool = Arc::new(Self {
            target,
            permits: FairSemaphore::new(size, MAX_WAITING),
            open: Arc::default(),
            timeouts: AtomicU64::new(0),
            waits: waits::seconds(),
            openings: waits::seconds(),
            idle: Mutex::new(Vec::with_capacity(size)),
            reuses_statements: AtomicBool::new(settings.prepared_statements),
            cache_size: settings.statement_cache_size.max(16),
            acquisition_timeout: settings.acquisition_timeout,
            max_idle_time: settings.max_idle_time,
            max_lifetime: settings.max_lifetime,
            transaction_timeout: settings.transaction_timeout,
            renewal: settings.renewal.clone(),
        });
        tokio::spawn(close_expired(Arc::downgrade(&pool), settings.max_idle_time));
        pool
    }

    pub(crate) async fn run(self: &Arc<Self>, transaction: &Transaction<'_>) -> Result<Reply, Error> {
        let mut connections = 1;
        let mut lease = self.acquire(true).await?;
        let mut had_run_user_code = lease.has_run_user_code();
        loop {
            let error = match lease.execute(transaction, self.transaction_timeout).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            match self.rung(&mut lease, transaction, &error, had_run_user_code) {
                Some(Rung::PrepareAgain) => {}
                Some(Rung::NewConnection) if connections < MAX_CONNECTIONS => {
                    // Its permit may be the last one.
                    drop(lease);
                    connections += 1;
                    // Nothing else has run on the last one, which is new.
                    lease = self.acquire(connections < MAX_CONNECTIONS).await?;
                    had_run_user_code = lease.has_run_user_code();
                }
                _ => return Err(error),
            }
        }
    }

    /// Returns the rung of [`retry`] on which `transaction`, which has failed with `error` on `lease` and has changed
    /// nothing, may succeed; `None` if there is none in this pool. `had_run_user_code` is what
    /// [`Lease::has_run_user_code`] was before it.
    fn rung(
        &self,
        lease: &mut Lease,
        transaction: &Transaction<'_>,
        error: &Error,
        had_run_user_code: bool,
    ) -> Option<Rung> {
        if lease.prepares_retry(error, transaction) {
            return Some(Rung::PrepareAgain);
        }
        let is_mismatch = retry::is_statement_mismatch(error);
        // The transaction's own code may have deallocated the statements that follow. It cannot have prepared any.
        let is_self_inflicted = transaction.may_change_session() && retry::is_statement_missing(error);
        if is_mismatch && !had_run_user_code && !is_self_inflicted {
            self.disable_statement_reuse();
        }
        if is_mismatch || !matches!(error, Error::Postgres(_) | Error::Timeout(_)) {
            lease.discard();
        }
        let died_idle = error.is_unavailable() && lease.reused;
        if died_idle {
            // The cause, such as a restart of the server, has ended the other idle connections, too.
            self.idle.lock().clear();
        }
        (is_mismatch || (died_idle && transaction.is_read_only())).then_some(Rung::NewConnection)
    }

    /// Lends a connection: an idle one if `may_be_reused` and there is one, else a new one.
    async fn acquire(self: &Arc<Self>, may_be_reused: bool) -> Result<Lease, Error> {
        let permit = self.permit().await?;
        while may_be_reused && let Some(mut connection) = self.pop_idle() {
            if !self.is_expired(&connection) && self.is_usable(&mut connection).await {
                return Ok(self.lease(connection, permit, true));
            }
        }
        let begun = Instant::now();
        let session = self.target.open().await?;
        self.openings.observe(begun.elapsed().as_secs_f64());
        let cache_size = self.reuses_statements.load(Ordering::Relaxed).then_some(self.cache_size);
        let connection = Connection::new(session, cache_size, Arc::clone(&self.open));
        Ok(self.lease(Box::new(connection), permit, false))
    }

    async fn is_usable(&self, connection: &mut Connection) -> bool {
        let is_usable = tokio::time::timeout(DRAIN_TIMEOUT, connection.is_usable());
        is_usable.await.unwrap_or(false)
    }

    async fn permit(&self) -> Result<Permit, Error> {
        let caller = fairness::caller();
        if let Some(permit) = self.permits.try_acquire(caller) {
            return Ok(permit);
        }
        let begun = Instant::now();
        let acquired = self.permits.acquire(caller, self.acquisition_timeout).await;
        if !matches!(acquired, Err(Refusal::Full)) {
            self.waits.observe(begun.elapsed().as_secs_f64());
        }
        acquired.map_err(|refusal| match refusal {
            Refusal::Full => Error::AcquireTimeout(Duration::ZERO),
            Refusal::Late => {
                self.timeouts.fetch_add(1, Ordering::Relaxed);
                Error::AcquireTimeout(self.acquisition_timeout)
            }
            Refusal::Closed => Error::Unavailable("the pool is closed".to_owned()),
        })
    }

    fn lease(self: &Arc<Self>, connection: Box<Connection>, permit: Permit, reused: bool) -> Lease {
        Lease { pool: Arc::clone(self), connection: Some(connection), permit: Some(permit), reused }
    }

    /// Stops the reuse of prepared statements on new connections, and closes the idle ones.
    fn disable_statement_reuse(&self) {
        if self.reuses_statements.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "a connection pooler in transaction mode does not support prepared statements: requests continue \
                 without them and cost more. PgBouncer 1.21 or newer supports them with max_prepared_statements"
            );
        }
        self.idle.lock().clear();
    }

    /// Closes the idle connections that were opened before the last renewal. Others of that age are closed when they
    /// are returned.
    pub(crate) fn close_outdated(&self) {
        let is_outdated = |connection: &mut Box<Connection>| self.renewal.is_outdated(connection.opened);
        let outdated: Idle = self.idle.lock().extract_if(.., is_outdated).collect();
        drop(outdated);
    }

    /// Returns the current state of the pool.
    pub(crate) fn statistics(&self) -> PoolStatistics {
        PoolStatistics {
            max: self.permits.permits(),
            available: self.idle.lock().len(),
            busy: self.permits.held(),
            waiting: self.permits.waiting(),
            timeouts: self.timeouts.load(Ordering::Relaxed),
        }
    }

    /// Reports whether any connection is open, lent or idle.
    pub(crate) fn has_connections(&self) -> bool {
        Arc::strong_count(&self.open) > 1
    }

    fn pop_idle(&self) -> Option<Box<Connection>> {
        self.idle.lock().pop()
    }

    fn is_expired(&self, connection: &Connection) -> bool {
        self.renewal.is_outdated(connection.opened)
            || connection.opened.elapsed() > self.max_lifetime
            || connection.idle_since.elapsed() > self.max_idle_time
    }

    fn put_back(&self, mut connection: Box<Connection>) {
        let is_current = !self.permits.is_closed() && !self.renewal.is_outdated(connection.opened);
        if is_current && !connection.is_altered() {
            connection.idle_since = Instant::now();
            self.idle.lock().push(connection);
        }
    }

    /// Waits (at most [`DRAIN_TIMEOUT`]) for running transactions, then closes all connections.
    pub(crate) async fn close(&self) {
        // A transaction that runs longer keeps its connection until its lease ends; it is closed then.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.permits.unused()).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock());
        for connection in idle {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection.terminate()).await;
        }
    }
}

/// A lent connection. If it is dropped during a transaction, the transaction is cancelled, and the connection returns
/// to the pool when the server is ready.
struct Lease {
    pool: Arc<Pool>,
    connection: Option<Box<Connection>>,
    permit: Option<Permit>,
    reused: bool,
}

impl Lease {
    async fn execute(&mut self, transaction: &Transaction<'_>, limit: Duration) -> Result<Reply, Error> {
        let limit = transaction.time_limit().unwrap_or(limit);
        let Some(connection) = &mut self.connection else {
            return Err(Error::protocol("the connection was returned already"));
        };
        let mut timer = std::mem::take(&mut connection.timer);
        let reply = timer.limit(limit, connection.execute(transaction)).await;
        connection.timer = timer;
        reply.unwrap_or(Err(Error::Timeout(limit)))
    }

    /// Calls [`Connection::prepares_retry`].
    fn prepares_retry(&mut self, error: &Error, transaction: &Transaction<'_>) -> bool {
        self.connection.as_mut().is_some_and(|connection| connection.prepares_retry(error, transaction))
    }

    /// Reports whether code of the database's users has run on the connection.
    fn has_run_user_code(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.has_run_user_code)
    }

    fn discard(&mut self) {
        self.connection = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.is_ready() {
            self.pool.put_back(connection);
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(cancel(Arc::clone(&self.pool), connection, self.permit.take()));
        }
    }
}

/// Cancels what `connection` is running. The permit is held meanwhile, so that the pool never has more connections than
/// its size.
async fn cancel(pool: Arc<Pool>, mut connection: Box<Connection>, permit: Option<Permit>) {
    let drained = async {
        pool.target.cancel(connection.cancel_key()).await?;
        connection.drain().await
    };
    match tokio::time::timeout(DRAIN_TIMEOUT, drained).await {
        Ok(Ok(())) => pool.put_back(connection),
        Ok(Err(error)) => tracing::debug!(%error, "the connection of a cancelled statement is closed"),
        Err(_) => {
            tracing::warn!("a cancelled statement did not end in {DRAIN_TIMEOUT:?}; its connection is closed")
        }
    }
    drop(permit);
}

/// Closes connections that have been idle for too long, as long as the pool exists.
async fn close_expired(pool: Weak<Pool>, max_idle_time: Duration) {
    let mut tick = tokio::time::interval(max_idle_time.max(Duration::from_secs(1)) / 2);
    loop {
        tick.tick().await;
        let Some(pool) = pool.upgrade().filter(|pool| !pool.permits.is_closed()) else { return };
        let expired: Idle =
            pool.idle.lock().extract_if(.., |connection| pool.is_expired(connection)).collect();
        for connection in expired {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection.terminate()).await;
        }
    }
}
