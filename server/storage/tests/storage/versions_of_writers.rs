//! Versions of objects: every way to write keeps them, and policies decide about each.

use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::resumable;
use crate::s3_client::Signer;
use crate::s3_form::Form;
use crate::support::Server;
use crate::versions::versioned;

const USER: &str = "00000000-0000-4000-8000-00000000000a";

/// Counts the versions of the only object that are not where the times of their writing say.
pub(crate) const DISORDER: &str = "select count(*)::text from (select archived_at < created_at \
         or row_number() over (order by created_at) <> row_number() over (order by archived_at) as is_wrong \
         from storage.objects) o where is_wrong";

/// Returns the text of every version of `key`, the current one first.
pub(crate) async fn history(server: &Server, key: &str) -> Vec<String> {
    let body = json!({ "prefix": key, "exactMatch": true, "noncurrentVersions": "include" });
    let listed = server.json(Method::POST, "/object/list/files", &body).await.json();
    let mut texts = Vec::new();
    for entry in listed.as_array().unwrap() {
        texts.push(server.read(key, &entry["version"]).await);
    }
    texts
}

#[tokio::test]
async fn every_way_to_write_keeps_what_it_replaces() {
    let server = versioned().await;
    let token = server.service_role().to_owned();
    let authorization = format!("Bearer {token}");
    server.write("u/a", "upsert").await;
    let put = [("authorization", &*authorization), ("content-type", "text/plain")];
    assert_eq!(server.send(Method::PUT, "/object/files/u/a", &put, "put").await.status, StatusCode::OK);

    let upsert = [("authorization", &*authorization), ("x-upsert", "true")];
    let signed = server.send(Method::POST, "/object/upload/sign/files/u/a", &upsert, "").await.json();
    let url = signed["url"].as_str().unwrap().to_owned();
    assert_eq!(server.send(Method::PUT, &url, &[], "signed").await.status, StatusCode::OK);

    let created = resumable::create(&server, "u/a", "9", &[("x-upsert", "true")]).await;
    let path = resumable::path(&created);
    assert_eq!(resumable::patch(&server, &path, "0", "resu").await.status, StatusCode::NO_CONTENT);
    assert_eq!(resumable::patch(&server, &path, "4", "mable").await.status, StatusCode::NO_CONTENT);

    server.write("other", "copy").await;
    let copy = json!({ "bucketId": "files", "sourceKey": "other", "destinationKey": "u/a" }).to_string();
    let headers = [upsert[0], upsert[1], ("content-type", "application/json")];
    assert_eq!(server.send(Method::POST, "/object/copy", &headers, copy).await.status, StatusCode::OK);

    let signer = Signer::service(&server);
    assert_eq!(server.s3_put("/s3/files/u/a", "s3").await.status, 200);
    let copy = [("x-amz-copy-source", "files/other")];
    assert_eq!(server.s3(&signer, Method::PUT, "/s3/files/u/a", &copy, "").await.status, 200);
    let begun = server.s3(&signer, Method::POST, "/s3/files/u/a?uploads=", &[], "").await;
    let id = begun.element("UploadId");
    let part = server.s3_put(&format!("/s3/files/u/a?partNumber=1&uploadId={id}"), "multipart").await;
    let parts = format!("<Part><ETag>{}</ETag><PartNumber>1</PartNumber></Part>", part.header("etag"));
    let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let length = body.len().to_string();
    let headers = [("content-length", &*length)];
    let path = format!("/s3/files/u/a?uploadId={id}");
    let done = server.s3(&signer, Method::POST, &path, &headers, body).await;
    assert!(!done.header("x-amz-version-id").is_empty(), "{}", done.text());
    let form = Form::signed(&signer, &[("key", "u/a")], &[]);
    let sent = form.send(&server, "/s3/files").await;
    assert!(!sent.header("x-amz-version-id").is_empty(), "{} {}", sent.status, sent.text());

    let texts = history(&server, "u/a").await;
    let expected = ["text", "multipart", "copy", "s3", "copy", "resumable", "signed", "put", "upsert"];
    assert_eq!(texts, expected);
    assert_eq!(server.stored_files(), texts.len() + 1);
}

