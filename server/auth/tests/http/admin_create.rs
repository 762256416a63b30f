//! Administrators create users.

use auth::{PasswordSettings, Settings};
use http::Method;
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Response, Server};

async fn create(server: &Server, body: Value) -> Response {
    server.administer(Method::POST, "/admin/users", body).await
}

#[tokio::test]
async fn nothing_is_mailed_to_somebody_who_is_created() {
    let server = Server::start().await;
    create(&server, json!({ "email": "eve@example.com", "password": PASSWORD })).await;
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0);
}

#[tokio::test]
async fn a_hash_of_another_system_is_kept_as_it_is() {
    let server = Server::start().await;
    let argon2 = "$argon2id$v=19$m=16,t=2,p=1$c29tZXNhbHQ$LFrLBrVe4YFMiPEyrPkWWg";
    let body = json!({ "email": "eve@example.com", "password_hash": argon2 });
    assert_eq!(create(&server, body).await.status, 200);
    assert_eq!(server.text("select encrypted_password from auth.users").await, argon2);
}

#[tokio::test]
async fn without_a_password_nobody_knows_it_and_rules_of_passwords_are_not_asked() {
    let passwords = PasswordSettings { min_length: 20, ..PasswordSettings::default() };
    let server = Server::with(Settings { passwords, ..Settings::default() }).await;
    for (email, password) in
        [("a@example.com", json!(null)), ("b@example.com", json!("")), ("c@example.com", json!("x"))]
    {
        let response = create(&server, json!({ "email": email, "password": password })).await;
        assert_eq!(response.status, 200, "{email} {}", response.body);
    }
    let hashes =
        "select count(distinct encrypted_password) from auth.users where encrypted_password like '$2%'";
    assert_eq!(server.value(hashes).await, 3);
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_and_leaves_nothing() {
    let server = Server::start().await;
    let email = "ada@example.com";
    let bodies = [
        json!({ "email": email, "password_hash": "secret" }),
        json!({ "email": email, "ban_duration": "forever" }),
        json!({ "email": email, "role": "a\u{0}b" }),
        json!({ "email": email, "aud": "x".repeat(256) }),
        json!({ "email": email, "user_metadata": { "a": "\u{0}" } }),
    ];
    for body in bodies {
        assert_eq!(create(&server, body.clone()).await.refusal(), (400, "validation_failed"), "{body}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
    assert_eq!(server.value("select count(*) from auth.audit_log_entries").await, 0);
}

#[tokio::test]
async fn an_id_belongs_to_one_user() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let taken = create(&server, json!({ "email": "eve@example.com", "id": id })).await;
    assert_eq!(taken.refusal(), (422, "user_already_exists"));
}
