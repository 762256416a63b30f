//! Listing, moving and copying objects.

use crate::support::Server;
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

async fn server(keys: &[&str]) -> Server {
    let server = Server::start().await;
    server.bucket("files", true).await;
    server.bucket("other", false).await;
    let service = server.service_role().to_owned();
    for key in keys {
        let headers = [("content-type", "text/plain"), ("cache-control", "max-age=9")];
        let stored = server.upload(&service, &format!("files/{key}"), &headers, key.as_bytes()).await;
        assert_eq!(stored.status, StatusCode::OK);
    }
    server
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_folder_is_listed_with_its_folders() {
    let server = server(&["a.txt", "B.txt", "dir/x.txt", "dir/deep/y.txt", "dir_2/z.txt"]).await;
    let list = async |body: Value| server.json(Method::POST, "/object/list/files", &body).await.json();
    let root = list(json!({ "prefix": "" })).await;
    assert_eq!(names(&root), ["a.txt", "B.txt", "dir", "dir_2"]);
    assert_eq!(
        root[2],
        json!({
            "name": "dir", "id": null, "updated_at": null, "created_at": null, "last_accessed_at": null,
            "metadata": null,
        })
    );
    assert!(root[0]["id"].is_string() && root[0]["updated_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(root[0]["metadata"]["size"], 5);
    assert_eq!(names(&list(json!({ "prefix": "dir" })).await), ["deep", "x.txt"]);
    assert_eq!(names(&list(json!({ "prefix": "", "search": "DIR_" })).await), ["dir_2"]);
    assert_eq!(names(&list(json!({ "prefix": "", "limit": 2, "offset": 1 })).await), ["B.txt", "dir"]);
    let descending = json!({ "prefix": "", "sortBy": { "column": "name", "order": "desc" } });
    assert_eq!(names(&list(descending).await), ["dir_2", "dir", "B.txt", "a.txt"]);
    let by_time = json!({ "prefix": "", "sortBy": { "column": "created_at", "order": "desc" } });
    assert_eq!(names(&list(by_time).await), ["dir_2", "dir", "B.txt", "a.txt"]);
    let refused = list(json!({})).await;
    assert_eq!(refused["message"], "body must have required property 'prefix'");
    let nowhere = server.json(Method::POST, "/object/list/nowhere", &json!({ "prefix": "" })).await;
    assert_eq!(nowhere.json(), json!([]));
}

#[tokio::test]
async fn pages_of_a_prefix_follow_one_another() {
    let keys = ["B", "a/1", "a/2", "b", "c/1", "c_", "d"];
    let server = server(&keys).await;
    let page = async |body: Value| server.json(Method::POST, "/object/list-v2/files", &body).await.json();
    let all = page(json!({})).await;
    assert_eq!(all["hasNext"], false);
    assert_eq!(names(&all["objects"]), keys);
    assert_eq!(all["folders"], json!([]));
    for (body, expected) in [
        (json!({ "limit": 3 }), keys.to_vec()),
        (json!({ "limit": 1, "sortBy": { "column": "created_at", "order": "desc" } }), {
            let mut reversed = keys.to_vec();
            reversed.reverse();
            reversed
        }),
        (json!({ "limit": 2, "with_delimiter": true }), vec!["B", "a/", "b", "c/", "c_", "d"]),
    ] {
        let mut seen = Vec::new();
        let mut request = body.clone();
        loop {
            let response = page(request.clone()).await;
            for kind in ["folders", "objects"] {
                seen.extend(names(&response[kind]).into_iter().map(str::to_owned));
            }
            if response["hasNext"] == false {
                assert!(response.get("nextCursor").is_none());
                break;
            }
            request["cursor"] = response["nextCursor"].clone();
        }
        if body.get("with_delimiter").is_some() {
            seen.sort();
        }
        assert_eq!(seen, expected, "{body}");
    }
    let folded = page(json!({ "prefix": "a/", "with_delimiter": true })).await;
    assert_eq!(folded["objects"][0]["key"], "1");
    assert_eq!(names(&page(json!({ "prefix": "a" })).await["objects"]), ["a/1", "a/2"]);
    let broken = page(json!({ "cursor": "bm9uc2Vuc2U=" })).await;
    assert_eq!(broken["message"], "Invalid Parameter continuation token");
}

#[tokio::test]
async fn a_move_keeps_the_object_and_changes_its_name() {
    let server = server(&["a", "taken"]).await;
    let before = server.get("/object/info/public/files/a").await.json();
    let relocate = async |body: Value| server.json(Method::POST, "/object/move", &body).await;
    let moved = json!({ "bucketId": "files", "sourceKey": "a", "destinationKey": "b/c" });
    assert_eq!(relocate(moved.clone()).await.json()["message"], "Successfully moved");
    let after = server.get("/object/info/public/files/b/c").await.json();
    assert_eq!((&before["id"], &before["etag"]), (&after["id"], &after["etag"]));
    assert_ne!(before["version"], after["version"]);
    assert_eq!(server.get("/object/public/files/b/c").await.body, b"a");
    assert_eq!(server.get("/object/public/files/a").await.json()["code"], "NoSuchKey");
    assert_eq!(relocate(moved).await.json()["code"], "NoSuchKey");
    let over = json!({ "bucketId": "files", "sourceKey": "b/c", "destinationKey": "taken" });
    assert_eq!(relocate(over).await.json()["code"], "ResourceAlreadyExists");
    let same = json!({ "bucketId": "files", "sourceKey": "b/c", "destinationKey": "b/c" });
    assert_eq!(relocate(same).await.status, StatusCode::OK);
    let target = |bucket| json!({ "bucketId": "files", "sourceKey": "b/c", "destinationKey": "d", "destinationBucket": bucket });
    assert_eq!(relocate(target("nowhere")).await.json()["message"], "The related resource does not exist");
    assert_eq!(relocate(target("other")).await.status, StatusCode::OK);
    let row = server.row("select bucket_id, name from storage.objects where bucket_id = 'other'").await;
    assert_eq!(row, ["other", "d"]);
    let wrong = json!({ "bucketId": "files", "sourceKey": "taken", "destinationKey": "../x" });
    assert_eq!(relocate(wrong).await.json()["code"], "InvalidKey");
    assert_eq!(server.stored_files(), 2);
}

#[tokio::test]
async fn a_copy_is_an_object_of_its_own() {
    let server = server(&["a", "taken"]).await;
    let copy = async |body: Value| server.json(Method::POST, "/object/copy", &body).await;
    let request = json!({ "bucketId": "files", "sourceKey": "a", "destinationKey": "b" });
    let copied = copy(request.clone()).await;
    assert_eq!(copied.status, StatusCode::OK, "{}", copied.text());
    assert_eq!(copied.json()["Key"], "files/b");
    assert_eq!(copied.json()["name"], "b");
    let (original, duplicate) = (
        server.get("/object/info/public/files/a").await.json(),
        server.get("/object/info/public/files/b").await.json(),
    );
    assert_ne!(original["id"], duplicate["id"]);
    assert_eq!(copied.json()["Id"], duplicate["id"]);
    assert_eq!(original["cache_control"], duplicate["cache_control"]);
    assert_eq!(copy(request).await.json()["code"], "KeyAlreadyExists");
    let changed = json!({
        "bucketId": "files", "sourceKey": "a", "destinationKey": "c", "destinationBucket": "other",
        "copyMetadata": false, "metadata": { "mimetype": "image/png" },
    });
    copy(changed).await;
    let row = server
        .row("select metadata->>'mimetype', metadata->>'cacheControl' from storage.objects where name = 'c'")
        .await;
    assert_eq!(row, ["image/png", "max-age=9"]);
    let authorization = format!("Bearer {}", server.service_role());
    let headers =
        [("authorization", &*authorization), ("content-type", "application/json"), ("x-upsert", "true")];
    let over = json!({ "bucketId": "files", "sourceKey": "a", "destinationKey": "taken" }).to_string();
    let replaced = server.send(Method::POST, "/object/copy", &headers, over).await;
    assert_eq!(replaced.status, StatusCode::OK);
    assert_eq!(server.get("/object/public/files/taken").await.body, b"a");
    assert_eq!(server.stored_files(), 4);
    let missing = json!({ "bucketId": "files", "sourceKey": "missing", "destinationKey": "x" });
    assert_eq!(copy(missing).await.json()["code"], "NoSuchKey");
}
