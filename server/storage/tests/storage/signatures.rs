//! Signed URLs.

use crate::support::Server;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("private", false).await;
    let service = server.service_role().to_owned();
    for key in ["a b&c=d.txt", "other"] {
        let path = format!("private/{}", key.replace(' ', "%20"));
        server.upload(&service, &path, &[("cache-control", "max-age=9")], key.as_bytes()).await;
    }
    server
}

async fn sign(server: &Server, path: &str, life: Value) -> Value {
    server.json(Method::POST, &format!("/object/sign/{path}"), &json!({ "expiresIn": life })).await.json()
}

#[tokio::test]
async fn a_signed_url_opens_one_object() {
    let server = server().await;
    let signed = sign(&server, "private/a%20b&c=d.txt", json!("60")).await;
    let url = signed["signedURL"].as_str().unwrap().to_owned();
    assert!(url.starts_with("/object/sign/private/a b&c=d.txt?token="), "{url}");
    let read = server.get(&url.replace(' ', "%20")).await;
    assert_eq!(read.body, b"a b&c=d.txt");
    assert_eq!(read.header("cache-control"), "");
    assert!(read.header("expires").ends_with(" GMT"));
    let token = url.split_once("?token=").unwrap().1;
    let other = server.get(&format!("/object/sign/private/other?token={token}")).await;
    let refusal = ["400", "InvalidSignature", "Invalid signature", "InvalidSignature"];
    assert_eq!(other.refusal(), (400, refusal.map(str::to_owned)));
    let none = server.get("/object/sign/private/other").await;
    assert_eq!(none.json()["message"], "querystring must have required property 'token'");
    let forged = server.get(&format!("/object/sign/private/other?token={token}x")).await;
    assert_eq!(forged.json()["error"], "InvalidJWT");
    let broken = server.get("/object/sign/private/other?token=nonsense").await;
    assert_eq!(broken.json()["message"], "Invalid Compact JWS");
    let upload = format!("/object/upload/sign/private/a%20b&c=d.txt?token={token}");
    let written = server.send(Method::PUT, &upload, &[], "x");
    assert_eq!(written.await.json()["message"], "Token is not scoped for upload");
}

#[tokio::test]
async fn a_signed_url_tells_by_head_what_get_would_return() {
    let server = server().await;
    let signed = sign(&server, "private/other", json!(60)).await;
    let url = signed["signedURL"].as_str().unwrap().to_owned();
    let part = server.ask(Method::HEAD, &url, &[("range", "bytes=1-2")]).await;
    assert_eq!((part.status, part.header("content-range")), (StatusCode::PARTIAL_CONTENT, "bytes 1-2/5"));
    assert_eq!((part.header("content-length"), part.body.len()), ("2", 0));
    let etag = part.header("etag").to_owned();
    let known = server.ask(Method::HEAD, &url, &[("if-none-match", &etag)]).await;
    assert_eq!(known.status, StatusCode::NOT_MODIFIED);
    let beyond = server.ask(Method::HEAD, &url, &[("range", "bytes=9-")]).await;
    assert_eq!(beyond.status, StatusCode::RANGE_NOT_SATISFIABLE);
}

#[tokio::test]
async fn tokens_end_and_strangers_tokens_open_nothing() {
    let server = server().await;
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    let open = async |claims: Value| {
        let token = server.keys().sign_with_secret(&claims).unwrap();
        server.get(&format!("/object/sign/private/other?token={token}")).await
    };
    let upstreams = json!({ "url": "private/other", "scope": "download", "iat": now, "exp": now + 60 });
    assert_eq!(open(upstreams).await.status, StatusCode::OK);
    let older = json!({ "url": "private/other", "iat": now, "exp": now + 60 });
    assert_eq!(open(older).await.status, StatusCode::OK);
    let expired = open(json!({ "url": "private/other", "scope": "download", "exp": now - 1 })).await;
    let message = "\"exp\" claim timestamp check failed";
    assert_eq!(expired.refusal(), (400, ["400", "InvalidJWT", message, "InvalidJWT"].map(str::to_owned)));
    for claims in [
        json!({ "role": "service_role", "exp": now + 60 }),
        json!({ "url": "private/other", "scope": "upload", "upsert": true, "exp": now + 60 }),
        json!({ "url": "private/other", "scope": "other", "exp": now + 60 }),
    ] {
        assert_eq!(open(claims.clone()).await.json()["code"], "InvalidSignature", "{claims}");
    }
    let refused = sign(&server, "private/other", json!(0)).await;
    assert_eq!(refused["message"], "body/expiresIn must be >= 1");
    let endless = sign(&server, "private/other", json!(1e300)).await;
    assert_eq!(endless["message"], "Invalid Parameter expiresIn");
    assert_eq!(sign(&server, "private/missing", json!(9)).await["code"], "NoSuchKey");
    let body = json!({ "expiresIn": 9 });
    let hidden = server.json_as(&server.user("u"), Method::POST, "/object/sign/private/other", &body).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey");
}

