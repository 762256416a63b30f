//! What an earlier run left: `postmaster.pid`, and at times the Postgres that it names.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
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
/// A process that has the number by chance is left alone, and the file goes: Postgres itself might take that process
/// for its predecessor and refuse to start. Only where it is some other Postgres is that judgement left to Postgres.
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
    } else if command(pid).is_some_and(|line| is_postgres(&line)) {
        return Ok(());
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

/// The setting by which a Postgres is known as that of `cluster`. It also tells an admin where the data is when
/// `data_directory` names a descriptor.
pub(super) fn marker(cluster: &Path) -> String {
    format!("basalt.data_directory={}", cluster.display())
}

/// Whether `pid` is a live Postgres on `cluster`: one with the [`marker`], or one that works in that folder, which in
/// a container not even root may see of another user's process.
fn serves(pid: Pid, cluster: &Path) -> bool {
    let Some(line) = command(pid) else { return false };
    let folder = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())).ok();
    line.split('\n').any(|argument| argument.ends_with(&marker(cluster)))
        || (is_postgres(&line)
            && folder.is_some_and(|folder| cluster.canonicalize().is_ok_and(|c| c == folder)))
}

fn is_postgres(line: &str) -> bool {
    line.split('\n').next().is_some_and(|program| program.contains("/postgres"))
}

/// The command line of a live process; on Linux with a line for each argument.
fn command(pid: Pid) -> Option<String> {
    let number = pid.as_raw_nonzero().to_string();
    let line = if cfg!(target_os = "linux") {
        fs::read(format!("/proc/{number}/cmdline")).ok()?
    } else {
        std::process::Command::new("ps").args(["-ww", "-o", "command=", "-p", &number]).output().ok()?.stdout
    };
    let line = String::from_utf8_lossy(&line).replace('\0', "\n").trim().to_owned();
    // A process that has ended and was not waited for has none.
    (!line.is_empty()).then_some(line)
}
