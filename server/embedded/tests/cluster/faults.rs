//! Faults: killed processes, interrupted steps, taken ports, wrong versions, lost passwords, full disks.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use embedded::{Cluster, Error, Options, Search, State};
use rustix::process::Pid;

use crate::support::{is_root, is_running, kill, options, postmaster, query, start, two_majors, wait_until};

/// The variable with the data folder of the process that runs [`serves_until_it_is_killed`].
const CHILD_FOLDER: &str = "BASALT_CLUSTER_TEST_FOLDER";

/// Not a test by itself: the server that other tests run as a separate process and kill.
#[tokio::test]
async fn serves_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER).map(PathBuf::from) else { return };
    let _cluster = start(&folder).await.unwrap();
    fs::write(folder.join("served"), "").unwrap();
    std::future::pending::<()>().await;
}

/// Starts that process and waits until its cluster is up.
async fn server_process(folder: &Path) -> Child {
    let _ = fs::remove_file(folder.join("served"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "faults::serves_until_it_is_killed"]).env(CHILD_FOLDER, folder);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    wait_until("the other server starts", async || folder.join("served").exists()).await;
    child
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Returns the watchdog shell of the server `parent`.
#[cfg(target_os = "linux")]
fn watchdog(parent: &Child) -> Pid {
    let children = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let command = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let of: u32 = stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()?;
        (of == parent.id() && command.contains("basalt-watchdog")).then_some(number)
    });
    Pid::from_raw(children.last().unwrap()).unwrap()
}

#[tokio::test]
async fn a_killed_postgres_is_restarted_at_the_same_address() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let uri = cluster.postgres_login().to_uri();
    query(&uri, "create table kept as select 1 as one").await.unwrap();
    let mut state = cluster.state();
    let killed = postmaster(folder.path());
    kill(killed);
    let killed_pid = killed.as_raw_nonzero().get() as u32;
    let is_restarted = |state: &State| matches!(state, State::Running { pid } if *pid != killed_pid);
    tokio::time::timeout(crate::support::LIMIT, state.wait_for(is_restarted)).await.unwrap().unwrap();
    assert_eq!(query(&uri, "select one from kept").await.unwrap().as_deref(), Some("1"));
    assert!(cluster.stop().await);
}

#[tokio::test]
async fn postgres_ends_when_the_server_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    let postgres = postmaster(folder.path());
    kill(pid(&server));
    server.wait().unwrap();
    wait_until("Postgres ends without its server", async || !is_running(postgres)).await;
    let log = fs::read_to_string(folder.path().join("postgres/postmaster.pid"));
    assert!(log.is_err(), "it was shut down in order");
    start(folder.path()).await.unwrap().stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orphan_is_stopped_and_its_data_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    let orphan = postmaster(folder.path());
    kill(watchdog(&server));
    kill(pid(&server));
    server.wait().unwrap();
    assert!(is_running(orphan));

    let cluster = start(folder.path()).await.unwrap();
    assert!(!is_running(orphan));
    assert_eq!(query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stale_pid_file_does_not_prevent_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    kill(watchdog(&server));
    // The server is killed before its Postgres, which it would restart.
    let postmaster = postmaster(folder.path());
    kill(pid(&server));
    server.wait().unwrap();
    kill(postmaster);
    // After a reboot the process ID may belong to another process: here to this one, which must survive.
    let file = folder.path().join("postgres/postmaster.pid");
    let text = fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{}\n{rest}", std::process::id())).unwrap();

    let cluster = start(folder.path()).await.unwrap();
    assert_eq!(query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[tokio::test]
async fn a_second_server_on_the_folder_is_refused_with_the_firsts_pid() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let error = start(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::InUse { pid: Some(pid), .. } if pid == std::process::id()), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert_eq!(
        query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(),
        Some("1"),
        "the first server is not affected"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = holder.local_addr().unwrap().port();
    let cluster = Cluster::start(Options { port: Some(taken), ..options(folder.path()) }).await.unwrap();
    let port = cluster.tcp_port().unwrap();
    assert!(port > taken, "{port}");
    let uri = cluster.tcp_login(cluster.superuser(), cluster.password()).unwrap().to_uri();
    let setting = query(&uri, "show port").await.unwrap();
    assert_eq!(setting, Some(port.to_string()));
    cluster.stop().await;
}

#[tokio::test]
async fn data_of_another_major_version_is_refused_with_advice() {
    let Some((own, other)) = two_majors().await else {
        return testkit::skip("this machine has one version of Postgres only");
    };
    let folder = tempfile::tempdir().unwrap();
    let with = |folder: &Path| Search { folder: Some(folder.to_owned()), projects: Vec::new() };
    let made = Options { search: with(other.folder()), ..options(folder.path()) };
    Cluster::start(made).await.unwrap().stop().await;

    let opened = Options { search: with(own.folder()), ..options(folder.path()) };
    let error = Cluster::start(opened).await.unwrap_err().to_string();
    let (old, new) = (other.version().major, own.version().major);
    let next_step = match old < new {
        true => format!("`basalt db upgrade` upgrades it to Postgres {new}"),
        false => format!("from Postgres {old} or newer"),
    };
    for part in [
        format!("made by Postgres {old}"),
        format!("are Postgres {}", own.version()),
        "POSTGRES_BIN".to_owned(),
        "Nothing of it is lost".to_owned(),
        next_step,
    ] {
        assert!(error.contains(&part), "{part:?} is not in: {error}");
    }
}

#[tokio::test]
async fn remains_of_an_interrupted_creation_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("postgres.new-0badcafe");
    fs::create_dir_all(left.join("data/base")).unwrap();
    start(folder.path()).await.unwrap().stop().await;
    assert!(!left.exists());
    assert!(folder.path().join("postgres/PG_VERSION").exists());
}

#[tokio::test]
async fn a_lost_password_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path()).await.unwrap().stop().await;
    fs::remove_file(folder.path().join("pgpass")).unwrap();
    let cluster = start(folder.path()).await.unwrap();
    assert_eq!(query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[tokio::test]
async fn the_error_about_a_wrong_password_names_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    cluster.stop().await;
    let wrong = format!("*:*:*:{}:wrong\n*:*:*:postgres:wrong\n", cluster.superuser());
    fs::write(folder.path().join("pgpass"), wrong).unwrap();
    let error = start(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Password { .. }), "{error}");
    assert!(error.to_string().contains("pgpass"), "{error}");
}

#[tokio::test]
async fn a_full_disk_is_reported() {
    let mounted = tempfile::tempdir().unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(mounted.path()).output();
    if !is_root() || !mount.is_ok_and(|output| output.status.success()) {
        return testkit::skip("making a small file system takes the right to mount");
    }
    let error = start(mounted.path()).await.unwrap_err();
    let left: Vec<_> =
        fs::read_dir(mounted.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    Command::new("umount").arg(mounted.path()).status().unwrap();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert!(
        !left.iter().any(|name| name.to_string_lossy().starts_with("postgres")),
        "nothing half-made: {left:?}"
    );
}
