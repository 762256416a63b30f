//! Replication slots: creates, watches and drops them, with SQL on the ordinary pool.
//!
//! The pool's role needs the attribute `REPLICATION` to create, release or drop a slot, but not to watch it.
//!
//! Source: PostgreSQL documentation, sections 9.28.6 (functions) and 53.20 (`pg_replication_slots`).

use std::time::Duration;

use super::Lsn;
use postgres::{Database, Error, Parameter, Row, Transaction, text};

/// How often a slot is checked again when another node changes it at the same moment, or still holds it.
const ATTEMPTS: usize = 20;

/// The pause after a check of a slot that is still held.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the creation of a slot may take: Postgres waits for the end of all transactions that are open at the
/// beginning.
const CREATION_LIMIT: Duration = Duration::from_secs(60);

/// How long the other statements may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How often [`release`] terminates the other connection. A server process that is blocked while it sends a last
/// message, which is never read, ends only at the second attempt.
const RELEASE_ATTEMPTS: usize = 5;

/// How long [`release`] waits after each time.
const RELEASE_LIMIT: Duration = Duration::from_secs(1);

/// Reads the facts about the server and the slot `$1`. Columns that not every version of Postgres has are read through
/// JSON.
const FACTS: &str = "select current_setting('wal_level'), current_setting('max_replication_slots'), \
    pg_catalog.pg_is_in_recovery(), current_setting('server_version_num'), \
    s.slot_name, s.plugin, s.database, pg_catalog.current_database(), s.temporary, \
    s.wal_status = 'lost' or coalesce((j.slot ->> 'conflicting')::boolean, false) \
        or j.slot ->> 'invalidation_reason' is not null, \
    coalesce(j.slot ->> 'invalidation_reason', 'wal_status ' || s.wal_status) \
    from (values ($1::name)) as wanted (name) \
    left join pg_catalog.pg_replication_slots s on s.slot_name = wanted.name \
    left join lateral (select pg_catalog.to_jsonb(s) as slot) j on true";

const CREATE: &str = "select pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput')";

/// For Postgres 17 and later: a standby with `sync_replication_slots` takes the slot over.
const CREATE_WITH_FAILOVER: &str =
    "select pg_catalog.pg_create_logical_replication_slot($1, 'pgoutput', failover => true)";

const DROP: &str = "select pg_catalog.pg_drop_replication_slot($1)";

const RELEASE: &str = "select pg_catalog.pg_terminate_backend(active_pid, $2::bigint) \
    from pg_catalog.pg_replication_slots where slot_name = $1 and active_pid is not null";

const LAG: &str = "select n.position, n.position - s.restart_lsn, n.position - s.confirmed_flush_lsn, \
    s.confirmed_flush_lsn, s.active_pid, s.wal_status, s.safe_wal_size \
    from pg_catalog.pg_replication_slots s, \
    (select case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn() \
        else pg_catalog.pg_current_wal_lsn() end) as n (position) \
    where s.slot_name = $1";

/// The outcome of [`ensure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnsureOutcome {
    /// The slot existed: all changes since its confirmed position are sent.
    Existed,
    /// The slot was created now: only later changes are sent.
    Created,
    /// The server had invalidated the slot, for example because it kept more WAL than `max_slot_wal_keep_size`. It was
    /// dropped and created again: changes between its confirmed position and now are lost.
    Recreated,
}

