//! Filling buckets from folders.

use std::time::{Duration, SystemTime};

use crate::support::Server;
use settings::Bytes;
use storage::{BucketDefinition, SeedReport};

#[tokio::test]
async fn seeding_again_changes_nothing() {
    let server = Server::start().await;
    server.file("a.txt", b"one");
    server.file("deep/b.png", b"two");
    server.file(".hidden", b"three");
    assert_eq!(server.seed("open", true).await, SeedReport { uploaded: 2, unchanged: 0, refused: 0 });
    assert_eq!(server.seed("open", true).await, SeedReport { uploaded: 0, unchanged: 2, refused: 0 });
    let metadata = "select metadata->>'size', metadata->>'mimetype', metadata->>'cacheControl', metadata->>'eTag' \
                    from storage.objects where name = 'a.txt'";
    let expected = ["3", "text/plain; charset=utf-8", "max-age=3600", "\"f97c5d29941bfb1b2fdab0874906ab82\""];
    assert_eq!(server.row(metadata).await, expected);
}

#[tokio::test]
async fn a_changed_file_replaces_its_object_and_the_old_bytes_go() {
    let server = Server::start().await;
    let path = server.file("a.txt", b"one");
    server.seed("open", true).await;
    let id = server.row("select id::text from storage.objects").await;
    server.file("a.txt", b"two");
    let later = SystemTime::now() + Duration::from_secs(60);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    assert_eq!(server.seed("open", true).await, SeedReport { uploaded: 1, unchanged: 0, refused: 0 });
    assert_eq!(server.get("/object/public/open/a.txt").await.body, b"two");
    assert_eq!(server.row("select id::text from storage.objects").await, id);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn an_object_that_is_newer_than_its_file_is_left_alone() {
    let server = Server::start().await;
    let path = server.file("a.txt", b"one");
    server.seed("open", true).await;
    server.file("a.txt", b"edited, but with an old date");
    let earlier = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(earlier).unwrap();
    assert_eq!(server.seed("open", true).await, SeedReport { uploaded: 0, unchanged: 1, refused: 0 });
    assert_eq!(server.get("/object/public/open/a.txt").await.body, b"one");
}

#[tokio::test]
async fn bytes_that_were_lost_are_uploaded_again() {
    let server = Server::start().await;
    server.file("a.txt", b"one");
    server.seed("open", true).await;
    server.lose_stored_files();
    assert_eq!(server.seed("open", true).await, SeedReport { uploaded: 1, unchanged: 0, refused: 0 });
    assert_eq!(server.get("/object/public/open/a.txt").await.body, b"one");
}

#[tokio::test]
async fn the_definition_is_the_buckets_row() {
    let server = Server::start().await;
    let definition = BucketDefinition {
        name: "pictures".to_owned(),
        public: Some(true),
        file_size_limit: Some(Bytes(100)),
        allowed_mime_types: vec!["image/*".to_owned()],
        ..BucketDefinition::default()
    };
    server.seed_bucket(&definition).await;
    let query = "select public::text, file_size_limit::text, allowed_mime_types::text from storage.buckets";
    assert_eq!(server.row(query).await, ["true", "100", "{image/*}"]);
    let unspecified = BucketDefinition { name: "pictures".to_owned(), ..BucketDefinition::default() };
    server.seed_bucket(&unspecified).await;
    assert_eq!(
        server.row("select public::text, file_size_limit is null || '' from storage.buckets").await[0],
        "true"
    );
}

#[tokio::test]
async fn files_that_the_bucket_does_not_take_are_left_out_and_the_others_served() {
    let server = Server::start().await;
    server.file("a.html", b"text");
    server.file("b.txt", b"taken");
    server.file("ä.txt", b"");
    let definition = BucketDefinition {
        name: "open".to_owned(),
        public: Some(true),
        allowed_mime_types: vec!["text/plain".to_owned()],
        objects_path: Some(server.folder().to_owned()),
        ..BucketDefinition::default()
    };
    let report = server.seed_bucket(&definition).await;
    assert_eq!(report, SeedReport { uploaded: 1, unchanged: 0, refused: 2 });
    assert_eq!(server.get("/object/public/open/b.txt").await.body, b"taken");
    assert_eq!(server.row("select string_agg(name, ',') from storage.objects").await, ["b.txt"]);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn two_nodes_may_seed_at_the_same_time() {
    let server = Server::start().await;
    for index in 0..8 {
        server.file(&format!("{index}.txt"), b"same");
    }
    let (one, two) = tokio::join!(server.seed("open", true), server.seed("open", true));
    assert_eq!(one.uploaded + one.unchanged, 8);
    assert_eq!(two.uploaded + two.unchanged, 8);
    assert_eq!(server.row("select count(*)::text from storage.objects").await, ["8"]);
    assert_eq!(server.stored_files(), 8);
}

#[tokio::test]
async fn two_nodes_may_create_the_same_bucket_at_the_same_time() {
    let server = Server::start().await;
    for round in 0..32 {
        let name = format!("bucket-{round}");
        let (one, two) = tokio::join!(server.seed(&name, true), server.seed(&name, true));
        assert_eq!((one, two), (SeedReport::default(), SeedReport::default()));
    }
    assert_eq!(server.row("select count(*)::text from storage.buckets").await, ["32"]);
}