#[tokio::test]
async fn a_file_of_the_project_replaces_what_it_seeds_as_a_version() {
    let server = versioned().await;
    server.file("a.txt", b"seed");
    server.write("a.txt", "old").await;
    server.sql("update storage.objects set updated_at = '2020-01-01'").await;
    server.sql("alter table storage.objects disable trigger update_objects_updated_at").await;
    server.sql("update storage.objects set updated_at = '2020-01-01'").await;
    server.seed("files", true).await;
    assert_eq!(history(&server, "a.txt").await, ["seed", "old"]);
    assert_eq!(server.seed("files", true).await.uploaded, 0);
}

#[tokio::test]
async fn what_is_moved_away_stays_as_an_older_version() {
    let server = versioned().await;
    server.write("a", "one").await;
    server.write("taken", "taken").await;
    let relocate = async |source: &str, target: &str, version: &Value| {
        let mut body = json!({ "bucketId": "files", "sourceKey": source, "destinationKey": target });
        if version.is_string() {
            body["sourceVersionId"] = version.clone();
        }
        let response = server.json(Method::POST, "/object/move", &body).await;
        response.json().get("code").and_then(Value::as_str).unwrap_or("moved").to_owned()
    };
    assert_eq!(relocate("a", "taken", &Value::Null).await, "ResourceAlreadyExists");
    assert_eq!(relocate("a", "a", &Value::Null).await, "moved");
    assert_eq!(history(&server, "a").await, ["one"], "a move to itself writes nothing");
    assert_eq!(relocate("a", "b", &Value::Null).await, "moved");
    assert_eq!(server.list(json!({})).await, ["a-*", "a", "b*", "taken*"]);
    assert_eq!(server.read("b", &Value::Null).await, "one");
    // A name that is marked is free.
    assert_eq!(relocate("b", "a", &Value::Null).await, "moved");
    assert_eq!(history(&server, "a").await, ["one", "one"]);
    assert_eq!(relocate("b", "c", &Value::Null).await, "NoSuchKey");

    // A version that is not the current one is moved itself; so it comes back as the object that it was of.
    let old = server.write("d", "old").await;
    server.write("d", "new").await;
    assert_eq!(relocate("d", "d", &old).await, "moved");
    assert_eq!(history(&server, "d").await, ["old", "new"]);
    assert_eq!(server.read("d", &old).await, "NoSuchKey");
    let gone = json!("00000000-0000-4000-8000-000000000000");
    assert_eq!(relocate("d", "e", &gone).await, "NoSuchKey");
}

#[tokio::test]
async fn objects_move_between_buckets_that_keep_versions_and_others() {
    let server = versioned().await;
    server.bucket("plain", true).await;
    server.write("a", "one").await;
    let token = server.service_role().to_owned();
    server.upload(&token, "plain/b", &[], b"two").await;
    for (source, key, target) in [("files", "a", "plain"), ("plain", "b", "files")] {
        let body = json!({
            "bucketId": source, "sourceKey": key, "destinationBucket": target, "destinationKey": key,
        });
        let moved = server.json(Method::POST, "/object/move", &body).await;
        assert_eq!(moved.status, StatusCode::OK, "{}", moved.text());
    }
    assert_eq!(server.get("/object/public/plain/a").await.text(), "one");
    assert_eq!(server.list(json!({})).await, ["a-*", "a", "b*"]);
    let rows = "select string_agg(name, ' ') from storage.objects where bucket_id = 'plain'";
    assert_eq!(server.row(rows).await, ["a"], "a bucket without versions keeps no mark");
    assert_eq!(server.stored_files(), 3);
}

#[tokio::test]
async fn an_older_version_is_copied_to_bring_it_back() {
    let server = versioned().await;
    let old = server.write("a", "old").await;
    server.write("a", "new").await;
    let token = server.service_role().to_owned();
    let authorization = format!("Bearer {token}");
    let body = json!({
        "bucketId": "files", "sourceKey": "a", "destinationKey": "a", "sourceVersionId": old,
    });
    let copy = async |upsert: &str| {
        let headers =
            [("authorization", &*authorization), ("content-type", "application/json"), ("x-upsert", upsert)];
        server.send(Method::POST, "/object/copy", &headers, body.to_string()).await
    };
    assert_eq!(copy("false").await.json()["code"], "KeyAlreadyExists");
    assert_eq!(copy("true").await.status, StatusCode::OK);
    assert_eq!(history(&server, "a").await, ["old", "new", "old"]);
    let marker = server.remove("a", &Value::Null).await.json()["VersionId"].clone();
    assert_eq!(copy("false").await.status, StatusCode::OK, "what is marked is not in the way");
    let body = json!({
        "bucketId": "files", "sourceKey": "a", "destinationKey": "b", "sourceVersionId": marker,
    });
    let refused = server.json(Method::POST, "/object/copy", &body).await;
    assert_eq!(refused.json()["code"], "NoSuchKey");
}