#[tokio::test]
async fn many_are_signed_in_the_order_of_the_request() {
    let server = server().await;
    let body = json!({ "expiresIn": 60, "paths": ["missing", "other", "a b&c=d.txt"] });
    let signed = server.json(Method::POST, "/object/sign/private", &body).await.json();
    assert_eq!(
        signed[0],
        json!({
            "error": "Either the object does not exist or you do not have access to it",
            "path": "missing", "signedURL": null,
        })
    );
    for entry in &signed.as_array().unwrap()[1..] {
        assert!(entry["error"].is_null());
        let url = entry["signedURL"].as_str().unwrap().replace(' ', "%20");
        assert_eq!(server.get(&url).await.text(), entry["path"].as_str().unwrap());
    }
    let nowhere = server.json(Method::POST, "/object/sign/nowhere", &body).await;
    assert_eq!(nowhere.status, StatusCode::OK);
    assert!(nowhere.json().as_array().unwrap().iter().all(|entry| entry["signedURL"].is_null()));
}

#[tokio::test]
async fn an_upload_can_be_signed_for_somebody_else() {
    let server = server().await;
    server
        .sql("create policy senders on storage.objects for insert to authenticated with check (bucket_id = 'private')")
        .await;
    let user = server.user("8f9b2c1e-0000-4000-8000-00000000000a");
    let signed =
        server.json_as(&user, Method::POST, "/object/upload/sign/private/new", &json!({})).await.json();
    let url = signed["url"].as_str().unwrap().to_owned();
    assert!(url.ends_with(signed["token"].as_str().unwrap()));
    let stored = server.send(Method::PUT, &url, &[("content-type", "text/plain")], "new").await;
    assert_eq!(stored.json(), json!({ "Key": "private/new" }));
    let row = server.row("select owner_id from storage.objects where name = 'new'").await;
    assert_eq!(row, ["8f9b2c1e-0000-4000-8000-00000000000a"]);
    let second = server.send(Method::PUT, &url, &[("x-upsert", "true")], "other").await;
    assert_eq!(second.json()["code"], "KeyAlreadyExists");
    let other = url.replace("/new?", "/else?");
    assert_eq!(server.send(Method::PUT, &other, &[], "x").await.json()["code"], "InvalidSignature");
    let refused =
        server.json_as(server.anon(), Method::POST, "/object/upload/sign/private/x", &json!({})).await;
    assert_eq!(refused.json()["code"], "AccessDenied");
    let authorization = format!("Bearer {}", server.service_role());
    let headers = [("authorization", &*authorization), ("x-upsert", "true")];
    let upsert = server.send(Method::POST, "/object/upload/sign/private/new", &headers, "").await.json();
    let replaced = server.send(Method::PUT, upsert["url"].as_str().unwrap(), &[], "replaced").await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.text());
}

/// Returns what a token says, without its times.
fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    let claims_of = claims.as_object_mut().unwrap();
    claims_of.remove("iat");
    claims_of.insert("exp".to_owned(), life.into());
    claims
}

