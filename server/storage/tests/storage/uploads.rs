//! Uploading over HTTP: raw bodies, forms, limits and refusals.

use std::time::Duration;

use crate::support::{Response, Server};
use base64::Engine as _;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use poem::Body;
use poem::http::{Method, StatusCode};
use serde_json::json;

async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("files", true).await;
    server
}

/// Returns a form with `fields` and one file among them, where `None` stands.
fn form(fields: &[(&str, Option<&str>)], file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend_from_slice(b"--frame\r\n");
        match value {
            Some(value) => body.extend_from_slice(
                format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").as_bytes(),
            ),
            None => {
                body.extend_from_slice(
                    format!(
                        "Content-Disposition: form-data; name=\"{name}\"; filename=\"blob\"\r\n\
                         Content-Type: image/png\r\n\r\n"
                    )
                    .as_bytes(),
                );
                body.extend_from_slice(file);
                body.extend_from_slice(b"\r\n");
            }
        }
    }
    body.extend_from_slice(b"--frame--\r\n");
    body
}

async fn upload_form(server: &Server, path: &str, body: Vec<u8>) -> Response {
    let service = server.service_role().to_owned();
    server.upload(&service, path, &[("content-type", "multipart/form-data; boundary=frame")], &body).await
}

#[tokio::test]
async fn a_raw_body_is_the_object() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let metadata = base64::engine::general_purpose::STANDARD.encode("{\"team\":\"blue\"}");
    let headers = [
        ("content-type", "text/plain;charset=UTF-8"),
        ("cache-control", "max-age=60"),
        ("x-metadata", &*metadata),
        ("x-robots-tag", "noindex, nofollow"),
    ];
    let stored = server.upload(&service, "files/a%20b/c.txt", &headers, b"0123456789").await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
    assert_eq!(stored.json()["Key"], "files/a b/c.txt");
    let id = stored.json()["Id"].as_str().unwrap().to_owned();
    let read = server.get("/object/public/files/a%20b/c.txt").await;
    assert_eq!(read.body, b"0123456789");
    assert_eq!(read.header("content-type"), "text/plain;charset=UTF-8");
    assert_eq!(read.header("cache-control"), "max-age=60");
    assert_eq!(read.header("x-robots-tag"), "noindex, nofollow");
    assert_eq!(read.header("etag"), "\"781e5e245d69b566979b86e28d23f2c7\"");
    let info = server.get("/object/info/public/files/a%20b/c.txt").await.json();
    assert_eq!(info["id"], id);
    assert_eq!(info["name"], "a b/c.txt");
    assert_eq!(info["bucket_id"], "files");
    assert_eq!(info["size"], 10);
    assert_eq!(info["content_type"], "text/plain;charset=UTF-8");
    assert_eq!(info["cache_control"], "max-age=60");
    assert_eq!(info["metadata"], json!({ "team": "blue" }));
    assert!(info["last_modified"].as_str().unwrap().ends_with('Z'));
    let metadata = server.row("select metadata::text from storage.objects").await;
    let metadata: serde_json::Value = serde_json::from_str(&metadata[0]).unwrap();
    assert_eq!((&metadata["contentLength"], &metadata["httpStatusCode"]), (&json!(10), &json!(200)));
}

