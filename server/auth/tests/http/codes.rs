//! Codes that users ask for: `/otp`, `/magiclink`, `/recover`, `/resend`, `/reauthenticate`.

use auth::{MailSettings, ProviderSettings, Settings, SmsSettings};
use http::StatusCode;
use serde_json::json;

use crate::harness::{PASSWORD, Server};

const PHONE: &str = "41791234567";

fn with_test_code() -> Settings {
    Settings {
        providers: ProviderSettings { phone: true, ..Default::default() },
        sms: SmsSettings {
            test_otps: [(PHONE.to_owned(), "424242".to_owned())].into(),
            ..Default::default()
        },
        ..Default::default()
    }
}

#[tokio::test]
async fn a_code_by_mail_signs_known_and_unknown_users_in() {
    let server = Server::start().await;
    for path in ["/otp", "/magiclink"] {
        let response = server.post(path, json!({ "email": "New@example.com", "data": { "a": 1 } })).await;
        assert_eq!((response.status, &response.body), (StatusCode::OK, &json!({})), "{path}");
        assert!(!server.hash("confirmation_token").await.is_empty());
        server.let_time_pass().await;
    }
    server.sql("update auth.users set email_confirmed_at = now()").await;
    let response = server.post("/otp", json!({ "email": "new@example.com" })).await;
    assert_eq!((response.status, &response.body), (StatusCode::OK, &json!({})));
    assert!(!server.hash("recovery_token").await.is_empty());
    assert_eq!(
        server.post("/otp", json!({ "email": "new@example.com" })).await.refusal(),
        (429, "over_email_send_rate_limit")
    );
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn unknown_users_need_not_become_users() {
    let server = Server::with(with_test_code()).await;
    for body in [
        json!({ "email": "new@example.com", "create_user": false }),
        json!({ "phone": PHONE, "create_user": false }),
    ] {
        let response = server.post("/otp", body).await;
        assert_eq!(response.refusal(), (422, "otp_disabled"));
        assert_eq!(response.text("msg"), "Signups not allowed for otp");
    }
    let closed = Server::with(Settings { disable_signup: true, ..Default::default() }).await;
    assert_eq!(
        closed.post("/otp", json!({ "email": "new@example.com" })).await.refusal(),
        (422, "signup_disabled")
    );
    closed.user("ada@example.com").await;
    assert_eq!(closed.post("/otp", json!({ "email": "ada@example.com" })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_code_by_text_message_signs_in() {
    let server = Server::with(with_test_code()).await;
    let first = server.post("/otp", json!({ "phone": "+41 79 123 45 67" })).await;
    assert_eq!((first.status, &first.body), (StatusCode::OK, &json!({})));
    let session = server.post("/verify", json!({ "type": "sms", "phone": PHONE, "token": "424242" })).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    assert_eq!(session.body["user"]["phone"], json!(PHONE));
    assert!(session.body["user"]["phone_confirmed_at"].is_string());
    server.let_time_pass().await;
    let known = server.post("/otp", json!({ "phone": PHONE })).await;
    assert_eq!(known.body, json!({ "message_id": "test-otp" }));
    assert_eq!(
        server.post("/otp", json!({ "phone": PHONE })).await.refusal(),
        (429, "over_sms_send_rate_limit")
    );
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    let refusals = [
        ("/otp", json!({}), 400, "validation_failed"),
        ("/otp", json!({ "email": "a@b.com", "phone": PHONE }), 400, "validation_failed"),
        ("/otp", json!({ "email": "a@b.com", "channel": "sms" }), 400, "validation_failed"),
        ("/otp", json!({ "email": "no address" }), 400, "validation_failed"),
        ("/otp", json!({ "phone": PHONE }), 400, "phone_provider_disabled"),
        (
            "/otp",
            json!({ "email": "a@b.com", "code_challenge": "short", "code_challenge_method": "s256" }),
            400,
            "validation_failed",
        ),
        ("/magiclink", json!({}), 422, "validation_failed"),
        ("/recover", json!({}), 400, "validation_failed"),
        ("/recover", json!({ "email": "no address" }), 400, "validation_failed"),
        ("/resend", json!({ "email": "a@b.com" }), 400, "validation_failed"),
        ("/resend", json!({ "type": "signup" }), 400, "validation_failed"),
        ("/resend", json!({ "type": "sms", "email": "a@b.com" }), 400, "validation_failed"),
        (
            "/resend",
            json!({ "type": "email_change", "email": "a@b.com", "phone": PHONE }),
            400,
            "validation_failed",
        ),
        ("/resend", json!({ "type": "sms", "phone": PHONE }), 400, "phone_provider_disabled"),
    ];
    for (path, body, status, code) in refusals {
        assert_eq!(server.post(path, body.clone()).await.refusal(), (status, code), "{path} {body}");
    }
    let off = ProviderSettings { magic_link: false, ..Default::default() };
    let server = Server::with(Settings { providers: off, ..Default::default() }).await;
    assert_eq!(
        server.post("/otp", json!({ "email": "a@b.com" })).await.refusal(),
        (422, "email_provider_disabled")
    );
    let off = ProviderSettings { email: false, ..Default::default() };
    let server = Server::with(Settings { providers: off, ..Default::default() }).await;
    assert_eq!(
        server.post("/magiclink", json!({ "email": "a@b.com" })).await.refusal(),
        (422, "email_provider_disabled")
    );
    assert_eq!(
        server.post("/recover", json!({ "email": "a@b.com" })).await.refusal(),
        (400, "email_provider_disabled")
    );
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn recovery_says_nothing_of_who_is_known() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    for email in ["ada@example.com", "nobody@example.com"] {
        let response = server.post("/recover", json!({ "email": email })).await;
        assert_eq!((response.status, response.body), (StatusCode::OK, json!({})), "{email}");
    }
    assert!(!server.hash("recovery_token").await.is_empty());
}

#[tokio::test]
async fn a_confirmation_is_sent_once_more_only_while_it_is_awaited() {
    let server = Server::start().await;
    server.post("/signup", json!({ "email": "ada@example.com", "password": PASSWORD })).await;
    let first = server.hash("confirmation_token").await;
    let request = json!({ "type": "signup", "email": "ada@example.com" });
    assert_eq!(server.post("/resend", request.clone()).await.refusal(), (429, "over_email_send_rate_limit"));
    server.let_time_pass().await;
    assert_eq!(server.post("/resend", request.clone()).await.body, json!({}));
    let second = server.hash("confirmation_token").await;
    assert_ne!(first, second);
    server.let_time_pass().await;
    server.sql("update auth.users set email_confirmed_at = now()").await;
    for kind in ["signup", "email_change"] {
        let response = server.post("/resend", json!({ "type": kind, "email": "ada@example.com" })).await;
        assert_eq!((response.status, response.body), (StatusCode::OK, json!({})), "{kind}");
    }
    assert_eq!(server.hash("confirmation_token").await, second, "nothing was sent");
    let unknown = server.post("/resend", json!({ "type": "signup", "email": "nobody@example.com" })).await;
    assert_eq!((unknown.status, unknown.body), (StatusCode::OK, json!({})));
}

#[tokio::test]
async fn only_confirmed_users_can_prove_that_they_are_still_there() {
    let server = Server::with(Settings {
        mail: MailSettings { autoconfirm: true, ..Default::default() },
        providers: ProviderSettings { anonymous_users: true, ..Default::default() },
        ..Default::default()
    })
    .await;
    let anonymous = server.post("/signup", json!({})).await;
    let response = server.get_as("/reauthenticate", anonymous.text("access_token")).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
    server.sql("delete from auth.users").await;
    let session = server.post("/signup", json!({ "email": "ada@example.com", "password": PASSWORD })).await;
    let token = session.text("access_token");
    let response = server.get_as("/reauthenticate", token).await;
    assert_eq!((response.status, response.body), (StatusCode::OK, json!({})));
    assert!(!server.hash("reauthentication_token").await.is_empty());
    server.let_time_pass().await;
    server.sql("update auth.users set email_confirmed_at = null").await;
    assert_eq!(server.get_as("/reauthenticate", token).await.refusal(), (422, "email_not_confirmed"));
    assert_eq!(server.get("/reauthenticate").await.refusal(), (401, "no_authorization"));
}
