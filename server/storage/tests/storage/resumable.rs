//! Resumable uploads, request by request.

use crate::support::{Response, Server};
use base64::Engine as _;
use bytes::Bytes;
use poem::Body;
use poem::http::{Method, StatusCode};
use serde_json::json;
use storage::Sweeper;

const BYTES: (&str, &str) = ("content-type", "application/offset+octet-stream");

pub(crate) async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("files", true).await;
    server
}

fn metadata(values: &[(&str, &str)]) -> String {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    values.iter().map(|(name, value)| format!("{name} {}", encode(value))).collect::<Vec<_>>().join(",")
}

fn named(key: &str) -> String {
    metadata(&[("bucketName", "files"), ("objectName", key)])
}

/// Sends a request of the protocol with the service role's token.
pub(crate) async fn send(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response {
    let authorization = format!("Bearer {}", server.service_role());
    let mut all = vec![("authorization", &*authorization), ("tus-resumable", "1.0.0")];
    all.extend_from_slice(headers);
    server.send(method, path, &all, body).await
}

pub(crate) async fn create(server: &Server, key: &str, length: &str, headers: &[(&str, &str)]) -> Response {
    let metadata = named(key);
    let mut all = vec![("upload-length", length), ("upload-metadata", &*metadata)];
    all.extend_from_slice(headers);
    send(server, Method::POST, "/upload/resumable", &all, "").await
}

/// Returns the path of an upload that was created, as the service sees it.
pub(crate) fn path(created: &Response) -> String {
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text());
    let location = created.header("location");
    location[location.find("/upload/resumable").unwrap()..].to_owned()
}

pub(crate) async fn patch(server: &Server, path: &str, offset: &str, body: impl Into<Body>) -> Response {
    send(server, Method::PATCH, path, &[("upload-offset", offset), BYTES], body).await
}

