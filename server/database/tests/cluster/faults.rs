//! What goes wrong on real machines.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use database::cluster::{Cluster, Error, Options, Search, State};
use rustix::process::Pid;

use crate::support::{ask, is_root, kill, lives, options, postmaster, start, two_majors, until};

/// Names the data folder to the process that [`serves_until_it_is_killed`] becomes.
const CHILD_FOLDER: &str = "BASALT_CLUSTER_TEST_FOLDER";

/// No test by itself: the server that other tests start as a process of its own, in order to kill it.
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
    until("the other server starts", async || folder.join("served").exists()).await;
    child
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The watchdog shell of the server `parent`.
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
async fn a_killed_postgres_comes_back_at_the_same_address() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let uri = cluster.login().to_uri();
    ask(&uri, "create table kept as select 1 as one").await.unwrap();
    let mut state = cluster.state();
    let killed = postmaster(folder.path());
    kill(killed);
    let back = |state: &State| matches!(state, State::Running { pid } if *pid != killed.as_raw_nonzero().get() as u32);
    tokio::time::timeout(crate::support::LIMIT, state.wait_for(back)).await.unwrap().unwrap();
    assert_eq!(ask(&uri, "select one from kept").await.unwrap().as_deref(), Some("1"));
    assert!(cluster.stop().await);
}

#[tokio::test]
async fn postgres_ends_when_the_server_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    let postgres = postmaster(folder.path());
    kill(pid(&server));
    server.wait().unwrap();
    until("Postgres ends without its server", async || !lives(postgres)).await;
    let log = fs::read_to_string(folder.path().join("postgres/postmaster.pid"));
    assert!(log.is_err(), "it was shut down in order");
    start(folder.path()).await.unwrap().stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orphan_is_ended_and_its_data_served_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    let orphan = postmaster(folder.path());
    kill(watchdog(&server));
    kill(pid(&server));
    server.wait().unwrap();
    assert!(lives(orphan));

    let cluster = start(folder.path()).await.unwrap();
    assert!(!lives(orphan));
    assert_eq!(ask(&cluster.login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_lock_file_of_a_killed_machine_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server_process(folder.path()).await;
    kill(watchdog(&server));
    // The server before its Postgres, which it would start again.
    let postmaster = postmaster(folder.path());
    kill(pid(&server));
    server.wait().unwrap();
    kill(postmaster);
    // After a reboot the number is another process's: this one's, say, which must survive.
    let file = folder.path().join("postgres/postmaster.pid");
    let text = fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{}\n{rest}", std::process::id())).unwrap();

    let cluster = start(folder.path()).await.unwrap();
    assert_eq!(ask(&cluster.login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[tokio::test]
async fn a_second_server_on_the_folder_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let refused = start(folder.path()).await.unwrap_err();
    assert!(matches!(refused, Error::InUse { pid: Some(pid), .. } if pid == std::process::id()), "{refused}");
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
    assert_eq!(
        ask(&cluster.login().to_uri(), "select 1").await.unwrap().as_deref(),
        Some("1"),
        "the first goes on"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = holder.local_addr().unwrap().port();
    let cluster = Cluster::start(Options { port: Some(taken), ..options(folder.path()) }).await.unwrap();
    let port = cluster.tcp_port().unwrap();
    assert!(port > taken, "{port}");
    let uri = cluster.tcp_login("postgres", cluster.password()).unwrap().to_uri();
    let shown = ask(&uri, "show port").await.unwrap();
    assert_eq!(shown, Some(port.to_string()));
    cluster.stop().await;
}

#[tokio::test]
async fn data_of_another_major_version_is_refused_with_advice() {
    let Some((own, other)) = two_majors().await else {
        eprintln!("skipped: this machine has one version of Postgres only");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let with = |folder: &Path| Search { folder: Some(folder.to_owned()), projects: Vec::new() };
    let made = Options { search: with(other.folder()), ..options(folder.path()) };
    Cluster::start(made).await.unwrap().stop().await;

    let opened = Options { search: with(own.folder()), ..options(folder.path()) };
    let refused = Cluster::start(opened).await.unwrap_err().to_string();
    let (old, new) = (other.version().major, own.version().major);
    let way_on = match old < new {
        true => format!("`basalt db upgrade` brings it over to Postgres {new}"),
        false => format!("from Postgres {old} or newer"),
    };
    for part in [
        format!("made by Postgres {old}"),
        format!("are Postgres {}", own.version()),
        "POSTGRES_BIN".to_owned(),
        "Nothing of it is lost".to_owned(),
        way_on,
    ] {
        assert!(refused.contains(&part), "{part:?} is not in: {refused}");
    }
}

#[tokio::test]
async fn what_an_interrupted_creation_left_is_removed() {
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
    assert_eq!(ask(&cluster.login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[tokio::test]
async fn a_wrong_password_is_told_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path()).await.unwrap().stop().await;
    fs::write(folder.path().join("pgpass"), "*:*:*:postgres:wrong\n").unwrap();
    let refused = start(folder.path()).await.unwrap_err();
    assert!(matches!(refused, Error::Password { .. }), "{refused}");
    assert!(refused.to_string().contains("pgpass"), "{refused}");
}

#[tokio::test]
async fn a_full_disk_is_told() {
    let mounted = tempfile::tempdir().unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(mounted.path()).output();
    if !is_root() || !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: making a small file system takes the right to mount");
        return;
    }
    let refused = start(mounted.path()).await.unwrap_err();
    let left: Vec<_> =
        fs::read_dir(mounted.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    Command::new("umount").arg(mounted.path()).status().unwrap();
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    assert!(refused.to_string().contains("No space left on device"), "{refused}");
    assert!(
        !left.iter().any(|name| name.to_string_lossy().starts_with("postgres")),
        "nothing half-made: {left:?}"
    );
}
