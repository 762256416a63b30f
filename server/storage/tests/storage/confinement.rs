//! Objects whose content type is an attack: through each way in, read through each way out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poem::http::{Method, StatusCode};
use serde_json::json;

use crate::s3_client::{Signer, encode};
use crate::s3_form::Form;
use crate::support::{Response, Server};

/// Types of which a browser may make a document or a script.
const ATTACKS: [&str; 18] = [
    "image/png;a=b, image/svg+xml",
    "image/svg+xml, */*",
    "image/png, text/html",
    "image/png;a=\", image/svg+xml\"",
    "image/svg+xml",
    "IMAGE/SVG+XML;charset=utf-8",
    "text/html",
    "Text/HTML; charset=utf-8",
    "text/html\t",
    " text/html",
    "text/html;",
    "text/html;a",
    "application/xhtml+xml",
    "text/xml",
    "multipart/x-mixed-replace; boundary=a",
    "text/javascript",
    "image/png text/html",
    "",
];
const BODY: &str = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";

struct Fixture {
    server: Server,
    signer: Signer,
}

impl Fixture {
    async fn start() -> Self {
        let server = Server::start().await;
        server.bucket("files", true).await;
        let signer = Signer::service(&server);
        Self { server, signer }
    }

    async fn json(&self, path: &str, body: &serde_json::Value) -> Response {
        self.server.json(Method::POST, path, body).await
    }

    /// Uploads with the type in a header: `POST object`, or with a signed URL.
    async fn upload(&self, method: Method, path: &str, kind: &str) -> Response {
        let authorization = format!("Bearer {}", self.server.service_role());
        let headers = [("authorization", &*authorization), ("content-type", kind)];
        self.server.send(method, path, &headers, BODY).await
    }

    async fn form(&self, key: &str, kind: &str) -> Response {
        let body = format!(
            "--f\r\nContent-Disposition: form-data; name=\"contentType\"\r\n\r\n{kind}\r\n\
             --f\r\nContent-Disposition: form-data; name=\"\"; filename=\"a\"\r\n\r\n{BODY}\r\n--f--\r\n"
        );
        let service = self.server.service_role().to_owned();
        let headers = [("content-type", "multipart/form-data; boundary=f")];
        self.server.upload(&service, &format!("files/{key}"), &headers, body.as_bytes()).await
    }

    async fn resumable(&self, key: &str, kind: &str) -> Response {
        let fields = [("bucketName", "files"), ("objectName", key), ("contentType", kind)];
        let fields = fields.map(|(name, value)| format!("{name} {}", STANDARD.encode(value))).join(",");
        let authorization = format!("Bearer {}", self.server.service_role());
        let length = BODY.len().to_string();
        let headers = [
            ("authorization", &*authorization),
            ("tus-resumable", "1.0.0"),
            ("upload-length", &*length),
            ("upload-metadata", &*fields),
            ("content-type", "application/offset+octet-stream"),
        ];
        self.server.send(Method::POST, "/upload/resumable", &headers, BODY).await
    }

    async fn s3(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let length = body.len().to_string();
        let mut all = vec![("content-length", &*length)];
        all.extend_from_slice(headers);
        self.server.s3(&self.signer, method, path, &all, body.to_owned()).await
    }

    async fn multipart(&self, key: &str, kind: &str) -> Response {
        let begun =
            self.s3(Method::POST, &format!("/s3/files/{key}?uploads="), &[("content-type", kind)], "").await;
        let id = begun.element("UploadId");
        if id.is_empty() {
            return begun;
        }
        let part = format!("/s3/files/{key}?partNumber=1&uploadId={id}");
        let tag = self.s3(Method::PUT, &part, &[], BODY).await.header("etag").to_owned();
        let parts = format!("<Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part>");
        let list = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        self.s3(Method::POST, &format!("/s3/files/{key}?uploadId={id}"), &[], &list).await
    }

