//! Public objects that are kept in memory: they cost no database round trip, and are never older than the last change.

use std::time::Duration;

use poem::http::{Method, StatusCode};

use crate::support::Server;

pub(crate) const PATH: &str = "/object/public/files/a.txt";

/// Starts a server with a public object that has been read.
pub(crate) async fn server() -> Server {
    let server = Server::start().await;
    listening(&server).await;
    server.bucket("files", true).await;
    let service = server.service_role().to_owned();
    server.upload(&service, "files/a.txt", &[], b"first").await;
    server.database.await_notifications().await;
    assert_eq!(server.get(PATH).await.text(), "first");
    server
}

/// Waits until the service hears notifications.
async fn listening(server: &Server) {
    for _ in 0..500 {
        if server.database.is_listening_to(storage::CHANNEL) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(server.database.is_listening_to(storage::CHANNEL), "the service does not listen");
}

/// Reports whether the object is served without its row: the table has another name meanwhile.
pub(crate) async fn is_kept(server: &Server) -> bool {
    server.sql("alter table storage.objects rename to elsewhere").await;
    let response = server.get(PATH).await;
    server.sql("alter table storage.elsewhere rename to objects").await;
    response.status == StatusCode::OK
}

#[tokio::test]
async fn a_second_read_asks_no_database() {
    let server = server().await;
    assert!(is_kept(&server).await);
    server.sql("alter table storage.objects rename to elsewhere").await;
    let head = server.ask(Method::HEAD, PATH, &[]).await;
    assert_eq!((head.status, head.header("content-length")), (StatusCode::OK, "5"));
    assert_eq!(server.ask(Method::GET, PATH, &[("range", "bytes=1-2")]).await.text(), "ir");
    assert_eq!(
        server.get("/object/files/a.txt").await.text(),
        "first",
        "whoever asks may read what is public"
    );
    let refused = server.get("/object/authenticated/files/a.txt").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "this route wants a token always");
}

#[tokio::test]
async fn nothing_is_kept_of_private_buckets() {
    let server = server().await;
    server.sql("update storage.buckets set public = false").await;
    let service = format!("Bearer {}", server.service_role());
    let path = "/object/authenticated/files/a.txt";
    for _ in 0..2 {
        let response = server.ask(Method::GET, path, &[("authorization", &service)]).await;
        assert_eq!(response.text(), "first");
    }
    assert!(!is_kept(&server).await);
    assert_eq!(server.get(PATH).await.refusal().0, 400);
}

#[tokio::test]
async fn changes_by_anybody_hold_at_once() {
    let server = server().await;
    server.sql("update storage.objects set metadata = metadata || '{\"cacheControl\":\"max-age=7\"}'").await;
    assert_eq!(server.get(PATH).await.header("cache-control"), "max-age=7");
    server.sql("update storage.objects set name = 'b.txt'").await;
    assert_eq!(server.get(PATH).await.refusal().1[0], "404");
    assert_eq!(server.get("/object/public/files/b.txt").await.text(), "first");
    server.sql("truncate storage.objects").await;
    assert_eq!(server.get("/object/public/files/b.txt").await.refusal().1[0], "404");
}

#[tokio::test]
async fn changes_by_roles_that_see_no_buckets_hold_at_once() {
    let server = server().await;
    server
        .sql(
            "create policy all_of_it on storage.objects to anon using (true);\
             begin; set local role anon; set local storage.allow_delete_query = 'true';\
             delete from storage.objects; commit",
        )
        .await;
    assert_eq!(server.get(PATH).await.refusal().1[0], "404");
}

#[tokio::test]
async fn changes_by_this_server_hold_before_their_notification() {
    let server = server().await;
    let service = server.service_role().to_owned();
    for round in 0..20 {
        let text = format!("round {round}");
        server.upload(&service, "files/a.txt", &[("x-upsert", "true")], text.as_bytes()).await;
        assert_eq!(server.get(PATH).await.text(), text);
        assert_eq!(server.get(PATH).await.text(), text);
    }
    let authorization = format!("Bearer {service}");
    server.ask(Method::DELETE, "/object/files/a.txt", &[("authorization", &authorization)]).await;
    assert_eq!(server.get(PATH).await.refusal().1[0], "404");
}

#[tokio::test]
async fn nothing_kept_is_used_while_no_notification_can_arrive() {
    let server = server().await;
    server
        .sql(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where datname = current_database() and query like 'listen %'",
        )
        .await;
    for _ in 0..500 {
        if !server.database.is_listening_to(storage::CHANNEL) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.sql("update storage.objects set name = 'b.txt'").await;
    assert_eq!(server.get(PATH).await.refusal().1[0], "404");
    listening(&server).await;
    assert_eq!(server.get(PATH).await.refusal().1[0], "404");
}

#[tokio::test]
async fn nothing_is_kept_without_the_triggers() {
    let server = server().await;
    server
        .sql(
            "alter table storage.objects disable trigger basalt_notify_update;\
             update storage.buckets set updated_at = now()",
        )
        .await;
    assert_eq!(server.get(PATH).await.text(), "first");
    assert!(!is_kept(&server).await);
}
