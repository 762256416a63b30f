//! Tests of the responses that a browser receives.

use poem::http::{StatusCode, Uri};
use poem::{Endpoint, Request, Response};

use super::{Server, Settings, Site};

const PAGE: &str = "<html><script id=\"basalt-config\" type=\"application/json\">{}</script></html>";

struct BuiltSite {
    site: Site,
    folder: tempfile::TempDir,
}

fn built() -> BuiltSite {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("assets")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("index.html", PAGE.as_bytes());
    write("assets/app-1a2b.js", b"identity");
    write("assets/app-1a2b.js.br", b"brotli");
    write("assets/app-1a2b.js.gz", b"gzip");
    write("favicon.ico", b"icon");
    let settings = Settings {
        enabled: true,
        path: Some(folder.path().to_owned()),
        routes: vec!["/".to_owned(), "/about".to_owned()],
        ..Settings::default()
    };
    let server = Server {
        url: None,
        storage_origin: None,
        key: "public-key".to_owned(),
        has_channels: false,
        has_images: true,
        api: None,
    };
    let site = Site::open(settings, server).unwrap();
    BuiltSite { site, folder }
}

async fn get(built: &BuiltSite, path: &'static str, headers: &[(&'static str, &str)]) -> Response {
    let mut request = Request::builder().uri(Uri::from_static(path)).header("host", "site.example:8080");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    built.site.get_response(request.finish()).await
}

async fn text(response: Response) -> String {
    response.into_body().into_string().await.unwrap()
}

#[tokio::test]
async fn the_page_knows_where_its_api_is() {
    let response = get(&built(), "/", &[]).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    assert!(response.header("content-security-policy").unwrap().contains("default-src 'none'"));
    assert_eq!(response.header("strict-transport-security"), None);
    let page = text(response).await;
    assert!(
        page.contains(
            "{\"url\":\"http://site.example:8080\",\"key\":\"public-key\",\"channels\":false,\"images\":true}"
        ),
        "{page}"
    );
}

#[tokio::test]
async fn unknown_paths_get_the_page_with_status_404() {
    let built = built();
    for (path, status) in
        [("/about", StatusCode::OK), ("/about/", StatusCode::OK), ("/nowhere", StatusCode::NOT_FOUND)]
    {
        let response = get(&built, path, &[]).await;
        assert_eq!(response.status(), status, "{path}");
        assert!(text(response).await.contains("basalt-config"));
    }
    let missing = get(&built, "/assets/gone.js", &[]).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert!(!text(missing).await.contains("<html"));
}

#[tokio::test]
async fn hashed_files_are_kept_for_ever_and_compressed_as_accepted() {
    let built = built();
    for (accepted, encoding, body) in
        [("gzip, br", Some("br"), "brotli"), ("gzip", Some("gzip"), "gzip"), ("zstd", None, "identity")]
    {
        let response = get(&built, "/assets/app-1a2b.js", &[("accept-encoding", accepted)]).await;
        assert_eq!(response.header("content-encoding"), encoding);
        assert_eq!(response.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(response.header("content-type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        assert_eq!(text(response).await, body);
    }
}

#[tokio::test]
async fn a_fresh_copy_is_not_sent_a_second_time() {
    let built = built();
    for path in ["/", "/favicon.ico"] {
        let etag = get(&built, path, &[]).await.header("etag").unwrap().to_owned();
        let revalidated = get(&built, path, &[("if-none-match", &etag)]).await;
        assert_eq!(revalidated.status(), StatusCode::NOT_MODIFIED, "{path}");
        assert_eq!(text(revalidated).await, "");
    }
}

#[tokio::test]
async fn files_outside_of_the_folder_cannot_be_read() {
    let built = built();
    for path in ["/../Cargo.toml", "/..%2fCargo.toml", "/assets/../index.html"] {
        let body = text(get(&built, path, &[]).await).await;
        assert!(!body.contains("[package]"), "{path}");
    }
}

#[tokio::test]
async fn the_compressed_page_is_the_same_page() {
    let built = built();
    let plain = text(get(&built, "/", &[]).await).await;
    let response = get(&built, "/", &[("accept-encoding", "gzip")]).await;
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    let bytes = response.into_body().into_bytes().await.unwrap();
    let mut unpacked = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*bytes), &mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
}

#[test]
fn the_folders_of_scripts_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "assets/a.js",
        "static/js/b.js",
        "sw.js",
        "fonts/c.woff2",
        "storage/d.js",
        ".vite/e.js",
        "index.html",
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    // What users have uploaded is below `/storage/`.
    assert_eq!(super::Assets::choose(Some(folder.path())).code_paths(), ["/assets/", "/static/", "/sw.js"]);
}

/// Writes a description of one page's head next to the page, and the marks into the page.
fn describe(built: &BuiltSite, description: &str) {
    let write = |name: &str, text: &str| std::fs::write(built.folder.path().join(name), text).unwrap();
    write(".heads.json", description);
    let page = PAGE.replace("<script", "<!--head--><title>plain</title><!--/head--><script");
    write("index.html", &page.replace("</html>", "<div><!--screen--></div></html>"));
}

const DESCRIPTION: &str = r#"{
    "queries": {}, "pages": {"/": {"title": "{{origin}} & co", "elements": [], "isListed": true,
        "screen": "<h1>{{origin}}</h1>"}},
    "notFound": {"title": "Gone", "elements": [], "isListed": false},
    "documents": {"/app.webmanifest": {"type": "application/manifest+json", "body": {"start_url": "{{origin}}/"}}}
}"#;

#[tokio::test]
async fn each_page_has_its_own_head() {
    let built = built();
    describe(&built, DESCRIPTION);
    let page = text(get(&built, "/", &[]).await).await;
    assert!(page.contains("<html><title>http://site.example:8080 &amp; co</title><script"), "{page}");
    assert!(page.contains("<div><h1>http://site.example:8080</h1></div>"), "{page}");
    // The description lists the pages; the setting `routes` is for clients without a description.
    let gone = get(&built, "/about", &[]).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    let gone = text(gone).await;
    assert!(gone.contains("<title>Gone</title>") && gone.contains("<div></div>"), "{gone}");
    assert_eq!(get(&built, "/.heads.json", &[]).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn files_for_machines_are_generated_and_revalidated() {
    let built = built();
    describe(&built, DESCRIPTION);
    let manifest = get(&built, "/app.webmanifest", &[]).await;
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
    let etag = manifest.header("etag").unwrap().to_owned();
    assert_eq!(text(manifest).await, "{\"start_url\":\"http://site.example:8080/\"}");
    let revalidated = get(&built, "/app.webmanifest", &[("if-none-match", &etag)]).await;
    assert_eq!(revalidated.status(), StatusCode::NOT_MODIFIED);
    let robots = text(get(&built, "/robots.txt", &[]).await).await;
    assert!(robots.ends_with("Sitemap: http://site.example:8080/sitemap.xml\n"), "{robots}");
}

#[tokio::test]
async fn an_invalid_description_leaves_the_page_unchanged() {
    let built = built();
    describe(&built, "{");
    let page = get(&built, "/about", &[]).await;
    assert_eq!(page.status(), StatusCode::OK);
    assert!(text(page).await.contains("<title>plain</title>"));
}

#[test]
fn a_missing_build_is_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = Some(folder.path().to_owned());
    let error = super::check(&Settings { enabled: true, path, ..Settings::default() });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("npm run build"), "{error}");
}
