//! Cleans up after an earlier run, which may have left `postmaster.pid` and the Postgres that it names.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use super::error::Error;
use super::files::remove_if_present;

/// The signals, with the time that each may take: fast shutdown, immediate shutdown (without writing), kill.
const LIMITS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_secs(20)),
    (Signal::QUIT, Duration::from_secs(5)),
    (Signal::KILL, Duration::from_secs(5)),
];

/// The interval at which short-lived states are polled.
pub(super) const POLL: Duration = Duration::from_millis(5);

/// The content of `postmaster.pid`, which a running Postgres writes (lines as in `utils/pidfile.h`: 1 process, 8
/// status).
pub(super) struct PidFile {
    pub(super) pid: Pid,
    pub(super) ready: bool,
}

impl PidFile {
    /// Reads the file in `cluster`; `None` if there is none or if it is still being written.
    pub(super) fn read(cluster: &Path) -> Option<Self> {
        let text = fs::read_to_string(cluster.join("postmaster.pid")).ok()?;
        let pid = Pid::from_raw(text.lines().next()?.trim().parse::<i32>().ok()?.abs())?;
        Some(Self { pid, ready: text.lines().nth(7).is_some_and(|line| line.trim() == "ready") })
    }
}

/// Stops a Postgres that still runs on `cluster` and removes its `postmaster.pid`. The caller must hold the data
/// folder's lock, which proves that no other Basalt supervises that Postgres. `notice` is called with the process ID
/// before the Postgres is stopped.
///
/// If another program has got the process ID by chance, that process is not touched and the file is removed, since
/// Postgres might mistake the process for its predecessor and refuse to start. If the process is another Postgres, the
/// file stays and Postgres itself decides.
pub(super) async fn clear(cluster: &Path, notice: impl Fn(u32)) -> Result<(), Error> {
    let Some(PidFile { pid, .. }) = PidFile::read(cluster) else {
        return remove_if_present(&cluster.join("postmaster.pid"));
    };
    if serves(pid, cluster) {
        notice(pid.as_raw_nonzero().get().cast_unsigned());
        for (signal, limit) in LIMITS {
            // It may have ended by itself in the meantime, which is fine.
            let _ = kill_process(pid, signal);
            let until = Instant::now() + limit;
            while serves(pid, cluster) && Instant::now() < until {
                sleep(POLL).await;
            }
        }
        if serves(pid, cluster) {
            let source = io::Error::other(format!("process {pid:?} still uses it and cannot be ended"));
            return Err(Error::Io { action: "use", path: cluster.to_owned(), source });
        }
    } else if command(pid).is_some_and(|line| is_postgres(&line)) {
        return Ok(());
    }
    remove_if_present(&cluster.join("postmaster.pid"))
}

/// Returns the setting that identifies the Postgres of `cluster` in a list of processes. It also shows an administrator
/// where the data is if `data_directory` names a descriptor.
pub(super) fn marker(cluster: &Path) -> String {
    format!("basalt.data_directory={}", cluster.display())
}

/// Reports whether `pid` is a live Postgres on `cluster`: one with the [`marker`], or one whose working directory is
/// that folder. In a container, not even root may be able to read the working directory of another user's process.
fn serves(pid: Pid, cluster: &Path) -> bool {
    let Some(line) = command(pid) else { return false };
    let folder = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())).ok();
    line.split('\n').any(|argument| argument.ends_with(&marker(cluster)))
        || (is_postgres(&line)
            && folder.is_some_and(|folder| cluster.canonicalize().is_ok_and(|c| c == folder)))
}

/// Returns the live processes that have `argument`, which names something of this data folder, and whose command line
/// contains `word`.
pub(super) fn with_argument(argument: &str, word: &str) -> Vec<Pid> {
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    if cfg!(target_os = "linux") {
        let is_meant = |pid: &Pid| {
            let line = command(*pid).unwrap_or_default();
            line.contains(word) && line.split('\n').any(|other| other == argument)
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        return entries.filter_map(|entry| pid(entry.file_name().to_str()?)).filter(is_meant).collect();
    }
    let Ok(listed) = std::process::Command::new("ps").args(["-axww", "-o", "pid=,command="]).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    let is_meant = |line: &str| line.contains(word) && format!("{line} ").contains(&format!(" {argument} "));
    lines.filter(|(_, line)| is_meant(line)).filter_map(|(number, _)| pid(number)).collect()
}

fn is_postgres(line: &str) -> bool {
    line.split('\n').next().is_some_and(|program| program.contains("/postgres"))
}

/// Returns the command line of a live process; on Linux with one line for each argument.
fn command(pid: Pid) -> Option<String> {
    let number = pid.as_raw_nonzero().to_string();
    let line = if cfg!(target_os = "linux") {
        fs::read(format!("/proc/{number}/cmdline")).ok()?
    } else {
        std::process::Command::new("ps").args(["-ww", "-o", "command=", "-p", &number]).output().ok()?.stdout
    };
    let line = String::from_utf8_lossy(&line).replace('\0', "\n").trim().to_owned();
    // A process that has ended and has not been waited for has an empty one.
    (!line.is_empty()).then_some(line)
}
