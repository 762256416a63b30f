//! Links that administrators hand over themselves.

use auth::{MailSettings, Settings};
use http::Method;
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Response, Server};

const ADA: &str = "ada@example.com";

async fn link(server: &Server, body: Value) -> Response {
    server.administer(Method::POST, "/admin/generate_link", body).await
}

/// Follows the link as a browser does; returns where it leads.
async fn follow(server: &Server, response: &Response) -> String {
    let url = response.text("action_link");
    let path = url.strip_prefix(&Settings::default().external_url).unwrap();
    let response = server.get(path).await;
    assert_eq!(response.status, 303, "{}", response.body);
    response.headers["location"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_magic_link_for_somebody_unknown_is_a_sign_up() {
    let mut settings = Settings::default();
    // A password that nobody has chosen keeps to no rules.
    settings.passwords.required_characters = auth::CharacterSets(vec!["!".to_owned()]);
    let server = Server::with(settings).await;
    let response = link(&server, json!({ "type": "magiclink", "email": ADA })).await;
    assert_eq!((response.status.as_u16(), response.text("verification_type")), (200, "signup"));
    assert!(response.text("action_link").contains("type=signup"));
    assert!(follow(&server, &response).await.contains("access_token"));
}

#[tokio::test]
async fn without_secure_changes_the_current_address_has_no_link() {
    let mail = MailSettings { secure_email_change: false, ..MailSettings::default() };
    let server = Server::with(Settings { mail, ..Settings::default() }).await;
    server.user(ADA).await;
    let change = |kind: &str| json!({ "type": kind, "email": ADA, "new_email": "ada@example.org" });
    assert_eq!(link(&server, change("email_change_current")).await.refusal(), (400, "validation_failed"));
    let new = link(&server, change("email_change_new")).await;
    assert!(follow(&server, &new).await.contains("access_token"));
    assert_eq!(server.text("select email::text from auth.users").await, "ada@example.org");
}

#[tokio::test]
async fn links_lead_to_the_host_that_the_request_came_to_if_it_is_listed() {
    let mut settings = Settings::default();
    settings.mail.external_hosts = vec!["auth.row.example".to_owned()];
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let base = async |server: &Server, headers: &[(&str, &str)]| {
        let bearer = format!("Bearer {}", server.keys.api_keys().service_role());
        let headers = [headers, &[("authorization", bearer.as_str())]].concat();
        let body = json!({ "type": "magiclink", "email": ADA }).to_string();
        let response = server.send(Method::POST, "/admin/generate_link", &headers, body).await;
        response.text("action_link").split("/verify?").next().unwrap().to_owned()
    };
    let (listed, external) = ("https://auth.row.example/auth/v1", Settings::default().external_url);
    assert_eq!(base(&server, &[("host", "auth.row.example:443")]).await, listed);
    assert_eq!(base(&server, &[("host", "evil.example")]).await, external);
    let noted = [("x-forwarded-host", "auth.row.example"), ("host", "inner.example")];
    assert_eq!(base(&server, &noted).await, external, "no proxy is trusted");
    let behind = server.behind_a_proxy().await;
    assert_eq!(base(&behind, &noted).await, listed);
    let evil = [("x-forwarded-host", "evil.example"), ("host", "auth.row.example")];
    assert_eq!(base(&behind, &evil).await, external);
    assert_eq!(base(&server, &evil).await, listed, "what a caller notes counts for nothing");
}

#[tokio::test]
async fn links_that_are_refused_leave_nothing() {
    let server = Server::start().await;
    server.user(ADA).await;
    server.user("eve@example.com").await;
    let nobody = "nobody@example.com";
    let refusals = [
        (json!({ "type": "sms", "email": ADA }), 400, "validation_failed"),
        (json!({ "type": "signup", "email": nobody, "password": "short" }), 422, "weak_password"),
        (json!({ "type": "signup", "email": nobody, "password": PASSWORD, "data": 5 }), 400, "bad_json"),
        (
            json!({ "type": "email_change_new", "email": ADA, "new_email": "eve@example.com" }),
            422,
            "email_exists",
        ),
    ];
    for (body, status, code) in refusals {
        assert_eq!(link(&server, body.clone()).await.refusal(), (status, code), "{body}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 2);
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
    assert_eq!(server.value("select count(*) from auth.audit_log_entries").await, 0);
}