#[tokio::test]
async fn an_object_is_replaced_only_where_asked() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let first = server.upload(&service, "files/a", &[], b"one").await.json();
    let taken = server.upload(&service, "files/a", &[("x-upsert", "false")], b"two").await;
    let message = "The resource already exists";
    assert_eq!(taken.refusal(), (400, ["409", "Duplicate", message, "KeyAlreadyExists"].map(str::to_owned)));
    assert_eq!(server.get("/object/public/files/a").await.body, b"one");
    let before = server.row("select version, created_at::text from storage.objects").await;
    let second = server.upload(&service, "files/a", &[("x-upsert", "true")], b"two").await.json();
    assert_eq!(first["Id"], second["Id"]);
    let authorization = format!("Bearer {service}");
    let third =
        server.send(Method::PUT, "/object/files/a", &[("authorization", &authorization)], "three").await;
    assert_eq!(first["Id"], third.json()["Id"]);
    assert_eq!(server.get("/object/public/files/a").await.body, b"three");
    let after = server.row("select version, created_at::text from storage.objects").await;
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1]);
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn a_form_describes_its_file_before_or_after_it() {
    let server = server().await;
    let fields = [("cacheControl", Some("3600")), ("metadata", Some("{\"a\":1}")), ("", None)];
    for (path, fields) in
        [("files/before", fields.to_vec()), ("files/after", fields.iter().rev().copied().collect())]
    {
        let stored = upload_form(&server, path, form(&fields, b"\r\n--fram\r\n")).await;
        assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
        let read = server.get(&format!("/object/public/{path}")).await;
        assert_eq!(read.body, b"\r\n--fram\r\n");
        assert_eq!(read.header("content-type"), "image/png");
        assert_eq!(read.header("cache-control"), "max-age=3600");
        let info = server.get(&format!("/object/info/public/{path}")).await.json();
        assert_eq!(info["metadata"], json!({ "a": 1 }));
    }
    let plain = upload_form(&server, "files/plain", form(&[("file", None)], b"x")).await;
    assert_eq!(plain.status, StatusCode::OK);
    assert_eq!(server.get("/object/public/files/plain").await.header("cache-control"), "no-cache");
    // Of the part's own type, its parameters do not count.
    let part = "Content-Disposition: form-data; name=\"\"; filename=\"b\"\r\n";
    for (path, header, kind) in [
        ("files/charset", "Content-Type: Text/Plain;charset=UTF-8\r\n", "text/plain"),
        ("files/untyped", "", "text/plain"),
    ] {
        let body = format!("--frame\r\n{part}{header}\r\nx\r\n--frame--\r\n");
        assert_eq!(upload_form(&server, path, body.into_bytes()).await.status, StatusCode::OK);
        assert_eq!(server.get(&format!("/object/public/{path}")).await.header("content-type"), kind);
    }
    let typed = [("contentType", Some("text/css")), ("", None), ("metadata", Some("rubbish"))];
    upload_form(&server, "files/typed", form(&typed, b"x")).await;
    assert_eq!(server.get("/object/public/files/typed").await.header("content-type"), "text/css");
}

#[tokio::test]
async fn broken_forms_leave_nothing() {
    let server = server().await;
    let whole = form(&[("metadata", Some("{}")), ("", None)], &[b'x'; 100_000]);
    let service = server.service_role().to_owned();
    let headers = [("content-type", "multipart/form-data")];
    let unnamed = server.upload(&service, "files/a", &headers, &whole).await;
    assert_eq!(unnamed.json()["message"], "Multipart: Boundary not found");
    let empty = upload_form(&server, "files/a", form(&[("metadata", Some("{}"))], b"")).await;
    assert_eq!(empty.json()["message"], "No content provided");
    for cut in [whole.len() - 12, whole.len() / 2, 140] {
        let broken = upload_form(&server, "files/a", whole[..cut].to_vec()).await;
        assert_eq!(broken.status, StatusCode::BAD_REQUEST);
        assert_eq!(broken.json()["code"], "InvalidRequest", "{}", broken.text());
    }
    let mut late = form(&[("", None)], b"file");
    late.truncate(late.len() - 4);
    late.extend_from_slice(b"\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{");
    let late = upload_form(&server, "files/a", late).await;
    assert_eq!(late.status, StatusCode::BAD_REQUEST);
    let large = format!("\"{}\"", "m".repeat(1 << 20));
    let large = upload_form(&server, "files/a", form(&[("metadata", Some(&large)), ("", None)], b"x")).await;
    assert_eq!(large.json()["message"], "The user_metadata exceeded the maximum allowed size");
    assert_eq!(server.stored_files(), 0);
    assert_eq!(server.row("select count(*)::text from storage.objects").await, ["0"]);
}

