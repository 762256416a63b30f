//! Buckets over HTTP.

use crate::s3_client::Signer;
use crate::support::Server;
use poem::http::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn a_bucket_lives_from_its_creation_to_its_deletion() {
    let server = Server::start().await;
    let definition = json!({
        "id": "avatars", "name": "avatars", "public": true,
        "file_size_limit": "1.5kb", "allowed_mime_types": ["image/*", ""],
    });
    let made = server.json(Method::POST, "/bucket", &definition).await;
    assert_eq!((made.status, made.json()), (StatusCode::OK, json!({ "name": "avatars" })));
    let found = server.json(Method::GET, "/bucket/avatars", &json!(null)).await.json();
    assert_eq!(found["id"], "avatars");
    assert_eq!(found["owner"], "");
    assert_eq!(found["public"], true);
    assert_eq!(found["file_size_limit"], 1500);
    assert_eq!(found["allowed_mime_types"], json!(["image/*"]));
    assert!(found["created_at"].as_str().unwrap().ends_with('Z'));
    assert!(found.get("type").is_none());

    let change = json!({ "public": false, "file_size_limit": null });
    let changed = server.json(Method::PUT, "/bucket/avatars", &change).await;
    assert_eq!(changed.json(), json!({ "message": "Successfully updated" }));
    let found = server.json(Method::GET, "/bucket/avatars", &json!(null)).await.json();
    assert_eq!((&found["public"], &found["file_size_limit"]), (&json!(false), &json!(null)));
    assert_eq!(found["allowed_mime_types"], json!(["image/*"]));

    let service = server.service_role().to_owned();
    let full = server.upload(&service, "avatars/a.png", &[("content-type", "image/png")], b"x").await;
    assert_eq!(full.status, StatusCode::OK, "{}", full.text());
    let kept = server.json(Method::DELETE, "/bucket/avatars", &json!({})).await;
    let message = "The bucket you tried to delete is not empty";
    assert_eq!(
        kept.refusal(),
        (400, ["409", "ResourceNotEmpty", message, "ResourceNotEmpty"].map(str::to_owned))
    );
    let emptied = server.json(Method::POST, "/bucket/avatars/empty", &json!({})).await;
    assert_eq!(emptied.json()["message"], "Empty bucket has been queued. Completion may take up to an hour.");
    assert_eq!(server.stored_files(), 0);
    let gone = server.json(Method::DELETE, "/bucket/avatars", &json!({})).await;
    assert_eq!(gone.json(), json!({ "message": "Successfully deleted" }));
    let missing = server.json(Method::GET, "/bucket/avatars", &json!(null)).await;
    assert_eq!(missing.json()["code"], "NoSuchBucket");
}

