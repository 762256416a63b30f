//! Objects whose bytes their sender has encoded (`Content-Encoding`).

use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::s3_client::Signer;
use crate::support::Server;

async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("files", true).await;
    server
}

/// Returns the header of an object and what its information says.
async fn coding(server: &Server, key: &str) -> (String, Value) {
    let read = server.get(&format!("/object/public/files/{key}")).await;
    assert_eq!(read.status, StatusCode::OK, "{key}: {}", read.text());
    let head = server.ask(Method::HEAD, &format!("/object/public/files/{key}"), &[]).await;
    assert_eq!(head.header("content-encoding"), read.header("content-encoding"), "{key}");
    let info = server.get(&format!("/object/info/public/files/{key}")).await.json();
    (read.header("content-encoding").to_owned(), info["content_encoding"].clone())
}

#[tokio::test]
async fn encoded_bytes_are_served_as_what_they_are() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let bytes = [0x1f, 0x8b, 8, 0];
    let headers = [("content-type", "text/css"), ("content-encoding", "gzip")];
    server.upload(&service, "files/raw", &headers, &bytes).await;
    assert_eq!(server.get("/object/public/files/raw").await.body, bytes);
    let form = "--b\r\nContent-Disposition: form-data; name=\"contentEncoding\"\r\n\r\nbr\r\n\
         --b\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\n\r\ntext\r\n--b--\r\n";
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    server.upload(&service, "files/form", &headers, form.as_bytes()).await;
    server.upload(&service, "files/plain", &[("content-encoding", "identity")], b"text").await;
    for (key, expected) in [("raw", json!("gzip")), ("form", json!("br")), ("plain", Value::Null)] {
        let header = expected.as_str().unwrap_or_default().to_owned();
        assert_eq!(coding(&server, key).await, (header, expected), "{key}");
    }
    let part = server.ask(Method::GET, "/object/public/files/raw", &[("range", "bytes=0-1")]).await;
    assert_eq!((part.body, part.status), (bytes[..2].to_vec(), StatusCode::PARTIAL_CONTENT));
    for wrong in ["g zip", "gzip;q=1"] {
        let refused = server.upload(&service, "files/wrong", &[("content-encoding", wrong)], b"text").await;
        assert_eq!(refused.json()["message"], "Invalid Content-Encoding header", "{wrong}");
    }
    let replaced = server.upload(&service, "files/raw", &[("x-upsert", "true")], b"text").await;
    assert_eq!(replaced.status, StatusCode::OK);
    assert_eq!(coding(&server, "raw").await, (String::new(), Value::Null));
}

#[tokio::test]
async fn the_coding_goes_with_the_object() {
    let server = server().await;
    let service = server.service_role().to_owned();
    server.upload(&service, "files/a", &[("content-encoding", "gzip")], b"a").await;
    let names = json!({ "bucketId": "files", "sourceKey": "a", "destinationKey": "copy" });
    server.json(Method::POST, "/object/copy", &names).await;
    let changed = json!({
        "bucketId": "files", "sourceKey": "a", "destinationKey": "changed", "copyMetadata": false,
        "metadata": { "mimetype": "text/css" },
    });
    server.json(Method::POST, "/object/copy", &changed).await;
    let moved = json!({ "bucketId": "files", "sourceKey": "a", "destinationKey": "moved" });
    server.json(Method::POST, "/object/move", &moved).await;
    for key in ["copy", "changed", "moved"] {
        assert_eq!(coding(&server, key).await.0, "gzip", "{key}");
    }
    for (said, expected) in [("br", "br"), ("", ""), ("identity", "")] {
        let copy = json!({
            "bucketId": "files", "sourceKey": "moved", "destinationKey": format!("said-{said}"),
            "copyMetadata": false, "metadata": { "contentEncoding": said },
        });
        assert_eq!(server.json(Method::POST, "/object/copy", &copy).await.status, StatusCode::OK);
        assert_eq!(coding(&server, &format!("said-{said}")).await.0, expected, "{said:?}");
    }
    let wrong = json!({
        "bucketId": "files", "sourceKey": "moved", "destinationKey": "wrong",
        "copyMetadata": false, "metadata": { "contentEncoding": "b r" },
    });
    let refused = server.json(Method::POST, "/object/copy", &wrong).await;
    assert_eq!(refused.json()["code"], "InvalidRequest");
    // What users' SQL wrote is no header.
    server
        .sql("update storage.objects set metadata = metadata || '{\"contentEncoding\": \"a b\"}' where name = 'copy'")
        .await;
    assert_eq!(coding(&server, "copy").await, (String::new(), Value::Null));
}

#[tokio::test]
async fn the_s3_protocol_keeps_the_coding() {
    let server = server().await;
    let signer = Signer::service(&server);
    let put = async |key: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("content-length", "4")];
        all.extend_from_slice(headers);
        let path = format!("/s3/files/{key}");
        let response = server.s3(&signer, Method::PUT, &path, &all, "text").await;
        assert_eq!(response.status, 200, "{}", response.text());
    };
    put("a", &[("content-encoding", "gzip")]).await;
    put("plain", &[]).await;
    let read = server.s3(&signer, Method::GET, "/s3/files/a", &[], "").await;
    assert_eq!((read.header("content-encoding"), read.text()), ("gzip", "text".to_owned()));
    assert_eq!(coding(&server, "a").await.0, "gzip");
    assert_eq!(coding(&server, "plain").await.0, "");
    let copy = async |key: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("content-length", "0"), ("x-amz-copy-source", "files/a")];
        all.extend_from_slice(headers);
        let path = format!("/s3/files/{key}");
        server.s3(&signer, Method::PUT, &path, &all, "").await.status.as_u16()
    };
    assert_eq!(copy("copied", &[]).await, 200);
    assert_eq!(copy("replaced", &[("x-amz-metadata-directive", "REPLACE")]).await, 200);
    let other = [("content-encoding", "br"), ("x-amz-metadata-directive", "REPLACE")];
    assert_eq!(copy("other", &other).await, 200);
    let wrong = [("content-encoding", "b r"), ("x-amz-metadata-directive", "REPLACE")];
    assert_eq!(copy("wrong", &wrong).await, 400);
    for (key, expected) in [("copied", "gzip"), ("replaced", ""), ("other", "br")] {
        assert_eq!(coding(&server, key).await.0, expected, "{key}");
    }
    let headers = [("content-encoding", "gzip"), ("content-length", "0")];
    let begun = server.s3(&signer, Method::POST, "/s3/files/parts?uploads=", &headers, "").await;
    let id = begun.element("UploadId");
    let path = format!("/s3/files/parts?partNumber=1&uploadId={id}");
    let part = server.s3(&signer, Method::PUT, &path, &[("content-length", "4")], "text").await;
    let path = format!("/s3/files/parts?uploadId={id}");
    let part = format!("<Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>", part.header("etag"));
    let body = format!("<CompleteMultipartUpload>{part}</CompleteMultipartUpload>");
    let length = body.len().to_string();
    let done = server.s3(&signer, Method::POST, &path, &[("content-length", &length)], body).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(coding(&server, "parts").await.0, "gzip");
}
