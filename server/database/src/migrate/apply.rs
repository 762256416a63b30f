//! The session that files are run in: its state at their beginning, the migrations' lock, and what bounds them.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::{Client, GenericClient, SimpleQueryMessage, Transaction};

use super::error::Error;

/// Key of the advisory lock that every migration holds until its transaction ends: the ASCII codes of "basalt", then 1.
const LOCK: i64 = 0x6261_7361_6c74_0001;

/// How often the lock is tried while another process has it.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Sets the search path that a new session would have, as [`begin`] does: the setting of the role in this database, of the
/// role, of the database, or of all. One that the connection itself names wins over them.
///
/// `reset all` alone does not lead there, since it knows what was set when the session began: before the platform's schema
/// was made, or, behind a pooler, at any time. Source: PostgreSQL documentation, "ALTER ROLE", on the order.
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

/// How long migrations may wait and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For another process that is migrating the same database. Default: two minutes.
    pub turn: Duration,
    /// For a lock on a table that a statement needs; all that comes later waits behind it. Default: 30 seconds.
    pub lock: Duration,
    /// For the statements of one file. Default: ten minutes.
    pub file: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turn: Duration::from_secs(120), lock: Duration::from_secs(30), file: Duration::from_secs(600) }
    }
}

/// Begins a transaction that holds the migrations' lock and whose waits are bounded, in a session as a new one would be.
///
/// The lock ends with the transaction, so that it works through a pooler that hands out connections per transaction.
/// Settings that earlier statements left on the connection are undone first.
pub(super) async fn begin<'a>(client: &'a mut Client, limits: &Limits) -> Result<Transaction<'a>, Error> {
    let transaction = client.transaction().await.map_err(Error::database("begin a migration"))?;
    take_turn(&transaction, "pg_try_advisory_xact_lock", limits).await?;
    transaction
        .batch_execute(&format!("reset all; {FRESH_SEARCH_PATH}; {}", bounds("local", limits)))
        .await
        .map_err(Error::database("begin a migration"))?;
    Ok(transaction)
}

/// Begins a further transaction of a file that is run in steps, whose `set` statements stay in force, under [`hold`].
pub(super) async fn resume<'a>(client: &'a mut Client) -> Result<Transaction<'a>, Error> {
    client.transaction().await.map_err(Error::database("go on with a migration"))
}

/// Takes the lock until [`let_go`], for a file whose statements cannot all be run in one transaction.
pub(super) async fn hold(client: &mut Client, limits: &Limits) -> Result<(), Error> {
    take_turn(&*client, "pg_try_advisory_lock", limits).await?;
    let fresh = format!("reset all; {FRESH_SEARCH_PATH}; {}", bounds("session", limits));
    client.batch_execute(&fresh).await.map_err(Error::database("begin a migration"))
}

/// Ends [`hold`] and what the file left of its settings. A connection that fails here has lost both anyway.
pub(super) async fn let_go(client: &Client) {
    let unlock = format!("{RESTORE}; select pg_catalog.pg_advisory_unlock({LOCK})");
    if let Err(error) = client.batch_execute(&unlock).await {
        tracing::debug!(%error, "the migrations' lock was not given back");
    }
}

/// Tries to get the lock rather than waiting for it inside a statement: whoever waits there holds a snapshot, for which
/// `create index concurrently` of the process that has the lock would wait in turn. So does whoever has asked by the
/// extended protocol in a transaction, until the next statement.
async fn take_turn(client: &impl GenericClient, function: &str, limits: &Limits) -> Result<(), Error> {
    let sql = format!("select pg_catalog.{function}({LOCK})");
    let deadline = Instant::now() + limits.turn;
    loop {
        let answer = client.client().simple_query(&sql).await;
        let answer = answer.map_err(Error::database("wait for the migrations' lock"))?;
        let is_mine = |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"));
        if answer.iter().any(is_mine) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::Busy(limits.turn));
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

fn bounds(scope: &str, limits: &Limits) -> String {
    let (lock, file) = (milliseconds(limits.lock), milliseconds(limits.file));
    format!("set {scope} lock_timeout = {lock}; set {scope} statement_timeout = {file}")
}

/// Undoes what `set` statements left on a session.
const RESTORE: &str = "reset session authorization; reset role; reset all";

/// Undoes what a file's `set` statements left, so that what is recorded after it is recorded as the administrator,
/// and so that nothing outlives the commit on a connection that somebody else may use next.
pub(super) async fn restore_session(transaction: &Transaction<'_>) -> Result<(), Error> {
    transaction.batch_execute(RESTORE).await.map_err(Error::database("undo the settings of a migration"))
}

/// Runs `work` within the time that one file may take in all.
pub(super) async fn bounded<T>(
    file: &str,
    limits: &Limits,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let limit = limits.turn + limits.file;
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::TooSlow { file: file.to_owned(), limit }),
    }
}

/// `duration` as Postgres takes time settings: whole milliseconds, at least one, since zero means no limit.
fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX).max(1)
}
