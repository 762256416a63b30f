//! Replication slots that keep the write-ahead log.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres::{Database, Row};

use super::sql::{ask, number, text};
use crate::check::{Check, Scope};
use crate::problem::Finding;
use crate::space::bytes;

/// The slots with the bytes that they keep, and the most that one may keep (0: no limit). Temporary ones end with their
/// reader.
const SQL: &str = "select s.slot_name, s.active::int, coalesce(s.wal_status, ''), \
    greatest(pg_catalog.pg_wal_lsn_diff( \
      case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn() \
           else pg_catalog.pg_current_wal_lsn() end, s.restart_lsn), 0)::bigint, \
    greatest((select setting::bigint << 20 from pg_catalog.pg_settings where name = 'max_slot_wal_keep_size'), 0) \
  from pg_catalog.pg_replication_slots s where not s.temporary order by s.slot_name limit 100";

/// What a slot without a reader may keep, and one with a reader.
const MOST_INACTIVE: u64 = 256 << 20;
const MOST_ACTIVE: u64 = 1 << 30;
/// From here on it is critical, if no limit of Postgres is nearer.
const FAR_TOO_MUCH: u64 = 10 << 30;

/// Looks at the slots.
pub struct Slots(Database);

/// A slot.
#[derive(Debug, Default)]
struct Slot {
    name: String,
    is_active: bool,
    /// Postgres' word for how safe what it keeps is.
    status: String,
    /// The bytes of the log that it keeps.
    kept: u64,
    /// The bytes that a slot may keep; 0 for no limit.
    limit: u64,
}

impl Slots {
    /// Looks at the slots of `database`.
    pub const fn new(database: Database) -> Self {
        Self(database)
    }
}

impl Check for Slots {
    fn name(&self) -> &'static str {
        "the replication slots"
    }

    fn scope(&self) -> Scope {
        Scope::Database
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            let reply = ask(&self.0, SQL).await?;
            let slot = |row: &Row| Slot {
                name: text(row, 0),
                is_active: number(row, 1) == Some(1),
                status: text(row, 2),
                kept: number(row, 3).unwrap_or_default(),
                limit: number(row, 4).unwrap_or_default(),
            };
            Ok(reply.rows().iter().filter_map(|row| slot(row).finding()).collect())
        }
        .boxed()
    }
}

impl Slot {
    fn finding(&self) -> Option<Finding> {
        let Self { name, is_active, status, kept, limit } = self;
        let drop_it = format!("select pg_drop_replication_slot('{name}')");
        if status == "lost" {
            let what = "Postgres has removed log that this slot's reader had not read: it has lost changes"
                .to_owned();
            let remedy = format!("Build its reader anew, or drop the slot: {drop_it}");
            return Some(Finding::warning("replication_slot_lost", name, [what, remedy]));
        }
        let most = if *is_active { MOST_ACTIVE } else { MOST_INACTIVE };
        let is_endangered = status == "unreserved" || (*limit > 0 && *kept > limit / 2);
        if *kept <= most && !is_endangered {
            return None;
        }
        let limited = match limit {
            0 => "without a limit".to_owned(),
            limit => format!("at most {}", bytes(*limit)),
        };
        let kept_text = bytes(*kept);
        let (name_of_problem, what, remedy) = match is_active {
            false => (
                "replication_slot_inactive",
                format!(
                    "Nobody reads this slot, and {kept_text} of the write-ahead log are kept for it ({limited})"
                ),
                format!("Start its reader again; if there is none any more, {drop_it}"),
            ),
            true => (
                "replication_slot_lags",
                format!("The reader of this slot is {kept_text} of the write-ahead log behind ({limited})"),
                "See why its reader is slow: its own log, the network, or one very large transaction"
                    .to_owned(),
            ),
        };
        let finding = Finding::warning(name_of_problem, name, [what, remedy]);
        Some(finding.critical_if(is_endangered || (*limit == 0 && *kept > FAR_TOO_MUCH)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{self, Critical, Warning};

    fn found(slot: &Slot) -> Option<(&'static str, Severity)> {
        slot.finding().map(|finding| (finding.name, finding.severity))
    }

    #[test]
    fn a_slot_without_a_reader_may_keep_less_than_one_with() {
        let slot = |is_active, mib: u64| Slot { is_active, kept: mib << 20, ..Slot::default() };
        assert_eq!(found(&slot(false, 200)), None);
        assert_eq!(found(&slot(false, 300)), Some(("replication_slot_inactive", Warning)));
        assert_eq!(found(&slot(true, 300)), None);
        assert_eq!(found(&slot(true, 1100)), Some(("replication_slot_lags", Warning)));
        assert_eq!(found(&slot(false, 11 << 10)), Some(("replication_slot_inactive", Critical)));
    }

    #[test]
    fn a_slot_that_will_lose_its_log_is_critical() {
        let slot = |mib: u64, status: &str| Slot {
            is_active: true,
            kept: mib << 20,
            limit: 200 << 20,
            status: status.to_owned(),
            ..Slot::default()
        };
        assert_eq!(found(&slot(90, "reserved")), None);
        assert_eq!(found(&slot(110, "extended")), Some(("replication_slot_lags", Critical)));
        assert_eq!(found(&slot(10, "unreserved")), Some(("replication_slot_lags", Critical)));
        assert_eq!(found(&slot(0, "lost")), Some(("replication_slot_lost", Warning)));
    }
}
