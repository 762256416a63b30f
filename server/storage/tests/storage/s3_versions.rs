//! The S3 protocol: lists of versions in buckets that keep none, where each object has one.

use poem::http::Method;

use crate::s3_client::{Signer, encode};
use crate::support::{Response, Server};

async fn server(keys: &[&str]) -> (Server, Signer) {
    let server = Server::start().await;
    server.bucket("files", false).await;
    for key in keys {
        assert_eq!(server.s3_put(&format!("/s3/files/{key}"), key).await.status, 200);
    }
    let signer = Signer::service(&server);
    (server, signer)
}

/// Returns the texts of all elements `name`.
pub(crate) fn texts(response: &Response, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let text = response.text();
    let found = text.split(&open).skip(1).filter_map(|rest| rest.split_once(&close));
    found.map(|(inner, _)| inner.to_owned()).collect()
}

#[tokio::test]
async fn each_object_has_one_version() {
    let (server, signer) = server(&["a", "b/1", "b/2", "c%20d"]).await;
    let list = async |query: &str| {
        let response = server.s3(&signer, Method::GET, &format!("/s3/files?{query}"), &[], "").await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let all = list("versions=").await;
    assert!(all.text().contains("<ListVersionsResult xmlns="), "{}", all.text());
    assert_eq!(texts(&all, "Key"), ["a", "b/1", "b/2", "c d"]);
    assert_eq!(texts(&all, "VersionId"), ["null"; 4]);
    assert_eq!(texts(&all, "IsLatest"), ["true"; 4]);
    assert_eq!(texts(&all, "Size"), ["1", "3", "3", "5"]);
    assert_eq!(texts(&all, "Version").len(), 4);
    assert_eq!((all.element("Name"), all.element("IsTruncated")), ("files".into(), "false".into()));
    assert_eq!(texts(&list("prefix=b%2F&versions=").await, "Key"), ["b/1", "b/2"]);
    let folders = list("delimiter=%2F&versions=").await;
    assert_eq!(texts(&folders, "Key"), ["a", "c d"]);
    assert_eq!(folders.element("CommonPrefixes"), "<Prefix>b/</Prefix>");
    assert_eq!(texts(&list("encoding-type=url&prefix=c&versions=").await, "Key"), ["c%20d"]);
    let after = list("key-marker=b%2F1&version-id-marker=null&versions=").await;
    assert_eq!(texts(&after, "Key"), ["b/2", "c d"]);
}

#[tokio::test]
async fn pages_of_versions_follow_one_another() {
    let (server, signer) = server(&["a", "b/1", "b/2", "c", "d"]).await;
    for (delimiter, expected) in [("", "a b/1 b/2 c d"), ("delimiter=%2F&", "a b/ c d")] {
        let (mut seen, mut markers) = (Vec::new(), String::new());
        loop {
            let query = match markers.split_once('&') {
                None => format!("{delimiter}max-keys=2&versions="),
                Some((key, version)) => format!("{delimiter}{key}&max-keys=2{version}&versions="),
            };
            let page = server.s3(&signer, Method::GET, &format!("/s3/files?{query}"), &[], "").await;
            assert_eq!(page.status, 200, "{}", page.text());
            let mut entries = texts(&page, "Key");
            entries.extend(
                texts(&page, "CommonPrefixes").iter().map(|entry| {
                    entry.trim_start_matches("<Prefix>").trim_end_matches("</Prefix>").to_owned()
                }),
            );
            entries.sort();
            seen.extend(entries);
            if page.element("IsTruncated") == "false" {
                assert_eq!(page.element("NextKeyMarker"), "");
                break;
            }
            let version = page.element("NextVersionIdMarker");
            let is_folder = page.element("NextKeyMarker").ends_with('/');
            assert_eq!(version.is_empty(), is_folder);
            let version =
                if is_folder { String::new() } else { format!("&version-id-marker={}", encode(&version)) };
            markers = format!("key-marker={}&{version}", page.element("NextKeyMarker").replace('/', "%2F"));
        }
        assert_eq!(seen.join(" "), expected);
    }
}

#[tokio::test]
async fn versions_are_listed_to_those_who_see_the_objects() {
    let (server, signer) = server(&["a"]).await;
    let user = Signer::user(&server, &server.user("00000000-0000-4000-8000-00000000000a"));
    let hidden = server.s3(&user, Method::GET, "/s3/files?versions=", &[], "").await;
    assert_eq!((hidden.status.as_u16(), texts(&hidden, "Key")), (200, vec![]));
    for (query, expected) in [
        ("files?version-id-marker=null&versions=", (400, "InvalidArgument")),
        ("files?key-marker=a&version-id-marker=other&versions=", (400, "InvalidArgument")),
        ("nowhere?versions=", (404, "NoSuchBucket")),
        ("files/a?versions=", (501, "NotImplemented")),
    ] {
        let response = server.s3(&signer, Method::GET, &format!("/s3/{query}"), &[], "").await;
        assert_eq!(response.s3_code(), (expected.0, expected.1.to_owned()), "{query}");
    }
    // What clients remove by the version that the list shows is gone.
    let delete = "<Delete><Object><Key>a</Key><VersionId>null</VersionId></Object></Delete>";
    let length = delete.len().to_string();
    let headers = [("content-length", &*length)];
    let response = server.s3(&signer, Method::POST, "/s3/files?delete=", &headers, delete).await;
    assert!(response.text().contains("<Deleted><Key>a</Key>"), "{}", response.text());
    assert_eq!(server.s3(&signer, Method::DELETE, "/s3/files", &[], "").await.status, 204);
}