#[tokio::test]
async fn supabase_storage_understands_the_tokens() {
    let server = server().await;
    let owner = "8f9b2c1e-0000-4000-8000-00000000000a";
    server
        .sql("create policy all_of_it on storage.objects to authenticated using (true) with check (true)")
        .await;
    let download = sign(&server, "private/other", json!(60)).await;
    let token = download["signedURL"].as_str().unwrap().split_once("?token=").unwrap().1;
    assert_eq!(claims(token), json!({ "url": "private/other", "scope": "download", "exp": 60 }));
    let authorization = format!("Bearer {}", server.user(owner));
    let headers = [("authorization", &*authorization), ("x-upsert", "true")];
    let upload = server.send(Method::POST, "/object/upload/sign/private/other", &headers, "").await.json();
    let expected =
        json!({ "url": "private/other", "scope": "upload", "owner": owner, "upsert": true, "exp": 7200 });
    assert_eq!(claims(upload["token"].as_str().unwrap()), expected);
}

#[tokio::test]
async fn upload_tokens_of_supabase_storage_are_good() {
    let server = server().await;
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    let token = |claims: Value| {
        // Its head names no type.
        let encode = |part: Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = server.keys().sign_with_secret(&claims).unwrap();
        assert_eq!(signed.split('.').nth(1).unwrap(), encode(claims), "the claims are signed as they are");
        signed
    };
    let owner = "8f9b2c1e-0000-4000-8000-00000000000b";
    let claims = json!({
        "exp": now + 60, "iat": now, "owner": owner, "scope": "upload", "upsert": true, "url": "private/other",
    });
    let url = format!("/object/upload/sign/private/other?token={}", token(claims));
    for body in ["first", "second"] {
        let stored = server.send(Method::PUT, &url, &[("content-type", "text/plain")], body).await;
        assert_eq!(stored.json(), json!({ "Key": "private/other" }), "it may replace what is there");
    }
    let row = "select owner_id || ' ' || owner::text from storage.objects where name = 'other'";
    assert_eq!(server.row(row).await, [format!("{owner} {owner}")]);
    // Older releases named neither scope nor owner.
    let claims = json!({ "exp": now + 60, "iat": now, "upsert": false, "url": "private/new" });
    let url = format!("/object/upload/sign/private/new?token={}", token(claims));
    assert_eq!(server.send(Method::PUT, &url, &[], "x").await.status, StatusCode::OK);
    assert_eq!(server.send(Method::PUT, &url, &[], "x").await.json()["code"], "KeyAlreadyExists");
}

#[tokio::test]
async fn signed_urls_open_names_with_marks_of_urls() {
    let server = Server::start().await;
    server.bucket("a?b", false).await;
    let service = server.service_role().to_owned();
    let key = "dir/what?is+this&x=y=z;,@$ (1).txt";
    let encoded = "a%3Fb/dir/what%3Fis+this&x=y=z;,@$%20(1).txt";
    server.upload(&service, encoded, &[], b"text").await;
    let one = sign(&server, encoded, json!(60)).await["signedURL"].clone();
    let body = json!({ "expiresIn": 60, "paths": [key] });
    let many = server.json(Method::POST, "/object/sign/a%3Fb", &body).await.json()[0]["signedURL"].clone();
    for url in [one, many] {
        let url = url.as_str().unwrap();
        assert!(url.contains("/a%3Fb/dir/what%3Fis+this&x=y=z;,@$ (1).txt?token="), "{url}");
        // As it is, and as `encodeURI` of storage-js makes it.
        for url in [url.replace(' ', "%20"), url.replace('%', "%25").replace(' ', "%20")] {
            assert_eq!(server.get(&url).await.text(), "text", "{url}");
        }
        let other = server.get(&url.replace("what%3Fis", "what").replace(' ', "%20")).await;
        assert_eq!(other.json()["code"], "InvalidSignature");
    }
    let path = "a%3Fb/new%3F.txt";
    let ticket = server.json(Method::POST, &format!("/object/upload/sign/{path}"), &json!({})).await.json();
    let url = ticket["url"].as_str().unwrap();
    assert!(url.starts_with("/object/upload/sign/a%3Fb/new%3F.txt?token="), "{url}");
    let stored = server.send(Method::PUT, url, &[], "new").await;
    assert_eq!(stored.json()["Key"], "a?b/new?.txt");
    // The public URL of storage-js is encoded twice, too.
    server.sql("update storage.buckets set public = true").await;
    assert_eq!(server.get("/object/public/a%253Fb/new%253F.txt").await.text(), "new");
    assert_eq!(server.get("/object/public/a%253Fb/%252e%252e").await.json()["code"], "InvalidKey");
}
