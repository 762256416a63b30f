//! The S3 protocol: who is let in, and what is refused. What a real client sees is in `tests/integration/s3.test.ts`.

use poem::Body;
use poem::http::Method;

use crate::s3_client::{Signer, UNSIGNED, encode, sha256};
use crate::support::Server;

async fn server() -> (Server, Signer) {
    let server = Server::start().await;
    server.bucket("files", false).await;
    let signer = Signer::service(&server);
    (server, signer)
}

#[tokio::test]
async fn a_request_is_signed_with_a_known_key() {
    let (server, signer) = server().await;
    let list = async |signer: &Signer| server.s3(signer, Method::GET, "/s3/", &[], "").await;
    let response = list(&signer).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(
        response
            .text()
            .starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListAllMyBucketsResult xmlns=")
    );

    let unsigned = server.get("/s3/files/a").await;
    assert_eq!(unsigned.s3_refusal(), (403, "AccessDenied".into(), "Missing signature".into()));
    assert_eq!(unsigned.header("content-type"), "application/xml");
    assert_eq!(
        unsigned.text(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Resource>files/a</Resource><Code>AccessDenied</Code>\
         <Message>Missing signature</Message></Error>",
        "clients in Python find no code in an element of a namespace"
    );
    let token = format!("Bearer {}", server.service_role());
    let response = server.ask(Method::GET, "/s3/", &[("authorization", &token)]).await;
    assert_eq!(response.s3_refusal().2, "Missing signature");

    let stranger = Signer { access_key: "stranger".into(), ..signer.clone() };
    assert_eq!(list(&stranger).await.s3_refusal(), (403, "AccessDenied".into(), "Invalid Access Key".into()));
    let forger = Signer { secret: "guessed".into(), ..signer.clone() };
    assert_eq!(list(&forger).await.s3_code(), (403, "SignatureDoesNotMatch".into()));
    for region in ["us-east-1", "auto", "", "local"] {
        assert_eq!(list(&Signer { region: region.into(), ..signer.clone() }).await.status, 200, "{region}");
    }
    let elsewhere = Signer { region: "mars-1".into(), ..signer.clone() };
    assert_eq!(list(&elsewhere).await.s3_code(), (403, "SignatureDoesNotMatch".into()));
    let late = Signer { time: signer.time - time::Duration::hours(1), ..signer.clone() };
    assert_eq!(list(&late).await.s3_code(), (403, "RequestTimeTooSkewed".into()));
}

#[tokio::test]
async fn a_signature_by_another_algorithm_is_told_the_right_one() {
    let (server, _) = server().await;
    let words =
        "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.";
    let refused = (400, "InvalidRequest".to_owned(), words.to_owned());
    let of_version_2 = "/s3/files/a?AWSAccessKeyId=a&Expires=9999999999&Signature=b";
    assert_eq!(server.get(of_version_2).await.s3_refusal(), refused);
    for authorization in ["AWS key:signature", "AWS4-ECDSA-P256-SHA256 Credential=a", "AWS"] {
        let response = server.ask(Method::GET, "/s3/", &[("authorization", authorization)]).await;
        assert_eq!(response.s3_refusal(), refused, "{authorization}");
    }
    let half = server.get("/s3/files/a?AWSAccessKeyId=a").await;
    assert_eq!(half.s3_code(), (403, "AccessDenied".to_owned()));
}

#[tokio::test]
async fn a_session_token_is_the_users() {
    let (server, _) = server().await;
    let id = "00000000-0000-4000-8000-00000000000a";
    let token = server.user(id);
    let user = Signer::user(&server, &token);
    let put = async |signer: &Signer, key: &str| {
        server.s3(signer, Method::PUT, &format!("/s3/files/{key}"), &[("content-length", "1")], "a").await
    };
    let refused = put(&user, "own/a").await;
    let words = "new row violates row-level security policy";
    assert_eq!(refused.s3_refusal(), (403, "AccessDenied".into(), words.into()));
    assert_eq!(server.stored_files(), 0);
    server
        .sql(
            "create policy own on storage.objects to authenticated \
               using (owner_id = auth.uid()::text and storage.operation() like 'storage.s3.%') \
               with check (name like 'own/%' and owner_id = auth.uid()::text)",
        )
        .await;
    assert_eq!(put(&user, "own/a").await.status, 200);
    assert_eq!(put(&user, "theirs").await.s3_code(), (403, "AccessDenied".into()));
    assert_eq!(server.row("select owner_id from storage.objects").await, [id]);
    assert_eq!(server.s3(&user, Method::GET, "/s3/files/own/a", &[], "").await.text(), "a");
    let stranger = Signer::user(&server, &server.user("00000000-0000-4000-8000-00000000000b"));
    let hidden = server.s3(&stranger, Method::GET, "/s3/files/own/a", &[], "").await;
    assert_eq!(hidden.s3_refusal(), (404, "NoSuchKey".into(), "Object not found".into()));
    // What may not be removed is said so, one by one.
    server.s3_put("/s3/files/kept", "a").await;
    let delete = "<Delete><Object><Key>kept</Key></Object><Object><Key>own/a</Key></Object></Delete>";
    let length = delete.len().to_string();
    let response =
        server.s3(&user, Method::POST, "/s3/files?delete=", &[("content-length", &length)], delete).await;
    assert!(response.text().contains("<Deleted><Key>own/a</Key></Deleted>"), "{}", response.text());
    assert_eq!(
        (response.element("Code"), response.element("Error").contains("kept")),
        ("AccessDenied".into(), true)
    );

    let forged = Signer::user(&server, "forged");
    assert_eq!(put(&forged, "own/a").await.s3_refusal().2, "Invalid Compact JWS");
    let misplaced = Signer { token: Some(token), ..Signer::service(&server) };
    assert_eq!(put(&misplaced, "own/a").await.s3_refusal().2, "Invalid Access Key");
}

#[tokio::test]
async fn a_presigned_address_is_good_for_what_it_says() {
    let (server, signer) = server().await;
    let path = "/s3/files/a%20b";
    let presigned =
        |method: Method, life: u64| format!("{path}?{}", signer.presigned(&method, path, life, &[]));
    let put = server.send_all(Method::PUT, &presigned(Method::PUT, 60), &[], "text").await;
    assert_eq!(put.status, 200, "{}", put.text());
    let address = presigned(Method::GET, 60);
    assert_eq!(server.send_all(Method::GET, &address, &[], "").await.text(), "text");
    assert_eq!(
        server.send_all(Method::DELETE, &address, &[], "").await.s3_code(),
        (403, "SignatureDoesNotMatch".into())
    );
    // A header that makes the request another one has to be signed.
    let copying = [("x-amz-copy-source".to_owned(), "secrets/a".to_owned())];
    let copy = server.send_all(Method::PUT, &presigned(Method::PUT, 60), &copying, "").await;
    assert_eq!(copy.s3_code(), (403, "AccessDenied".into()), "{}", copy.text());
    // A signature joins repeated headers by commas, and counts several spaces as one.
    for (signed, sent) in [("files/a b,c", &["files/a b", "c"][..]), ("files/a b", &["files/a  b"])] {
        let mut headers = signer.headers(&Method::PUT, path, &[("x-amz-copy-source", signed)], UNSIGNED);
        headers.retain(|(name, _)| name != "x-amz-copy-source");
        headers.extend(sent.iter().map(|value| ("x-amz-copy-source".to_owned(), (*value).to_owned())));
        let copy = server.send_all(Method::PUT, path, &headers, "").await;
        assert_eq!(copy.s3_code(), (403, "AccessDenied".into()), "{sent:?}: {}", copy.text());
    }
    let early = Signer { time: signer.time - time::Duration::minutes(2), ..signer.clone() };
    let query = early.presigned(&Method::GET, path, 60, &[]);
    let expired = server.send_all(Method::GET, &format!("{path}?{query}"), &[], "").await;
    assert_eq!(expired.s3_code(), (400, "ExpiredToken".into()));
    // Headers may be signed as parameters.
    let query = signer.presigned(&Method::PUT, path, 60, &[("x-amz-meta-color", "red")]);
    server.send_all(Method::PUT, &format!("{path}?{query}"), &[], "text").await;
    assert_eq!(server.row("select user_metadata->>'color' from storage.objects").await, ["red"]);
}

#[tokio::test]
async fn what_is_not_supported_is_never_taken_for_something_else() {
    let (server, signer) = server().await;
    server.s3_put("/s3/files/a", "kept").await;
    for (method, path, headers) in [
        (Method::PUT, "/s3/files/a?tagging=", &[][..]),
        (Method::DELETE, "/s3/files/a?tagging=", &[]),
        (Method::PUT, "/s3/files/a?acl=", &[]),
        (Method::PUT, "/s3/files/a?retention=", &[]),
        (Method::PUT, "/s3/files/a?renameObject=", &[]),
        (Method::PUT, "/s3/files/a?encryption=", &[]),
        (Method::PUT, "/s3/files/a?uploadId=u", &[]),
        (Method::PUT, "/s3/files/a?versionId=1", &[]),
        (Method::GET, "/s3/files/a?partNumber=2", &[]),
        (Method::POST, "/s3/files/a?restore=", &[]),
        (Method::PUT, "/s3/files/a", &[("x-amz-object-lock-mode", "GOVERNANCE")]),
        (Method::PUT, "/s3/files/a", &[("x-amz-server-side-encryption", "aws:kms")]),
        (Method::PUT, "/s3/files/a", &[("x-amz-tagging", "a=b")]),
        (Method::DELETE, "/s3/files?policy=", &[]),
        (Method::DELETE, "/s3/files?cors=", &[]),
        (Method::GET, "/s3/files/a?versions=", &[]),
        (Method::DELETE, "/s3/files?versions=", &[]),
        (Method::GET, "/s3/files?acl=", &[]),
    ] {
        let response = server.s3(&signer, method.clone(), path, headers, "").await;
        assert_eq!(
            response.s3_code(),
            (501, "NotImplemented".into()),
            "{method} {path}: {}",
            response.text()
        );
    }
    assert_eq!(server.s3(&signer, Method::GET, "/s3/files/a", &[], "").await.text(), "kept");
    // An object is one part.
    let part = server.s3(&signer, Method::GET, "/s3/files/a?partNumber=1", &[], "").await;
    assert_eq!((part.status.as_u16(), part.text()), (200, "kept".into()));
    let head = server.s3(&signer, Method::HEAD, "/s3/files/missing", &[], "").await;
    assert_eq!((head.status.as_u16(), head.body.len()), (404, 0));
}

#[tokio::test]
async fn numbers_and_documents_are_checked() {
    let (server, signer) = server().await;
    for (path, message) in [
        ("/s3/files?list-type=2&max-keys=many", "Querystring, max-keys must be integer"),
        ("/s3/files?list-type=2&max-keys=-1", "Querystring, max-keys must be &gt;= 0"),
        ("/s3/files?max-uploads=0&uploads=", "Querystring, max-uploads must be &gt;= 1"),
    ] {
        let response = server.s3(&signer, Method::GET, path, &[], "").await;
        assert_eq!(response.s3_refusal(), (400, "InvalidRequest".into(), message.into()), "{path}");
    }
    let body = "<Delete><Object>";
    let length = body.len().to_string();
    let response =
        server.s3(&signer, Method::POST, "/s3/files?delete=", &[("content-length", &length)], body).await;
    assert_eq!(response.s3_code(), (400, "MalformedXML".into()));
    for (key, status) in [("a%5Cb", 400), ("%FF", 400), ("..%2Fa", 400)] {
        let response = server.s3_put(&format!("/s3/files/{key}"), "a").await;
        assert_eq!(response.s3_code(), (status, "InvalidKey".into()), "{key}");
    }
    let long = server.s3_put(&format!("/s3/files/{}", "k".repeat(1025)), "a").await;
    assert_eq!(long.s3_code(), (400, "InvalidKey".into()));
    let longest = server.s3_put(&format!("/s3/files/{}", "k".repeat(1024)), "a").await;
    assert_eq!(longest.status, 200, "{}", longest.text());
    let nowhere = server.s3_put("/s3/nowhere/a", "a").await;
    assert_eq!(nowhere.s3_refusal(), (404, "NoSuchBucket".into(), "Bucket not found".into()));
}

#[tokio::test]
async fn limits_and_types_of_buckets_apply() {
    let (server, signer) = server().await;
    let limits = serde_json::json!({ "file_size_limit": 5, "allowed_mime_types": ["text/*"] });
    server.json(Method::PUT, "/bucket/files", &limits).await;
    let put = async |kind: &str, body: &str| {
        let length = body.len().to_string();
        let headers = [("content-length", &*length), ("content-type", kind)];
        server.s3(&signer, Method::PUT, "/s3/files/a", &headers, body.to_owned()).await.s3_code()
    };
    assert_eq!(put("text/plain", "12345").await.0, 200);
    assert_eq!(put("text/plain", "123456").await, (413, "EntityTooLarge".into()));
    assert_eq!(put("image/png", "1").await, (415, "InvalidMimeType".into()));
    // A body whose length nobody says is counted.
    let chunks = futures_util::stream::iter((0..9).map(|_| Ok::<_, std::io::Error>("1".to_owned())));
    let headers = [("content-type", "text/plain")];
    let body = Body::from_bytes_stream(chunks);
    let response = server.s3(&signer, Method::PUT, "/s3/files/b", &headers, body).await;
    assert_eq!(response.s3_code(), (413, "EntityTooLarge".into()));
    assert_eq!(server.stored_files(), 1);
}

#[tokio::test]
async fn a_wrong_hash_leaves_nothing() {
    let (server, signer) = server().await;
    let body = "abc";
    let put = async |headers: &[(&str, &str)], payload: &str| {
        let mut all = vec![("content-length", "3")];
        all.extend_from_slice(headers);
        let signed = signer.headers(&Method::PUT, "/s3/files/a", &all, payload);
        server.send_all(Method::PUT, "/s3/files/a", &signed, body).await
    };
    for (headers, payload, code) in [
        (&[][..], sha256(b"abd"), "XAmzContentSHA256Mismatch"),
        (&[("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], UNSIGNED.to_owned(), "BadDigest"),
        (&[("content-md5", "short")], UNSIGNED.to_owned(), "InvalidDigest"),
        (&[("x-amz-checksum-crc32", "AAAAAA==")], UNSIGNED.to_owned(), "BadDigest"),
        (&[("x-amz-checksum-crc32c", "AAAAAA==")], UNSIGNED.to_owned(), "BadDigest"),
        (&[("x-amz-checksum-crc64nvme", "AAAAAAAAAAA=")], UNSIGNED.to_owned(), "BadDigest"),
        (&[("x-amz-checksum-sha1", "AAAA")], UNSIGNED.to_owned(), "BadDigest"),
        (&[("x-amz-checksum-sha256", "AAAA")], UNSIGNED.to_owned(), "BadDigest"),
    ] {
        let response = put(headers, &payload).await;
        assert_eq!(response.s3_code(), (400, code.into()), "{headers:?}");
    }
    assert_eq!(server.stored_files(), 0);
    let count = server.row("select count(*)::text from storage.objects").await;
    assert_eq!(count, ["0"]);
    for (headers, payload) in [
        (&[][..], sha256(b"abc")),
        (&[("content-md5", "kAFQmDzST7DWlj99KOF/cg==")], UNSIGNED.to_owned()),
        (&[("x-amz-checksum-crc32", "NSRBwg==")], UNSIGNED.to_owned()),
        (&[("x-amz-checksum-crc32c", "Nks/tw==")], UNSIGNED.to_owned()),
        (&[("x-amz-checksum-sha1", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=")], UNSIGNED.to_owned()),
        (&[("x-amz-checksum-sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")], UNSIGNED.to_owned()),
    ] {
        let response = put(headers, &payload).await;
        assert_eq!(response.status, 200, "{headers:?} {}", response.text());
        assert_eq!(response.header("etag"), "\"900150983cd24fb0d6963f7d28e17f72\"");
    }
}

#[tokio::test]
async fn trailers_are_demanded_and_compared() {
    let (server, signer) = server().await;
    let put = async |trailer: &str, decoded: &str| {
        let body = format!("3\r\nabc\r\n0\r\n{trailer}\r\n");
        let headers = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", decoded),
            ("x-amz-trailer", "x-amz-checksum-crc32"),
        ];
        let payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
        let signed = signer.headers(&Method::PUT, "/s3/files/a", &headers, payload);
        server.send_all(Method::PUT, "/s3/files/a", &signed, body).await
    };
    let right = "x-amz-checksum-crc32:NSRBwg==\r\n";
    for (trailer, decoded, code) in [
        ("", "3", "MalformedTrailerError"),
        ("x-amz-checksum-crc32:AAAAAA==\r\n", "3", "BadDigest"),
        (right, "4", "IncompleteBody"),
        (right, "2", "IncompleteBody"),
        (right, "many", "MissingContentLength"),
    ] {
        assert_eq!(put(trailer, decoded).await.s3_code(), (400, code.into()), "{trailer:?} {decoded}");
    }
    assert_eq!(server.stored_files(), 0);
    assert_eq!(put(right, "3").await.status, 200);
    assert_eq!(server.row("select metadata->>'size' from storage.objects").await, ["3"]);
}

#[tokio::test]
async fn a_part_and_an_unchanged_object_have_their_status() {
    let (server, signer) = server().await;
    let tag = server.s3_put("/s3/files/a", "0123456789").await.header("etag").to_owned();
    for (method, size) in [(Method::GET, 3), (Method::HEAD, 0)] {
        let read = async |headers: &[(&str, &str)]| {
            server.s3(&signer, method.clone(), "/s3/files/a", headers, "").await
        };
        let part = read(&[("range", "bytes=2-4")]).await;
        assert_eq!((part.status.as_u16(), part.body.len()), (206, size), "{method}");
        assert_eq!((part.header("content-range"), part.header("content-length")), ("bytes 2-4/10", "3"));
        let beyond = read(&[("range", "bytes=10-")]).await;
        assert_eq!((beyond.status.as_u16(), beyond.header("content-range")), (416, "bytes */10"));
        if method == Method::GET {
            assert_eq!(beyond.element("Error").split("<Code>").next(), Some("<Resource>files/a</Resource>"));
            assert_eq!(beyond.element("Code"), "InvalidRange");
        }
        for ignored in ["items=0-1", "bytes=x", "bytes=3-1", "bytes=0-1,3-4"] {
            let whole = read(&[("range", ignored)]).await;
            assert_eq!((whole.status.as_u16(), whole.header("content-length")), (200, "10"), "{ignored}");
            assert_eq!(whole.header("content-range"), "", "{ignored}");
        }
        for (known, status) in [(&*tag, 206), ("\"other\"", 200)] {
            assert_eq!(read(&[("if-range", known), ("range", "bytes=2-4")]).await.status.as_u16(), status);
        }
        let same = read(&[("if-none-match", &tag)]).await;
        assert_eq!((same.status.as_u16(), same.header("etag"), same.body.len()), (304, &*tag, 0));
        assert_eq!(read(&[("if-match", "\"other\"")]).await.status.as_u16(), 412);
        assert_eq!(read(&[]).await.header("content-length"), "10");
    }
}

#[tokio::test]
async fn pages_that_could_run_scripts_are_confined() {
    let (server, signer) = server().await;
    let headers = [("content-length", "4"), ("content-type", "text/html")];
    server.s3(&signer, Method::PUT, "/s3/files/a", &headers, "<b/>").await;
    let response = server.s3(&signer, Method::GET, "/s3/files/a", &[], "").await;
    assert_eq!(response.header("content-type"), "text/html", "S3 clients want back what they sent");
    assert!(response.header("content-security-policy").contains("sandbox"));
    server.s3_put("/s3/files/b", "<b/>").await;
    let path = format!("/s3/files/b?response-content-type={}", encode("image/svg+xml"));
    let response = server.s3(&signer, Method::GET, &path, &[], "").await;
    assert_eq!(response.header("content-type"), "image/svg+xml");
    assert!(response.header("content-security-policy").contains("sandbox"));
}

#[tokio::test]
async fn a_switched_off_protocol_is_no_route() {
    let server = Server::start_with(|settings| settings.s3_enabled = false).await;
    assert_eq!(server.get("/s3/").await.status, 404);
}
