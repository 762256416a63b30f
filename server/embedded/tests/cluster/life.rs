//! The creation, start, stop and restart of a cluster.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use embedded::{Cluster, Options, Password, Progress, State, missing_libraries};

use crate::support::{is_running, options, postmaster, query, start, wait_until};

#[tokio::test]
async fn data_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    query(&cluster.postgres_login().to_uri(), "create table kept as select 'yes' as answer").await.unwrap();
    assert!(cluster.stop().await, "everything was written");

    let cluster = start(folder.path()).await.unwrap();
    assert_eq!(
        query(&cluster.postgres_login().to_uri(), "select answer from kept").await.unwrap().as_deref(),
        Some("yes")
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_new_cluster_has_the_settings_and_extensions_that_basalt_needs() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let sql = "select concat_ws(' ', current_setting('wal_level'), current_setting('server_encoding'), datcollate,
                      current_setting('password_encryption'), upper('é')) from pg_database where datname = 'postgres'";
    let expected = "logical UTF8 C.UTF-8 scram-sha-256 É";
    assert_eq!(query(&cluster.postgres_login().to_uri(), sql).await.unwrap().as_deref(), Some(expected));
    let extensions = "select count(*) from pg_available_extensions
                      where name in ('pgcrypto', 'citext', 'pg_trgm', 'uuid-ossp')";
    assert_eq!(query(&cluster.postgres_login().to_uri(), extensions).await.unwrap().as_deref(), Some("4"));
    cluster.stop().await;
}

#[tokio::test]
async fn the_superuser_needs_the_stored_password_over_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let superuser = cluster.superuser();
    let right = cluster.tcp_login(superuser, cluster.password()).unwrap().to_uri();
    assert_eq!(query(&right, "select current_user").await.unwrap().as_deref(), Some(superuser));
    for role in [superuser, "postgres"] {
        let wrong = cluster.tcp_login(role, "guess").unwrap().to_uri();
        assert!(query(&wrong, "select 1").await.is_err());
    }

    let mode = fs::metadata(cluster.password_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = fs::read_to_string(cluster.password_file()).unwrap();
    assert!(kept.contains(&format!("*:*:*:{superuser}:{}\n", cluster.password())), "in libpq's format");
    cluster.stop().await;
}

