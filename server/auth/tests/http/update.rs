//! `PUT /user`.

use auth::{MailSettings, ProviderSettings, SecuritySettings, Settings, SmsSettings};
use http::StatusCode;
use serde_json::json;

use crate::harness::{PASSWORD, Server};

const EMAIL: &str = "ada@example.com";
const NEW: &str = "countess@example.com";
const PHONE: &str = "41791234567";

async fn signed_in(settings: Settings) -> (Server, String) {
    let server = Server::with(settings).await;
    server.user(EMAIL).await;
    let session = server.sign_in(EMAIL).await;
    (server, session.text("access_token").to_owned())
}

fn with_security(security: SecuritySettings) -> Settings {
    Settings { security, ..Default::default() }
}

#[tokio::test]
async fn settings_may_demand_the_current_password() {
    let security = SecuritySettings { password_change_requires_current: true, ..Default::default() };
    let (server, token) = signed_in(with_security(security)).await;
    let without = server.put_as("/user", &token, json!({ "password": "a better secret" })).await;
    assert_eq!(without.refusal(), (400, "current_password_required"));
    let wrong = json!({ "password": "a better secret", "current_password": "wrong" });
    assert_eq!(server.put_as("/user", &token, wrong).await.refusal(), (400, "current_password_invalid"));
    let right = json!({ "password": "a better secret", "current_password": PASSWORD });
    assert_eq!(server.put_as("/user", &token, right).await.status, StatusCode::OK);
    server.post("/recover", json!({ "email": EMAIL })).await;
    let hash = server.hash("recovery_token").await;
    let recovered = server.post("/verify", json!({ "type": "recovery", "token_hash": hash })).await;
    let forgotten = json!({ "password": "yet another secret" });
    let changed = server.put_as("/user", recovered.text("access_token"), forgotten).await;
    assert_eq!(changed.status, StatusCode::OK, "who forgot the password cannot tell it: {}", changed.body);
}

#[tokio::test]
async fn settings_may_demand_a_code_of_old_sessions() {
    let security = SecuritySettings { password_change_requires_reauthentication: true, ..Default::default() };
    let (server, token) = signed_in(with_security(security)).await;
    let change = json!({ "password": "a better secret" });
    assert_eq!(server.put_as("/user", &token, change.clone()).await.status, StatusCode::OK, "it is recent");
    server.sql("update auth.sessions set created_at = now() - interval '25 hours'").await;
    let change = json!({ "password": "yet another secret" });
    assert_eq!(server.put_as("/user", &token, change).await.refusal(), (400, "reauthentication_needed"));
    server.get_as("/reauthenticate", &token).await;
    server.plant("reauthentication_token", EMAIL, "123456").await;
    let wrong = json!({ "password": "yet another secret", "nonce": "654321" });
    assert_eq!(server.put_as("/user", &token, wrong).await.refusal(), (422, "reauthentication_not_valid"));
    let right = json!({ "password": "yet another secret", "nonce": "123456" });
    assert_eq!(server.put_as("/user", &token, right).await.status, StatusCode::OK);
    let repeated = json!({ "password": "one more secret", "nonce": "123456" });
    assert_eq!(server.put_as("/user", &token, repeated).await.refusal(), (422, "reauthentication_not_valid"));
}

#[tokio::test]
async fn the_code_of_a_change_goes_with_the_address_that_it_was_sent_to() {
    let (server, token) = signed_in(Settings::default()).await;
    server.put_as("/user", &token, json!({ "email": NEW })).await;
    server.plant("email_change_token_current", EMAIL, "111111").await;
    server.plant("email_change_token_new", NEW, "222222").await;
    let verify = |email: &str, code: &str| json!({ "type": "email_change", "email": email, "token": code });
    assert_eq!(server.post("/verify", verify(EMAIL, "222222")).await.refusal(), (403, "otp_expired"));
    assert_eq!(server.post("/verify", verify(NEW, "222222")).await.text("code"), "200");
    assert_eq!(server.post("/verify", verify(EMAIL, "111111")).await.body["user"]["email"], json!(NEW));
}

#[tokio::test]
async fn without_secure_changes_the_new_address_is_enough() {
    let mail = MailSettings { secure_email_change: false, ..Default::default() };
    let (server, token) = signed_in(Settings { mail, ..Default::default() }).await;
    server.put_as("/user", &token, json!({ "email": NEW })).await;
    let hash = server.hash("email_change_token_new").await;
    let location = server.get(&format!("/verify?token={hash}&type=email_change")).await;
    assert!(location.headers["location"].to_str().unwrap().contains("type=email_change"));
    assert_eq!(server.text("select email::text from auth.users").await, NEW);
}

#[tokio::test]
async fn a_number_changes_by_its_code() {
    let sms =
        SmsSettings { test_otps: [(PHONE.to_owned(), "424242".to_owned())].into(), ..Default::default() };
    let (server, token) = signed_in(Settings { sms, ..Default::default() }).await;
    let response = server.put_as("/user", &token, json!({ "phone": format!("+{PHONE}") })).await;
    assert_eq!((response.text("phone"), response.text("new_phone")), ("", PHONE), "{}", response.body);
    let body = json!({ "type": "phone_change", "phone": PHONE, "token": "424242" });
    let session = server.post("/verify", body).await;
    assert_eq!(session.body["user"]["phone"], json!(PHONE), "{}", session.body);
    let providers = &session.body["user"]["app_metadata"]["providers"];
    assert_eq!(providers, &json!(["email", "phone"]));
}

