//! The pool of the hot path's connections.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::batch::Connection;
use crate::connect::Target;
use crate::{Answer, Error, Renewal, Settings, Transaction};

/// Callers that wait for a connection, at most; the next one is refused at once.
const MAX_WAITING: usize = 4096;

/// How often a transaction is run at most that was misled by what others did to its connection.
const MAX_ATTEMPTS: u32 = 3;

/// How long a cancelled statement may take to end before its connection is thrown away.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How the pool of the hot path does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    /// Connections at most.
    pub max: usize,
    /// Connections that are open and have nothing to do.
    pub available: usize,
    /// Callers that wait for a connection.
    pub waiting: usize,
    /// Callers that waited in vain, since the start.
    pub timeouts: u64,
}

/// Connections that have nothing to do. Boxed, because they are large and handed on several times with every request.
type Idle = Vec<Box<Connection>>;

pub(crate) struct Pool {
    target: Arc<Target>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    timeouts: AtomicU64,
    /// The most recently used connection is last and goes out first, so that those too many grow old and are closed.
    idle: Mutex<Idle>,
    size: u32,
    /// Whether statements keep their names; turned off for good when a pooler shows that it does not know them.
    keeps_names: AtomicBool,
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
            permits: Arc::new(Semaphore::new(size)),
            waiting: AtomicUsize::new(0),
            timeouts: AtomicU64::new(0),
            idle: Mutex::new(Vec::with_capacity(size)),
            size: u32::try_from(size).unwrap_or(u32::MAX),
            keeps_names: AtomicBool::new(settings.prepared_statements),
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

    pub(crate) async fn run(self: &Arc<Self>, transaction: &Transaction<'_>) -> Result<Answer, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            // The last one owes nothing to what others did.
            let mut lease = self.acquire(attempts < MAX_ATTEMPTS).await?;
            let had_run_foreign_code = lease.has_run_foreign_code();
            let error = match lease.execute(transaction, self.transaction_timeout).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_misled = is_misled(&error);
            // The transaction itself may have dropped what its later statements were prepared as, but made none.
            let is_own_doing = transaction.may_leave_something() && is_missing(&error);
            if is_misled && !had_run_foreign_code && !is_own_doing {
                self.forget_names();
            }
            if is_misled || !matches!(error, Error::Postgres(_) | Error::Timeout(_)) {
                lease.discard();
            }
            let died_idle = error.is_unavailable() && lease.reused;
            if died_idle {
                // What killed one idle connection, such as a restart, has killed its neighbours, too.
                self.lock_idle().clear();
            }
            let is_worth_it = is_misled || (died_idle && transaction.is_read_only());
            if attempts == MAX_ATTEMPTS || !is_worth_it {
                return Err(error);
            }
        }
    }

    /// A connection: one that was used before if it `may_be_reused` and there is one.
    async fn acquire(self: &Arc<Self>, may_be_reused: bool) -> Result<Lease, Error> {
        let permit = self.permit().await?;
        while may_be_reused && let Some(mut connection) = self.pop_idle() {
            if !self.is_expired(&connection) && self.is_fit(&mut connection).await {
                return Ok(self.lease(connection, permit, true));
            }
        }
        let session = self.target.open().await?;
        let cache_size = self.keeps_names.load(Ordering::Relaxed).then_some(self.cache_size);
        Ok(self.lease(Box::new(Connection::new(session, cache_size)), permit, false))
    }

    async fn is_fit(&self, connection: &mut Connection) -> bool {
        let is_fit = tokio::time::timeout(SETTLE_TIMEOUT, connection.is_fit());
        is_fit.await.unwrap_or(false)
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let closed = |_| Error::Unavailable("the pool is closed".to_owned());
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = Waiting::enter(&self.waiting).ok_or(Error::AcquireTimeout(Duration::ZERO))?;
        tokio::time::timeout(self.acquisition_timeout, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| {
                self.timeouts.fetch_add(1, Ordering::Relaxed);
                Error::AcquireTimeout(self.acquisition_timeout)
            })?
            .map_err(closed)
    }

    fn lease(
        self: &Arc<Self>,
        connection: Box<Connection>,
        permit: OwnedSemaphorePermit,
        reused: bool,
    ) -> Lease {
        Lease { pool: Arc::clone(self), connection: Some(connection), permit: Some(permit), reused }
    }

    /// Goes on without prepared statements.
    fn forget_names(&self) {
        if self.keeps_names.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "a connection pooler in transaction mode that does not know prepared statements: requests go on \
                 without them and cost more. PgBouncer 1.21 or newer with max_prepared_statements knows them"
            );
        }
        self.lock_idle().clear();
    }

    /// Closes the idle ones of the connections that were opened before the last renewal. The others are closed when
    /// they come back.
    pub(crate) fn close_outdated(&self) {
        let is_outdated = |connection: &mut Box<Connection>| self.renewal.is_outdated(connection.opened);
        let outdated: Idle = self.lock_idle().extract_if(.., is_outdated).collect();
        drop(outdated);
    }

    /// How the pool does at this moment.
    pub(crate) fn statistics(&self) -> PoolStatistics {
        PoolStatistics {
            max: self.size as usize,
            available: self.lock_idle().len(),
            waiting: self.waiting.load(Ordering::Relaxed),
            timeouts: self.timeouts.load(Ordering::Relaxed),
        }
    }

    fn pop_idle(&self) -> Option<Box<Connection>> {
        self.lock_idle().pop()
    }

    fn is_expired(&self, connection: &Connection) -> bool {
        self.renewal.is_outdated(connection.opened)
            || connection.opened.elapsed() > self.max_lifetime
            || connection.idle_since.elapsed() > self.max_idle_time
    }

    fn put_back(&self, mut connection: Box<Connection>) {
        let is_wanted = !self.permits.is_closed() && !self.renewal.is_outdated(connection.opened);
        if is_wanted && !connection.is_altered() {
            connection.idle_since = Instant::now();
            self.lock_idle().push(connection);
        }
    }

    fn lock_idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits (at most [`SETTLE_TIMEOUT`]) for what is running, then ends all connections.
    pub(crate) async fn close(&self) {
        let all = Arc::clone(&self.permits).acquire_many_owned(self.size);
        // Whoever is still at it after the time limit loses its connection when its lease ends.
        let _ = tokio::time::timeout(SETTLE_TIMEOUT, all).await;
        self.permits.close();
        let idle = std::mem::take(&mut *self.lock_idle());
        for connection in idle {
            let _ = tokio::time::timeout(SETTLE_TIMEOUT, connection.terminate()).await;
        }
    }
}

