//! Versions of objects, request by request: what a bucket keeps, and how it is read, listed, restored and removed.

use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Response, Server};

const VERSIONING: &str = "/bucket/files";

/// Returns a server with a bucket that keeps versions.
pub(crate) async fn versioned() -> Server {
    let server = Server::start().await;
    let body = json!({ "name": "files", "public": true, "versioning_status": "ENABLED" });
    assert_eq!(server.json(Method::POST, "/bucket", &body).await.status, StatusCode::OK);
    server
}

impl Server {
    /// Sets whether bucket `files` keeps versions.
    pub(crate) async fn keep_versions(&self, status: &str) -> Response {
        self.json(Method::PUT, VERSIONING, &json!({ "versioning_status": status })).await
    }

    /// Writes an object of `files` and returns what its version is called.
    pub(crate) async fn write(&self, key: &str, text: &str) -> Value {
        let token = self.service_role().to_owned();
        let headers = [("x-upsert", "true"), ("content-type", "text/plain")];
        let response = self.upload(&token, &format!("files/{key}"), &headers, text.as_bytes()).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
        response.json()["VersionId"].clone()
    }

    /// Returns the text of an object of `files`, or the code of the refusal.
    pub(crate) async fn read(&self, key: &str, version: &Value) -> String {
        let query = version.as_str().map_or(String::new(), |version| format!("?versionId={version}"));
        let response = self.get(&format!("/object/public/files/{key}{query}")).await;
        if response.status == StatusCode::OK { response.text() } else { code(&response) }
    }

    /// Removes an object of `files`, or one of its versions.
    pub(crate) async fn remove(&self, key: &str, version: &Value) -> Response {
        let query = version.as_str().map_or(String::new(), |version| format!("?versionId={version}"));
        self.json(Method::DELETE, &format!("/object/files/{key}{query}"), &Value::Null).await
    }

    /// Lists names, and whether they are current, are markers and are versions; in the order of the list.
    pub(crate) async fn list(&self, options: Value) -> Vec<String> {
        let mut body = json!({ "prefix": "", "noncurrentVersions": "include", "deleteMarkers": "include" });
        for (name, value) in options.as_object().unwrap() {
            body[name] = value.clone();
        }
        let response = self.json(Method::POST, "/object/list/files", &body).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
        response.json().as_array().unwrap().iter().map(describe).collect()
    }
}

fn describe(entry: &Value) -> String {
    let name = entry["name"].as_str().unwrap();
    let marks = [
        (entry["id"].is_null(), "/"),
        (entry["is_delete_marker"] == true, "-"),
        (entry["id"].is_string() && entry["archived_at"].is_null(), "*"),
        (entry["is_versioned"] == false, "0"),
    ];
    let marks = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| *mark);
    format!("{name}{}", marks.collect::<String>())
}

