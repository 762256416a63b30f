//! Secrets at rest.

use auth::{EncryptionKey, EncryptionSettings, Settings};
use serde_json::json;

use crate::harness::{PASSWORD, Server};

const ADA: &str = "ada@example.com";

fn encrypted_with(current: Option<&str>) -> Settings {
    let key = |text: &str| EncryptionKey::parse(text).unwrap();
    let keys = [
        ("first".to_owned(), key("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE")),
        ("second".to_owned(), key("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI")),
    ];
    let current = keys.iter().find(|(name, _)| Some(name.as_str()) == current).cloned();
    Settings { encryption: EncryptionSettings { current, keys: keys.into() }, ..Settings::default() }
}

#[tokio::test]
async fn secrets_of_factors_are_encrypted_and_follow_the_key() {
    let server = Server::with(encrypted_with(Some("first"))).await;
    server.user(ADA).await;
    let (token, _) = server.tokens(ADA).await;
    let app = server.enroll_app(&token, "app").await;
    let key_of = "select secret::json ->> 'key_id' from auth.mfa_factors";
    assert_eq!(server.text(key_of).await, "first");
    let (risen, _) = server.rise(&token, &app).await;
    assert_eq!(server.text(key_of).await, "first");

    let rotated = server.second_node_with(encrypted_with(Some("second"))).await;
    let (risen, _) = rotated.rise(&risen, &app).await;
    assert_eq!(rotated.text(key_of).await, "second");
    let switched_off = server.second_node_with(encrypted_with(None)).await;
    switched_off.rise(&risen, &app).await;

    let keyless = server.second_node_with(Settings::default()).await;
    let challenge = keyless.challenged(&risen, &app.factor).await;
    let lost = keyless.show_code(&risen, &app.factor, &challenge, &app.code()).await;
    assert_eq!(lost.refusal(), (500, "unexpected_failure"));
    assert!(!lost.body.to_string().contains("second"), "only the log names the key");
}

#[tokio::test]
async fn hashes_of_passwords_are_encrypted_and_follow_the_key() {
    let server = Server::with(encrypted_with(Some("first"))).await;
    server.user(ADA).await;
    let key_of = "select encrypted_password::json ->> 'key_id' from auth.users";
    let plain = server.text("select encrypted_password from auth.users").await;
    assert!(plain.starts_with("$2b$"), "imported as it was");
    let (token, _) = server.tokens(ADA).await;
    assert_eq!(server.text(key_of).await, "first", "encrypted at the first sign-in");
    let changed = server.put_as("/user", &token, json!({ "password": "another horse" })).await;
    assert_eq!(changed.status, http::StatusCode::OK, "{}", changed.body);
    assert_eq!(server.text(key_of).await, "first");
    let same = server.put_as("/user", &token, json!({ "password": "another horse" })).await;
    assert_eq!(same.refusal(), (422, "same_password"));

    let rotated = server.second_node_with(encrypted_with(Some("second"))).await;
    let sign_in = json!({ "email": ADA, "password": "another horse" });
    let opened = rotated.post("/token?grant_type=password", sign_in.clone()).await;
    assert_eq!(opened.status, http::StatusCode::OK, "{}", opened.body);
    assert_eq!(server.text(key_of).await, "second");
    assert_eq!(server.sign_in(ADA).await.refusal(), (400, "invalid_credentials"));
    let keyless = server.second_node_with(Settings::default()).await;
    let lost = keyless.post("/token?grant_type=password", sign_in).await;
    assert_eq!(lost.refusal(), (500, "unexpected_failure"));
}

#[tokio::test]
async fn new_users_have_their_hashes_encrypted() {
    let mut settings = encrypted_with(Some("first"));
    settings.mail.autoconfirm = true;
    let server = Server::with(settings).await;
    let body = json!({ "email": ADA, "password": PASSWORD });
    let created = server.post("/signup", body).await;
    assert_eq!(created.status, http::StatusCode::OK, "{}", created.body);
    assert_eq!(server.text("select encrypted_password::json ->> 'key_id' from auth.users").await, "first");
    assert_eq!(server.sign_in(ADA).await.status, http::StatusCode::OK);
}

#[tokio::test]
async fn keys_of_refresh_tokens_are_encrypted_and_follow_the_key() {
    let counted = |current| {
        let mut settings = encrypted_with(current);
        settings.security.refresh_token_algorithm = 2;
        settings.security.refresh_token_upgrade_percentage = 100;
        settings
    };
    let server = Server::with(counted(Some("first"))).await;
    server.user(ADA).await;
    let key_of = "select refresh_token_hmac_key::json ->> 'key_id' from auth.sessions";
    let (_, first) = server.tokens(ADA).await;
    assert_eq!(server.text(key_of).await, "first");
    let second = server.refresh(&first).await.text("refresh_token").to_owned();
    assert_ne!(second, first);

    let rotated = server.second_node_with(counted(Some("second"))).await;
    let third = rotated.refresh(&second).await.text("refresh_token").to_owned();
    assert_eq!(server.text(key_of).await, "second");
    let keyless = server.second_node_with(Settings::default()).await;
    assert_eq!(keyless.refresh(&third).await.refusal(), (400, "refresh_token_not_found"));
    let last = server.refresh(&third).await;
    assert_eq!(last.status, http::StatusCode::OK, "{}", last.body);

    let (_, other) = server.tokens(ADA).await;
    server.sql("delete from auth.sessions where refresh_token_counter = 0").await;
    assert_eq!(server.refresh(&other).await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(server.refresh(&first).await.refusal(), (400, "refresh_token_already_used"));
    assert_eq!(
        server.value("select count(*) from auth.sessions").await,
        0,
        "a copied token ends the session"
    );
}

#[tokio::test]
async fn plain_keys_of_refresh_tokens_are_encrypted_as_they_are_used() {
    let mut settings = Settings::default();
    settings.security.refresh_token_algorithm = 2;
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (_, counted) = server.tokens(ADA).await;
    let plain_row = server.second_node_with(Settings::default()).await;
    let (_, row) = plain_row.tokens(ADA).await;

    let mut settings = encrypted_with(Some("first"));
    settings.security.refresh_token_algorithm = 2;
    settings.security.refresh_token_upgrade_percentage = 100;
    let encrypting = server.second_node_with(settings).await;
    for token in [counted, row] {
        let next = encrypting.refresh(&token).await.text("refresh_token").to_owned();
        assert_eq!(encrypting.refresh(&next).await.status, http::StatusCode::OK);
    }
    let plain = "select count(*) from auth.sessions where refresh_token_hmac_key not like '{%'";
    assert_eq!(server.value(plain).await, 0);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 2);
}