#[tokio::test]
async fn lists_are_searched_sorted_and_cut() {
    let server = Server::start().await;
    for name in ["alpha", "beta_100", "Alphabet"] {
        server.bucket(name, false).await;
    }
    let names = async |query: &str| {
        let list = server.json(Method::GET, &format!("/bucket?{query}"), &json!(null)).await.json();
        let names = list.as_array().unwrap().iter().map(|bucket| bucket["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("sortColumn=created_at").await, ["alpha", "beta_100", "Alphabet"]);
    assert_eq!(names("search=ALPHA&sortColumn=created_at&sortOrder=desc").await, ["Alphabet", "alpha"]);
    assert_eq!(names("search=_1").await, ["beta_100"]);
    assert_eq!(names("sortColumn=created_at&limit=1&offset=1").await, ["beta_100"]);
    let refused = server.json(Method::GET, "/bucket?limit=0", &json!(null)).await;
    assert_eq!(refused.json()["message"], "querystring/limit must be >= 1");
    let listed = server.json(Method::GET, "/bucket", &json!(null)).await.json();
    assert_eq!(listed[0]["type"], "STANDARD");
    // Python's older clients fail on a type.
    let service = format!("Bearer {}", server.service_role());
    for (header, client, has_type, has_versioning) in [
        ("x-client-info", "supabase-py/2.17.3", false, false),
        ("x-client-info", "supabase-py/2.18.0", true, false),
        ("x-client-info", "supabase-py/2.20.0", true, true),
        ("x-client-info", "supabase-js/2.1.0", true, true),
        ("user-agent", "supabase-py/storage3 v0.12.0", false, false),
        ("user-agent", "supabase-py/storage3 v0.12.1", true, false),
    ] {
        let headers = [("authorization", &*service), (header, client)];
        let listed = server.ask(Method::GET, "/bucket", &headers).await.json();
        assert_eq!(listed[0].get("type").is_some(), has_type, "{client}");
        let found = server.ask(Method::GET, "/bucket/alpha", &headers).await.json();
        for bucket in [&listed[0], &found] {
            assert_eq!(bucket.get("versioning_status").is_some(), has_versioning, "{client}: {bucket}");
        }
    }
}

#[tokio::test]
async fn wrong_definitions_are_refused() {
    let server = Server::start().await;
    server.bucket("taken", false).await;
    for (body, code, message) in [
        (json!({}), "InvalidRequest", "body must have required property 'name'"),
        (json!({ "name": "a/b" }), "InvalidBucketName", "Bucket name invalid"),
        (json!({ "name": " a" }), "InvalidBucketName", "Bucket name invalid"),
        (json!({ "name": "taken" }), "BucketAlreadyExists", "The resource already exists"),
        (
            json!({ "name": "b", "file_size_limit": "1TB" }),
            "InvalidRequest",
            "Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B",
        ),
        (
            json!({ "name": "b", "file_size_limit": "1GB" }),
            "EntityTooLarge",
            "The object exceeded the maximum allowed size",
        ),
        (
            json!({ "name": "b", "allowed_mime_types": ["image"] }),
            "InvalidMimeType",
            "mime type image is not supported",
        ),
        (
            json!({ "name": "b", "allowed_mime_types": [7] }),
            "InvalidMimeType",
            "mime type 7 is not supported",
        ),
        (
            json!({ "name": "b", "allowed_mime_types": [{}] }),
            "InvalidRequest",
            "body/allowed_mime_types/0 must be string",
        ),
    ] {
        let refused = server.json(Method::POST, "/bucket", &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
        let response = refused.json();
        assert_eq!((&response["code"], &response["message"]), (&json!(code), &json!(message)), "{body}");
    }
    let nothing = server.json(Method::PUT, "/bucket/taken", &json!({})).await;
    assert_eq!(nothing.json()["message"], "No content provided");
    let service = format!("Bearer {}", server.service_role());
    let headers = [("authorization", &*service), ("content-type", "application/json")];
    let broken = server.send(Method::POST, "/bucket", &headers, "{").await;
    assert_eq!(broken.json()["error"], "FastifyError");
    let empty = server.send(Method::POST, "/bucket", &headers, "").await;
    assert_eq!(
        empty.json()["message"],
        "Body cannot be empty when content-type is set to 'application/json'"
    );
}

#[tokio::test]
async fn row_level_security_decides_who_may_do_what() {
    let server = Server::start().await;
    server.bucket("closed", false).await;
    let user = server.user("8f9b2c1e-0000-4000-8000-000000000001");
    let made = server.json_as(&user, Method::POST, "/bucket", &json!({ "name": "mine" })).await;
    let policy = "new row violates row-level security policy";
    assert_eq!(made.refusal(), (400, ["403", "Unauthorized", policy, "AccessDenied"].map(str::to_owned)));
    assert_eq!(server.json_as(&user, Method::GET, "/bucket", &json!(null)).await.json(), json!([]));
    for (method, path, body) in [
        (Method::GET, "/bucket/closed", json!(null)),
        (Method::PUT, "/bucket/closed", json!({ "public": true })),
        (Method::DELETE, "/bucket/closed", json!({})),
    ] {
        let hidden = server.json_as(&user, method.clone(), path, &body).await;
        assert_eq!(hidden.json()["code"], "NoSuchBucket", "{method}");
    }
    let emptied = server.json_as(&user, Method::POST, "/bucket/closed/empty", &json!({})).await;
    assert_eq!(emptied.status, StatusCode::FORBIDDEN);
    server
        .sql(
            "create policy makers on storage.buckets for insert to authenticated with check (owner_id = auth.uid()::text); \
             create policy readers on storage.buckets for select to authenticated using (owner = auth.uid())",
        )
        .await;
    let made = server.json_as(&user, Method::POST, "/bucket", &json!({ "name": "mine" })).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    let found = server.json_as(&user, Method::GET, "/bucket/mine", &json!(null)).await.json();
    assert_eq!(found["owner"], "8f9b2c1e-0000-4000-8000-000000000001");
    server.sql("insert into storage.buckets (id, name, public) values ('by-sql', 'by-sql', true)").await;
    let service = server.service_role().to_owned();
    let used = server.upload(&service, "by-sql/a", &[], b"x").await;
    assert_eq!(used.status, StatusCode::OK);
}

#[tokio::test]
async fn a_bucket_with_pending_uploads_says_so() {
    let server = Server::start().await;
    server.bucket("files", false).await;
    let signer = Signer::service(&server);
    let begin = async |key: &str| {
        let path = format!("/s3/files/{key}?uploads=");
        let headers = [("content-length", "0")];
        server.s3(&signer, Method::POST, &path, &headers, "").await.element("UploadId")
    };
    let id = begin("big.bin").await;
    let kept = server.json(Method::DELETE, "/bucket/files", &json!({})).await;
    let (status, [status_code, error, message, code]) = kept.refusal();
    assert_eq!(
        (status, &*status_code, &*error, &*code),
        (400, "409", "ResourceReferenced", "ResourceReferenced")
    );
    let words = "referenced by a pending multipart upload (\"big.bin\"). Complete or abort it first";
    assert!(message.contains(words), "{message}");
    let stranger = server.user("8f9b2c1e-0000-4000-8000-000000000001");
    let kept = server.json_as(&stranger, Method::DELETE, "/bucket/files", &json!({})).await;
    let message = kept.refusal().1[2].clone();
    assert!(message.contains("by a pending multipart upload. Complete"), "names are not for all: {message}");
    for key in ["b", "c", "d"] {
        begin(key).await;
    }
    let kept = server.s3(&signer, Method::DELETE, "/s3/files", &[], "").await;
    assert_eq!(kept.s3_code(), (409, "ResourceReferenced".to_owned()));
    assert!(
        kept.element("Message").contains("(&quot;b&quot;, &quot;big.bin&quot;, &quot;c&quot;)"),
        "{}",
        kept.text()
    );
    server.sql("delete from storage.s3_multipart_uploads where key <> 'big.bin'").await;
    server.s3(&signer, Method::DELETE, &format!("/s3/files/big.bin?uploadId={id}"), &[], "").await;
    assert_eq!(server.s3(&signer, Method::DELETE, "/s3/files", &[], "").await.status, 204);
}

#[tokio::test]
async fn there_are_no_iceberg_buckets() {
    let server = Server::start().await;
    for (method, path) in [
        (Method::GET, "/iceberg/bucket"),
        (Method::POST, "/iceberg/bucket"),
        (Method::DELETE, "/iceberg/bucket/a"),
        (Method::GET, "/iceberg/v1/config?warehouse=a"),
        (Method::POST, "/iceberg/v1/a/namespaces"),
    ] {
        let response = server.json(method.clone(), path, &json!({ "name": "a" })).await;
        let words = format!("Route {method}:{path} not found");
        let refusal = ["404".to_owned(), "Not Found".to_owned(), words, "InvalidRequest".to_owned()];
        assert_eq!(response.refusal(), (404, refusal));
    }
    let made = server.json(Method::POST, "/bucket", &json!({ "name": "a", "type": "ANALYTICS" })).await;
    assert_eq!(made.json()["code"], "FeatureNotEnabled");
}

#[tokio::test]
async fn caches_are_purged_by_the_service_alone() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    for path in ["/cdn", "/cdn/", "/cdn/files", "/cdn/files?transformations=true", "/cdn/files/a%3Fb/c.png"] {
        let response = server.json(Method::DELETE, path, &json!({})).await;
        assert_eq!(
            (response.status, &response.json()["message"]),
            (StatusCode::OK, &json!("success")),
            "{path}"
        );
        let user = server.user("8f9b2c1e-0000-4000-8000-000000000001");
        let refused = server.json_as(&user, Method::DELETE, path, &json!({})).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    let unclear = server.json(Method::DELETE, "/cdn/files?transformations=maybe", &json!({})).await;
    assert_eq!(unclear.json()["message"], "querystring/transformations must be boolean");
    assert_eq!(server.json(Method::GET, "/cdn/files", &json!(null)).await.status, StatusCode::NOT_FOUND);
}
