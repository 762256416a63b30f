//! Brings a cluster back from the repository of backups into a data folder that has none.
//!
//! The files come first, under a temporary name. Postgres then reads the write-ahead log from the repository up to the
//! wanted moment, and becomes a primary of a new timeline. What this leaves in its configuration is removed after that.
//! A file marks the folder until all of it is done: a cluster that has not reached its moment must not be used.

use std::fs;
use std::path::PathBuf;
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

/// Checks that no restore into the folder of `data` has been left unfinished.
pub(super) fn check(data: &DataDir) -> Result<(), Error> {
    match mark(data).exists() {
        true => Err(Error::UnfinishedRestore { folder: data.path().to_owned() }),
        false => Ok(()),
    }
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
    write_atomically(&mark(data), b"", 0o600)?;
    let staging = temporary_name(&cluster);
    private_folder(&staging, 0o700, account.as_ref())?;
    let brought = async {
        let plan = setup::plan(options, data, &staging, binaries, account)?;
        // Writes the configuration; nothing inherits anything here.
        drop(archiver.prepare(&plan)?);
        Engine::of_plan(&plan, archiver).restore(recovery, LIMIT).await?;
        let renamed = fs::rename(&staging, &cluster).and_then(|()| sync_folder(data.path()));
        renamed.map_err(Error::io("rename", &staging))
    };
    let brought = brought.await;
    let _ = fs::remove_dir_all(&staging);
    brought
}

/// Has the start of `plan` read all of the log, if it failed with `error` because the log ends before the moment: nothing
/// was committed between its end and that moment, or it has not reached the repository.
///
/// Errors: `error`, if that is not its reason.
pub(super) async fn without_target(
    plan: LaunchPlan,
    recovery: &Recovery,
    error: Error,
) -> Result<LaunchPlan, Error> {
    let is_beyond = matches!(&error, Error::Failed { log, .. } if log.contains(NOT_REACHED));
    let Some(archiver) = plan.archiver.as_ref().filter(|_| is_beyond) else { return Err(error) };
    let latest = Recovery { target: RecoveryTarget::Latest, ..recovery.clone() };
    Engine::of_plan(&plan, archiver).restore(&latest, LIMIT).await?;
    Ok(plan)
}

/// Ends the restore: the cluster has reached its moment.
pub(super) async fn finish(client: &Client, data: &DataDir) -> Result<(), tokio_postgres::Error> {
    for name in SETTINGS {
        client.batch_execute(&format!("alter system reset {name}")).await?;
    }
    // If it stays, the next start says so.
    let _ = remove_if_present(&mark(data));
    Ok(())
}

fn mark(data: &DataDir) -> PathBuf {
    data.path().join(MARK)
}
