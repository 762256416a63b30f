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
async fn a_sign_up_link_creates_a_user_and_confirms_the_address() {
    let server = Server::start().await;
    let body = json!({
        "type": "signup", "email": "Ada@Example.com", "password": PASSWORD, "data": { "full_name": "Ada" },
        "redirect_to": "http://127.0.0.1:3000/welcome",
    });
    let response = link(&server, body).await;
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!((response.text("email"), response.text("verification_type")), (ADA, "signup"));
    assert_eq!(response.text("redirect_to"), "http://127.0.0.1:3000/welcome");
    assert_eq!(response.body["user_metadata"], json!({ "full_name": "Ada" }));
    assert_eq!(response.body["identities"][0]["identity_data"]["email"], json!(ADA));
    let (hash, code) = (response.text("hashed_token"), response.text("email_otp"));
    assert!(response.text("action_link").contains(&format!("token={hash}")));
    assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(server.hash("confirmation_token").await, hash);
    assert!(follow(&server, &response).await.starts_with("http://127.0.0.1:3000/welcome#access_token="));
    assert_eq!(server.sign_in(ADA).await.status, 200);
    let second = link(&server, json!({ "type": "signup", "email": ADA, "password": PASSWORD })).await;
    assert_eq!(second.refusal(), (422, "email_exists"));
}

#[tokio::test]
async fn a_sign_up_link_of_somebody_unconfirmed_replaces_the_one_before() {
    let server = Server::start().await;
    let first = link(&server, json!({ "type": "signup", "email": ADA, "password": PASSWORD })).await;
    let body = json!({ "type": "signup", "email": ADA, "data": { "team": "red" } });
    let second = link(&server, body).await;
    assert_eq!((first.text("id"), &second.body["user_metadata"]["team"]), (second.text("id"), &json!("red")));
    assert!(follow(&server, &first).await.contains("otp_expired"));
    assert!(follow(&server, &second).await.contains("access_token"));
}

#[tokio::test]
async fn an_invitation_may_be_repeated_until_it_is_accepted() {
    let server = Server::start().await;
    let body = json!({ "type": "invite", "email": ADA, "data": { "team": "red" } });
    let first = link(&server, body.clone()).await;
    assert_eq!((first.status.as_u16(), first.text("verification_type")), (200, "invite"));
    assert!(first.body["invited_at"].is_string());
    let logged = server.logged("user_invited").await;
    assert_eq!(
        (&logged["actor_username"], &logged["traits"]["user_email"]),
        (&json!("service_role"), &json!(ADA))
    );
    let second = link(&server, body.clone()).await;
    assert!(follow(&server, &second).await.contains("type=invite"));
    assert_eq!(link(&server, body).await.refusal(), (422, "email_exists"));
}

#[tokio::test]
async fn known_users_sign_in_and_recover_by_link_or_code() {
    let server = Server::start().await;
    let id = server.user(ADA).await;
    for kind in ["magiclink", "recovery"] {
        let response = link(&server, json!({ "type": kind, "email": ADA })).await;
        assert_eq!((response.status.as_u16(), response.text("verification_type")), (200, kind));
        assert_eq!(response.text("id"), id);
        assert!(follow(&server, &response).await.contains(&format!("type={kind}")));
        let response = link(&server, json!({ "type": kind, "email": ADA })).await;
        let code = json!({ "type": kind, "email": ADA, "token": response.text("email_otp") });
        assert_eq!(server.post("/verify", code).await.status, 200, "{kind}");
    }
    let requested =
        "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'user_recovery_requested'
        and payload ->> 'actor_username' = 'ada@example.com'";
    assert_eq!(server.value(requested).await, 4);
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
async fn a_change_of_address_is_confirmed_by_both_links() {
    let server = Server::start().await;
    server.user(ADA).await;
    let change = |kind: &str| json!({ "type": kind, "email": ADA, "new_email": "Ada@Example.org" });
    let current = link(&server, change("email_change_current")).await;
    assert_eq!(current.text("new_email"), "ada@example.org");
    let new = link(&server, change("email_change_new")).await;
    assert_eq!(new.text("verification_type"), "email_change_new");
    assert!(new.text("action_link").contains("type=email_change&"));
    assert!(follow(&server, &current).await.contains("message="));
    assert!(follow(&server, &new).await.contains("access_token"));
    assert_eq!(server.text("select email::text from auth.users").await, "ada@example.org");
}

#[tokio::test]
async fn targets_that_are_not_allowed_become_the_site() {
    let server = Server::start().await;
    server.user(ADA).await;
    let site = Settings::default().site_url;
    for target in ["https://evil.example", "http://127.0.0.1:3000\r\nx: y", "javascript:alert(1)"] {
        let body = json!({ "type": "magiclink", "email": ADA, "redirect_to": target });
        let response = link(&server, body).await;
        assert_eq!(response.text("redirect_to"), site, "{target}");
        assert!(!response.text("action_link").contains("evil"));
    }
}

#[tokio::test]
async fn links_that_cannot_be_are_refused_and_leave_nothing() {
    let server = Server::start().await;
    server.user(ADA).await;
    server.user("eve@example.com").await;
    let nobody = "nobody@example.com";
    let refusals = [
        (json!({ "type": "magiclink" }), 400, "validation_failed"),
        (json!({ "type": "magiclink", "email": "no address" }), 400, "validation_failed"),
        (json!({ "email": ADA }), 400, "validation_failed"),
        (json!({ "type": "sms", "email": ADA }), 400, "validation_failed"),
        (json!({ "type": "signup", "email": nobody }), 400, "validation_failed"),
        (json!({ "type": "signup", "email": nobody, "password": "short" }), 422, "weak_password"),
        (json!({ "type": "signup", "email": nobody, "password": PASSWORD, "data": 5 }), 400, "bad_json"),
        (json!({ "type": "recovery", "email": nobody }), 404, "user_not_found"),
        (
            json!({ "type": "email_change_new", "email": nobody, "new_email": "x@example.com" }),
            404,
            "user_not_found",
        ),
        (json!({ "type": "email_change_current", "email": nobody }), 404, "user_not_found"),
        (json!({ "type": "email_change_new", "email": ADA }), 400, "validation_failed"),
        (
            json!({ "type": "email_change_new", "email": ADA, "new_email": "eve@example.com" }),
            422,
            "email_exists",
        ),
        (json!({ "type": "invite", "email": ADA }), 422, "email_exists"),
    ];
    for (body, status, code) in refusals {
        assert_eq!(link(&server, body.clone()).await.refusal(), (status, code), "{body}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 2);
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
    assert_eq!(server.value("select count(*) from auth.audit_log_entries").await, 0);
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
