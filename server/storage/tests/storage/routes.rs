//! Which route a path reaches: paths are matched before they are decoded, each method has its own, and some slashes
//! count for nothing.

use poem::http::Method;

use crate::support::{Response, Server};

const NOT_FOUND: &str = "Route ";
const NO_KEY: &str = "Invalid key: \"";
const NO_BUCKET: &str = "Bucket not found";
const NO_OBJECT: &str = "Object not found";
/// What routes say that want a body, a token of a signed URL or a header.
const LISTS: &str = "body must have required property 'prefix'";
const REMOVES: &str = "body must have required property 'prefixes'";
const RELOCATES: &str = "body must have required property 'bucketId'";
const SIGNS: &str = "body must have required property 'expiresIn'";
const CREATES: &str = "body must have required property 'name'";
const WANTS_TOKEN: &str = "querystring must have required property 'token'";
const HIDDEN: &str = "Invalid Compact JWS";

async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("files", true).await;
    let service = server.service_role().to_owned();
    server.upload(&service, "files/a.txt", &[("content-type", "text/plain")], b"hello").await;
    server
}

/// Sends a JSON object as the service role, as a client of resumable uploads does.
async fn ask(server: &Server, method: &str, path: &str) -> Response {
    let authorization = format!("Bearer {}", server.service_role());
    let headers = [
        ("authorization", &*authorization),
        ("content-type", "application/json"),
        ("tus-resumable", "1.0.0"),
        ("host", "api.example.org"),
    ];
    server.send(Method::from_bytes(method.as_bytes()).unwrap(), path, &headers, "{}").await
}

/// Checks that each request gets these words.
async fn check(server: &Server, rows: &[(&str, &[&str], &str)]) {
    for (method, paths, words) in rows {
        for path in *paths {
            let response = ask(server, method, path).await;
            let text = response.text();
            assert!(text.contains(words), "{method} {path} does not get {words}, but {text}");
            if *words == NOT_FOUND {
                let message = format!("Route {method}:{path} not found");
                let words = ["404", "Not Found", &message, "InvalidRequest"].map(str::to_owned);
                assert_eq!(response.refusal(), (404, words));
                assert_eq!(response.header("cache-control"), "no-store");
            }
        }
    }
}

#[tokio::test]
async fn reads_have_their_routes() {
    let server = server().await;
    check(
        &server,
        &[
            (
                "GET",
                &[
                    "/object/files/a.txt",
                    "//object/files/a.txt",
                    "/object/%66iles/a%2Etxt",
                    "/object/public/files/a.txt",
                    "///object/public/files/a.txt",
                    "/object/authenticated/files/a.txt",
                ],
                "hello",
            ),
            (
                "GET",
                &[
                    "/object/info/files/a.txt",
                    "/object/info/public/files/a.txt",
                    "/object/info/authenticated/files/a.txt",
                ],
                "\"name\":\"a.txt\"",
            ),
            (
                "GET",
                &[
                    "/object",
                    "/object/",
                    "/object/files",
                    "/object/files/",
                    "/object/files%2Fa.txt",
                    "/object/public",
                    "/object/public/",
                    "/object/public/files",
                    "/object/authenticated",
                    "/object/info",
                    "/object/info/",
                    "/object/info/public",
                    "/object/list",
                    "/object/move/",
                ],
                NO_KEY,
            ),
            (
                "GET",
                &[
                    "/object//files/a.txt",
                    "/object/public//files/a.txt",
                    "/object/publi%63/files/a.txt",
                    "/object/publicly/a.txt",
                    "/object/list/files",
                    "/object/upload/sign/files/a.txt",
                ],
                NO_BUCKET,
            ),
            ("GET", &["/object/files//", "/object/files/a.txt/", "/object/files//a.txt"], NO_OBJECT),
            ("GET", &["/object/sign", "/object/sign/", "/object/sign/files/a.txt"], WANTS_TOKEN),
            ("GET", &["/object/sign/files/a.txt?token=x", "/render/image/sign/files/a.txt?token=x"], HIDDEN),
            (
                "GET",
                &["/render/image/public/", "/render/image/authenticated/", "/render/image/public/files"],
                NO_KEY,
            ),
            (
                "GET",
                &["/render/image/public/files/a.txt"],
                "The source image is invalid or unsupported for rendering",
            ),
            ("GET", &["/render/image/sign/"], WANTS_TOKEN),
            (
                "GET",
                &[
                    "/render",
                    "/render/image",
                    "/render/image/",
                    "/render/image/public",
                    "/render/image/sign",
                    "/render/image//public/files/a.txt",
                    "/render/image/else/files/a.txt",
                    "/render/else/public/files/a.txt",
                ],
                NOT_FOUND,
            ),
            ("GET", &["/bucket", "/bucket/", "//bucket/", "/bucket//"], "[{\"id\":\"files\""),
            ("GET", &["/bucket/files", "/bucket/files/", "/bucket/fil%65s"], "{\"id\":\"files\""),
            ("GET", &["/bucket/a%2Fb", "/bucket/none/lifecycle", "/bucket//lifecycle"], NO_BUCKET),
            (
                "GET",
                &["/bucket/files//", "/bucket/files/empty", "/bucket/files/lifecycle/", "/bucket/files/else"],
                NOT_FOUND,
            ),
            ("GET", &["/version", "/version/", "//version"], "1.69.2"),
            ("GET", &["/status//", "/status/x", "/version/x", "/versions", "/cdn/files"], NOT_FOUND),
            (
                "GET",
                &[
                    "/",
                    "//",
                    "*",
                    "/nonsense/x?y=z",
                    "/obj%65ct/files/a.txt",
                    "/objects/a",
                    "/upload",
                    "/upload/x",
                ],
                NOT_FOUND,
            ),
        ],
    )
    .await;
    for path in ["/status", "/status/", "//status"] {
        assert_eq!((ask(&server, "GET", path).await.status.as_u16(), path), (200, path));
    }
    let head = ask(&server, "HEAD", "/object/files/a.txt").await;
    assert_eq!((head.status.as_u16(), head.header("content-length"), head.text().as_str()), (200, "5", ""));
    let unknown = ask(&server, "HEAD", "/nonsense").await;
    assert_eq!((unknown.status.as_u16(), unknown.text().as_str()), (404, ""));
}

