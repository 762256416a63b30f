//! Reading objects over HTTP, as browsers and storage-js do it.

use crate::support::Server;
use poem::http::{Method, StatusCode};
use serde_json::json;

const TEXT: &[u8] = b"0123456789";

async fn server() -> Server {
    let server = Server::start().await;
    server.file("digits.txt", TEXT);
    server.file("deep/er/logo.svg", b"<svg/>");
    server.file("page.html", b"<script>alert(1)</script>");
    server.file("empty.bin", b"");
    server.seed("open", true).await;
    server.seed("closed", false).await;
    server
}

#[tokio::test]
async fn a_public_object_comes_with_its_headers() {
    let server = server().await;
    for path in ["/object/public/open/digits.txt", "/object/open/digits.txt?cacheNonce=1"] {
        let response = server.get(path).await;
        assert_eq!(response.status, StatusCode::OK, "{path}");
        assert_eq!(response.body, TEXT);
        assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(response.header("content-length"), "10");
        assert_eq!(response.header("etag"), "\"781e5e245d69b566979b86e28d23f2c7\"");
        assert_eq!(response.header("cache-control"), "max-age=3600");
        assert_eq!(response.header("accept-ranges"), "bytes");
        assert_eq!(response.header("x-robots-tag"), "none");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert!(response.header("last-modified").ends_with(" GMT"));
    }
    assert_eq!(server.get("/object/public/open/deep/er/logo.svg").await.body, b"<svg/>");
    assert_eq!(server.get("/object/public/open/empty.bin").await.header("content-length"), "0");
}

#[tokio::test]
async fn head_has_the_headers_alone() {
    let server = server().await;
    let response =
        server.ask(Method::HEAD, "/object/public/open/digits.txt", &[("range", "bytes=0-1")]).await;
    assert_eq!(response.status, StatusCode::OK);
    assert_eq!(response.header("content-length"), "10");
    assert!(response.body.is_empty());
    let missing = server.ask(Method::HEAD, "/object/public/open/missing", &[]).await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST);
    assert!(missing.body.is_empty());
}

