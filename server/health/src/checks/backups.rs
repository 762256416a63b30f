//! Backups that are late, damaged or not made.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use time::OffsetDateTime;

use super::{Ask, time};
use crate::check::Check;
use crate::problem::Finding;

/// How old the last backup may be if one is made each day.
const OLD: Duration = Duration::from_secs(36 * 3600);

/// How backups are.
#[derive(Debug, Clone, Default)]
pub struct BackupState {
    /// Whether something older than `basalt.backup.max_loss` may be only on this machine.
    pub is_late: bool,
    /// Whether the last verification found something wrong.
    pub is_damaged: bool,
    /// Whether the last attempt to make or verify a backup failed.
    pub has_failed: bool,
    /// When the last one ended; `None` if this server has made none and knows of none.
    pub last: Option<OffsetDateTime>,
    /// Whether one is made each day.
    pub is_daily: bool,
}

/// Looks at the backups that this server makes.
pub struct Backups(Ask<BackupState>);

impl Backups {
    /// Looks at what `state` returns.
    pub fn new(state: Ask<BackupState>) -> Self {
        Self(state)
    }
}

impl Check for Backups {
    fn name(&self) -> &'static str {
        "the backups"
    }

    fn look(&mut self) -> BoxFuture<'_, Result<Vec<Finding>, String>> {
        let state = (self.0)();
        async move { Ok(state.findings(OffsetDateTime::now_utc())) }.boxed()
    }
}

impl BackupState {
    fn findings(&self, now: OffsetDateTime) -> Vec<Finding> {
        let critical = |name, what: &str, remedy: &str| {
            Finding::critical(name, "backups", [what.to_owned(), remedy.to_owned()])
        };
        let mut found = Vec::new();
        if self.is_late {
            found.push(critical(
                "backup_late",
                "What was written longer ago than basalt.backup.max_loss may be only on this machine",
                "See the log for the reason: the target is full or away, or does not take what is written fast enough",
            ));
        }
        if self.is_damaged {
            found.push(critical(
                "backup_damaged",
                "The last verification found that a backup cannot be restored completely",
                "`basalt backup list` says what is wrong; make another one with `basalt backup create --full`",
            ));
        }
        if self.has_failed {
            found.push(critical(
                "backup_failed",
                "The last attempt to make or verify a backup failed",
                "See the log for the reason; `basalt backup create` tries again at once",
            ));
        }
        let age = self.last.and_then(|last| Duration::try_from(now - last).ok());
        if let Some(age) = age.filter(|age| self.is_daily && *age > OLD) {
            let what = format!("The last backup was made {} ago, though one is due each day", time(age));
            let remedy = "See the log for the reason; `basalt backup create` makes one at once".to_owned();
            found.push(Finding::warning("backup_old", "backups", [what, remedy]));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_backups_is_a_problem_of_its_own() {
        let now = OffsetDateTime::now_utc();
        let names = |state: BackupState| -> Vec<&str> {
            state.findings(now).iter().map(|finding| finding.name).collect()
        };
        let hours = |hours| Some(now - time::Duration::hours(hours));
        let well = BackupState { is_daily: true, last: hours(30), ..BackupState::default() };
        assert_eq!(names(well.clone()), [""; 0]);
        assert_eq!(names(BackupState { last: hours(37), ..well.clone() }), ["backup_old"]);
        assert_eq!(names(BackupState { last: hours(37), is_daily: false, ..well.clone() }), [""; 0]);
        assert_eq!(names(BackupState { last: None, ..well.clone() }), [""; 0]);
        let ill = BackupState { is_late: true, is_damaged: true, has_failed: true, ..well };
        assert_eq!(names(ill), ["backup_late", "backup_damaged", "backup_failed"]);
    }
}