/// Guides for hosted projects preload `safeupdate`, which is not everywhere.
#[tokio::test]
async fn libraries_that_are_not_there_are_not_preloaded_after_a_start() {
    const ALTERED: [&str; 6] = [
        "alter role anybody set local_preload_libraries = '../../../../tmp/uploaded'",
        "alter role authenticated set session_preload_libraries = 'safeupdate', 'auto_explain'",
        "alter role postgres in database postgres set local_preload_libraries = 'nowhere'",
        "alter role postgres set work_mem = '5MB'",
        "alter database postgres set session_preload_libraries = 'safeupdate'",
        "alter role all set session_preload_libraries = 'auto_explain'",
    ];
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    query(&cluster.login().to_uri(), "create role authenticated login password 'x'; create role anybody")
        .await
        .unwrap();
    for statement in ALTERED {
        // One of them makes further logins to this database fail.
        query(&cluster.login().to_uri().replace("/postgres", "/template1"), statement).await.unwrap();
    }
    query(&cluster.login().to_uri(), "select 1").await.unwrap_err();
    let missing = missing_libraries(&cluster.login()).await.unwrap();
    assert_eq!(missing.len(), 4, "{missing:?}");
    assert!(missing.iter().any(|missing| missing.library == "safeupdate"
        && missing.statement == r#"alter role "authenticated" set session_preload_libraries"#));
    cluster.stop().await;

    let cluster = start(folder.path()).await.unwrap();
    assert!(missing_libraries(&cluster.login()).await.unwrap().is_empty());
    let kept = "select string_agg(setting, ', ' order by setting)
                from pg_db_role_setting, unnest(setconfig) setting where setting ~ 'preload|work_mem'";
    assert_eq!(
        query(&cluster.postgres_login().to_uri(), kept).await.unwrap().as_deref(),
        Some("session_preload_libraries=auto_explain, session_preload_libraries=auto_explain, work_mem=5MB")
    );
    cluster.stop().await;
}

/// The role that projects use is no superuser, unless a setting makes it one.
#[tokio::test]
async fn postgres_logs_in_with_its_own_password_and_rights() {
    let folder = tempfile::tempdir().unwrap();
    let rights = "select concat_ws(' ', current_user, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication,
        (select datdba = r.oid from pg_database where datname = current_database())) from pg_roles r
        where rolname = current_user";
    for (postgres_superuser, password, is_known, expected) in [
        (false, Password::KeptOrRandom, false, "postgres f t t t f t"),
        (false, Password::KeptOrDefault, false, "postgres f t t t f t"),
        (true, Password::Default, true, "postgres t t t t f t"),
        (false, Password::KeptOrRandom, true, "postgres f t t t f t"),
        (false, Password::Random, false, "postgres f t t t f t"),
    ] {
        let options = Options { postgres_superuser, password, ..options(folder.path()) };
        let cluster = Cluster::start(options).await.unwrap();
        if cluster.superuser() == "postgres" {
            cluster.stop().await;
            return;
        }
        for login in [cluster.postgres_login(), cluster.postgres_tcp_login().unwrap()] {
            assert_eq!(query(&login.to_uri(), rights).await.unwrap().as_deref(), Some(expected));
        }
        let known = cluster.tcp_login("postgres", "postgres").unwrap().to_uri();
        assert_eq!(query(&known, "select 1").await.is_ok(), is_known, "{password:?}");
        assert_eq!(Cluster::has_default_password(folder.path()), Some(is_known));
        let known = cluster.tcp_login(cluster.superuser(), "postgres").unwrap().to_uri();
        assert!(query(&known, "select 1").await.is_err(), "the superuser's password is never the known one");
        cluster.stop().await;
    }
}

#[tokio::test]
async fn the_administrators_settings_override_basalts() {
    let folder = tempfile::tempdir().unwrap();
    start(folder.path()).await.unwrap().stop().await;
    let settings = folder.path().join("postgres/postgresql.conf");
    let mut file = fs::OpenOptions::new().append(true).open(&settings).unwrap();
    writeln!(file, "work_mem = '7MB'").unwrap();

    let cluster = start(folder.path()).await.unwrap();
    assert_eq!(
        query(&cluster.postgres_login().to_uri(), "show work_mem").await.unwrap().as_deref(),
        Some("7MB")
    );
    cluster.stop().await;
}

#[tokio::test]
async fn statements_are_counted_unless_the_administrator_preloads_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let preloaded = async |expected: &str| {
        let cluster = start(folder.path()).await.unwrap();
        let uri = cluster.login().to_uri();
        let library = query(&uri, "show shared_preload_libraries").await.unwrap();
        assert_eq!(library.as_deref(), Some(expected));
        cluster.stop().await;
    };
    preloaded("pg_stat_statements").await;
    // That of an older release.
    fs::write(folder.path().join("postgres/basalt.conf"), "shared_preload_libraries = ''\n").unwrap();
    preloaded("pg_stat_statements").await;
    let settings = folder.path().join("postgres/postgresql.conf");
    let mut file = fs::OpenOptions::new().append(true).open(&settings).unwrap();
    writeln!(file, "shared_preload_libraries = 'auto_explain'").unwrap();
    preloaded("auto_explain").await;
}

#[tokio::test]
async fn nothing_runs_after_stop() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let pid = postmaster(folder.path());
    let socket_dir = cluster.socket_dir().to_owned();
    assert!(is_running(pid));
    cluster.stop().await;
    assert!(!is_running(pid));
    assert!(!socket_dir.exists());
    assert_eq!(*cluster.state().borrow(), State::Stopped { clean: true });
}

#[tokio::test]
async fn nothing_runs_after_a_cluster_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await.unwrap();
    let pid = postmaster(folder.path());
    drop(cluster);
    wait_until("Postgres ends", async || !is_running(pid)).await;
}

#[tokio::test]
async fn an_ephemeral_cluster_leaves_no_files() {
    let cluster = Cluster::ephemeral(testkit::search(), None).await.unwrap();
    assert_eq!(cluster.tcp_port(), None);
    let data_dir = cluster.password_file().parent().unwrap().to_owned();
    let socket_dir = cluster.socket_dir().to_owned();
    assert!(data_dir.exists());
    cluster.stop().await;
    assert!(!data_dir.exists());
    assert!(!socket_dir.exists());
}

#[tokio::test]
async fn long_steps_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&steps);
    let progress = move |step: &Progress| listener.lock().unwrap().push(step.to_string());
    let cluster = Cluster::start(Options { progress: Some(Arc::new(progress)), ..options(folder.path()) });
    cluster.await.unwrap().stop().await;
    let steps = steps.lock().unwrap();
    assert!(steps.iter().any(|step| step.starts_with("creating the Postgres ")), "{steps:?}");
    assert!(steps.iter().any(|step| step == "starting Postgres"), "{steps:?}");
}