/// The reason why a slot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// The server does not write what logical replication needs.
    #[error(
        "logical replication needs wal_level = logical, but it is {0}: change it in postgresql.conf and restart Postgres"
    )]
    WalLevel(String),
    /// The server is a standby.
    #[error("the server is a standby: the replication slot has to be made on the primary")]
    Standby,
    /// All slots are taken.
    #[error(
        "all {0} replication slots are in use: drop one that pg_replication_slots shows and nobody needs, or raise \
         max_replication_slots and restart Postgres"
    )]
    AllTaken(String),
    /// The role may not replicate.
    #[error(
        "the database role may not use replication slots ({0}): a superuser has to run alter role … replication"
    )]
    NotPermitted(Box<postgres::ServerError>),
    /// There is a slot of that name for another purpose.
    #[error("the replication slot {name} exists, but it {what}: drop it, or choose another name")]
    Other {
        /// The slot's name.
        name: String,
        /// The difference.
        what: String,
    },
    /// Another connection uses the slot.
    #[error("{0}")]
    Active(Box<postgres::ServerError>),
    /// The slot could not be created in time.
    #[error(
        "the replication slot could not be made within {0:?}, since Postgres waits for transactions that are open: \
         pg_stat_activity and pg_prepared_xacts show them"
    )]
    Timeout(Duration),
    /// Something else.
    #[error(transparent)]
    Database(Error),
}

impl From<Error> for SlotError {
    fn from(error: Error) -> Self {
        match error {
            Error::Postgres(error) if error.code == "42501" => Self::NotPermitted(error),
            Error::Postgres(error) if error.code == "55006" => Self::Active(error),
            error => Self::Database(error),
        }
    }
}

