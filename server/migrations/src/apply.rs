//! The session that files are run in: its initial state, the migrations' lock, and time limits.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::{Client, GenericClient, SimpleQueryMessage, Transaction};

use super::error::Error;

/// Key of the advisory lock that every migration holds until its transaction ends: the ASCII codes of "basalt", then 1.
const LOCK: i64 = 0x6261_7361_6c74_0001;

/// How often the lock is tried while another process holds it.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Sets the search path that a new session would have: the setting of the role in this database, of the role, of the
/// database, or of all roles and databases. A search path that the connection itself names takes precedence.
///
/// `reset all` alone is not enough: it restores the value from the beginning of the session, which may have been before
/// the platform's schema was created or, behind a pooler, at any time. Source of the order: PostgreSQL documentation,
/// "ALTER ROLE".
const FRESH_SEARCH_PATH: &str = "
select pg_catalog.set_config('search_path', coalesce(
  (select pg_catalog.current_setting('search_path')
     from pg_catalog.pg_settings where name = 'search_path' and source = 'client'),
  (select pg_catalog.substr(setting, pg_catalog.length('search_path=') + 1)
     from pg_catalog.pg_db_role_setting s cross join lateral pg_catalog.unnest(s.setconfig) as setting
    where s.setrole in (0, (select oid from pg_catalog.pg_roles where rolname = session_user))
      and s.setdatabase in (
        0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
      and pg_catalog.starts_with(setting, 'search_path=')
    order by (s.setrole <> 0) desc, (s.setdatabase <> 0) desc
    limit 1),
  pg_catalog.current_setting('search_path')), false)";

/// Time limits of migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long to wait for another process that is migrating the same database. Default: two minutes.
    pub migration_lock: Duration,
    /// How long a statement may wait for a lock on a table; other sessions queue behind it. Default: 30 seconds.
    pub table_lock: Duration,
    /// How long the statements of one file may take. Default: ten minutes.
    pub file: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            migration_lock: Duration::from_secs(120),
            table_lock: Duration::from_secs(30),
            file: Duration::from_secs(600),
        }
    }
}

/// Begins a transaction that holds the migrations' lock and has time limits, with the settings of a new session.
///
/// The lock is released at the end of the transaction, so that it works through a pooler in transaction mode. Settings
/// that earlier statements have left on the connection are undone first.
pub(super) async fn begin<'a>(client: &'a mut Client, limits: &Limits) -> Result<Transaction<'a>, Error> {
    let transaction = client.transaction().await.map_err(Error::database("begin a migration"))?;
    acquire_lock(&transaction, "pg_try_advisory_xact_lock", limits).await?;
    transaction
        .batch_execute(&format!("reset all; {FRESH_SEARCH_PATH}; {}", bounds("local", limits)))
        .await
        .map_err(Error::database("begin a migration"))?;
    Ok(transaction)
}

/// Begins another transaction of a file that is run in steps, after [`begin_session`]. The file's `set` statements stay
/// in force.
pub(super) async fn resume<'a>(client: &'a mut Client) -> Result<Transaction<'a>, Error> {
    client.transaction().await.map_err(Error::database("continue a migration"))
}

/// Takes the lock until [`end_session`] and sets the time limits, for a file whose statements cannot all be run in one
/// transaction.
pub(super) async fn begin_session(client: &mut Client, limits: &Limits) -> Result<(), Error> {
    acquire_lock(&*client, "pg_try_advisory_lock", limits).await?;
    let fresh = format!("reset all; {FRESH_SEARCH_PATH}; {}", bounds("session", limits));
    client.batch_execute(&fresh).await.map_err(Error::database("begin a migration"))
}

/// Releases the lock of [`begin_session`] and undoes the file's settings. If this fails, the connection is broken and
/// has lost both anyway.
pub(super) async fn end_session(client: &Client) {
    let unlock = format!("{RESTORE}; select pg_catalog.pg_advisory_unlock({LOCK})");
    if let Err(error) = client.batch_execute(&unlock).await {
        tracing::debug!(%error, "the migrations' lock was not released");
    }
}

/// Tries repeatedly to take the lock.
///
/// It does not wait inside a statement, since a waiting statement holds a snapshot, and `create index concurrently` of
/// the process that has the lock would wait for that. A query by the extended protocol in a transaction holds its
/// snapshot until the next statement, so the simple protocol is used.
async fn acquire_lock(client: &impl GenericClient, function: &str, limits: &Limits) -> Result<(), Error> {
    let sql = format!("select pg_catalog.{function}({LOCK})");
    let deadline = Instant::now() + limits.migration_lock;
    loop {
        let reply = client.client().simple_query(&sql).await;
        let reply = reply.map_err(Error::database("wait for the migrations' lock"))?;
        let is_true = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
            _ => false,
        };
        if reply.iter().any(is_true) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::Busy(limits.migration_lock));
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

fn bounds(scope: &str, limits: &Limits) -> String {
    let (lock, file) = (milliseconds(limits.table_lock), milliseconds(limits.file));
    format!("set {scope} lock_timeout = {lock}; set {scope} statement_timeout = {file}")
}

/// Undoes `set` statements of a session.
const RESTORE: &str = "reset session authorization; reset role; reset all";

/// Undoes a file's `set` statements, so that the administrator's role writes the record of the file, and so that no
/// setting stays on a connection that is used for something else later.
pub(super) async fn restore_session(transaction: &Transaction<'_>) -> Result<(), Error> {
    transaction.batch_execute(RESTORE).await.map_err(Error::database("undo the settings of a migration"))
}

/// Runs `work` within the time that one file may take, including the wait for the lock.
pub(super) async fn bounded<T>(
    file: &str,
    limits: &Limits,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let limit = limits.migration_lock + limits.file;
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::TooSlow { file: file.to_owned(), limit }),
    }
}

/// Returns `duration` in the unit of Postgres' time settings: whole milliseconds, at least one, since zero means no
/// limit.
fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX).max(1)
}