#[tokio::test]
async fn an_upload_comes_part_by_part() {
    let server = server().await;
    let values = metadata(&[
        ("bucketName", "files"),
        ("objectName", "a/b.txt"),
        ("contentType", "text/plain"),
        ("cacheControl", "60"),
        ("metadata", "{\"team\":\"blue\"}"),
    ]);
    let headers = [("upload-length", "10"), ("upload-metadata", &*values)];
    let created = send(&server, Method::POST, "/upload/resumable", &headers, "").await;
    assert!(created.header("location").starts_with("http://localhost/upload/resumable/"));
    assert!(created.header("upload-expires").ends_with(" GMT"));
    assert_eq!(created.header("tus-resumable"), "1.0.0");
    let path = path(&created);
    let first = patch(&server, &path, "0", "0123").await;
    assert_eq!((first.status, first.header("upload-offset")), (StatusCode::NO_CONTENT, "4"));
    let head = send(&server, Method::HEAD, &path, &[], "").await;
    assert_eq!((head.header("upload-offset"), head.header("upload-length")), ("4", "10"));
    assert_eq!((head.header("cache-control"), head.header("upload-metadata")), ("no-store", &*values));
    assert_eq!(server.get("/object/public/files/a/b.txt").await.json()["code"], "NoSuchKey");
    assert_eq!(patch(&server, &path, "0", "0123").await.status, StatusCode::CONFLICT);
    assert_eq!(patch(&server, &path, "4", "45").await.header("upload-offset"), "6");
    let last = patch(&server, &path, "6", "6789").await;
    assert_eq!((last.header("upload-offset"), last.header("tus-complete")), ("10", "1"));
    let read = server.get("/object/public/files/a/b.txt").await;
    assert_eq!(read.body, b"0123456789");
    assert_eq!(read.header("etag"), "\"781e5e245d69b566979b86e28d23f2c7\"");
    assert_eq!((read.header("content-type"), read.header("cache-control")), ("text/plain", "max-age=60"));
    let info = server.get("/object/info/public/files/a/b.txt").await.json();
    assert_eq!(info["metadata"], json!({ "team": "blue" }));
    assert_eq!(server.stored_files(), 1);
    let head = send(&server, Method::HEAD, &path, &[], "").await;
    assert_eq!(head.header("upload-offset"), "10");
    assert_eq!(send(&server, Method::DELETE, &path, &[], "").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(patch(&server, &path, "10", "x").await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn an_upload_is_where_the_client_reaches_it() {
    let mut server = server().await;
    let place = async |server: &Server, headers: &[(&str, &str)]| {
        let metadata = named("one");
        let mut all = vec![("upload-length", "3"), ("upload-metadata", &*metadata)];
        all.extend_from_slice(headers);
        let created = send(server, Method::POST, "/upload/resumable", &all, "").await;
        let location = created.header("location").to_owned();
        location.split("/upload/resumable/").next().unwrap().to_owned()
    };
    let noted = [
        ("host", "inner:5000"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "example.org"),
        ("x-forwarded-port", "8443"),
        ("x-forwarded-prefix", "/evil"),
    ];
    let direct = [("host", "example.org")];
    server.behind(gateway::Settings::default());
    assert_eq!(place(&server, &noted).await, "http://inner:5000", "what callers note counts for nothing");
    let external_url = gateway::ExternalUrl::parse("https://example.org/api").ok();
    server.behind(gateway::Settings { external_url: external_url.clone(), ..Default::default() });
    assert_eq!(place(&server, &direct).await, "https://example.org/api");
    assert_eq!(place(&server, &[("host", "127.0.0.1:54321")]).await, "http://127.0.0.1:54321");
    server.behind(gateway::Settings { trusted_proxies: 1, ..Default::default() });
    assert_eq!(place(&server, &noted).await, "https://example.org:8443");
    server.behind(gateway::Settings { trusted_proxies: 1, external_url, ..Default::default() });
    assert_eq!(place(&server, &[&noted[..3], &noted[4..]].concat()).await, "https://example.org/api");
}

#[tokio::test]
async fn small_uploads_need_one_request() {
    let server = server().await;
    let metadata = named("one");
    let headers = [("upload-length", "3"), ("upload-metadata", &*metadata), BYTES];
    let whole = send(&server, Method::POST, "/upload/resumable", &headers, "abc").await;
    assert_eq!((whole.status, whole.header("upload-offset")), (StatusCode::CREATED, "3"));
    assert_eq!(whole.header("tus-complete"), "1");
    assert_eq!(server.get("/object/public/files/one").await.body, b"abc");
    let empty = create(&server, "none", "0", &[]).await;
    assert_eq!(empty.header("tus-complete"), "1");
    assert_eq!(server.get("/object/public/files/none").await.body, b"");
    let metadata = named("later");
    let headers = [("upload-defer-length", "1"), ("upload-metadata", &*metadata)];
    let deferred = path(&send(&server, Method::POST, "/upload/resumable", &headers, "").await);
    assert_eq!(patch(&server, &deferred, "0", "ab").await.header("upload-offset"), "2");
    assert_eq!(send(&server, Method::HEAD, &deferred, &[], "").await.header("upload-defer-length"), "1");
    let headers = [("upload-offset", "2"), ("upload-length", "3"), BYTES];
    let last = send(&server, Method::PATCH, &deferred, &headers, "c").await;
    assert_eq!(last.header("tus-complete"), "1", "{}", last.text());
    assert_eq!(server.get("/object/public/files/later").await.body, b"abc");
}

#[tokio::test]
async fn what_came_before_a_break_is_kept() {
    let server = server().await;
    let path = path(&create(&server, "a", "6", &[]).await);
    let chunks = [Ok(Bytes::from_static(b"abc")), Err(std::io::Error::other("gone"))];
    let body = Body::from_bytes_stream(futures_util::stream::iter(chunks));
    assert_eq!(patch(&server, &path, "0", body).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(send(&server, Method::HEAD, &path, &[], "").await.header("upload-offset"), "3");
    assert_eq!(patch(&server, &path, "3", "def").await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get("/object/public/files/a").await.body, b"abcdef");
}

#[tokio::test]
async fn of_two_senders_of_the_same_bytes_one_is_taken() {
    let server = server().await;
    let path = path(&create(&server, "a", "100000", &[]).await);
    for offset in ["0", "50000"] {
        let sends = (0..4).map(|_| patch(&server, &path, offset, vec![b'x'; 50_000]));
        let responses = futures_util::future::join_all(sends).await;
        let taken = responses.iter().filter(|response| response.status == StatusCode::NO_CONTENT).count();
        assert_eq!(taken, 1);
        assert!(responses.iter().all(|response| matches!(response.status.as_u16(), 204 | 409)));
    }
    assert_eq!(server.get("/object/public/files/a").await.body, vec![b'x'; 100_000]);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn the_protocol_is_kept() {
    let server = server().await;
    let options = server.ask(Method::OPTIONS, "/upload/resumable", &[]).await;
    assert_eq!(options.status, StatusCode::NO_CONTENT);
    assert_eq!((options.header("tus-version"), options.header("tus-max-size")), ("1.0.0", "52428800"));
    let metadata = named("a");
    let size = ("upload-length", "5");
    let about = ("upload-metadata", &*metadata);
    for (headers, status, words) in [
        (vec![size], 400, "Metadata header is required"),
        (vec![about], 400, "Upload-Length or Upload-Defer-Length header required"),
        (vec![about, ("upload-length", "many")], 400, "Invalid upload-length"),
        (vec![about, ("upload-length", "52428801")], 413, "Maximum size exceeded"),
    ] {
        let refused = send(&server, Method::POST, "/upload/resumable", &headers, "").await;
        assert_eq!((refused.status.as_u16(), &*refused.text()), (status, words));
        assert!(refused.header("content-type").starts_with("text/plain"));
    }
    let authorization = format!("Bearer {}", server.service_role());
    let unversioned = server
        .send(Method::POST, "/upload/resumable", &[("authorization", &authorization), size, about], "")
        .await;
    assert_eq!((unversioned.status.as_u16(), &*unversioned.text()), (412, "Tus-Resumable Required"));
    let nobody =
        server.send(Method::POST, "/upload/resumable", &[("tus-resumable", "1.0.0"), size, about], "").await;
    assert_eq!(nobody.json()["message"], "headers must have required property 'authorization'");
    let unknown = send(&server, Method::HEAD, "/upload/resumable/nonsense", &[], "").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let path = path(&create(&server, "a", "5", &[]).await);
    let unplaced = send(&server, Method::PATCH, &path, &[BYTES], "x").await;
    assert_eq!((unplaced.status.as_u16(), &*unplaced.text()), (403, "Upload-Offset header required"));
    let untyped = send(&server, Method::PATCH, &path, &[("upload-offset", "0")], "x").await;
    assert_eq!((untyped.status.as_u16(), &*untyped.text()), (400, "Invalid content-type"));
    let long = patch(&server, &path, "0", "123456").await;
    assert_eq!((long.status.as_u16(), &*long.text()), (413, "upload's size exceeded"));
    assert_eq!(send(&server, Method::HEAD, &path, &[], "").await.header("upload-offset"), "0");
    assert_eq!(send(&server, Method::DELETE, &path, &[], "").await.status, StatusCode::NO_CONTENT);
    assert_eq!(send(&server, Method::HEAD, &path, &[], "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn buckets_and_policies_have_their_say() {
    let server = server().await;
    let limits = json!({ "name": "small", "file_size_limit": 4, "allowed_mime_types": ["image/*"] });
    server.json(Method::POST, "/bucket", &limits).await;
    let create_in = async |bucket: &str, key: &str, kind: Option<&str>, length: &str| {
        let mut values = vec![("bucketName", bucket), ("objectName", key)];
        values.extend(kind.map(|kind| ("contentType", kind)));
        let values = metadata(&values);
        send(
            &server,
            Method::POST,
            "/upload/resumable",
            &[("upload-length", length), ("upload-metadata", &values)],
            "",
        )
        .await
    };
    for (response, status, words) in [
        (create_in("nowhere", "a", None, "1").await, 404, "Bucket not found"),
        (create_in("files", "../a", None, "1").await, 400, "Invalid key: ../a"),
        (create_in("", "a", None, "1").await, 400, "Bucket name invalid"),
        (create_in("small", "a", None, "5").await, 413, "Maximum size exceeded"),
        (
            create_in("small", "a", Some("text/plain"), "1").await,
            415,
            "mime type text/plain is not supported",
        ),
        (
            create_in("small", "a", None, "1").await,
            415,
            "mime type application/octet-stream is not supported",
        ),
    ] {
        assert_eq!((response.status.as_u16(), &*response.text()), (status, words));
    }
    let user = format!("Bearer {}", server.user("8f9b2c1e-0000-4000-8000-00000000000a"));
    let values = named("mine");
    let headers = [
        ("authorization", &*user),
        ("tus-resumable", "1.0.0"),
        ("upload-length", "2"),
        ("upload-metadata", &*values),
    ];
    let refused = server.send(Method::POST, "/upload/resumable", &headers, "").await;
    let policy = "new row violates row-level security policy";
    assert_eq!((refused.status.as_u16(), &*refused.text()), (403, policy));
    server
        .sql("create policy writers on storage.objects for insert to authenticated with check (bucket_id = 'files')")
        .await;
    let created = server.send(Method::POST, "/upload/resumable", &headers, "").await;
    let path = path(&created);
    server.sql("drop policy writers on storage.objects").await;
    let part = [("authorization", &*user), ("tus-resumable", "1.0.0"), ("upload-offset", "0"), BYTES];
    let refused = server.send(Method::PATCH, &path, &part, "ab").await;
    assert_eq!((refused.status.as_u16(), &*refused.text()), (403, policy), "asked for at every part");
    server
        .sql("create policy writers on storage.objects for insert to authenticated with check (bucket_id = 'files')")
        .await;
    assert_eq!(server.send(Method::PATCH, &path, &part, "ab").await.status, StatusCode::NO_CONTENT);
    assert_eq!(
        server.row("select owner_id from storage.objects").await,
        ["8f9b2c1e-0000-4000-8000-00000000000a"]
    );
}

#[tokio::test]
async fn the_first_to_finish_has_the_name() {
    let server = server().await;
    let paths = [path(&create(&server, "a", "1", &[]).await), path(&create(&server, "a", "1", &[]).await)];
    assert_eq!(patch(&server, &paths[1], "0", "2").await.status, StatusCode::NO_CONTENT);
    let second = patch(&server, &paths[0], "0", "1").await;
    assert_eq!((second.status.as_u16(), &*second.text()), (409, "The resource already exists"));
    let upsert = path(&create(&server, "a", "1", &[("x-upsert", "true")]).await);
    assert_eq!(patch(&server, &upsert, "0", "3").await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get("/object/public/files/a").await.body, b"3");
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn a_signed_url_stands_for_its_maker() {
    let server = server().await;
    let signed = server.json(Method::POST, "/object/upload/sign/files/a", &json!({})).await.json();
    let token = signed["token"].as_str().unwrap();
    let values = named("a");
    let headers = [
        ("tus-resumable", "1.0.0"),
        ("x-signature", token),
        ("upload-length", "2"),
        ("upload-metadata", &*values),
    ];
    let created = server.send(Method::POST, "/upload/resumable/sign", &headers, "").await;
    let path = path(&created);
    assert!(path.starts_with("/upload/resumable/sign/"));
    let part = [("tus-resumable", "1.0.0"), ("upload-offset", "0"), BYTES];
    let unsigned = server.send(Method::PATCH, &path, &part, "ab").await;
    assert_eq!((unsigned.status.as_u16(), &*unsigned.text()), (400, "Missing x-signature header"));
    let part = [("tus-resumable", "1.0.0"), ("x-signature", token), ("upload-offset", "0"), BYTES];
    assert_eq!(server.send(Method::PATCH, &path, &part, "ab").await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get("/object/public/files/a").await.body, b"ab");
    let values = named("other");
    let headers = [headers[0], headers[1], headers[2], ("upload-metadata", &*values)];
    let other = server.send(Method::POST, "/upload/resumable/sign", &headers, "").await;
    assert_eq!((other.status.as_u16(), &*other.text()), (400, "Invalid signature"));
}

#[tokio::test]
async fn parts_are_kept_while_their_upload_lives_and_no_longer() {
    let server = server().await;
    let path = path(&create(&server, "a", "4", &[]).await);
    patch(&server, &path, "0", "ab").await;
    let mut sweeper = Sweeper::new(&server.handles);
    sweeper.look().await.unwrap();
    sweeper.look().await.unwrap();
    assert_eq!(server.stored_files(), 1);
    server.sql("update basalt.resumable_uploads set expires_at = now() - interval '1 second'").await;
    let expired = send(&server, Method::HEAD, &path, &[], "").await;
    assert_eq!(expired.status, StatusCode::GONE);
    sweeper.look().await.unwrap();
    assert_eq!(server.stored_files(), 0);
    assert_eq!(server.row("select count(*)::text from basalt.resumable_uploads").await, ["0"]);
}

#[tokio::test]
async fn a_part_of_a_parallel_upload_never_becomes_the_object() {
    let server = server().await;
    let whole = server.upload(server.service_role(), "files/film", &[], b"whole").await;
    assert_eq!(whole.status, StatusCode::OK);
    for concat in ["partial", "final;/upload/resumable/a /upload/resumable/b"] {
        let refused = create(&server, "film", "2", &[("upload-concat", concat), ("x-upsert", "true")]).await;
        assert_eq!(refused.status, StatusCode::NOT_IMPLEMENTED);
        assert!(refused.text().starts_with("Concatenation extension is not (yet) supported."));
    }
    assert_eq!(server.get("/object/public/files/film").await.text(), "whole");
}

#[tokio::test]
async fn metadata_that_cannot_be_read_is_refused() {
    let server = server().await;
    let named = named("broken");
    for broken in
        ["cacheControl 3600!", "contentType text/plain", "cacheControl MzY", "objectName YQ==", " a", "a b c"]
    {
        let metadata = format!("{named},{broken}");
        let headers = [("upload-length", "1"), ("upload-metadata", &*metadata)];
        let refused = send(&server, Method::POST, "/upload/resumable", &headers, "").await;
        assert_eq!(
            (refused.status, refused.text()),
            (StatusCode::BAD_REQUEST, "Invalid upload-metadata".into()),
            "{broken}"
        );
    }
    let metadata = format!("{named},is_confidential");
    let headers = [("upload-length", "1"), ("upload-metadata", &*metadata)];
    path(&send(&server, Method::POST, "/upload/resumable", &headers, "").await);
}