    /// Brings objects of type `kind` into `folder` through each way, and returns the last parts of their keys.
    async fn store(&self, folder: &str, kind: &str) -> Vec<&'static str> {
        let key = |name: &str| format!("{folder}/{name}");
        let original = key("original");
        self.upload(Method::POST, &format!("/object/files/{original}"), "text/plain").await;
        let signing = format!("/object/upload/sign/files/{}", key("signed"));
        let url = self.json(&signing, &json!({})).await.json()["url"].clone();
        let copy = json!({
            "bucketId": "files", "sourceKey": original, "destinationKey": key("copy"), "copyMetadata": false,
            "metadata": { "mimetype": kind },
        });
        let (source, named) = (format!("files/{original}"), key("s3-form"));
        let s3_copy = [
            ("content-type", kind),
            ("x-amz-copy-source", &*source),
            ("x-amz-metadata-directive", "REPLACE"),
        ];
        let fields = [("key", &*named), ("Content-Type", kind)];
        let form = Form::signed(&self.signer, &fields, &[json!({ "content-type": kind })]);
        let s3 = |name: &str| format!("/s3/files/{}", key(name));
        let responses = [
            ("raw", self.upload(Method::POST, &format!("/object/files/{}", key("raw")), kind).await),
            ("put", self.upload(Method::PUT, &format!("/object/files/{}", key("put")), kind).await),
            ("signed", self.upload(Method::PUT, url.as_str().unwrap(), kind).await),
            ("form", self.form(&key("form"), kind).await),
            ("tus", self.resumable(&key("tus"), kind).await),
            ("copy", self.json("/object/copy", &copy).await),
            ("s3", self.s3(Method::PUT, &s3("s3"), &[("content-type", kind)], BODY).await),
            ("s3-copy", self.s3(Method::PUT, &s3("s3-copy"), &s3_copy, "").await),
            ("multipart", self.multipart(&key("multipart"), kind).await),
            ("s3-form", form.send(&self.server, "/s3/files").await),
        ];
        let stored = responses.into_iter().filter(|(_, response)| response.status.is_success());
        stored.map(|(key, _)| key).collect()
    }

    /// Reads `key` in every way.
    async fn read(&self, key: &str) -> Vec<(String, Response)> {
        let service = format!("Bearer {}", self.server.service_role());
        let signed = self.json(&format!("/object/sign/files/{key}"), &json!({ "expiresIn": 60 })).await;
        let signed = signed.json()["signedURL"].as_str().unwrap().to_owned();
        let mut responses = Vec::new();
        for path in [
            format!("/object/public/files/{key}"),
            format!("/object/files/{key}"),
            format!("/object/authenticated/files/{key}"),
            signed,
        ] {
            for (method, more) in [
                (Method::GET, None),
                (Method::HEAD, None),
                (Method::GET, Some(("range", "bytes=0-3"))),
                (Method::GET, Some(("range", "bytes=9000-"))),
                (Method::GET, Some(("if-modified-since", "Sun, 01 Jan 2099 00:00:00 GMT"))),
            ] {
                let mut headers = vec![("authorization", &*service)];
                headers.extend(more);
                let response = self.server.ask(method.clone(), &path, &headers).await;
                responses.push((format!("{method} {path} {more:?}"), response));
            }
        }
        let path = format!("/s3/files/{key}");
        for method in [Method::GET, Method::HEAD] {
            responses.push((format!("{method} {path}"), self.s3(method, &path, &[], "").await));
        }
        responses.push((
            format!("part of {path}"),
            self.s3(Method::GET, &path, &[("range", "bytes=0-3")], "").await,
        ));
        responses
    }
}