fn code(response: &Response) -> String {
    response.json()["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_bucket_keeps_versions_from_when_it_is_told_to() {
    let server = Server::start().await;
    let words = "body/versioning_status must be equal to one of the allowed values";
    let create = json!({ "name": "files", "public": true, "versioning_status": "SUSPENDED" });
    assert_eq!(server.json(Method::POST, "/bucket", &create).await.json()["message"], words);
    server.bucket("files", true).await;
    let status = async || server.json(Method::GET, "/bucket/files", &Value::Null).await.json();
    assert_eq!(status().await["versioning_status"], "DISABLED");
    assert_eq!(code(&server.keep_versions("SUSPENDED").await), "InvalidParameter");
    assert_eq!(server.keep_versions("DISABLED").await.json()["message"], words);
    assert_eq!(server.write("a", "one").await, Value::Null);
    assert_eq!(server.write("a", "two").await, Value::Null);
    assert_eq!(server.stored_files(), 1);

    assert_eq!(server.keep_versions("ENABLED").await.status, StatusCode::OK);
    assert_eq!(status().await["versioning_status"], "ENABLED");
    let third = server.write("a", "three").await;
    assert_ne!(third, Value::Null);
    assert_eq!(server.stored_files(), 2);
    assert_eq!(server.read("a", &third).await, "three");
    assert_eq!(server.read("a", &Value::Null).await, "three");
    // Everybody can guess this name of the older version: a public bucket does not show it.
    assert_eq!(server.read("a", &"null".into()).await, "NoSuchKey");
    let older = async |token: &str| {
        let authorization = format!("Bearer {token}");
        let path = "/object/files/a?versionId=null";
        server.ask(Method::GET, path, &[("authorization", &*authorization)]).await.text()
    };
    assert_eq!(older(server.service_role()).await, "two");
    for token in [server.anon(), &*server.user("00000000-0000-4000-8000-00000000000a")] {
        assert!(older(token).await.contains("NoSuchKey"), "no policy shows it");
    }

    assert_eq!(server.keep_versions("SUSPENDED").await.status, StatusCode::OK);
    assert_eq!(server.write("a", "four").await, "null");
    assert_eq!(server.read("a", &Value::Null).await, "four");
    assert_eq!(server.read("a", &"null".into()).await, "four");
    assert_eq!(server.read("a", &third).await, "three");
    // What was written while it kept none is replaced.
    assert_eq!(server.stored_files(), 2);
    assert_eq!(server.write("a", "five").await, "null");
    assert_eq!(server.stored_files(), 2);
    assert_eq!(server.list(json!({})).await, ["a*0", "a"]);
    let all = server.json(Method::GET, "/bucket", &Value::Null).await;
    assert_eq!(all.json()[0]["versioning_status"], "SUSPENDED");
}

#[tokio::test]
async fn an_object_keeps_its_id_whatever_is_written() {
    let server = versioned().await;
    server.sql("create table public.notes (object uuid references storage.objects (id))").await;
    let id = async || {
        let sql = "select id::text from storage.objects where name = 'a' and archived_at is null";
        server.row(sql).await[0].clone()
    };
    let first = server.write("a", "one").await;
    let before = id().await;
    server.sql("insert into public.notes select id from storage.objects").await;
    server.write("a", "two").await;
    assert_eq!(id().await, before);
    server.remove("a", &Value::Null).await;
    assert_eq!(id().await, before);
    server.keep_versions("SUSPENDED").await;
    server.write("a", "three").await;
    assert_eq!(id().await, before);
    server.write("a", "four").await;
    assert_eq!(id().await, before);
    assert_eq!(server.remove("a", &"null".into()).await.status, StatusCode::OK);
    assert_eq!(id().await, before, "the version before is current again");
    assert_eq!(server.read("a", &first).await, "one");
}

#[tokio::test]
async fn a_removed_object_is_marked_and_comes_back() {
    let server = versioned().await;
    let first = server.write("dir/a", "one").await;
    let removed = server.remove("dir/a", &Value::Null).await.json();
    assert_eq!(
        (&removed["message"], &removed["DeleteMarker"]),
        (&"Successfully deleted".into(), &true.into())
    );
    let marker = removed["VersionId"].clone();
    assert_eq!(server.read("dir/a", &Value::Null).await, "NoSuchKey");
    assert_eq!(server.read("dir/a", &first).await, "one");
    assert_eq!(server.read("dir/a", &marker).await, "MethodNotAllowed");
    let body = json!({ "expiresIn": 60, "versionId": marker });
    let signed = server.json(Method::POST, "/object/sign/files/dir/a", &body).await;
    assert_eq!(code(&signed), "MethodNotAllowed");
    // What is marked is not there, for lists and for those who remove it again.
    assert_eq!(code(&server.remove("dir/a", &Value::Null).await), "NoSuchKey");
    let plain = server.json(Method::POST, "/object/list/files", &json!({ "prefix": "" })).await;
    assert_eq!(plain.json(), json!([]), "a folder without objects is none");
    let plain = server.json(Method::POST, "/object/list-v2/files", &json!({ "prefix": "dir" })).await;
    assert_eq!(plain.json()["objects"], json!([]));

    // Neither is a name that is marked taken.
    let token = server.service_role().to_owned();
    let again = server.upload(&token, "files/dir/a", &[], b"two").await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.text());
    assert_eq!(code(&server.upload(&token, "files/dir/a", &[], b"three").await), "KeyAlreadyExists");
    assert_eq!(server.remove("dir/a", &again.json()["VersionId"]).await.status, StatusCode::OK);
    assert_eq!(server.read("dir/a", &Value::Null).await, "NoSuchKey", "the marker is current again");
    assert_eq!(server.remove("dir/a", &marker).await.status, StatusCode::OK);
    assert_eq!(server.read("dir/a", &Value::Null).await, "one");
    assert_eq!(server.list(json!({ "prefix": "dir" })).await, ["a*"]);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn the_last_version_that_goes_takes_its_bytes_along() {
    let server = versioned().await;
    let versions = [server.write("a", "one").await, server.write("a", "two").await];
    let marker = server.remove("a", &Value::Null).await.json()["VersionId"].clone();
    for (version, left) in [(&versions[0], 1), (&versions[1], 0)] {
        let response = server.remove("a", version).await;
        assert_eq!(response.json()["VersionId"], *version, "{}", response.text());
        assert_eq!(response.json().get("DeleteMarker"), None);
        assert_eq!(server.stored_files(), left);
        assert_eq!(code(&server.remove("a", version).await), "NoSuchKey");
    }
    assert_eq!(server.list(json!({})).await, ["a-*"]);
    assert_eq!(server.remove("a", &marker).await.json()["DeleteMarker"], true);
    assert_eq!(server.row("select count(*)::text from storage.objects").await, ["0"]);
    assert_eq!(code(&server.remove("a", &"1".into()).await), "NoSuchKey");
}

#[tokio::test]
async fn many_are_marked_or_removed_at_once() {
    let server = versioned().await;
    let old = server.write("a", "one").await;
    for (key, text) in [("a", "two"), ("b", "three"), ("c", "four")] {
        server.write(key, text).await;
    }
    let body = json!({ "prefixes": ["b", "missing", { "path": "a", "versionId": old }] });
    let removed = server.json(Method::DELETE, "/object/files", &body).await.json();
    let mut removed: Vec<String> = removed.as_array().unwrap().iter().map(describe).collect();
    removed.sort();
    assert_eq!(removed, ["a", "b-*"]);
    assert_eq!(server.list(json!({})).await, ["a*", "b-*", "b", "c*"]);
    assert_eq!(server.stored_files(), 3);
    for (prefixes, words) in [
        (json!([]), "body/prefixes must NOT have fewer than 1 items"),
        (json!([{ "path": "a" }]), "body/prefixes must have required property 'versionId'"),
        (json!([{ "versionId": old }]), "body/prefixes must have required property 'path'"),
    ] {
        let refused = server.json(Method::DELETE, "/object/files", &json!({ "prefixes": prefixes })).await;
        assert_eq!(refused.json()["message"], words);
    }
    assert_eq!(server.list(json!({})).await.len(), 4);
}

#[tokio::test]
async fn lists_show_what_they_are_asked_for() {
    let server = versioned().await;
    for key in ["a", "a", "a.txt", "dir/b", "dir/b"] {
        server.write(key, key).await;
    }
    server.remove("a", &Value::Null).await;
    server.remove("dir/b", &Value::Null).await;
    server.write("dir/b", "new").await;
    let list = async |noncurrent: &str, markers: &str| {
        server.list(json!({ "noncurrentVersions": noncurrent, "deleteMarkers": markers })).await
    };
    assert_eq!(list("exclude", "exclude").await, ["a.txt*", "dir/"]);
    assert_eq!(list("exclude", "only").await, ["a-*"]);
    assert_eq!(list("only", "exclude").await, ["a", "a", "dir/"]);
    assert_eq!(list("only", "only").await, ["dir/"]);
    assert_eq!(list("include", "include").await, ["a-*", "a", "a", "a.txt*", "dir/"]);
    let exact = server.list(json!({ "prefix": "a", "exactMatch": true })).await;
    assert_eq!(exact, ["a-*", "a", "a"]);
    let folder = json!({ "prefix": "dir", "search": "B", "limit": 2, "offset": 1 });
    assert_eq!(server.list(folder).await, ["b-", "b"]);
    let by_time = json!({ "sortBy": { "column": "created_at", "order": "desc" } });
    assert_eq!(server.list(by_time).await, ["dir/", "a-*", "a.txt*", "a", "a"]);
    let body = json!({ "prefix": "", "deleteMarkers": "some" });
    let refused = server.json(Method::POST, "/object/list/files", &body).await;
    assert_eq!(code(&refused), "InvalidRequest");
}

#[tokio::test]
async fn pages_of_versions_follow_one_another() {
    let server = versioned().await;
    for key in ["a", "a", "a", "b/c", "b/c", "d"] {
        server.write(key, key).await;
    }
    server.remove("d", &Value::Null).await;
    for (options, expected) in [
        (json!({}), "a* a a b/c* b/c d-* d"),
        (json!({ "with_delimiter": true }), "a* a a b// d-* d"),
        (json!({ "sortBy": { "column": "name", "order": "desc" } }), "d-* d b/c* b/c a* a a"),
        (json!({ "sortBy": { "column": "created_at", "order": "asc" } }), "a a a* b/c b/c* d d-*"),
        (json!({ "deleteMarkers": "exclude", "noncurrentVersions": "only" }), "a a b/c d"),
    ] {
        let mut body =
            json!({ "limit": 2, "noncurrentVersions": "include", "deleteMarkers": "include", "prefix": "" });
        body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let mut seen = Vec::new();
        loop {
            let page = server.json(Method::POST, "/object/list-v2/files", &body).await.json();
            let entries = ["folders", "objects"].map(|kind| page[kind].as_array().unwrap().clone()).concat();
            assert!(entries.len() <= 2 && seen.len() < 20, "{page}");
            let mut entries: Vec<String> = entries.iter().map(describe).collect();
            if body["with_delimiter"] == true {
                entries.sort();
            }
            seen.extend(entries);
            if page["hasNext"] == false {
                break;
            }
            body["cursor"] = page["nextCursor"].clone();
        }
        if body["with_delimiter"] == true {
            seen.sort();
            let mut expected: Vec<&str> = expected.split(' ').collect();
            expected.sort_unstable();
            assert_eq!(seen, expected, "{options}");
        } else {
            assert_eq!(seen.join(" "), expected, "{options}");
        }
    }
}

#[tokio::test]
async fn info_and_signed_urls_are_of_the_version_that_is_named() {
    let server = versioned().await;
    let old = server.write("a", "old").await;
    let new = server.write("a", "newer").await;
    let info = async |version: &Value| {
        let version = version.as_str().unwrap();
        let path = format!("/object/info/files/a?versionId={version}");
        server.json(Method::GET, &path, &Value::Null).await.json()
    };
    let (before, current) = (info(&old).await, info(&new).await);
    assert_eq!((&before["version"], &before["size"]), (&old, &3.into()));
    assert!(before["archived_at"].is_string() && current["archived_at"].is_null());
    assert_eq!(before["is_versioned"], true);
    let sign = async |version: &Value| {
        let body = json!({ "expiresIn": 60, "versionId": version });
        let signed = server.json(Method::POST, "/object/sign/files/a", &body).await;
        server.get(signed.json()["signedURL"].as_str().unwrap()).await.text()
    };
    assert_eq!(sign(&old).await, "old");
    assert_eq!(sign(&Value::Null).await, "newer");
    for version in ["1", "00000000-0000-4000-8000-000000000000", "null"] {
        let body = json!({ "expiresIn": 60, "versionId": version });
        let missing = server.json(Method::POST, "/object/sign/files/a", &body).await;
        assert_eq!(code(&missing), "NoSuchKey", "{version}");
        assert_eq!(server.read("a", &version.into()).await, "NoSuchKey", "{version}");
    }
}

#[tokio::test]
async fn a_bucket_is_emptied_of_all_versions() {
    let server = versioned().await;
    for key in ["a", "a", "b"] {
        server.write(key, key).await;
    }
    server.remove("b", &Value::Null).await;
    let delete = async || server.json(Method::DELETE, VERSIONING, &json!({})).await;
    assert_eq!(code(&delete().await), "ResourceNotEmpty");
    for key in ["a", "b"] {
        server.remove(key, &Value::Null).await;
    }
    assert_eq!(code(&delete().await), "ResourceNotEmpty", "what is marked is there");
    assert_eq!(server.json(Method::POST, "/bucket/files/empty", &json!({})).await.status, StatusCode::OK);
    assert_eq!(server.stored_files(), 0);
    assert_eq!(delete().await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_database_that_is_not_ready_for_versions_says_so() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let check = "alter table storage.buckets add constraint buckets_versioning_dark_check \
         check (versioning_status = 'DISABLED')";
    server.sql(check).await;
    assert_eq!(code(&server.keep_versions("ENABLED").await), "FeatureNotEnabled");
    let body = json!({ "name": "other", "versioning_status": "ENABLED" });
    assert_eq!(code(&server.json(Method::POST, "/bucket", &body).await), "FeatureNotEnabled");
    assert_eq!(server.write("a", "one").await, Value::Null);
    server.sql("alter table storage.buckets add constraint of_users check (name <> 'bad')").await;
    let refused = server.json(Method::POST, "/bucket", &json!({ "name": "bad" })).await;
    assert_ne!(code(&refused), "FeatureNotEnabled", "{}", refused.text());
}
