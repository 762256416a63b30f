//! The inbox: its page, its API, and who may open it.

use super::*;

const MAIL: &str = "From: Row <club@row.example>\r\nTo: ann@row.example\r\nSubject: Your sign-in link\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <1@row.example>\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSign in: https://a.example\r\n\
    --b\r\nContent-Type: text/html\r\n\r\n<html><head></head><body><a href=\"https://a.example\">Sign in</a></body></html>\r\n--b--\r\n";

struct Fixture {
    inbox: Inbox,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { inbox: Inbox::new(folder.path().join("mail")), folder }
    }

    fn put(&self, to: &str) -> String {
        let id = uuid::Uuid::now_v7().to_string();
        std::fs::create_dir_all(self.folder.path().join("mail")).unwrap();
        let mail = MAIL.replace("ann@row.example", to);
        std::fs::write(self.folder.path().join(format!("mail/{id}.eml")), mail).unwrap();
        id
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &'static str,
    ) -> Response {
        let mut request = Request::builder().method(method).uri_str(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.inbox.call(request.body(body)).await.unwrap()
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.send(Method::GET, path, &[("host", "127.0.0.1:54324")], "").await;
        (response.status(), response.into_body().into_string().await.unwrap())
    }

    async fn document(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).await.1).unwrap()
    }
}

#[tokio::test]
async fn mails_are_listed_newest_first_and_found() {
    let fixture = Fixture::new();
    assert_eq!(fixture.document("/api/v1/messages").await["total"], 0);
    let (_, second) = (fixture.put("ann@row.example"), fixture.put("bob@row.example"));
    let list = fixture.document("/api/v1/messages").await;
    assert_eq!((&list["total"], &list["messages"][0]["ID"]), (&json!(2), &json!(second)));
    let first = &list["messages"][1];
    assert_eq!(first["To"], json!([{ "Name": "", "Address": "ann@row.example" }]));
    assert_eq!(first["From"], json!({ "Name": "Row", "Address": "club@row.example" }));
    assert_eq!(first["Subject"], "Your sign-in link");
    assert_eq!(first["Snippet"], "Sign in: https://a.example");
    assert_eq!(first["Created"], "2026-11-21T12:00:00Z");
    let found = fixture.document("/api/v1/search?query=to:bob@row.example%20subject:link").await;
    assert_eq!((&found["messages_count"], &found["messages"][0]["ID"]), (&json!(1), &json!(second)));
    assert_eq!(fixture.document("/api/v1/messages?start=1&limit=1").await["messages"][0], *first);
}

#[tokio::test]
async fn a_mail_is_read_as_json_text_page_and_source() {
    let fixture = Fixture::new();
    let id = fixture.put("ann@row.example");
    for id in [id.as_str(), "latest"] {
        let mail = fixture.document(&format!("/api/v1/message/{id}")).await;
        assert_eq!(mail["Text"].as_str().unwrap().trim(), "Sign in: https://a.example");
        assert!(mail["HTML"].as_str().unwrap().contains("<a href=\"https://a.example\">"));
        let (_, html) = fixture.get(&format!("/view/{id}.html")).await;
        assert!(html.contains("<base target=\"_blank\">"));
        assert!(fixture.get(&format!("/view/{id}.txt")).await.1.starts_with("Sign in"));
        assert!(fixture.get(&format!("/api/v1/message/{id}/raw")).await.1.starts_with("From: Row"));
    }
    let page = fixture.send(Method::GET, "/view/latest.html", &[("host", "localhost")], "").await;
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(
        policy.starts_with("sandbox ")
            && !policy.contains("script-src")
            && policy.contains("default-src 'none'")
    );
}

#[tokio::test]
async fn mails_are_deleted_one_by_one_or_all() {
    let fixture = Fixture::new();
    let (one, _, _) = (fixture.put("a@x.example"), fixture.put("b@x.example"), fixture.put("c@x.example"));
    let host = [("host", "localhost:54324")];
    let body: &'static str = Box::leak(json!({ "IDs": [one] }).to_string().into_boxed_str());
    assert_eq!(fixture.send(Method::DELETE, "/api/v1/messages", &host, body).await.status(), 200);
    assert_eq!(fixture.document("/api/v1/messages").await["total"], 2);
    assert_eq!(fixture.send(Method::DELETE, "/api/v1/messages", &host, "{").await.status(), 400);
    assert_eq!(fixture.send(Method::DELETE, "/api/v1/messages", &host, "").await.status(), 200);
    assert_eq!(fixture.document("/api/v1/messages").await["total"], 0);
}

#[tokio::test]
async fn strangers_and_proxies_get_nothing() {
    let fixture = Fixture::new();
    fixture.put("ann@row.example");
    for headers in [
        &[("host", "evil.example:54324")][..],
        &[("host", "127.0.0.1.evil.example")],
        &[("host", "192.168.1.5:54324")],
        &[],
        &[("host", "127.0.0.1:54324"), ("x-forwarded-for", "127.0.0.1")],
        &[("host", "127.0.0.1:54324"), ("forwarded", "for=127.0.0.1")],
        &[("host", "127.0.0.1:54324"), ("via", "1.1 proxy")],
    ] {
        for path in ["/", "/api/v1/messages", "/api/v1/message/latest", "/view/latest.html"] {
            let response = fixture.send(Method::GET, path, headers, "").await;
            assert_eq!(response.status(), 403, "{headers:?} {path}");
            assert!(!response.into_body().into_string().await.unwrap().contains("a.example"));
        }
    }
    for host in ["127.0.0.1:54324", "localhost", "[::1]:54324", "[::1]"] {
        assert_eq!(fixture.send(Method::GET, "/", &[("host", host)], "").await.status(), 200, "{host}");
    }
}

#[tokio::test]
async fn an_id_is_no_path() {
    let fixture = Fixture::new();
    fixture.put("ann@row.example");
    std::fs::write(fixture.folder.path().join("secret.eml"), "secret").unwrap();
    for id in ["..%2Fsecret", "../secret", "secret", "%2e%2e/secret", "", "latest.eml"] {
        for path in
            [format!("/api/v1/message/{id}"), format!("/view/{id}.txt"), format!("/api/v1/message/{id}/raw")]
        {
            let (status, body) = fixture.get(&path).await;
            assert!(status == 404 && !body.contains("secret\n"), "{path}: {status}");
        }
    }
}
