//! Confirmation of addresses with codes and links (`/verify`).

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Response, Server};

const EMAIL: &str = "ada@example.com";

async fn signed_up(settings: Settings) -> Server {
    let server = Server::with(settings).await;
    let response = server.post("/signup", json!({ "email": EMAIL, "password": PASSWORD })).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    server
}

fn allowing(pattern: &str) -> Settings {
    Settings {
        site_url: "https://example.com".into(),
        uri_allow_list: vec![pattern.to_owned()],
        ..Default::default()
    }
}

impl Server {
    async fn verify(&self, body: Value) -> Response {
        self.post("/verify", body).await
    }

    /// Follows a link as a browser does: no key, no body.
    async fn follow(&self, query: &str) -> String {
        let response = self.send(Method::GET, &format!("/verify?{query}"), &[], ()).await;
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.body);
        response.headers["location"].to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn codes_age() {
    let server = signed_up(Settings::default()).await;
    server.plant("confirmation_token", EMAIL, "123456").await;
    server.sql("update auth.users set confirmation_sent_at = now() - interval '25 hours'").await;
    let code = server.verify(json!({ "type": "signup", "email": EMAIL, "token": "123456" })).await;
    assert_eq!(code.refusal(), (403, "otp_expired"));
    let hash = server.hash("confirmation_token").await;
    assert_eq!(
        server.verify(json!({ "type": "signup", "token_hash": hash })).await.refusal(),
        (403, "otp_expired")
    );
}

#[tokio::test]
async fn recovery_lets_in_and_confirms() {
    let server = signed_up(Settings::default()).await;
    assert_eq!(server.post("/recover", json!({ "email": EMAIL })).await.status, StatusCode::OK);
    let hash = server.hash("recovery_token").await;
    let session = server.verify(json!({ "type": "recovery", "token_hash": hash })).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    assert!(session.body["user"]["email_confirmed_at"].is_string());
    let open = "select count(*) from auth.users where confirmation_token <> '' or recovery_token <> ''";
    assert_eq!(server.value(open).await, 0, "one confirmation makes all open codes worthless");
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
}

#[tokio::test]
async fn somebody_who_was_invited_gets_a_password_that_nobody_knows() {
    let server = Server::start().await;
    server.post_as_admin("/invite", json!({ "email": EMAIL })).await;
    let hash = server.hash("confirmation_token").await;
    let session = server.verify(json!({ "type": "invite", "token_hash": hash })).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    assert!(server.text("select encrypted_password::text from auth.users").await.starts_with("$2"));
}

#[tokio::test]
async fn banned_users_stay_out() {
    let server = signed_up(Settings::default()).await;
    let hash = server.hash("confirmation_token").await;
    server.sql("update auth.users set banned_until = now() + interval '1 hour'").await;
    let response = server.verify(json!({ "type": "signup", "token_hash": hash })).await;
    assert_eq!(response.refusal(), (403, "user_banned"));
    assert_eq!(server.hash("confirmation_token").await, hash);
}

#[tokio::test]
async fn codes_of_another_kind_and_hashes_that_postgres_cannot_store_are_unknown() {
    let server = Server::start().await;
    for body in [
        json!({ "type": "sms", "token": "123456", "email": EMAIL }),
        json!({ "type": "email", "token_hash": "a\u{0}b" }),
    ] {
        assert_eq!(server.verify(body.clone()).await.refusal(), (403, "otp_expired"), "{body}");
    }
}

#[tokio::test]
async fn links_lead_nowhere_else() {
    let server = signed_up(allowing("https://*.example.org/**")).await;
    let bad = [
        "https://evil.com",
        "https://app.example.org.evil.com/",
        "//evil.com",
        "https://example.com%40evil.com",
        "https://example.com%0D%0ASet-Cookie:a=b",
        "javascript:alert(1)",
    ];
    for target in bad {
        let location = server.follow(&format!("token=unknown&type=signup&redirect_to={target}")).await;
        assert!(location.starts_with("https://example.com#error="), "{target}: {location}");
    }
    let unsupported = server.follow("token=abc&type=sms").await;
    assert!(unsupported.contains("error=invalid_request&error_code=validation_failed"), "{unsupported}");
}

#[tokio::test]
async fn where_links_lead_may_be_said_in_three_ways() {
    let server = Server::with(allowing("https://*.example.org/")).await;
    let (one, two, three) =
        ("https://one.example.org/", "https://two.example.org/", "https://three.example.org/");
    let path = format!("/verify?token=unknown&type=signup&redirect_to={two}");
    let elsewhere = "/verify?token=unknown&type=signup&redirect_to=https://evil.com";
    let ways = [
        (path.as_str(), vec![("redirect_to", one), ("referer", three)], one),
        (path.as_str(), vec![("referer", three)], two),
        (elsewhere, vec![("referer", three)], three),
    ];
    for (path, headers, expected) in ways {
        let response = server.send(Method::GET, path, &headers, ()).await;
        let location = response.headers["location"].to_str().unwrap();
        assert!(location.starts_with(&format!("{expected}#")), "{location}");
    }
}

#[tokio::test]
async fn the_audit_log_follows_an_account_from_its_first_day() {
    let server = signed_up(Settings::default()).await;
    let hash = server.hash("confirmation_token").await;
    let session = server.verify(json!({ "type": "signup", "token_hash": hash })).await;
    server.put_as("/user", session.text("access_token"), json!({ "password": "a better secret" })).await;
    server.post("/recover", json!({ "email": EMAIL })).await;
    server.let_time_pass().await;
    server.post("/signup", json!({ "email": EMAIL, "password": PASSWORD })).await;
    let actions = server
        .text("select string_agg(payload ->> 'action', ' ' order by created_at) from auth.audit_log_entries")
        .await;
    assert_eq!(
        actions,
        "user_confirmation_requested user_signedup user_updated_password user_modified user_recovery_requested \
         user_repeated_signup"
    );
    let known = "select count(*) from auth.audit_log_entries where payload ->> 'actor_username' = 'ada@example.com' and ip_address <> ''";
    assert_eq!(server.value(known).await, 6);
}

#[tokio::test]
async fn asking_for_the_head_of_a_link_leaves_the_link_to_its_reader() {
    let server = signed_up(Settings::default()).await;
    let hash = server.hash("confirmation_token").await;
    let query = format!("token={hash}&type=signup");
    let scanned = server.send(Method::HEAD, &format!("/verify?{query}"), &[], ()).await;
    assert_eq!(scanned.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(server.follow(&query).await.contains("access_token="));
}
