//! The end of archiving. Postgres ends only after its archiver, which waits for pgBackRest, which waits for a
//! repository that may be away for days. What is not archived waits in `pg_wal` for the next start.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::error::Error;
use super::layout::cluster_in;
use super::orphan;

/// How long nothing may be archived, once all of the log is on disk, before archiving is given up.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long archiving may go on in all, which is less than what a shutdown may take.
const LIMIT: Duration = Duration::from_secs(15);

/// How often that is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// The command of pgBackRest that archives, and the beginning of those of its helpers.
const PUSH: &str = "archive-push";

/// The state of a cluster that was shut down, and where `global/pg_control` has it. Source: PostgreSQL,
/// `catalog/pg_control.h`, the same since 8.3.
const SHUT_DOWN: i32 = 1;
const STATE_AT: std::ops::Range<usize> = 16..20;

/// The archiving of one run of Postgres.
#[derive(Debug)]
pub(super) struct Archiving {
    cluster: PathBuf,
    configuration: PathBuf,
}

impl Archiving {
    /// Returns that of the Postgres on `cluster`, which has pgBackRest run with `configuration`.
    pub(super) fn of(cluster: &Path, configuration: PathBuf) -> Self {
        Self { cluster: cluster.to_owned(), configuration }
    }

    /// Has a Postgres that is shutting down end without what cannot be archived. Must be dropped when it has ended.
    pub(super) async fn give_up_if_stuck(&self) -> Infallible {
        let begun = Instant::now();
        let (mut waiting, mut moved) = (u64::MAX, begun);
        loop {
            sleep(PAUSE).await;
            let now = waiting_in(&self.cluster);
            if now != waiting || !is_shut_down(&self.cluster) {
                (waiting, moved) = (now, Instant::now());
            } else if moved.elapsed() > PATIENCE || begun.elapsed() > LIMIT {
                // The archiver ends at once if its command was killed. One that fails is tried three times.
                self.signal(Signal::KILL, "");
            }
        }
    }

    /// Ends all processes of pgBackRest that have this configuration. Those in the background outlive Postgres.
    pub(super) fn end(&self) {
        self.signal(Signal::TERM, "");
    }

    /// Ends those that archive.
    pub(super) fn end_pushing(&self) {
        self.signal(Signal::TERM, PUSH);
    }

    /// Signals all processes with this configuration whose command line contains `word`.
    fn signal(&self, signal: Signal, word: &str) {
        let argument = format!("--config={}", self.configuration.display());
        for pid in orphan::with_argument(&argument, word) {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Checks that the archive has all of `cluster`, which is not running.
///
/// Errors: [`Error::NotArchived`].
pub(super) fn check(cluster: &Path) -> Result<(), Error> {
    match is_shut_down(cluster) && waiting_in(cluster) == 0 {
        true => Ok(()),
        false => Err(Error::NotArchived { cluster: cluster.to_owned() }),
    }
}

/// Returns the bytes that the files of the log take that wait to be archived, in the cluster of `data_dir`.
pub fn waiting_bytes(data_dir: &Path) -> u64 {
    waiting_in(&cluster_in(data_dir))
}

fn waiting_in(cluster: &Path) -> u64 {
    let wal = cluster.join("pg_wal");
    let Ok(entries) = fs::read_dir(wal.join("archive_status")) else { return 0 };
    let ready = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_suffix(".ready")?;
        fs::metadata(wal.join(name)).ok()
    });
    ready.map(|file| file.size()).sum()
}

fn is_shut_down(cluster: &Path) -> bool {
    let control = fs::read(cluster.join("global/pg_control")).unwrap_or_default();
    let state = control.get(STATE_AT).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    state == Some(SHUT_DOWN)
}