/// Whether one of our prepared statements is missing (26000) or there already (42P05). Nothing has been run then. A
/// pooler that hands one server connection to several clients does that, or code of the database's users that has run
/// on the same connection. The same codes raised by a function come with a context.
fn is_misled(error: &Error) -> bool {
    error.server().is_some_and(|error| matches!(&*error.code, "26000" | "42P05") && error.context.is_none())
}

/// Whether it is missing.
fn is_missing(error: &Error) -> bool {
    error.server().is_some_and(|error| error.code == "26000")
}

/// A connection on loan. Dropped in the middle of a transaction, it cancels that and returns the connection when
/// the server is ready again.
struct Lease {
    pool: Arc<Pool>,
    connection: Option<Box<Connection>>,
    permit: Option<OwnedSemaphorePermit>,
    reused: bool,
}

impl Lease {
    async fn execute(&mut self, transaction: &Transaction<'_>, limit: Duration) -> Result<Answer, Error> {
        let limit = transaction.time_limit().unwrap_or(limit);
        let Some(connection) = &mut self.connection else {
            return Err(Error::protocol("the connection was given back already"));
        };
        let mut timer = std::mem::take(&mut connection.timer);
        let answer = timer.limit(limit, connection.execute(transaction)).await;
        connection.timer = timer;
        answer.unwrap_or(Err(Error::Timeout(limit)))
    }

    /// Whether code of the database's users has run on the connection.
    fn has_run_foreign_code(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.has_run_foreign_code)
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
            runtime.spawn(settle(Arc::clone(&self.pool), connection, self.permit.take()));
        }
    }
}

/// Cancels what `connection` is running. The permit is held meanwhile, so that the server never has more
/// connections of this pool than it may.
async fn settle(pool: Arc<Pool>, mut connection: Box<Connection>, permit: Option<OwnedSemaphorePermit>) {
    let settled = async {
        pool.target.cancel(connection.cancel_key()).await?;
        connection.settle().await
    };
    match tokio::time::timeout(SETTLE_TIMEOUT, settled).await {
        Ok(Ok(())) => pool.put_back(connection),
        Ok(Err(error)) => tracing::debug!(%error, "a cancelled connection is given up"),
        Err(_) => tracing::warn!(
            "a cancelled statement did not end in {SETTLE_TIMEOUT:?}; its connection is closed"
        ),
    }
    drop(permit);
}

/// Closes connections that have been idle for too long, while the pool exists.
async fn close_expired(pool: Weak<Pool>, max_idle_time: Duration) {
    let mut tick = tokio::time::interval(max_idle_time.max(Duration::from_secs(1)) / 2);
    loop {
        tick.tick().await;
        let Some(pool) = pool.upgrade().filter(|pool| !pool.permits.is_closed()) else { return };
        let expired: Idle =
            pool.lock_idle().extract_if(.., |connection| pool.is_expired(connection)).collect();
        for connection in expired {
            let _ = tokio::time::timeout(SETTLE_TIMEOUT, connection.terminate()).await;
        }
    }
}

/// Counts a waiting caller for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Option<Self> {
        let waiting = Self(count);
        (count.fetch_add(1, Ordering::Relaxed) < MAX_WAITING).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
