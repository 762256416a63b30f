//! Helpers of the cluster's tests.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use embedded::{Binaries, Cluster, Error, Options, Search};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::time::{sleep, timeout};
use tokio_postgres::NoTls;

/// The longest time that a wait may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Starts a cluster in `folder` on any free port.
pub(crate) async fn start(folder: &Path) -> Result<Cluster, Error> {
    Cluster::start(options(folder)).await
}

/// Returns options for a cluster in `folder` on any free port, with the tests' Postgres.
pub(crate) fn options(folder: &Path) -> Options {
    Options { port: Some(0), search: testkit::search(), ..Options::new(folder) }
}

/// Returns the first column of the first row of `sql`, as text.
pub(crate) async fn query(uri: &str, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(uri, NoTls).await?;
    tokio::spawn(connection);
    let messages = client.simple_query(sql).await?;
    Ok(messages.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

/// Polls until `condition` is true.
pub(crate) async fn wait_until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let poll = async {
        while !condition().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, poll).await.unwrap_or_else(|_| panic!("timed out: {what}"));
}

/// Returns the postmaster of the cluster in `folder`, from its PID file.
pub(crate) fn postmaster(folder: &Path) -> Pid {
    let text = fs::read_to_string(folder.join("postgres/postmaster.pid")).unwrap();
    Pid::from_raw(text.lines().next().unwrap().parse().unwrap()).unwrap()
}

/// Reports whether `pid` is a running process.
pub(crate) fn is_running(pid: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let zombie = state.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
    test_kill_process(pid).is_ok() && !zombie
}

/// Kills a process, like `kill -9`.
pub(crate) fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
}

/// Returns two Postgres of different major versions, the tests' own one first; `None` if this machine has only one.
pub(crate) async fn two_majors() -> Option<(Binaries, Binaries)> {
    let copies = tempfile::tempdir().unwrap();
    let own = Binaries::find(&testkit::search(), copies.path()).await.unwrap();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    let packages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/postgres/node_modules");
    let packages = fs::read_dir(packages).into_iter().flatten().flatten();
    folders.extend(packages.map(|entry| entry.path().join("native/bin")));
    folders.extend(
        Binaries::find(&Search { folder: None, ..testkit::search() }, copies.path())
            .await
            .ok()
            .map(|found| found.folder().to_owned()),
    );
    for folder in folders {
        let search = Search { folder: Some(folder), projects: Vec::new() };
        if let Ok(other) = Binaries::find(&search, copies.path()).await
            && other.version().major != own.version().major
        {
            return Some((own, other));
        }
    }
    None
}

/// Reports whether the tests run as root, in which case Postgres runs as another user.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