#[tokio::test]
async fn limits_hold_however_the_bytes_come() {
    let server = Server::start().await;
    let limits =
        json!({ "name": "small", "file_size_limit": 10, "allowed_mime_types": ["image/*", "text/plain"] });
    server.json(Method::POST, "/bucket", &limits).await;
    let service = server.service_role().to_owned();
    let authorization = format!("Bearer {service}");
    let typed = [("authorization", &*authorization), ("content-type", "image/png")];
    let exact = server.send(Method::POST, "/object/small/ten", &typed, vec![0; 10]).await;
    assert_eq!(exact.status, StatusCode::OK);
    let too_large =
        ["413", "Payload too large", "The object exceeded the maximum allowed size", "EntityTooLarge"];
    let too_large = (400, too_large.map(str::to_owned));
    let declared = [typed[0], typed[1], ("content-length", "11")];
    let refused = server.send(Method::POST, "/object/small/a", &declared, vec![0; 11]).await;
    assert_eq!(refused.refusal(), too_large);
    let stream =
        futures_util::stream::iter((0..11).map(|_| Ok::<_, std::io::Error>(bytes::Bytes::from_static(b"x"))));
    let refused = server.send(Method::POST, "/object/small/a", &typed, Body::from_bytes_stream(stream)).await;
    assert_eq!(refused.refusal(), too_large);
    let refused = upload_form(&server, "small/a", form(&[("", None)], &[0; 11])).await;
    assert_eq!(refused.refusal(), too_large);
    for kind in ["text/html", "text/plain;charset=UTF-8", "non/sense"] {
        let refused = server.upload(&service, "small/a", &[("content-type", kind)], b"x").await;
        assert_eq!(refused.json()["message"], format!("mime type {kind} is not supported"));
    }
    let any_case = server.upload(&service, "small/capitals", &[("content-type", "IMAGE/Png")], b"x").await;
    assert_eq!(any_case.status, StatusCode::OK, "{}", any_case.text());
    let late = form(&[("", None), ("contentType", Some("text/html"))], b"x");
    assert_eq!(upload_form(&server, "small/a", late).await.json()["code"], "InvalidMimeType");
    let marker = server.upload(&service, "small/f/.emptyFolderPlaceholder", &[], b"").await;
    assert_eq!(marker.status, StatusCode::OK, "{}", marker.text());
    let full = server.upload(&service, "small/g/.emptyFolderPlaceholder", &[], b"x").await;
    assert_eq!(full.refusal(), too_large);
    assert_eq!(server.stored_files(), 3);
}

#[tokio::test]
async fn refusals_come_in_upstreams_order_and_leave_nothing() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let without = server.send(Method::POST, "/object/files/a", &[], "x").await;
    assert_eq!(without.json()["message"], "headers must have required property 'authorization'");
    let forged = server.upload("a.b.c", "files/a", &[], b"x").await;
    assert_eq!(forged.json()["statusCode"], "403");
    for (path, headers, code) in [
        ("nowhere/a", vec![], "NoSuchBucket"),
        ("files/a%5Bb", vec![], "InvalidKey"),
        ("files/..%2Fetc", vec![], "InvalidKey"),
        ("files/%252e%252e/x", vec![], "InvalidKey"),
        ("files/a%00b", vec![], "InvalidKey"),
        ("files/a%5Cb", vec![], "InvalidKey"),
        ("files/caf%C3%A9", vec![], "InvalidKey"),
        ("files/%ff", vec![], "InvalidKey"),
        ("files/", vec![], "InvalidKey"),
        ("files/a", vec![("x-robots-tag", "everything")], "InvalidRequest"),
    ] {
        let refused = server.upload(&service, path, &headers, b"x").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(refused.json()["code"], code, "{path}");
    }
    let long = format!("files/{}", "k".repeat(1025));
    assert_eq!(server.upload(&service, &long, &[], b"x").await.json()["code"], "InvalidKey");
    let longest = format!("files/{}", "k".repeat(1024));
    assert_eq!(server.upload(&service, &longest, &[], b"x").await.status, StatusCode::OK);
    for odd in ["files/a//b", "files//lead", "files/trail/"] {
        assert_eq!(server.upload(&service, odd, &[], b"x").await.status, StatusCode::OK, "{odd}");
        assert_eq!(server.get(&format!("/object/public/{odd}")).await.body, b"x", "{odd}");
    }
    assert_eq!(server.stored_files(), 4);
}

