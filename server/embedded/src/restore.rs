//! Brings a cluster back from the repository of backups into a data folder that has none.
//!
//! The files come first, under a temporary name. Postgres then reads the write-ahead log from the repository up to the
//! wanted moment, and becomes a primary of a new timeline. What this leaves in its configuration is removed after that.
//! A file marks the folder until [`end_restore`], which the caller calls once also the rest of the project is there: a
//! cluster that has not reached its moment, or that lacks objects, must not be used.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_file::{sync_folder, temporary_name};
use tokio_postgres::Client;

use super::account::{Account, private_folder};
use super::archiver::{Engine, Recovery, RecoveryTarget};
use super::binaries::Binaries;
use super::data_dir::DataDir;
use super::error::Error;
use super::files::{remove_if_present, write_atomically};
use super::postmaster::LaunchPlan;
use super::{Options, setup};

/// How long bringing the files back may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The name of the file that marks an unfinished restore.
const MARK: &str = "restore-unfinished";

/// What Postgres says if the log ends before the moment that was asked for.
const NOT_REACHED: &str = "recovery ended before configured recovery target was reached";

/// What Postgres says before the position of the last part of the log that it has read.
const LAST_READ: &str = "redo done at ";

/// What a restore writes into `postgresql.auto.conf`.
const SETTINGS: [&str; 7] = [
    "restore_command",
    "recovery_target",
    "recovery_target_time",
    "recovery_target_lsn",
    "recovery_target_inclusive",
    "recovery_target_action",
    "recovery_target_timeline",
];

/// Checks that no restore into `data_dir` has been left unfinished.
///
/// Errors: [`Error::UnfinishedRestore`].
pub fn check_restored(data_dir: &Path) -> Result<(), Error> {
    match mark(data_dir).exists() {
        true => Err(Error::UnfinishedRestore { folder: data_dir.to_owned() }),
        false => Ok(()),
    }
}

/// Takes note that the restore into `data_dir` is complete, so that its cluster may be used.
///
/// Errors: those of the file system.
pub fn end_restore(data_dir: &Path) -> Result<(), Error> {
    remove_if_present(&mark(data_dir))
}

/// Brings the files of the cluster back that `recovery` names.
///
/// Errors: if the folder has a cluster, or the repository cannot be read.
pub(super) async fn bring_files(
    options: &Options,
    recovery: &Recovery,
    data: &DataDir,
    binaries: &Binaries,
    account: Option<Account>,
) -> Result<(), Error> {
    let cluster = data.cluster();
    let Some(archiver) = &options.archiver else {
        return Err(Error::io("restore", &cluster)(std::io::Error::other("there is no repository")));
    };
    if cluster.exists() {
        return Err(Error::io("restore", &cluster)(std::io::ErrorKind::AlreadyExists.into()));
    }
    write_atomically(&mark(data.path()), b"", 0o600)?;
    let staging = temporary_name(&cluster);
    private_folder(&staging, 0o700, account.as_ref())?;
    let brought = async {
        let plan = setup::plan(options, data, &staging, binaries, account)?;
        // Writes the configuration; nothing inherits anything here.
        drop(archiver.prepare(&plan)?);
        Engine::of_plan(&plan, archiver).restore(recovery, false, LIMIT).await?;
        let renamed = fs::rename(&staging, &cluster).and_then(|()| sync_folder(data.path()));
        renamed.map_err(Error::io("rename", &staging))
    };
    let brought = brought.await;
    let _ = fs::remove_dir_all(&staging);
    brought
}

/// Has the start of `plan` read the log up to where it ended, if it failed with `error` because that is before the moment:
/// nothing was committed between the two, or it has not reached the repository. What reaches it meanwhile may be of a
/// later moment, and is not read.
///
/// Errors: `error`, if that is not its reason.
pub(super) async fn without_target(
    plan: LaunchPlan,
    recovery: &Recovery,
    error: Error,
) -> Result<LaunchPlan, Error> {
    let end = match &error {
        Error::Failed { log, .. } if log.contains(NOT_REACHED) => last_position(log),
        _ => return Err(error),
    };
    let Some(archiver) = &plan.archiver else { return Err(error) };
    let target = end.map_or(RecoveryTarget::Consistent, RecoveryTarget::Through);
    let to_its_end = Recovery { target, ..recovery.clone() };
    Engine::of_plan(&plan, archiver).restore(&to_its_end, true, LIMIT).await?;
    Ok(plan)
}

/// Returns the position of the last part of the write-ahead log that Postgres says it has read.
fn last_position(log: &str) -> Option<String> {
    let (_, after) = log.rsplit_once(LAST_READ)?;
    after.split_whitespace().next().map(str::to_owned)
}

/// Removes the settings of the restore: the cluster has reached its moment.
pub(super) async fn finish(client: &Client) -> Result<(), tokio_postgres::Error> {
    for name in SETTINGS {
        client.batch_execute(&format!("alter system reset {name}")).await?;
    }
    Ok(())
}

fn mark(data_dir: &Path) -> PathBuf {
    data_dir.join(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_log_is_what_postgres_says() {
        let log = "LOG:  redo starts at 0/2000028\nLOG:  redo done at 0/4A000138 system usage: CPU: user: 0.00 s\n\
                   FATAL:  recovery ended before configured recovery target was reached";
        assert_eq!(last_position(log).as_deref(), Some("0/4A000138"));
        assert_eq!(last_position("LOG:  redo is not required"), None);
    }
}
