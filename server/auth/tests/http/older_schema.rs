//! On a database whose schema "auth" another service made years ago.

use auth::FactorSettings;
use http::StatusCode;
use serde_json::json;

use crate::harness::{PASSWORD, Server};
use crate::oauth;

/// The account in the fixture, from before accounts had identities.
const OLD: &str = "old@example.com";

fn settings() -> auth::Settings {
    let mut settings = oauth::settings();
    settings.mail.autoconfirm = true;
    settings.mfa.webauthn = FactorSettings { enroll: true, verify: true };
    settings.passkeys.enabled = true;
    settings
}

#[tokio::test]
async fn everybody_signs_up_and_in_and_the_newer_tables_work() {
    let server = Server::on_schemas_of_2022(settings()).await;
    let body = json!({ "email": "new@example.com", "password": PASSWORD });
    let new = server.post("/signup", body).await;
    assert_eq!(new.status, StatusCode::OK, "{}", new.body);
    assert_eq!(server.refresh(new.text("refresh_token")).await.status, StatusCode::OK);
    let (token, _) = server.tokens(OLD).await;
    let user = server.get_as("/user", &token).await;
    assert_eq!(user.body["identities"][0]["provider"], "email", "{}", user.body);
    let app = server.enroll_app(&token, "app").await;
    let (risen, refresh) = server.rise(&token, &app).await;
    assert_eq!(server.claims(&risen)["aal"], json!("aal2"));
    assert_eq!(server.refresh(&refresh).await.status, StatusCode::OK);
    let client = oauth::client(&server, json!({ "client_type": "public" })).await;
    assert_eq!(client.status, StatusCode::CREATED, "{}", client.body);
    let options = server.send(http::Method::POST, "/passkeys/authentication/options", &[], ()).await;
    assert_eq!(options.status, StatusCode::OK, "{}", options.body);
}