#[tokio::test]
async fn users_of_single_sign_on_change_there() {
    let (server, token) = signed_in(Settings::default()).await;
    server.sql("update auth.users set is_sso_user = true").await;
    for body in [json!({ "password": "a better secret" }), json!({ "email": NEW }), json!({ "nonce": "1" })] {
        assert_eq!(server.put_as("/user", &token, body).await.refusal(), (422, "user_sso_managed"));
    }
}

#[tokio::test]
async fn somebody_anonymous_becomes_somebody() {
    let providers = ProviderSettings { anonymous_users: true, ..Default::default() };
    let mail = MailSettings { autoconfirm: true, ..Default::default() };
    let server = Server::with(Settings { providers, mail, ..Default::default() }).await;
    let session = server.post("/signup", json!({})).await;
    let token = session.text("access_token");
    let alone = server.put_as("/user", token, json!({ "password": PASSWORD })).await;
    assert_eq!(alone.refusal(), (422, "validation_failed"));
    let somebody = server.put_as("/user", token, json!({ "email": EMAIL, "password": PASSWORD })).await;
    assert_eq!(
        (somebody.text("email"), &somebody.body["is_anonymous"]),
        (EMAIL, &json!(false)),
        "{}",
        somebody.body
    );
    assert!(somebody.body["email_confirmed_at"].is_string());
    assert_eq!(server.sign_in(EMAIL).await.status, StatusCode::OK);
}

#[tokio::test]
async fn automatic_confirmation_frees_nobody_from_confirming_at_both_addresses() {
    let mail = MailSettings { autoconfirm: true, ..Default::default() };
    let (server, token) = signed_in(Settings { mail, ..Default::default() }).await;
    let asked = server.put_as("/user", &token, json!({ "email": NEW })).await;
    assert_eq!((asked.text("email"), asked.text("new_email")), (EMAIL, NEW));
    let (current, new) =
        (server.hash("email_change_token_current").await, server.hash("email_change_token_new").await);
    let confirm = async |hash: &str| {
        server.post("/verify", json!({ "type": "email_change", "token_hash": hash })).await
    };
    let half = confirm(&new).await;
    assert!(half.status == StatusCode::OK && half.body.get("access_token").is_none(), "{}", half.body);
    assert_eq!(server.get_as("/user", &token).await.text("email"), EMAIL);
    let whole = confirm(&current).await;
    assert_eq!(whole.body["user"]["email"], json!(NEW), "{}", whole.body);
}

/// Signs in; then makes the user somebody who has come with GitHub and has no password.
async fn signed_in_elsewhere(settings: Settings) -> (Server, String) {
    let (server, token) = signed_in(settings).await;
    server
        .sql(
            "update auth.users set encrypted_password = null,
               raw_app_meta_data = '{\"provider\": \"github\", \"providers\": [\"github\"]}';
             update auth.identities set provider = 'github', provider_id = '1', identity_data = '{\"sub\": \"1\"}'",
        )
        .await;
    (server, token)
}

#[tokio::test]
async fn a_first_password_comes_with_an_identity() {
    let (server, token) = signed_in_elsewhere(Settings::default()).await;
    let set = server.put_as("/user", &token, json!({ "password": "a better secret" })).await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.body);
    let identities = set.body["identities"].as_array().unwrap();
    let identity = identities.iter().find(|identity| identity["provider"] == "email").unwrap();
    let data =
        json!({ "sub": set.body["id"], "email": EMAIL, "email_verified": true, "phone_verified": false });
    assert_eq!((&identity["id"], &identity["identity_data"]), (&set.body["id"], &data));
    assert_eq!(
        set.body["app_metadata"],
        json!({ "provider": "github", "providers": ["github", "email"] }),
        "{}",
        set.body
    );
    server.put_as("/user", &token, json!({ "password": "another secret" })).await;
    assert_eq!(server.value("select count(*) from auth.identities").await, 2);
}

#[tokio::test]
async fn a_password_without_a_confirmed_address_or_after_another_makes_no_identity() {
    let off = Settings { identity_for_first_password: false, ..Default::default() };
    for (settings, change) in [
        (off, "select"),
        (Settings::default(), "update auth.users set email_confirmed_at = null"),
        (Settings::default(), "update auth.identities set provider = 'sso:1'"),
    ] {
        let (server, token) = signed_in_elsewhere(settings).await;
        server.sql(change).await;
        let set = server.put_as("/user", &token, json!({ "password": "a better secret" })).await;
        assert_eq!(set.status, StatusCode::OK, "{}", set.body);
        let emails = "select count(*) from auth.identities where provider = 'email'";
        assert_eq!(server.value(emails).await, 0, "{change}: {}", set.body);
    }
    let (server, token) = signed_in_elsewhere(Settings::default()).await;
    let hash = "update auth.users set encrypted_password = '$2a$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS'";
    server.sql(hash).await;
    let set = server.put_as("/user", &token, json!({ "password": "a better secret" })).await;
    assert_eq!(set.body["identities"].as_array().unwrap().len(), 1, "{}", set.body);
}
