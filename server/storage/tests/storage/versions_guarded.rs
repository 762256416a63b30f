//! Versions of objects beside what else there is: users' tables, triggers and policies, and other requests.

use std::time::Duration;

use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::Server;
use crate::versions::versioned;
use crate::versions_of_writers::{DISORDER, history};

const ADA: &str = "00000000-0000-4000-8000-00000000000a";
const BOB: &str = "00000000-0000-4000-8000-00000000000b";

/// What writers of object `a` of bucket `files` lock.
const LOCK: &str = "hashtextextended('files/a', 0)";

/// Returns the code of the refusal to move a version of an object of `files`, or `moved`.
async fn relocate(server: &Server, token: &str, source: &str, version: &Value, target: &str) -> String {
    let mut body = json!({ "bucketId": "files", "sourceKey": source, "destinationKey": target });
    if version.is_string() {
        body["sourceVersionId"] = version.clone();
    }
    let response = server.json_as(token, Method::POST, "/object/move", &body).await;
    response.json().get("code").and_then(Value::as_str).unwrap_or("moved").to_owned()
}

/// Does `meanwhile` while `request` waits for the lock of object `a` of bucket `files`.
async fn between(server: &Server, request: impl Future<Output = ()>, meanwhile: impl Future<Output = ()>) {
    server.sql(&format!("select pg_advisory_lock({LOCK})")).await;
    let other = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        meanwhile.await;
        server.sql(&format!("select pg_advisory_unlock({LOCK})")).await;
    };
    tokio::join!(request, other);
}

#[tokio::test]
async fn an_older_version_replaces_nothing_but_its_own_object() {
    let server = versioned().await;
    server
        .sql(
            "create policy own on storage.objects to authenticated \
             using (owner_id = auth.uid()::text) with check (owner_id = auth.uid()::text)",
        )
        .await;
    let [ada, bob] = [ADA, BOB].map(|id| server.user(id));
    let write = async |token: &str, key: &str, text: &str| {
        let upsert = [("x-upsert", "true"), ("content-type", "text/plain")];
        let response = server.upload(token, &format!("files/{key}"), &upsert, text.as_bytes()).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
        response.json()["VersionId"].clone()
    };
    write(&bob, "bobs", "of Bob").await;
    let older = write(&ada, "a", "older").await;
    write(&ada, "a", "newer").await;
    for token in [&*ada, server.service_role()] {
        assert_eq!(relocate(&server, token, "a", &older, "bobs").await, "ResourceAlreadyExists");
    }
    assert_eq!(history(&server, "bobs").await, ["of Bob"]);
    assert_eq!(history(&server, "a").await, ["newer", "older"]);

    // It comes back over the current version only if the caller may change that one, too.
    let change =
        format!("update storage.objects set owner_id = '{BOB}' where name = 'a' and archived_at is null");
    server.sql(&change).await;
    assert_eq!(relocate(&server, &ada, "a", &older, "a").await, "AccessDenied");
    assert_eq!(history(&server, "a").await, ["newer", "older"]);
    server.sql(&change.replace(BOB, ADA)).await;
    assert_eq!(relocate(&server, &bob, "a", &older, "a").await, "NoSuchKey");
    assert_eq!(relocate(&server, &ada, "a", &older, "a").await, "moved");
    assert_eq!(history(&server, "a").await, ["older", "newer"]);
    assert_eq!(server.stored_files(), 3);
}

#[tokio::test]
async fn versions_are_in_the_order_in_which_they_were_written() {
    let server = versioned().await;
    server.write("a", "first").await;
    // The write begins before the other, and is done after it: its first attempt finds that the bucket keeps versions,
    // and its second one waits, too.
    between(&server, async { drop(server.write("a", "third").await) }, async {
        server.sql(&format!("select pg_advisory_unlock({LOCK}); select pg_advisory_lock({LOCK})")).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let second = "update storage.objects set archived_at = clock_timestamp(), id = gen_random_uuid() \
                 where archived_at is null; \
                 insert into storage.objects (bucket_id, name, version, is_versioned, created_at) \
                 values ('files', 'a', gen_random_uuid()::text, true, clock_timestamp())";
        server.sql(second).await;
    })
    .await;
    assert_eq!(server.row("select count(*)::text from storage.objects").await, ["3"]);
    assert_eq!(server.row(DISORDER).await, ["0"]);
}

#[tokio::test]
async fn what_refers_to_an_object_outlives_its_versions() {
    let server = versioned().await;
    server
        .sql("create table public.notes (object uuid references storage.objects (id) on delete cascade)")
        .await;
    let first = server.write("a", "one").await;
    server.sql("insert into public.notes select id from storage.objects").await;
    let is_noted = async || {
        let sql = "select count(*)::text from public.notes n join storage.objects o on o.id = n.object and o.archived_at is null";
        server.row(sql).await[0] == "1"
    };
    let second = server.write("a", "two").await;
    assert_eq!(server.remove("a", &second).await.status, StatusCode::OK);
    assert!(is_noted().await, "the version before is the object");
    let marker = server.remove("a", &Value::Null).await.json()["VersionId"].clone();
    assert_eq!(server.remove("a", &marker).await.status, StatusCode::OK);
    assert!(is_noted().await);
    assert_eq!(server.read("a", &Value::Null).await, "one");

    server.keep_versions("SUSPENDED").await;
    assert_eq!(server.remove("a", &Value::Null).await.json()["VersionId"], "null");
    let token = server.service_role().to_owned();
    let created = server.upload(&token, "files/a", &[("content-type", "text/plain")], b"three").await;
    assert_eq!(created.json()["VersionId"], "null", "{}", created.text());
    assert!(is_noted().await, "a marker that is written over");
    assert_eq!(server.remove("a", &Value::Null).await.json()["DeleteMarker"], true);
    assert_eq!(server.write("a", "four").await, "null");
    assert_eq!(server.list(json!({})).await, ["a*0", "a"]);
    assert_eq!(server.remove("a", &"null".into()).await.status, StatusCode::OK);
    assert!(is_noted().await);
    assert_eq!(server.remove("a", &first).await.status, StatusCode::OK);
    assert_eq!(server.row("select count(*)::text from public.notes").await, ["0"], "the object has gone");
}

#[tokio::test]
async fn a_name_that_is_taken_starts_no_trigger_of_users() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    server.write("a", "one").await;
    server
        .sql(
            "create function public.refuse() returns trigger language plpgsql as \
               $$ begin raise exception 'a trigger was started'; end $$; \
             create trigger refuse before update on storage.objects for each row execute function public.refuse()",
        )
        .await;
    let token = server.service_role().to_owned();
    let refused = async || server.upload(&token, "files/a", &[], b"two").await.json()["code"].clone();
    assert_eq!(refused().await, "KeyAlreadyExists");
    // Neither does one of an older version without an id.
    server.keep_versions("ENABLED").await;
    assert_eq!(refused().await, "KeyAlreadyExists");
}

#[tokio::test]
async fn a_version_that_goes_meanwhile_is_not_moved() {
    let server = versioned().await;
    server.write("a", "one").await;
    let token = server.service_role();
    between(
        &server,
        async { assert_eq!(relocate(&server, token, "a", &Value::Null, "b").await, "NoSuchKey") },
        server.sql("set storage.allow_delete_query = 'true'; delete from storage.objects where name = 'a'"),
    )
    .await;
    assert_eq!(server.list(json!({})).await, Vec::<String>::new());
}
