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
async fn codes_are_sent_only_so_often() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let by_mail = async || server.post("/otp", json!({ "email": "ada@example.com" })).await;
    assert_eq!(by_mail().await.status, StatusCode::OK);
    assert_eq!(by_mail().await.refusal(), (429, "over_email_send_rate_limit"));
    server.let_time_pass().await;
    assert_eq!(by_mail().await.status, StatusCode::OK);

    let server = Server::with(with_test_code()).await;
    let by_phone = async || server.post("/otp", json!({ "phone": PHONE })).await;
    assert_eq!(by_phone().await.body, json!({}), "of a sign-up no message is named");
    let code = json!({ "type": "sms", "phone": PHONE, "token": "424242" });
    assert_eq!(server.post("/verify", code).await.status, StatusCode::OK);
    server.let_time_pass().await;
    assert_eq!(by_phone().await.body, json!({ "message_id": "test-otp" }));
    assert_eq!(by_phone().await.refusal(), (429, "over_sms_send_rate_limit"));
}

#[tokio::test]
async fn unknown_users_need_not_become_users() {
    let server = Server::with(with_test_code()).await;
    let unknown = server.post("/otp", json!({ "phone": PHONE, "create_user": false })).await;
    assert_eq!(unknown.refusal(), (422, "otp_disabled"));
    assert_eq!(unknown.text("msg"), "Signups not allowed for otp");
    let closed = Server::with(Settings { disable_signup: true, ..Default::default() }).await;
    assert_eq!(
        closed.post("/otp", json!({ "email": "new@example.com" })).await.refusal(),
        (422, "signup_disabled")
    );
    closed.user("ada@example.com").await;
    assert_eq!(closed.post("/otp", json!({ "email": "ada@example.com" })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn providers_that_are_off_send_nothing() {
    let server = Server::start().await;
    for (path, body) in
        [("/otp", json!({ "phone": PHONE })), ("/resend", json!({ "type": "sms", "phone": PHONE }))]
    {
        assert_eq!(server.post(path, body).await.refusal(), (400, "phone_provider_disabled"), "{path}");
    }
    let off = ProviderSettings { magic_link: false, ..Default::default() };
    let server = server.second_node_with(Settings { providers: off, ..Default::default() }).await;
    let email = json!({ "email": "a@b.com" });
    assert_eq!(server.post("/otp", email.clone()).await.refusal(), (422, "email_provider_disabled"));
    let off = ProviderSettings { email: false, ..Default::default() };
    let server = server.second_node_with(Settings { providers: off, ..Default::default() }).await;
    assert_eq!(server.post("/magiclink", email.clone()).await.refusal(), (422, "email_provider_disabled"));
    assert_eq!(server.post("/recover", email).await.refusal(), (400, "email_provider_disabled"));
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
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
}
