//! Confirmation of addresses with codes and links (`/verify`).

use auth::{ProviderSettings, Settings, SmsSettings};
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
async fn a_code_confirms_the_address_once() {
    let server = signed_up(Settings::default()).await;
    server.plant("confirmation_token", EMAIL, "123456").await;
    let wrong = server.verify(json!({ "type": "signup", "email": EMAIL, "token": "654321" })).await;
    assert_eq!(wrong.refusal(), (403, "otp_expired"));
    assert_eq!(wrong.text("msg"), "Token has expired or is invalid");
    let right = json!({ "type": "email", "email": EMAIL, "token": "123456" });
    let session = server.verify(right.clone()).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    let user = &session.body["user"];
    assert!(user["email_confirmed_at"].is_string() && user["confirmed_at"].is_string());
    assert_eq!(user["user_metadata"]["email_verified"], json!(true));
    assert_eq!(user["identities"][0]["identity_data"]["email_verified"], json!(true));
    let token = server.keys.verifier().verify(session.text("access_token")).unwrap();
    assert_eq!(token.claims["amr"][0]["method"], json!("otp"));
    assert_eq!(server.verify(right).await.refusal(), (403, "otp_expired"));
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
    assert_eq!(server.sign_in(EMAIL).await.status, StatusCode::OK);
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
async fn requests_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    let refusals = [
        (json!({ "token": "123456", "email": EMAIL }), 400, "validation_failed"),
        (json!({ "type": "signup" }), 400, "validation_failed"),
        (json!({ "type": "signup", "token": "1", "token_hash": "2" }), 400, "validation_failed"),
        (json!({ "type": "signup", "token": "123456" }), 400, "validation_failed"),
        (
            json!({ "type": "signup", "token": "123456", "email": EMAIL, "phone": "41791234567" }),
            400,
            "validation_failed",
        ),
        (json!({ "type": "signup", "token_hash": "abc", "email": EMAIL }), 400, "validation_failed"),
        (
            json!({ "type": "signup", "token_hash": "abc", "redirect_to": "https://example.com" }),
            400,
            "validation_failed",
        ),
        (json!({ "type": "unknown", "token_hash": "abc" }), 400, "validation_failed"),
        (json!({ "type": "signup", "token": "123456", "email": "no address" }), 422, "validation_failed"),
        (json!({ "type": "signup", "token": "123456", "email": EMAIL }), 403, "otp_expired"),
        (json!({ "type": "sms", "token": "123456", "email": EMAIL }), 403, "otp_expired"),
        (json!({ "type": "email", "token_hash": "a\u{0}b" }), 403, "otp_expired"),
    ];
    for (body, status, code) in refusals {
        assert_eq!(server.verify(body.clone()).await.refusal(), (status, code), "{body}");
    }
    for query in ["", "?token=abc", "?type=signup"] {
        let response = server.get(&format!("/verify{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
}

#[tokio::test]
async fn a_link_brings_the_session_to_the_site() {
    let server = signed_up(allowing("https://app.example.org/**")).await;
    let hash = server.hash("confirmation_token").await;
    let target = "https%3A%2F%2Fapp.example.org%2Fin%3Fa%3Db";
    let location = server.follow(&format!("token={hash}&type=signup&redirect_to={target}")).await;
    let (base, fragment) = location.split_once('#').unwrap();
    assert_eq!(base, "https://app.example.org/in?a=b");
    let members: Vec<_> = url::form_urlencoded::parse(fragment.as_bytes()).into_owned().collect();
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["access_token", "expires_at", "expires_in", "refresh_token", "sb", "token_type", "type"]
    );
    assert_eq!(members[6].1, "signup");
    assert_eq!(server.get_as("/user", &members[0].1).await.status, StatusCode::OK);
    let second = server.follow(&format!("token={hash}&type=signup&redirect_to={target}")).await;
    assert_eq!(
        second,
        "https://app.example.org/in?a=b#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired&sb="
    );
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
async fn a_number_is_confirmed_by_its_code() {
    let providers = ProviderSettings { phone: true, ..Default::default() };
    let test_otps = [("41791234567".to_owned(), "424242".to_owned())].into();
    let sms = SmsSettings { test_otps, ..Default::default() };
    let server = Server::with(Settings { providers, sms, ..Default::default() }).await;
    let phone = "+41791234567";
    let user = server.post("/signup", json!({ "phone": phone, "password": PASSWORD })).await;
    assert!(user.body.get("phone_confirmed_at").is_none(), "{}", user.body);
    let wrong = server.verify(json!({ "type": "sms", "phone": phone, "token": "000000" })).await;
    assert_eq!(wrong.refusal(), (403, "otp_expired"));
    let session = server.verify(json!({ "type": "sms", "phone": phone, "token": "424242" })).await;
    assert!(session.body["user"]["phone_confirmed_at"].is_string(), "{}", session.body);
    let sign_in = json!({ "phone": phone, "password": PASSWORD });
    assert_eq!(server.post("/token?grant_type=password", sign_in).await.status, StatusCode::OK);
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
