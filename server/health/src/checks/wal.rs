//! A write-ahead log that grows.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres::{Database, Row};

use super::sql::{ask, number};
use crate::check::{Check, Scope};
use crate::problem::Finding;
use crate::space::bytes;

/// Not every login may list the files of the log.
const MAY_LIST: &str =
    "select pg_catalog.has_function_privilege('pg_catalog.pg_ls_waldir()', 'EXECUTE')::int";

/// The size of the log, and how large Postgres lets it become by its settings.
const SIZE: &str = "select (select coalesce(sum(size), 0) from pg_catalog.pg_ls_waldir())::bigint, \
    (select sum(setting::bigint) * 1048576 from pg_catalog.pg_settings \
      where name in ('max_wal_size', 'wal_keep_size'))::bigint";

/// Looks at the size of the log.
pub struct Wal(Database);

impl Wal {
    /// Looks at the log of `database`.
    pub const fn new(database: Database) -> Self {
        Self(database)
    }
}

impl Check for Wal {
    fn name(&self) -> &'static str {
        "the write-ahead log"
    }

    fn scope(&self) -> Scope {
        Scope::Database
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        async {
            let allowed = ask(&self.0, MAY_LIST).await?;
            if allowed.row().and_then(|row| number(row, 0)) != Some(1) {
                return Ok(Vec::new());
            }
            let reply = ask(&self.0, SIZE).await?;
            let of = |row: &Row| Some((number(row, 0)?, number(row, 1)?));
            let (size, limit) = reply.row().and_then(of).ok_or("expected two numbers")?;
            Ok(finding(size, limit).into_iter().collect())
        }
        .boxed()
    }
}

/// Returns what is found of a log of `size` bytes, which should have at most `limit`.
fn finding(size: u64, limit: u64) -> Option<Finding> {
    // A checkpoint may take as long as the next one: twice the size is normal while much is written.
    if size <= limit.saturating_mul(2) {
        return None;
    }
    let what = format!(
        "pg_wal has {}, more than twice what max_wal_size and wal_keep_size allow ({})",
        bytes(size),
        bytes(limit)
    );
    let remedy =
        "Find out what keeps it: a replication slot that is not read (pg_replication_slots), an archive \
                  command or target of backups that fails (pg_stat_archiver), or a disk that is too slow"
            .to_owned();
    let finding = Finding::warning("wal_grows", "pg_wal", [what, remedy]);
    Some(finding.critical_if(size > limit.saturating_mul(8)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity::{Critical, Warning};

    #[test]
    fn a_log_beyond_twice_its_limit_grows() {
        let of = |size: u64| finding(size << 30, 1 << 30).map(|finding| finding.severity);
        assert_eq!((of(1), of(2), of(3), of(9)), (None, None, Some(Warning), Some(Critical)));
    }
}
