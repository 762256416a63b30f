//! Standbys that lag behind.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres::{Database, Row};

use super::sql::{ask, number, text};
use super::time;
use crate::check::{Check, Scope};
use crate::problem::Finding;
use crate::space::bytes;

/// The standbys that stream from this primary, with how far they are behind. What reads a logical slot, or makes a base
/// backup, is no standby. While nothing is written there is no lag.
const SQL: &str = "select coalesce(nullif(r.application_name, ''), 'standby') \
      || coalesce(' (' || pg_catalog.host(r.client_addr) || ')', ''), \
    coalesce(extract(epoch from r.replay_lag), 0)::bigint, \
    greatest(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), r.replay_lsn), 0)::bigint \
  from pg_catalog.pg_stat_replication r \
  where r.state in ('streaming', 'catchup') and not pg_catalog.pg_is_in_recovery() \
    and not exists (select from pg_catalog.pg_replication_slots s \
                    where s.active_pid = r.pid and s.slot_type = 'logical') \
  order by 1 limit 100";

/// How far a standby may be behind, and from where on it is critical.
const LATE: (Duration, u64) = (Duration::from_secs(60), 1 << 30);
const VERY_LATE: (Duration, u64) = (Duration::from_secs(600), 10 << 30);

/// Looks at the standbys.
pub struct Standbys(Database);

impl Standbys {
    /// Looks at the standbys of `database`.
    pub const fn new(database: Database) -> Self {
        Self(database)
    }
}

impl Check for Standbys {
    fn name(&self) -> &'static str {
        "the standbys"
    }

    fn scope(&self) -> Scope {
        Scope::Database
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            let reply = ask(&self.0, SQL).await?;
            let found = |row: &Row| {
                let lag = Duration::from_secs(number(row, 1).unwrap_or_default());
                finding(&text(row, 0), lag, number(row, 2).unwrap_or_default())
            };
            Ok(reply.rows().iter().filter_map(found).collect())
        }
        .boxed()
    }
}

/// Returns what is found of a standby that is so long and so many bytes behind.
fn finding(name: &str, lag: Duration, behind: u64) -> Option<Finding> {
    let is_beyond = |(longest, most): (Duration, u64)| lag > longest || behind > most;
    if !is_beyond(LATE) {
        return None;
    }
    let what = format!("It is {} and {} of the write-ahead log behind the primary", time(lag), bytes(behind));
    let remedy =
        "See what keeps it: its load and its disk, the network, or a query on it that conflicts with \
                  replaying (max_standby_streaming_delay). Reads that it answers are old"
            .to_owned();
    Some(Finding::warning("standby_lags", name, [what, remedy]).critical_if(is_beyond(VERY_LATE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{Critical, Warning};

    #[test]
    fn a_standby_lags_by_time_or_by_bytes() {
        let of = |seconds, gib: u64| {
            finding("s1", Duration::from_secs(seconds), gib << 30).map(|finding| finding.severity)
        };
        assert_eq!((of(0, 0), of(60, 1)), (None, None));
        assert_eq!((of(61, 0), of(0, 2)), (Some(Warning), Some(Warning)));
        assert_eq!((of(601, 0), of(0, 11)), (Some(Critical), Some(Critical)));
    }
}