#[tokio::test]
async fn a_sender_that_breaks_off_leaves_nothing() {
    let server = server().await;
    let authorization = format!("Bearer {}", server.service_role());
    let chunks = [Ok(bytes::Bytes::from_static(b"half")), Err(std::io::Error::other("gone"))];
    let body = Body::from_bytes_stream(futures_util::stream::iter(chunks));
    let broken =
        server.send(Method::POST, "/object/files/a", &[("authorization", &authorization)], body).await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    assert_eq!(server.stored_files(), 0);
    assert_eq!(server.row("select count(*)::text from storage.objects").await, ["0"]);
}

#[tokio::test]
async fn writers_of_one_name_end_as_one_of_them_whole() {
    let server = server().await;
    let service = server.service_role().to_owned();
    let bodies: Vec<Vec<u8>> = (0..8_u8).map(|byte| vec![byte; 200_000]).collect();
    let uploads = bodies.iter().map(|body| server.upload(&service, "files/a", &[("x-upsert", "true")], body));
    for response in futures_util::future::join_all(uploads).await {
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    }
    assert!(bodies.contains(&server.get("/object/public/files/a").await.body));
    assert_eq!(server.stored_files(), 1);
    let created = bodies.iter().map(|body| server.upload(&service, "files/b", &[], body));
    let created = futures_util::future::join_all(created).await;
    assert_eq!(created.iter().filter(|response| response.status == StatusCode::OK).count(), 1);
    assert_eq!(server.stored_files(), 2);
}

