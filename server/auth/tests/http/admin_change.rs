//! Administrators change and delete users.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Response, Server};

async fn change(server: &Server, id: &str, body: Value) -> Response {
    server.administer(Method::PUT, &format!("/admin/users/{id}"), body).await
}

async fn delete(server: &Server, id: &str, body: Value) -> Response {
    server.administer(Method::DELETE, &format!("/admin/users/{id}"), body).await
}

#[tokio::test]
async fn changes_that_cannot_be_stored_are_refused_and_nothing_changes() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    server.user("eve@example.com").await;
    let before = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await.body;
    let refusals = [
        (json!({ "role": "a\u{0}" }), 400, "validation_failed"),
        (json!({ "role": "editor", "email": "eve@example.com" }), 422, "email_exists"),
    ];
    for (body, status, code) in refusals {
        assert_eq!(change(&server, &id, body.clone()).await.refusal(), (status, code), "{body}");
    }
    let after = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await.body;
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_deleted_user_is_gone_with_everything() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    server.sign_in("ada@example.com").await;
    let response = delete(&server, &id, json!({})).await;
    assert_eq!((response.status.as_u16(), response.body), (200, json!({})));
    for table in ["users", "identities", "sessions", "refresh_tokens"] {
        assert_eq!(server.value(&format!("select count(*) from auth.{table}")).await, 0, "{table}");
    }
}

#[tokio::test]
async fn a_softly_deleted_user_leaves_a_row_that_tells_nothing() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let session = server.sign_in("ada@example.com").await;
    server.post("/recover", json!({ "email": "ada@example.com" })).await;
    let response = delete(&server, &id, json!({ "should_soft_delete": true })).await;
    assert_eq!((response.status.as_u16(), response.body), (200, json!({})));
    let first = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await;
    let user = &first.body;
    // Upstream's hashes: base64 without padding of SHA-256 over the id and the value.
    let hash =
        |value: &str| format!("rtrim(translate(encode(sha256('{id}{value}'), 'base64'), '+/', '-_'), '=')");
    assert_eq!(first.text("email"), server.text(&format!("select {}", hash("ada@example.com"))).await);
    assert_eq!(first.text("phone"), server.text(&format!("select left({}, 15)", hash(""))).await);
    let subject = hash(&format!("email:{id}"));
    assert_eq!(user["identities"][0]["id"], json!(server.text(&format!("select {subject}")).await));
    assert!(user["identities"][0].get("identity_data").is_none(), "{user}");
    assert_eq!((&user["user_metadata"], &user["app_metadata"]), (&json!({}), &json!({})));
    assert!(user["deleted_at"].is_string());
    assert!(!user.to_string().contains("ada@example.com"));
    for table in ["sessions", "one_time_tokens", "mfa_factors", "webauthn_credentials"] {
        assert_eq!(server.value(&format!("select count(*) from auth.{table}")).await, 0, "{table}");
    }
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "invalid_credentials"));
    assert_eq!(
        server.refresh(session.text("refresh_token")).await.refusal(),
        (400, "refresh_token_not_found")
    );

    let deleted_at = first.text("deleted_at").to_owned();
    assert_eq!(delete(&server, &id, json!({ "should_soft_delete": true })).await.status, 200);
    let second = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await;
    assert_eq!((second.text("deleted_at"), second.text("email")), (deleted_at.as_str(), first.text("email")));

    let newcomer = json!({ "email": "ada@example.com", "password": PASSWORD, "email_confirm": true });
    assert_eq!(server.administer(Method::POST, "/admin/users", newcomer).await.status, 200);
    assert_eq!(delete(&server, &id, json!({})).await.status, 200);
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn a_first_password_that_an_administrator_sets_comes_with_an_identity() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    server
        .sql(
            "update auth.users set encrypted_password = null;
             update auth.identities set provider = 'github', provider_id = '1', identity_data = '{\"sub\": \"1\"}'",
        )
        .await;
    let path = format!("/admin/users/{id}");
    let set = server.administer(Method::PUT, &path, json!({ "password": "a better secret" })).await;
    let mut providers: Vec<_> =
        set.body["identities"].as_array().unwrap().iter().map(|one| one["provider"].clone()).collect();
    providers.sort_by_key(Value::to_string);
    assert_eq!(providers, [json!("email"), json!("github")], "{}", set.body);
    assert_eq!(set.body["app_metadata"]["providers"], json!(["github", "email"]));
}