#[tokio::test]
async fn writes_have_their_routes() {
    let server = server().await;
    check(
        &server,
        &[
            ("POST", &["/object", "/object/", "/object/files", "/object/upload", "/object/public"], NO_KEY),
            ("PUT", &["/object", "/object/files/", "/object/move", "/object/list", "/object/sign"], NO_KEY),
            (
                "POST",
                &[
                    "/object//files/b",
                    "/object/public/b",
                    "/object/move//",
                    "/object/copy/x",
                    "/object/upload/sign",
                ],
                NO_BUCKET,
            ),
            ("PUT", &["/object/list/files", "/object/sign/files", "/object/upload//sign/x"], NO_BUCKET),
            ("POST", &["/object/files/a.txt", "//object/files/a%2Etxt"], "The resource already exists"),
            ("POST", &["/object/list", "/object/list/", "/object/list/files", "/object/list/files/x"], LISTS),
            (
                "POST",
                &["/object/list-v2", "/object/list-v2/files", "/object/list-v2/files/x"],
                "\"hasNext\":false",
            ),
            ("POST", &["/object/listing/files"], NO_BUCKET),
            ("POST", &["/object/move", "/object/move/", "/object/copy", "/object/copy/"], RELOCATES),
            (
                "POST",
                &["/object/sign", "/object/sign/", "/object/sign/files", "/object/sign/files/a.txt"],
                SIGNS,
            ),
            ("POST", &["/object/upload/sign/", "/object/upload/sign/files"], NO_KEY),
            ("POST", &["/object/upload/sign/files/b.txt"], "/object/upload/sign/files/b.txt?token="),
            ("PUT", &["/object/upload/sign/", "/object/upload/sign/files/b.txt"], WANTS_TOKEN),
            (
                "DELETE",
                &["/object", "/object/", "/object//", "/object/files", "/object/files/", "/object/list"],
                REMOVES,
            ),
            ("DELETE", &["/object/files/b.txt", "/object//files", "/object/public/files"], NO_OBJECT),
            ("DELETE", &["/object/files/%FF"], "Invalid key: %FF"),
            ("POST", &["/bucket", "/bucket/", "/bucket//"], CREATES),
            ("POST", &["/bucket/none/empty", "/bucket//empty"], NO_BUCKET),
            ("PUT", &["/bucket/none", "/bucket/none/"], "No content provided"),
            ("PUT", &["/bucket/none/lifecycle"], "rules must be an array"),
            ("DELETE", &["/bucket/none", "/bucket/none/", "/bucket/none/lifecycle"], NO_BUCKET),
            ("POST", &["/bucket/none", "/bucket/none/empty/", "/bucket/none/lifecycle"], NOT_FOUND),
            ("PUT", &["/bucket", "/bucket/", "/bucket//", "/bucket/none/empty"], NOT_FOUND),
            ("DELETE", &["/bucket", "/bucket/", "/bucket//", "/bucket/none//"], NOT_FOUND),
            // The bucket's name is read first.
            ("PATCH", &["/bucket/%FF", "/bucket/%FF/else"], "Invalid key: %FF"),
            ("DELETE", &["/cdn", "/cdn/", "/cdn/files", "//cdn/files/a.txt"], "success"),
            ("DELETE", &["/cdns", "/status", "/version"], NOT_FOUND),
            ("POST", &["/status", "/version/", "/cdn/files", "/render/image/public/files/a.txt"], NOT_FOUND),
            ("PATCH", &["/object/files/a.txt", "/bucket/files", "/status", "/nonsense"], NOT_FOUND),
            ("PURGE", &["/object/files/a.txt", "/bucket", "/cdn/files"], NOT_FOUND),
        ],
    )
    .await;
}