#[tokio::test]
async fn policies_decide_about_versions_too() {
    let server = versioned().await;
    server.keep_versions("ENABLED").await;
    server.json(Method::PUT, "/bucket/files", &json!({ "public": false })).await;
    let user = server.user(USER);
    let old = server.write("a", "old").await;
    server.write("a", "new").await;
    let authorization = format!("Bearer {user}");
    let ask = async |method: Method, path: &str| {
        server.send(method, path, &[("authorization", &*authorization)], "").await
    };
    let version = format!("/object/files/a?versionId={}", old.as_str().unwrap());
    assert_eq!(ask(Method::GET, &version).await.json()["code"], "NoSuchKey");
    assert_eq!(ask(Method::DELETE, &version).await.json()["code"], "AccessDenied");
    server.sql("create policy readers on storage.objects for select to authenticated using (true)").await;
    assert_eq!(ask(Method::GET, &version).await.text(), "old");
    assert_eq!(ask(Method::DELETE, &version).await.json()["code"], "AccessDenied");
    assert_eq!(ask(Method::DELETE, "/object/files/a").await.json()["code"], "AccessDenied");
    let body = json!({ "prefixes": ["a", { "path": "a", "versionId": old }] });
    assert_eq!(server.json_as(&user, Method::DELETE, "/object/files", &body).await.json(), json!([]));
    server
        .sql(
            "create policy removers on storage.objects for delete to authenticated using (true);
             create policy makers on storage.objects for insert to authenticated with check (name <> 'b')",
        )
        .await;
    // To replace needs the right to change, to write over a mark only that to insert.
    let upsert = [("x-upsert", "true")];
    let replaced = server.upload(&user, "files/a", &upsert, b"x").await;
    assert_eq!(replaced.json()["code"], "AccessDenied");
    assert_eq!(ask(Method::DELETE, "/object/files/a").await.json()["DeleteMarker"], true);
    assert_eq!(server.upload(&user, "files/a", &[], b"x").await.status, StatusCode::OK);
    server.write("b", "one").await;
    assert_eq!(ask(Method::DELETE, "/object/files/b").await.json()["DeleteMarker"], true);
    let refused = server.upload(&user, "files/b", &[], b"x").await;
    assert_eq!(refused.json()["code"], "AccessDenied", "a mark gives no right");
    assert_eq!(ask(Method::DELETE, &version).await.status, StatusCode::OK);
    assert_eq!(ask(Method::GET, &version).await.json()["code"], "NoSuchKey");
    let owner = "select owner_id from storage.objects where name = 'a' and archived_at is null";
    assert_eq!(server.row(owner).await, [USER]);
}

#[tokio::test]
async fn writers_of_one_name_leave_one_current_version() {
    let server = versioned().await;
    let server = &server;
    let writes = (0..8).map(|number| async move {
        if number % 4 == 3 {
            server.remove("a", &Value::Null).await;
        } else {
            server.write("a", &number.to_string()).await;
        }
    });
    futures_util::future::join_all(writes).await;
    let counts = "select count(*) filter (where archived_at is null)::text, \
         count(*) filter (where not is_delete_marker)::text from storage.objects";
    assert_eq!(server.row(counts).await, ["1", "6"]);
    assert_eq!(server.row(DISORDER).await, ["0"]);
    assert_eq!(server.stored_files(), 6);
}

#[tokio::test]
async fn the_sweeper_knows_older_versions() {
    let server = versioned().await;
    for text in ["one", "two", "three"] {
        server.write("a", text).await;
    }
    let mut sweeper = storage::Sweeper::new(&server.handles);
    for _ in 0..2 {
        assert_eq!(sweeper.look().await.unwrap(), 0);
    }
    assert_eq!(history(&server, "a").await, ["three", "two", "one"]);
}