/// Creates a permanent logical slot for pgoutput in the current database, unless it exists. On Postgres 17 and later,
/// standbys can take it over. An invalidated slot is dropped and created again.
///
/// The publications should exist before: for changes that are older than its publication, Postgres refuses the stream.
///
/// Errors: [`SlotError`], which says what to do.
pub async fn ensure(database: &Database, name: &str) -> Result<EnsureOutcome, SlotError> {
    let (mut has_dropped, mut active) = (false, None);
    for _ in 0..ATTEMPTS {
        let facts = Facts::read(database, name).await?;
        match facts.check(name)? {
            SlotCondition::Usable => return Ok(EnsureOutcome::Existed),
            SlotCondition::Invalid => {
                match drop(database, name).await {
                    Ok(was_there) => {
                        let reason = facts.reason.as_deref().unwrap_or_default();
                        tracing::warn!(
                            slot = name,
                            reason,
                            "the replication slot has lost changes and is made anew"
                        );
                        has_dropped |= was_there;
                    }
                    // An invalid slot cannot be used: a connection that has just tried is about to end.
                    Err(SlotError::Active(error)) => {
                        active = Some(error);
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            SlotCondition::Missing => {}
        }
        match create(database, name, &facts).await {
            Ok(()) if has_dropped => return Ok(EnsureOutcome::Recreated),
            Ok(()) => return Ok(EnsureOutcome::Created),
            // 42710: another node has created it in the meantime.
            Err(SlotError::Database(error)) if error.server().is_some_and(|error| error.code == "42710") => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = active {
        return Err(SlotError::Active(error));
    }
    let what = "is made and dropped again by somebody else".to_owned();
    Err(SlotError::Other { name: name.to_owned(), what })
}

/// Drops the slot, and reports whether it existed.
///
/// Errors: [`SlotError::Active`] if a connection uses it; [`SlotError::NotPermitted`].
pub async fn drop(database: &Database, name: &str) -> Result<bool, SlotError> {
    match run(database, DROP, vec![text(name)], LIMIT).await {
        Ok(_) => Ok(true),
        // 42704: there is none.
        Err(Error::Postgres(error)) if error.code == "42704" => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Terminates the connection that uses the slot, for example that of a node that is cut off from the network, and waits
/// for its end, for 5 seconds at most. Reports whether that has freed the slot; `false` if it was free before.
///
/// Errors: [`SlotError::NotPermitted`] if the connection belongs to a role that the pool's role may not act for.
pub async fn release(database: &Database, name: &str) -> Result<bool, SlotError> {
    let limit = RELEASE_LIMIT.as_millis().to_string();
    for attempt in 0..RELEASE_ATTEMPTS {
        let rows = run(database, RELEASE, vec![text(name), text(&limit)], LIMIT).await?;
        match rows.first().and_then(|row| row.text(0)) {
            Some("t") => return Ok(true),
            Some(_) => {}
            // The slot is free.
            None => return Ok(attempt > 0),
        }
    }
    Ok(false)
}

/// How far a slot's reader is behind, and what that costs the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The end of the server's WAL.
    pub server_position: Lsn,
    /// The last confirmed position; `None` for an invalidated slot.
    pub confirmed_position: Option<Lsn>,
    /// Bytes of WAL that the server keeps for the slot.
    pub retained: u64,
    /// Bytes of WAL since the confirmed position.
    pub unconfirmed: u64,
    /// The server process that streams the slot's changes, if any.
    pub active_pid: Option<i32>,
    /// Whether the server still has the WAL that the slot needs.
    pub wal_status: WalStatus,
    /// Bytes of WAL that may be written until the slot may be invalidated; negative if that may happen now. `None`
    /// without a limit (`max_slot_wal_keep_size`) and for an invalidated slot.
    pub safe_wal_size: Option<i64>,
}

/// The column `wal_status` of `pg_replication_slots`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalStatus {
    /// Within `max_wal_size`.
    Reserved,
    /// Beyond `max_wal_size`, and kept for the slot.
    Extended,
    /// No longer kept: removed by the next checkpoint unless the reader catches up.
    Unreserved,
    /// Removed: the slot cannot be used any more.
    Lost,
}

/// Returns how far the slot's reader is behind; `None` if there is no such slot.
///
/// Errors: those of [`Database::run`].
pub async fn lag(database: &Database, name: &str) -> Result<Option<Lag>, Error> {
    let rows = run(database, LAG, vec![text(name)], LIMIT).await?;
    rows.first().map(Lag::from_row).transpose()
}

impl Lag {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let bytes = |index| row.text(index).and_then(|value| value.parse().ok()).unwrap_or_default();
        Ok(Self {
            server_position: row.text(0).unwrap_or_default().parse()?,
            retained: bytes(1),
            unconfirmed: bytes(2),
            confirmed_position: row.text(3).map(str::parse).transpose()?,
            active_pid: row.text(4).and_then(|pid| pid.parse().ok()),
            wal_status: match row.text(5) {
                Some("reserved") => WalStatus::Reserved,
                Some("extended") => WalStatus::Extended,
                Some("unreserved") => WalStatus::Unreserved,
                _ => WalStatus::Lost,
            },
            safe_wal_size: row.text(6).and_then(|size| size.parse().ok()),
        })
    }
}

/// The facts about the server and a slot.
#[derive(Debug, Clone, Default)]
struct Facts {
    wal_level: String,
    max_slots: String,
    is_standby: bool,
    version: u32,
    exists: bool,
    /// `None` for a physical slot.
    plugin: Option<String>,
    slot_database: Option<String>,
    database: String,
    is_temporary: bool,
    /// Whether the server has invalidated the slot, and why.
    is_invalid: bool,
    reason: Option<String>,
}

/// The condition of a slot.
#[derive(Debug, PartialEq, Eq)]
enum SlotCondition {
    Missing,
    Usable,
    Invalid,
}

impl Facts {
    async fn read(database: &Database, name: &str) -> Result<Self, Error> {
        let rows = run(database, FACTS, vec![text(name)], LIMIT).await?;
        let row = rows.first().ok_or_else(|| Error::protocol("no row about the replication slots"))?;
        let owned = |index| row.text(index).map(str::to_owned);
        let is_true = |index| row.text(index) == Some("t");
        Ok(Self {
            wal_level: owned(0).unwrap_or_default(),
            max_slots: owned(1).unwrap_or_default(),
            is_standby: is_true(2),
            version: row.text(3).and_then(|version| version.parse().ok()).unwrap_or_default(),
            exists: row.get(4).is_some(),
            plugin: owned(5),
            slot_database: owned(6),
            database: owned(7).unwrap_or_default(),
            is_temporary: is_true(8),
            is_invalid: is_true(9),
            reason: owned(10),
        })
    }

    /// Returns the condition of the slot `name`.
    ///
    /// Errors: the server or the slot cannot be used for this.
    fn check(&self, name: &str) -> Result<SlotCondition, SlotError> {
        if self.wal_level != "logical" {
            return Err(SlotError::WalLevel(self.wal_level.clone()));
        }
        if self.is_standby {
            return Err(SlotError::Standby);
        }
        let other = |what: String| Err(SlotError::Other { name: name.to_owned(), what });
        match (&self.plugin, &self.slot_database) {
            _ if !self.exists => Ok(SlotCondition::Missing),
            (None, _) => other("is for physical replication".to_owned()),
            (Some(plugin), _) if plugin != "pgoutput" => other(format!("has the output plugin {plugin}")),
            (_, Some(owner)) if *owner != self.database => other(format!("belongs to the database {owner}")),
            _ if self.is_temporary => other("ends with somebody else's session".to_owned()),
            _ if self.is_invalid => Ok(SlotCondition::Invalid),
            _ => Ok(SlotCondition::Usable),
        }
    }
}

async fn create(database: &Database, name: &str, facts: &Facts) -> Result<(), SlotError> {
    let sql = if facts.version >= 170_000 { CREATE_WITH_FAILOVER } else { CREATE };
    match run(database, sql, vec![text(name)], CREATION_LIMIT).await {
        Ok(_) => Ok(()),
        // 53400: all slots are in use.
        Err(Error::Postgres(error)) if error.code == "53400" => {
            Err(SlotError::AllTaken(facts.max_slots.clone()))
        }
        Err(Error::Timeout(limit)) => Err(SlotError::Timeout(limit)),
        Err(error) => Err(error.into()),
    }
}

/// Runs one statement and returns its rows.
async fn run(
    database: &Database,
    sql: &str,
    parameters: Vec<Parameter<'_>>,
    limit: Duration,
) -> Result<Vec<Row>, Error> {
    let transaction = Transaction::anonymous().on_primary().statement(sql, parameters);
    let reply = database.run_reserved(&transaction.leaves_session_unchanged().timeout(limit)).await?;
    Ok(reply.into_rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable() -> Facts {
        Facts {
            wal_level: "logical".to_owned(),
            exists: true,
            plugin: Some("pgoutput".to_owned()),
            slot_database: Some("app".to_owned()),
            database: "app".to_owned(),
            ..Facts::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut Facts)) -> String {
        let mut facts = usable();
        change(&mut facts);
        facts.check("s").unwrap_err().to_string()
    }

    #[test]
    fn a_slot_is_usable_missing_or_invalid() {
        let facts = usable();
        assert_eq!(facts.check("s").unwrap(), SlotCondition::Usable);
        assert_eq!(
            Facts { exists: false, plugin: None, ..facts.clone() }.check("s").unwrap(),
            SlotCondition::Missing
        );
        assert_eq!(Facts { is_invalid: true, ..facts }.check("s").unwrap(), SlotCondition::Invalid);
    }

    #[test]
    fn errors_describe_what_is_wrong() {
        assert!(
            refusal(|facts| facts.wal_level = "replica".to_owned())
                .contains("wal_level = logical, but it is replica")
        );
        assert!(refusal(|facts| facts.is_standby = true).contains("standby"));
        assert!(refusal(|facts| facts.plugin = None).contains("slot s exists, but it is for physical"));
        assert!(refusal(|facts| facts.plugin = Some("wal2json".to_owned())).contains("plugin wal2json"));
        assert!(refusal(|facts| facts.slot_database = Some("b".to_owned())).contains("the database b"));
        assert!(refusal(|facts| facts.is_temporary = true).contains("session"));
    }
}
