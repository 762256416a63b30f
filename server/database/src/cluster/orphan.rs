//! What an earlier run left: `postmaster.pid`, and at times the Postgres that it names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::time::{Instant, sleep};

use super::error::Error;
use super::postmaster::POLL;

/// How long each signal is given: fast shutdown, shutdown without writing, force.
const LIMITS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(20)),
    (Signal::QUIT, Duration::from_secs(5)),
    (Signal::KILL, Duration::from_secs(5)),
];

/// The file by which a running Postgres tells of itself (lines as in `utils/pidfile.h`: 1 process, 8 status).
pub(super) struct PidFile {
    pub(super) pid: Pid,
    pub(super) ready: bool,
}

impl PidFile {
    /// The file in `cluster`; `None` where there is none or it is still being written.
    pub(super) fn read(cluster: &Path) -> Option<Self> {
        let text = fs::read_to_string(cluster.join("postmaster.pid")).ok()?;
        let pid = Pid::from_raw(text.lines().next()?.trim().parse::<i32>().ok()?.abs())?;
        Some(Self { pid, ready: text.lines().nth(7).is_some_and(|line| line.trim() == "ready") })
    }
}

/// Ends a Postgres that still runs on `cluster` and removes its `postmaster.pid`. The data folder's lock must be held:
/// it proves that no other Basalt looks after that Postgres. `notice` hears of the process before it is ended.
///
/// A process that has the number by chance is left alone: Postgres itself would take it for its predecessor and
/// refuse to start.
pub(super) async fn clear(cluster: &Path, notice: impl Fn(u32)) -> Result<(), Error> {
    let Some(PidFile { pid, .. }) = PidFile::read(cluster) else {
        return remove(cluster);
    };
    if serves(pid, cluster) {
        notice(pid.as_raw_nonzero().get().cast_unsigned());
        for (signal, limit) in LIMITS {
            // It may end between the look and the signal, which is what is wanted.
            let _ = kill_process(pid, signal);
            let until = Instant::now() + limit;
            while serves(pid, cluster) && Instant::now() < until {
                sleep(POLL).await;
            }
        }
        if serves(pid, cluster) {
            let source = io::Error::other(format!("process {pid:?} still serves it and cannot be ended"));
            return Err(Error::Io { action: "take over", path: cluster.to_owned(), source });
        }
    }
    remove(cluster)
}

fn remove(cluster: &Path) -> Result<(), Error> {
    let file = cluster.join("postmaster.pid");
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &file)(error)),
        _ => Ok(()),
    }
}

/// Whether `pid` is a live Postgres whose working directory is `cluster`, as that of every Postgres is its data.
fn serves(pid: Pid, cluster: &Path) -> bool {
    // Not permitted means another user's process, which cannot be the one that owns this data.
    if test_kill_process(pid).is_err() {
        return false;
    }
    let number = pid.as_raw_nonzero();
    if cfg!(target_os = "linux") {
        return fs::read_link(format!("/proc/{number}/cwd"))
            .is_ok_and(|folder| Some(folder) == real(cluster));
    }
    let asked = std::process::Command::new("ps").args(["-o", "command=", "-p", &number.to_string()]).output();
    asked.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(&*cluster.to_string_lossy()))
}

fn real(cluster: &Path) -> Option<PathBuf> {
    cluster.canonicalize().ok()
}