#[tokio::test]
async fn protocols_have_their_routes() {
    let server = server().await;
    let id = "7f3d3a52-9d9e-4c71-8b4e-6a2f1f2f8a11";
    let uploads = [
        format!("/upload/resumable/{id}"),
        format!("/upload/resumable//{id}/"),
        format!("/upload/resumable/{id}/x"),
        "//upload/resumable/x".to_owned(),
        "/upload/resumable/".to_owned(),
        "/upload/resumable".to_owned(),
    ];
    let uploads: Vec<&str> = uploads.iter().map(String::as_str).collect();
    let gone = "The file for this url was not found";
    check(
        &server,
        &[
            ("GET", &uploads, gone),
            ("DELETE", &uploads, gone),
            ("PATCH", &uploads, "Upload-Offset header required"),
            ("POST", &uploads[..4], "Not found"),
            ("POST", &uploads[4..], "Metadata header is required"),
            ("POST", &["/upload/resumable//", "//upload/resumable"], "Metadata header is required"),
            (
                "POST",
                &["/upload/resumable/sign", "/upload/resumable/sign//", "/upload/resumable//sign/"],
                "Missing x-signature header",
            ),
            (
                "POST",
                &["/upload/resumable/sign/x", "/upload/resumable/signs", "/upload/resumable/sig%6E"],
                "Not found",
            ),
            (
                "GET",
                &["/upload/resumable/sign", "/upload/resumable/sign/x", "/upload/resumable//sign//x/"],
                "Missing x-signature header",
            ),
            ("GET", &["/upload/resumable/signs", "/upload/resumable/sig%6E/x"], gone),
            ("PUT", &["/upload/resumable", "/upload/resumable/x", "/upload/resumable/sign/x"], "Not found"),
            ("PURGE", &["/upload/resumable", "/upload/resumable/x"], "Not found"),
            ("GET", &["/upload//resumable", "/upload/resumables"], NOT_FOUND),
            ("GET", &["/s3", "/s3/", "//s3", "/s3/files", "/s3/files/a.txt"], "Missing signature"),
            ("PATCH", &["/s3", "/s3/files//a.txt"], "<Code>AccessDenied</Code>"),
            ("GET", &["/s3/files//a.txt"], "<Resource>files//a.txt</Resource>"),
            ("PURGE", &["/s3/%FF"], "<Code>InvalidKey</Code>"),
            ("GET", &["/s3x", "/S3/files"], NOT_FOUND),
            ("POST", &["/vector/Nonsense", "/vector", "/vector/", "/vector//ListVectorBuckets"], NOT_FOUND),
            ("POST", &["/vector/ListVectorBuckets/", "/vector/ListVector%42uckets", "/vectors/x"], NOT_FOUND),
            ("GET", &["/vector/ListVectorBuckets"], NOT_FOUND),
            (
                "POST",
                &["/vector/GetIndex", "//vector/GetIndex"],
                "body must have required property 'indexName'",
            ),
        ],
    )
    .await;
    for path in ["/upload/resumable", "/upload/resumable/x", "/upload/resumable/sign/x"] {
        let options = ask(&server, "OPTIONS", path).await;
        assert_eq!((options.status.as_u16(), options.header("tus-version")), (204, "1.0.0"), "{path}");
        let versionless = server.get(path).await;
        let found = (versionless.status.as_u16(), versionless.header("tus-resumable"));
        assert_eq!(found, (412, "1.0.0"), "{path}");
    }
}

#[tokio::test]
async fn what_is_switched_off_has_no_routes() {
    let server = Server::start_with(|settings| {
        settings.s3_enabled = false;
        settings.vectors_enabled = false;
        settings.image_transformation = false;
    })
    .await;
    check(
        &server,
        &[
            (
                "GET",
                &["/s3", "/s3/files/a.txt", "/render/image/public/files/a.txt", "/render/image/sign/x"],
                NOT_FOUND,
            ),
            ("POST", &["/vector/ListVectorBuckets"], NOT_FOUND),
        ],
    )
    .await;
}

#[tokio::test]
async fn only_open_reads_go_to_the_origin_of_objects() {
    let origin = "https://files.example.org";
    for has_pictures in [true, false] {
        let server = Server::start_with(|settings| {
            settings.origin = Some(origin.to_owned());
            settings.image_transformation = has_pictures;
        })
        .await;
        let host = [("host", "api.example.org")];
        for path in [
            "/object/public/a/b",
            "/object/public",
            "//object/public/a/b",
            "/object/sign/a/b?token=x",
            "/object/a/b",
            "/object/",
            "/render/image/public/a/b?width=2",
            "/render/image/sign/a/b?token=x",
        ] {
            let response = server.ask(Method::GET, path, &host).await;
            assert_eq!(
                (response.status.as_u16(), response.header("location")),
                (307, &*format!("{origin}{path}"))
            );
        }
        for path in [
            "/object",
            "/object/authenticated/a/b",
            "/object/info/public/a/b",
            "/bucket/a",
            "/s3/a/b",
            "/render/image/authenticated/a/b",
            "/render/image/public",
            "/nonsense",
        ] {
            let response = server.ask(Method::GET, path, &host).await;
            assert_eq!((response.status.as_u16() == 307, path), (false, path));
        }
        assert_ne!(server.ask(Method::POST, "/object/sign/a/b", &host).await.status.as_u16(), 307);
    }
}
