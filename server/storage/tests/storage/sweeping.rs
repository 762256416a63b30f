//! Bytes that no row names, and how they go.

use std::time::{Duration, SystemTime};

use crate::support::{Server, is_s3};
use storage::Sweeper;

#[tokio::test]
async fn orphans_go_at_the_second_look_and_nothing_else() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let service = server.service_role().to_owned();
    for key in ["kept", "lost"] {
        server.upload(&service, &format!("files/{key}"), &[], key.as_bytes()).await;
    }
    server
        .sql("set storage.allow_delete_query = 'true'; delete from storage.objects where name = 'lost'")
        .await;
    let mut sweeper = Sweeper::new(&server.handles);
    assert_eq!(sweeper.look().await.unwrap(), 0);
    assert_eq!(server.stored_files(), 2);
    // Bytes whose row is committed between the looks are not touched.
    server.upload(&service, "files/new", &[], b"new").await;
    assert_eq!(sweeper.look().await.unwrap(), 1);
    assert_eq!(sweeper.look().await.unwrap(), 0);
    for key in ["kept", "new"] {
        assert_eq!(server.get(&format!("/object/public/files/{key}")).await.text(), key);
    }
    assert_eq!(server.stored_files(), 2);
}

#[tokio::test]
async fn unfinished_files_go_when_nobody_writes_to_them_any_more() {
    if is_s3() {
        return; // It has no unfinished files, and ends unfinished uploads by a rule of the bucket.
    }
    let server = Server::start().await;
    let now = SystemTime::now();
    for (name, age) in [("00/old#1", 7200), ("00/new#2", 60)] {
        let path = server.objects().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "half").unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    Sweeper::new(&server.handles).look().await.unwrap();
    assert!(!server.objects().join("00/old#1").exists());
    assert!(server.objects().join("00/new#2").exists());
}

#[tokio::test]
async fn a_store_that_is_not_the_databases_is_left_alone() {
    for count in [3, 101] {
        is_left_alone(count).await;
    }
}

async fn is_left_alone(count: usize) {
    let server = Server::start().await;
    for index in 0..count {
        let version = format!("00000000-0000-4000-8000-{index:012}");
        let path = server.objects().join("00").join(version);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "somebody's").unwrap();
    }
    let mut sweeper = Sweeper::new(&server.handles);
    for _ in 0..3 {
        assert_eq!(sweeper.look().await.unwrap(), 0);
    }
    assert_eq!(server.stored_files(), count);
}
