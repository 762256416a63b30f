//! The S3 protocol in buckets that keep versions.

use poem::http::Method;
use serde_json::Value;

use crate::s3_client::{Signer, encode};
use crate::s3_versions::texts;
use crate::support::{Response, Server};
use crate::versions::versioned;

struct Fixture {
    server: Server,
    signer: Signer,
}

impl Fixture {
    async fn start() -> Self {
        let server = versioned().await;
        let signer = Signer::service(&server);
        Self { server, signer }
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> Response {
        let length = body.len().to_string();
        let path = format!("/s3/files{path}");
        self.server.s3(&self.signer, method, &path, &[("content-length", &length)], body.to_owned()).await
    }

    async fn put(&self, key: &str, text: &str) -> String {
        let response = self.send(Method::PUT, &format!("/{key}"), text).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.header("x-amz-version-id").to_owned()
    }

    async fn version(&self, method: Method, key: &str, version: &str) -> Response {
        self.send(method, &format!("/{key}?versionId={version}"), "").await
    }
}

fn versioning(status: &str) -> String {
    format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>")
}

#[tokio::test]
async fn a_bucket_is_told_to_keep_versions() {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let signer = Signer::service(&server);
    let on = Fixture { server, signer };
    let status = async || on.send(Method::GET, "?versioning=", "").await.element("Status");
    assert_eq!(status().await, "Suspended");
    assert_eq!(on.put("a", "zero").await, "");
    for (wanted, then) in [("Suspended", "Suspended"), ("Enabled", "Enabled"), ("Suspended", "Suspended")] {
        let response = on.send(Method::PUT, "?versioning=", &versioning(wanted)).await;
        assert_eq!((response.status.as_u16(), status().await), (200, then.to_owned()), "{}", response.text());
    }
    assert_eq!(on.put("a", "one").await, "null");
    let unknown = on.send(Method::PUT, "?versioning=", &versioning("Off")).await;
    assert_eq!(unknown.s3_code(), (400, "MalformedXML".to_owned()));
    let missing = "/s3/nowhere?versioning=";
    let body = versioning("Enabled");
    let length = body.len().to_string();
    let headers = [("content-length", &*length)];
    let refused = on.server.s3(&on.signer, Method::PUT, missing, &headers, body.clone()).await;
    assert_eq!(refused.s3_code(), (404, "NoSuchBucket".to_owned()));
    let user = Signer::user(&on.server, &on.server.user("00000000-0000-4000-8000-00000000000a"));
    let refused = on.server.s3(&user, Method::PUT, "/s3/files?versioning=", &headers, body).await;
    assert_eq!(refused.s3_code(), (404, "NoSuchBucket".to_owned()));
}

#[tokio::test]
async fn versions_are_read_and_removed_by_their_ids() {
    let on = Fixture::start().await;
    let (one, two) = (on.put("a", "one").await, on.put("a", "two").await);
    let current = on.send(Method::GET, "/a", "").await;
    assert_eq!((current.text(), current.header("x-amz-version-id")), ("two".to_owned(), &*two));
    let old = on.version(Method::GET, "a", &one).await;
    assert_eq!((old.text(), old.header("x-amz-version-id")), ("one".to_owned(), &*one));
    let head = on.version(Method::HEAD, "a", &one).await;
    assert_eq!((head.header("content-length"), head.header("x-amz-version-id")), ("3", &*one));

    let removed = on.send(Method::DELETE, "/a", "").await;
    assert_eq!((removed.status.as_u16(), removed.header("x-amz-delete-marker")), (204, "true"));
    let marker = removed.header("x-amz-version-id").to_owned();
    assert_eq!(on.send(Method::GET, "/a", "").await.s3_code(), (404, "NoSuchKey".to_owned()));
    let refused = on.version(Method::GET, "a", &marker).await;
    assert_eq!(refused.s3_code(), (405, "MethodNotAllowed".to_owned()));
    assert_eq!(refused.header("x-amz-delete-marker"), "true");
    for (version, expected) in [
        ("00000000-0000-4000-8000-000000000000", (404, "NoSuchVersion")),
        ("null", (404, "NoSuchVersion")),
        ("1", (400, "InvalidArgument")),
    ] {
        let refused = on.version(Method::GET, "a", version).await.s3_code();
        assert_eq!(refused, (expected.0, expected.1.to_owned()), "{version}");
    }
    let removed = on.version(Method::DELETE, "a", &marker).await;
    assert_eq!(removed.header("x-amz-delete-marker"), "true");
    assert_eq!(removed.header("x-amz-version-id"), marker);
    let removed = on.version(Method::DELETE, "a", &two).await;
    assert_eq!((removed.header("x-amz-delete-marker"), removed.header("x-amz-version-id")), ("", &*two));
    assert_eq!(on.send(Method::GET, "/a", "").await.text(), "one");
    assert_eq!(on.version(Method::DELETE, "a", &two).await.status, 204);
    assert_eq!(on.send(Method::DELETE, "/missing", "").await.status, 204);
    assert_eq!(on.server.stored_files(), 1);
}

#[tokio::test]
async fn a_version_is_copied() {
    let on = Fixture::start().await;
    let one = on.put("a", "one").await;
    on.put("a", "two").await;
    let copy = async |source: &str| {
        let headers = [("content-length", "0"), ("x-amz-copy-source", source)];
        on.server.s3(&on.signer, Method::PUT, "/s3/files/b", &headers, "").await
    };
    let copied = copy(&format!("files/a?versionId={one}")).await;
    assert_eq!(copied.header("x-amz-copy-source-version-id"), one, "{}", copied.text());
    assert!(!copied.header("x-amz-version-id").is_empty());
    assert_eq!(on.send(Method::GET, "/b", "").await.text(), "one");
    assert_eq!(copy("files/a").await.header("x-amz-copy-source-version-id"), "");
    assert_eq!(copy("files/a?other=1").await.s3_code(), (400, "InvalidRequest".to_owned()));
    assert_eq!(copy("files/a?versionId=null").await.s3_code(), (404, "NoSuchVersion".to_owned()));
    let begun = on.send(Method::POST, "/c?uploads=", "").await.element("UploadId");
    let source = format!("files/a?versionId={one}");
    let headers = [("content-length", "0"), ("x-amz-copy-source", &*source)];
    let path = format!("/s3/files/c?partNumber=1&uploadId={begun}");
    let part = on.server.s3(&on.signer, Method::PUT, &path, &headers, "").await;
    assert_eq!(part.header("x-amz-copy-source-version-id"), one, "{}", part.text());
    let parts = format!("<Part><ETag>{}</ETag><PartNumber>1</PartNumber></Part>", part.element("ETag"));
    let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    on.send(Method::POST, &format!("/c?uploadId={begun}"), &body).await;
    assert_eq!(on.send(Method::GET, "/c", "").await.text(), "one");
}

#[tokio::test]
async fn versions_and_markers_are_listed() {
    let on = Fixture::start().await;
    let ids = [on.put("a", "one").await, on.put("a", "two").await];
    on.put("b/c", "three").await;
    on.send(Method::DELETE, "/b/c", "").await;
    let all = on.send(Method::GET, "?versions=", "").await;
    let versions = texts(&all, "Version");
    assert_eq!(versions.len(), 3);
    for (version, id) in versions.iter().zip(ids.iter().rev()) {
        assert!(version.contains("<Key>a</Key>") && version.contains(id), "{version}");
    }
    assert_eq!(texts(&all, "DeleteMarker").len(), 1);
    let marker = &texts(&all, "DeleteMarker")[0];
    assert!(marker.contains("<Key>b/c</Key>") && marker.contains("<IsLatest>true</IsLatest>"), "{marker}");
    let latest: Vec<bool> = versions.iter().map(|one| one.contains("<IsLatest>true")).collect();
    assert_eq!(latest, [true, false, false]);
    let folders = on.send(Method::GET, "?delimiter=%2F&versions=", "").await;
    assert_eq!(texts(&folders, "Key"), ["a", "a"]);
    assert_eq!(texts(&folders, "CommonPrefixes"), ["<Prefix>b/</Prefix>"]);
    let older =
        on.send(Method::GET, &format!("?key-marker=a&version-id-marker={}&versions=", ids[1]), "").await;
    assert!(texts(&older, "Version")[0].contains(&ids[0]), "{}", older.text());
    let plain = on.send(Method::GET, "?list-type=2", "").await;
    assert_eq!(texts(&plain, "Key"), ["a"]);
}

#[tokio::test]
async fn a_client_that_removes_what_pages_show_removes_all() {
    let on = Fixture::start().await;
    for key in ["a", "a", "a", "b", "b"] {
        on.put(key, key).await;
    }
    on.send(Method::DELETE, "/a", "").await;
    let (mut markers, mut pages) = ([String::new(), String::new()], 0);
    loop {
        // In the order in which a query is signed.
        let query = format!("?{}max-keys=2{}&versions=", markers[0], markers[1]);
        let page = on.send(Method::GET, &query, "").await;
        assert_eq!(page.status, 200, "{}", page.text());
        let keys = texts(&page, "Key").into_iter().zip(texts(&page, "VersionId"));
        let objects: String = keys
            .map(|(key, id)| format!("<Object><Key>{key}</Key><VersionId>{id}</VersionId></Object>"))
            .collect();
        let deleted = on.send(Method::POST, "?delete=", &format!("<Delete>{objects}</Delete>")).await;
        assert!(!deleted.text().contains("<Error>"), "{}", deleted.text());
        pages += 1;
        if page.element("IsTruncated") == "false" {
            break;
        }
        let [key, version] = ["NextKeyMarker", "NextVersionIdMarker"].map(|name| encode(&page.element(name)));
        markers = [format!("key-marker={key}&"), format!("&version-id-marker={version}")];
    }
    assert_eq!(pages, 3);
    assert_eq!(on.server.row("select count(*)::text from storage.objects").await, ["0"]);
    assert_eq!(on.server.stored_files(), 0);
    assert_eq!(on.server.remove("a", &Value::Null).await.json()["code"], "NoSuchKey");
}

#[tokio::test]
async fn lifecycles_are_set_and_read() {
    let on = Fixture::start().await;
    let rule = |inner: &str| {
        format!(
            "<LifecycleConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Rule>{inner}</Rule>\
             </LifecycleConfiguration>"
        )
    };
    let get = async || on.send(Method::GET, "?lifecycle=", "").await;
    assert_eq!(get().await.s3_code(), (404, "NoSuchLifecycleConfiguration".to_owned()));
    let days = "<NoncurrentVersionExpiration><NewerNoncurrentVersions>2</NewerNoncurrentVersions>\
         <NoncurrentDays>30</NoncurrentDays></NoncurrentVersionExpiration>";
    let good = rule(&format!("<ID>old</ID><Filter><Prefix></Prefix></Filter><Status>Enabled</Status>{days}"));
    let set = on.send(Method::PUT, "?lifecycle=", &good).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let read = get().await;
    for (name, expected) in
        [("ID", "old"), ("Status", "Enabled"), ("NoncurrentDays", "30"), ("NewerNoncurrentVersions", "2")]
    {
        assert_eq!(read.element(name), expected, "{}", read.text());
    }
    for (inner, expected) in [
        (
            format!("<Filter><Prefix>a</Prefix></Filter><Status>Enabled</Status>{days}"),
            (501, "NotImplemented"),
        ),
        (
            "<Filter/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>".to_owned(),
            (501, "NotImplemented"),
        ),
        ("<Filter/><Status>Enabled</Status>".to_owned(), (400, "InvalidArgument")),
        (format!("<Filter/><Status>On</Status>{days}"), (400, "MalformedXML")),
    ] {
        let refused = on.send(Method::PUT, "?lifecycle=", &rule(&inner)).await;
        assert_eq!(refused.s3_code(), (expected.0, expected.1.to_owned()), "{inner}");
    }
    assert_eq!(get().await.element("ID"), "old");
    for _ in 0..2 {
        assert_eq!(on.send(Method::DELETE, "?lifecycle=", "").await.status, 204);
    }
    assert_eq!(get().await.s3_code(), (404, "NoSuchLifecycleConfiguration".to_owned()));
}