#[tokio::test]
async fn parts_are_served_and_impossible_ones_refused() {
    let server = server().await;
    let path = "/object/public/open/digits.txt";
    for (range, body, content_range) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=5-500", "56789", "bytes 5-9/10"),
    ] {
        let response = server.ask(Method::GET, path, &[("range", range)]).await;
        assert_eq!(response.status, StatusCode::PARTIAL_CONTENT, "{range}");
        assert_eq!(response.body, body.as_bytes());
        assert_eq!(response.header("content-range"), content_range);
    }
    for range in ["bytes=10-", "bytes=-0"] {
        let response = server.ask(Method::GET, path, &[("range", range)]).await;
        assert_eq!(response.status, StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
        assert_eq!(response.header("content-range"), "bytes */10");
        assert_eq!(response.json()["code"], "InvalidRange");
    }
    let etag = server.get(path).await.header("etag").to_owned();
    let both = server.ask(Method::GET, path, &[("range", "bytes=0-1"), ("if-none-match", &etag)]).await;
    assert_eq!(both.status, StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn a_range_that_cannot_be_obeyed_is_ignored() {
    let server = server().await;
    let body = json!({ "expiresIn": 60 });
    let signed = server.json(Method::POST, "/object/sign/closed/digits.txt", &body).await.json();
    let token = format!("Bearer {}", server.service_role());
    let own = ("authorization", &*token);
    for path in [
        "/object/public/open/digits.txt",
        "/object/open/digits.txt",
        "/object/closed/digits.txt",
        "/object/authenticated/closed/digits.txt",
        signed["signedURL"].as_str().unwrap(),
    ] {
        let whole = server.ask(Method::GET, path, &[own]).await;
        let (etag, date) = (whole.header("etag").to_owned(), whole.header("last-modified").to_owned());
        for range in ["bytes=0-1,3-4", "lines=0-1", "bytes=x", "bytes=3-1", "2-4", "bytes=2-4;q"] {
            let response = server.ask(Method::GET, path, &[own, ("range", range)]).await;
            assert_eq!((response.status, &*response.body), (StatusCode::OK, TEXT), "{path} {range}");
            assert_eq!(response.header("content-range"), "");
        }
        for (known, status) in [
            (&*etag, StatusCode::PARTIAL_CONTENT),
            (&date, StatusCode::PARTIAL_CONTENT),
            ("\"other\"", StatusCode::OK),
            (&format!("W/{etag}"), StatusCode::OK),
            ("Sat, 31 Jan 2026 12:00:00 GMT", StatusCode::OK),
        ] {
            let headers = [own, ("range", "bytes=2-4"), ("if-range", known)];
            assert_eq!(server.ask(Method::GET, path, &headers).await.status, status, "{path} {known}");
        }
        let headers = [own, ("range", "bytes=90-"), ("if-range", "\"other\"")];
        assert_eq!(server.ask(Method::GET, path, &headers).await.body, TEXT, "of another state");
    }
}

#[tokio::test]
async fn a_copy_that_is_still_good_is_not_sent_again() {
    let server = server().await;
    let path = "/object/public/open/digits.txt";
    let first = server.get(path).await;
    let etag = first.header("etag").to_owned();
    let second = server.ask(Method::GET, path, &[("if-none-match", &etag)]).await;
    assert_eq!((second.status, second.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(second.header("cache-control"), "max-age=3600");
    let since = server.ask(Method::GET, path, &[("if-modified-since", first.header("last-modified"))]).await;
    assert_eq!(since.status, StatusCode::NOT_MODIFIED);
    let other = server.ask(Method::GET, path, &[("if-none-match", "\"other\"")]).await;
    assert_eq!(other.status, StatusCode::OK);
    assert_eq!(other.header("cache-control"), "max-age=3600, stale-while-revalidate=30");
}

#[tokio::test]
async fn a_download_is_named_as_asked() {
    let server = server().await;
    let response = server.get("/object/public/open/digits.txt?download=my%20digits.txt").await;
    let disposition = "attachment; filename=my%20digits.txt; filename*=UTF-8''my%20digits.txt";
    assert_eq!(response.header("content-disposition"), disposition);
    assert_eq!(
        server.get("/object/public/open/digits.txt?download").await.header("content-disposition"),
        "attachment;"
    );
}

#[tokio::test]
async fn nothing_runs_scripts_under_the_sites_origin() {
    let server = server().await;
    assert_eq!(server.get("/object/public/open/page.html").await.header("content-type"), "text/plain");
    let picture = server.get("/object/public/open/deep/er/logo.svg").await;
    assert_eq!(picture.header("content-type"), "image/svg+xml");
    assert!(picture.header("content-security-policy").contains("sandbox"));
}

#[tokio::test]
async fn refusals_have_upstreams_shape() {
    let server = server().await;
    for (path, expected) in [
        ("/object/public/open/missing", json!(["404", "not_found", "Object not found", "NoSuchKey"])),
        ("/object/public/nowhere/x", json!(["404", "Bucket not found", "Bucket not found", "NoSuchBucket"])),
        (
            "/object/public/closed/digits.txt",
            json!(["404", "Bucket not found", "Bucket not found", "NoSuchBucket"]),
        ),
        ("/object/closed/digits.txt", json!(["404", "Bucket not found", "Bucket not found", "NoSuchBucket"])),
        ("/object/public/open/a%23b", json!(["400", "InvalidKey", "Invalid key: a#b", "InvalidKey"])),
        ("/object/public/open/%2e%2e/x", json!(["400", "InvalidKey", "Invalid key: ../x", "InvalidKey"])),
    ] {
        let response = server.get(path).await;
        assert_eq!(response.status, StatusCode::BAD_REQUEST, "{path}");
        let body = response.json();
        assert_eq!(
            json!([body["statusCode"], body["error"], body["message"], body["code"]]),
            expected,
            "{path}"
        );
    }
    let route = server.ask(Method::POST, "/nonsense", &[]).await;
    assert_eq!(route.status, StatusCode::NOT_FOUND);
    assert_eq!(route.json()["message"], "Route POST:/nonsense not found");
}

#[tokio::test]
async fn row_level_security_decides_about_closed_buckets() {
    let server = server().await;
    let path = "/object/authenticated/closed/digits.txt";
    let without = server.get(path).await;
    assert_eq!(without.json()["message"], "headers must have required property 'authorization'");
    let forged = server.ask(Method::GET, path, &[("authorization", "Bearer x.y.z")]).await;
    assert_eq!(forged.json()["code"], "AccessDenied");
    let service = format!("Bearer {}", server.service_role());
    let allowed = server.ask(Method::GET, path, &[("authorization", &service)]).await;
    assert_eq!((allowed.status, allowed.body.as_slice()), (StatusCode::OK, TEXT));
    let anon = format!("Bearer {}", server.anon());
    let hidden = server.ask(Method::GET, path, &[("authorization", &anon)]).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey");
    server
        .sql("create policy readable on storage.objects for select to anon using (bucket_id = 'closed')")
        .await;
    let response = server.ask(Method::GET, path, &[("authorization", &anon)]).await;
    assert_eq!(response.status, StatusCode::OK);
}

#[tokio::test]
async fn a_version_that_sql_wrote_cannot_name_a_file() {
    let server = server().await;
    server.sql("update storage.objects set version = '../../etc/passwd' where name = 'digits.txt'").await;
    assert_eq!(server.get("/object/public/open/digits.txt").await.json()["code"], "NoSuchKey");
}

#[tokio::test]
async fn the_service_tells_that_it_lives() {
    let server = server().await;
    assert_eq!(server.get("/status").await.status, StatusCode::OK);
    let version = server.get("/version").await;
    assert!(version.header("content-type").starts_with("text/plain") && !version.body.is_empty());
}
