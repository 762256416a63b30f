//! A bucket's list of types and its limit of sizes hold for every way into it.

use poem::http::Method;
use serde_json::{Value, json};

use crate::s3_client::Signer;
use crate::support::{Response, Server};

const IMAGES_ONLY: &str = "images";

/// Returns a server with an object of ten bytes in bucket `files`, and a bucket for pictures of at most eight bytes
/// that has one, too.
async fn server() -> (Server, Signer) {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let limits = json!({ "name": IMAGES_ONLY, "allowed_mime_types": ["image/png"], "file_size_limit": 8 });
    server.json(Method::POST, "/bucket", &limits).await;
    let service = server.service_role().to_owned();
    for (path, kind, bytes) in [
        ("files/page", "text/html", &b"<b/>"[..]),
        ("files/large", "image/png", b"0123456789"),
        ("files/small", "image/png", b"png"),
        ("images/own", "image/png", b"png"),
    ] {
        let stored = server.upload(&service, path, &[("content-type", kind)], bytes).await;
        assert_eq!(stored.status, 200, "{}", stored.text());
    }
    let signer = Signer::service(&server);
    (server, signer)
}

async fn copy_s3(on: &(Server, Signer), source: &str, kind: Option<&str>) -> Response {
    let mut headers = vec![("content-length", "0"), ("x-amz-copy-source", source)];
    headers.extend(
        kind.into_iter().flat_map(|kind| [("content-type", kind), ("x-amz-metadata-directive", "REPLACE")]),
    );
    headers.sort_unstable();
    on.0.s3(&on.1, Method::PUT, "/s3/images/copied", &headers, "").await
}

#[tokio::test]
async fn copies_and_moves_obey_the_target_bucket() {
    let on = server().await;
    let relocate = async |how: &str, body: Value| on.0.json(Method::POST, how, &body).await;
    let into = |key: &str| {
        json!({
            "bucketId": "files", "sourceKey": key, "destinationBucket": IMAGES_ONLY, "destinationKey": "new",
        })
    };
    let wrong_type = |kind: &str| {
        let words = format!("mime type {kind} is not supported");
        (400, ["415".to_owned(), "invalid_mime_type".to_owned(), words, "InvalidMimeType".to_owned()])
    };
    for how in ["/object/copy", "/object/move"] {
        assert_eq!(relocate(how, into("page")).await.refusal(), wrong_type("text/html"), "{how}");
        let large = relocate(how, into("large")).await.refusal();
        assert_eq!(
            (large.0, large.1[0].as_str(), large.1[3].as_str()),
            (400, "413", "EntityTooLarge"),
            "{how}"
        );
    }
    for kind in ["text/html", "image/png;a=b, image/svg+xml", "image/svg+xml"] {
        for (bucket, key) in [("files", "small"), (IMAGES_ONLY, "own")] {
            let body = json!({
                "bucketId": bucket, "sourceKey": key, "destinationBucket": IMAGES_ONLY, "destinationKey": "new",
                "copyMetadata": false, "metadata": { "mimetype": kind },
            });
            assert_eq!(relocate("/object/copy", body).await.refusal(), wrong_type(kind), "{bucket}");
        }
        assert_eq!(
            copy_s3(&on, "images/own", Some(kind)).await.s3_code(),
            (415, "InvalidMimeType".to_owned())
        );
    }
    assert_eq!(copy_s3(&on, "files/page", None).await.s3_code(), (415, "InvalidMimeType".to_owned()));
    assert_eq!(copy_s3(&on, "files/large", None).await.s3_code(), (413, "EntityTooLarge".to_owned()));
    // The name of a folder's placeholder, which needs no type, has no room for bytes.
    let marker = json!({
        "bucketId": "files", "sourceKey": "page", "destinationBucket": IMAGES_ONLY,
        "destinationKey": "a/.emptyFolderPlaceholder",
    });
    assert_eq!(relocate("/object/copy", marker).await.json()["statusCode"], "413");
    let names =
        "select string_agg(bucket_id || '/' || name, ' ' order by bucket_id, name) from storage.objects";
    assert_eq!(on.0.row(names).await, ["files/large files/page files/small images/own"]);
    assert_eq!(on.0.stored_files(), 4);
}

#[tokio::test]
async fn copies_and_moves_that_obey_go_on() {
    let on = server().await;
    assert_eq!(copy_s3(&on, "files/small", None).await.status, 200);
    assert_eq!(copy_s3(&on, "files/page", Some("image/png")).await.status, 200);
    let moving = json!({
        "bucketId": "files", "sourceKey": "small", "destinationBucket": IMAGES_ONLY, "destinationKey": "moved",
    });
    assert_eq!(on.0.json(Method::POST, "/object/move", &moving).await.status, 200);
    // What is in a bucket may be renamed there, also if it could not come in any more.
    on.0.sql("update storage.buckets set allowed_mime_types = '{image/gif}', file_size_limit = 1 where id = 'images'")
        .await;
    let renaming = json!({ "bucketId": IMAGES_ONLY, "sourceKey": "moved", "destinationKey": "renamed" });
    assert_eq!(on.0.json(Method::POST, "/object/move", &renaming).await.status, 200);
    let copying = json!({ "bucketId": IMAGES_ONLY, "sourceKey": "own", "destinationKey": "again" });
    assert_eq!(on.0.json(Method::POST, "/object/copy", &copying).await.status, 200);
}

#[tokio::test]
async fn what_is_no_media_type_is_in_no_list() {
    let (server, signer) = server().await;
    let limits = json!({ "allowed_mime_types": ["image/*"] });
    server.json(Method::PUT, "/bucket/images", &limits).await;
    let service = server.service_role().to_owned();
    for kind in ["image/png;a=b, image/svg+xml", "image/png, text/html"] {
        let raw = server.upload(&service, "images/a", &[("content-type", kind)], b"a").await;
        assert_eq!(raw.json()["statusCode"], "415", "{kind}");
        let headers = [("content-length", "1"), ("content-type", kind)];
        let put = server.s3(&signer, Method::PUT, "/s3/images/a", &headers, "a").await;
        assert_eq!(put.s3_code(), (415, "InvalidMimeType".to_owned()), "{kind}");
    }
}