/// Fails if a browser could run a script because of `response`.
fn assert_confined(response: &Response, what: &str) {
    assert_eq!(response.header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(response.header("cross-origin-resource-policy"), "cross-origin", "{what}");
    let policy = response.header("content-security-policy");
    let is_sandboxed = policy.contains("default-src 'none'") && policy.ends_with("; sandbox");
    let kind = response.header("content-type");
    let is_inert = matches!(
        kind,
        "image/png" | "text/plain" | "application/octet-stream" | "application/json; charset=utf-8"
    );
    assert!(is_sandboxed || is_inert, "{what}: {kind:?} {policy:?}");
    assert!(!kind.contains(','), "{what}: {kind:?}");
}

#[tokio::test]
async fn no_type_lets_an_object_run_scripts() {
    let on = Fixture::start().await;
    for (index, kind) in ATTACKS.into_iter().enumerate() {
        let folder = format!("u/{index}");
        let stored = on.store(&folder, kind).await;
        for way in ["form", "tus", "copy", "s3-form"] {
            assert!(stored.contains(&way), "{kind:?} did not come in by {way}: {stored:?}");
        }
        for way in stored {
            for (what, response) in on.read(&format!("{folder}/{way}")).await {
                assert_confined(&response, &format!("{kind:?} by {way}, {what}"));
            }
        }
    }
    // Users' SQL may write what no request can.
    for kind in ["text/html\n", "text/html\r\nx: y", "text/htmlä"] {
        let document = json!({ "mimetype": kind });
        on.server.sql(&format!("update storage.objects set metadata = metadata || $j${document}$j$")).await;
        for (what, response) in on.read("u/0/raw").await {
            assert_confined(&response, &format!("{kind:?} by SQL, {what}"));
        }
    }
}

#[tokio::test]
async fn a_requested_type_is_confined_like_a_stored_one() {
    let on = Fixture::start().await;
    on.upload(Method::POST, "/object/files/plain", "text/plain").await;
    for kind in ATTACKS {
        let path = format!("/s3/files/plain?response-content-type={}", encode(kind));
        let response = on.s3(Method::GET, &path, &[], "").await;
        assert_confined(&response, kind);
    }
    let path = format!("/s3/files/plain?response-content-type={}", encode("image/svg+xml, */*"));
    assert_eq!(on.s3(Method::GET, &path, &[], "").await.header("content-type"), "application/octet-stream");
    // An XML document says what is wrong.
    let missing = on.s3(Method::GET, "/s3/files/missing", &[], "").await;
    assert_eq!((missing.status.as_u16(), missing.header("content-type")), (404, "application/xml"));
    assert_confined(&missing, "an error of the S3 protocol");
    assert_confined(&on.server.get("/object/public/files/missing").await, "an error");
    assert_confined(&on.server.get("/nonsense").await, "no route");
}

#[tokio::test]
async fn what_browsers_show_without_scripts_has_no_policy() {
    let on = Fixture::start().await;
    for kind in
        ["image/png", "video/mp4", "audio/mpeg", "application/pdf", "font/woff2", "text/plain;charset=UTF-8"]
    {
        on.upload(Method::PUT, "/object/files/a", kind).await;
        let response = on.server.get("/object/public/files/a").await;
        assert_eq!((response.header("content-type"), response.header("content-security-policy")), (kind, ""));
    }
    // The type of a recording as browsers write it.
    on.resumable("recording", "video/webm;codecs=vp9,opus").await;
    let recording = on.server.get("/object/public/files/recording").await;
    assert_eq!(
        (recording.header("content-type"), recording.header("content-security-policy")),
        ("video/webm", "")
    );
}

#[tokio::test]
async fn an_origin_of_its_own_leaves_the_apis_to_tokens() {
    let server =
        Server::start_with(|settings| settings.origin = Some("https://files.example.org".to_owned())).await;
    server.bucket("files", true).await;
    let service = server.service_role().to_owned();
    server.upload(&service, "files/a.png", &[("content-type", "image/png")], b"png").await;
    for path in [
        "/object/public/files/a.png?download=b",
        "/object/files/a.png",
        "/render/image/public/files/a.png?width=2",
    ] {
        for method in [Method::GET, Method::HEAD] {
            let response = server.ask(method, path, &[("host", "api.example.org")]).await;
            assert_eq!(response.status, StatusCode::TEMPORARY_REDIRECT, "{path}");
            assert_eq!(response.header("location"), format!("https://files.example.org{path}"));
        }
    }
    let own = server.ask(Method::GET, "/object/public/files/a.png", &[("host", "files.example.org")]).await;
    assert_eq!((own.text().as_str(), own.header("content-security-policy")), ("png", ""));
    // Clients send no token to another origin.
    let authorization = format!("Bearer {service}");
    let headers = [("host", "api.example.org"), ("authorization", &*authorization)];
    for path in ["/object/files/a.png", "/object/authenticated/files/a.png"] {
        let response = server.ask(Method::GET, path, &headers).await;
        assert_eq!(
            (response.text().as_str(), response.header("content-type")),
            ("png", "image/png"),
            "{path}"
        );
        assert!(response.header("content-security-policy").ends_with("sandbox"), "{path}");
    }
}