#[tokio::test]
async fn a_trigger_that_refuses_leaves_nothing() {
    let server = server().await;
    server
        .sql(
            "create function public.refuse() returns trigger language plpgsql as \
             $$ begin if new.metadata ? 'eTag' then raise exception 'no'; end if; return new; end $$; \
             create trigger refuse before insert on storage.objects for each row execute function public.refuse()",
        )
        .await;
    let service = server.service_role().to_owned();
    let refused = server.upload(&service, "files/a", &[], b"x").await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(refused.json()["message"], "database error, code: P0001");
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn triggers_find_names_of_the_projects_own_schema() {
    let server = server().await;
    server
        .sql(
            "create table public.documents (name text); \
             create function public.note() returns trigger language plpgsql security definer as \
             $$ begin insert into documents values (new.name); return new; end $$; \
             create trigger note after insert on storage.objects for each row execute function public.note()",
        )
        .await;
    let service = server.service_role().to_owned();
    let stored = server.upload(&service, "files/a", &[], b"x").await;
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
}

#[tokio::test]
async fn the_service_leaves_an_object_its_owner() {
    const ID: &str = "6f1c1f0e-9a52-4a3f-8a0a-1c7f5a1f2b3c";
    const OWNERS: &str =
        "select coalesce(owner::text, ''), coalesce(owner_id, '') from storage.objects where name ";
    let server = server().await;
    server.sql("create policy \"all\" on storage.objects for all to authenticated using (true) with check (true)").await;
    let user = server.user(ID);
    assert_eq!(server.upload(&user, "files/own", &[], b"a").await.status, StatusCode::OK);
    let replaced = server.upload(server.service_role(), "files/own", &[("x-upsert", "true")], b"b").await;
    assert_eq!(replaced.status, StatusCode::OK);
    assert_eq!(server.row(&format!("{OWNERS} = 'own'")).await, [ID, ID]);
    let names = json!({ "bucketId": "files", "sourceKey": "own", "destinationKey": "moved" });
    assert_eq!(server.json(Method::POST, "/object/move", &names).await.status, StatusCode::OK);
    assert_eq!(server.row(&format!("{OWNERS} = 'moved'")).await, [ID, ID]);
    let other = "b7d0c4f2-1111-4a3f-8a0a-1c7f5a1f2b3c";
    let replaced = server.upload(&server.user(other), "files/moved", &[("x-upsert", "true")], b"c").await;
    assert_eq!(replaced.status, StatusCode::OK);
    assert_eq!(server.row(&format!("{OWNERS} = 'moved'")).await, [other, other]);
}

#[tokio::test]
async fn a_content_type_that_is_none_is_refused() {
    let server = server().await;
    for content_type in ["text", ";;;", "/plain", "text/"] {
        let headers = [("content-type", content_type)];
        let refused = server.upload(server.service_role(), "files/none", &headers, b"x").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{content_type}");
        let body = refused.json();
        assert_eq!(
            (&body["statusCode"], &body["error"], &body["message"]),
            (&json!("415"), &json!("invalid_mime_type"), &json!("Invalid Content-Type header"))
        );
    }
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn metadata_of_a_header_is_base64_of_any_kind() {
    let server = server().await;
    // {"a":"bcd??"}, whose code has a slash, or a low line, and one sign of padding.
    for (number, header) in ["eyJhIjoiYmNkPz8ifQ==", "eyJhIjoiYmNkPz8ifQ"].into_iter().enumerate() {
        let path = format!("files/metadata-{number}");
        let stored = server.upload(server.service_role(), &path, &[("x-metadata", header)], b"x").await;
        assert_eq!(stored.status, StatusCode::OK);
        let query =
            format!("select user_metadata ->> 'a' from storage.objects where name = 'metadata-{number}'");
        assert_eq!(server.row(&query).await, ["bcd??"]);
    }
}

#[tokio::test]
async fn uploads_of_one_network_leave_some_to_others() {
    let server = Server::start_with(|settings| settings.max_uploads = 4).await;
    server.bucket("files", true).await;
    let authorization = format!("Bearer {}", server.service_role());
    let upload = async |client: &str, name: String, body: Body| {
        let path = format!("/object/files/{name}");
        let headers = [("authorization", &*authorization), ("x-forwarded-for", client)];
        server.send(Method::POST, &path, &headers, body).await
    };
    // Bodies that never end, after a first part or without one.
    let endless = |first: Option<&'static [u8]>| {
        let first = stream::iter(first.map(|part| Ok::<_, std::io::Error>(Bytes::from_static(part))));
        Body::from_bytes_stream(first.chain(stream::pending()))
    };
    let silent = (0..10).map(|number| upload("192.0.2.1", format!("silent{number}"), endless(None)));
    let mut silent = Box::pin(join_all(silent.collect::<Vec<_>>()));
    let slow = (0..3).map(|number| upload("192.0.2.1", format!("slow{number}"), endless(Some(b"part"))));
    let mut slow = Box::pin(join_all(slow.collect::<Vec<_>>()));
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, &mut silent).await.is_err());
    assert!(tokio::time::timeout(second, &mut slow).await.is_err());

    let refused = upload("192.0.2.1", "refused".to_owned(), "bytes".into()).await;
    assert_eq!(refused.refusal().0, 503, "{}", refused.text());
    assert_eq!(refused.json()["code"], "SlowDown");
    assert_eq!(refused.header("retry-after"), "1");
    let other = upload("192.0.2.2", "other".to_owned(), "bytes".into()).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.text());
    drop(slow);
    let later = upload("192.0.2.1", "later".to_owned(), "bytes".into()).await;
    assert_eq!(later.status, StatusCode::OK, "{}", later.text());
}

/// A download that nobody reads holds an open file.
#[tokio::test]
async fn downloads_of_one_network_leave_some_to_others() {
    let server = Server::start_with(|settings| settings.max_downloads = 4).await;
    server.bucket("files", true).await;
    server.upload(server.service_role(), "files/large", &[], &vec![b'x'; 2 << 20]).await;
    server.upload(server.service_role(), "files/small", &[], b"bytes").await;
    let (large, small) = ("/object/public/files/large", "/object/public/files/small");
    let mut held = Vec::new();
    for _ in 0..3 {
        let response = server.begin_download("192.0.2.1", large).await;
        assert_eq!(response.status(), StatusCode::OK);
        held.push(response);
    }
    assert_eq!(server.begin_download("192.0.2.1", large).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.begin_download("192.0.2.1", small).await.status(), StatusCode::OK);
    let other = server.begin_download("192.0.2.2", large).await;
    assert_eq!(other.into_body().into_vec().await.unwrap().len(), 2 << 20);
    held.pop();
    assert_eq!(server.begin_download("192.0.2.1", large).await.status(), StatusCode::OK);
}
