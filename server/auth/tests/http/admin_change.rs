//! Administrators change and delete users.

use auth::{ProviderSettings, Settings};
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
async fn a_user_is_shown_and_changed_at_once() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let body = json!({
        "email": "Ada@Example.org", "phone": "+41791234567", "role": "editor", "phone_confirm": true,
        "user_metadata": { "full_name": null, "team": "red" }, "app_metadata": { "plan": "gold" },
    });
    let response = change(&server, &id, body).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let stored = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await;
    assert_eq!(stored.body, response.body, "the response is what is stored");
    let user = &stored.body;
    assert_eq!(
        (stored.text("email"), stored.text("phone"), stored.text("role")),
        ("ada@example.org", "41791234567", "editor")
    );
    assert!(user["phone_confirmed_at"].is_string());
    assert_eq!(user["user_metadata"], json!({ "team": "red" }));
    assert_eq!(user["app_metadata"], json!({ "provider": "email", "providers": ["email"], "plan": "gold" }));
    let addresses: Vec<_> =
        user["identities"].as_array().unwrap().iter().map(|identity| &identity["identity_data"]).collect();
    assert_eq!(addresses[0]["email"], json!("ada@example.org"));
    assert_eq!(
        (&addresses[1]["phone"], &addresses[1]["phone_verified"]),
        (&json!("41791234567"), &json!(true))
    );
    let logged = server.logged("user_modified").await;
    assert_eq!(
        (&logged["actor_username"], &logged["traits"]["user_id"]),
        (&json!("service_role"), &json!(id))
    );
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_and_keeps_to_the_rules() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let refresh = server.sign_in("ada@example.com").await.text("refresh_token").to_owned();
    for password in ["short", ""] {
        let response = change(&server, &id, json!({ "password": password })).await;
        assert_eq!(response.refusal(), (422, "weak_password"), "{password}");
    }
    let long = change(&server, &id, json!({ "password": "x".repeat(73) })).await;
    assert_eq!(long.refusal(), (400, "validation_failed"));
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
    assert_eq!(change(&server, &id, json!({ "password": "another battery" })).await.status, 200);
    assert_eq!(server.refresh(&refresh).await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "invalid_credentials"));
    let body = json!({ "email": "ada@example.com", "password": "another battery" });
    assert_eq!(server.post("/token?grant_type=password", body).await.status, 200);
}

#[tokio::test]
async fn bans_begin_and_end() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    assert!(change(&server, &id, json!({ "ban_duration": "100h" })).await.body["banned_until"].is_string());
    assert_eq!(server.get_as("/user", &token).await.refusal(), (403, "user_banned"));
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "user_banned"));
    assert!(change(&server, &id, json!({ "role": "editor" })).await.body["banned_until"].is_string());
    assert!(change(&server, &id, json!({ "ban_duration": "none" })).await.body.get("banned_until").is_none());
    assert_eq!(server.sign_in("ada@example.com").await.status, 200);
}

#[tokio::test]
async fn an_anonymous_user_with_a_confirmed_address_is_anonymous_no_more() {
    let providers = ProviderSettings { anonymous_users: true, ..ProviderSettings::default() };
    let server = Server::with(Settings { providers, ..Settings::default() }).await;
    let session = server.post("/signup", json!({ "data": {} })).await;
    let id = session.body["user"]["id"].as_str().unwrap().to_owned();
    let named = change(&server, &id, json!({ "email": "ada@example.com" })).await;
    assert_eq!((&named.body["is_anonymous"], named.text("email")), (&json!(true), "ada@example.com"));
    let confirmed = change(&server, &id, json!({ "email": "ada@example.com", "email_confirm": true })).await;
    assert_eq!(confirmed.body["is_anonymous"], json!(false));
    assert_eq!(confirmed.body["identities"][0]["identity_data"]["email_verified"], json!(true));
}

#[tokio::test]
async fn changes_that_cannot_be_are_refused_and_nothing_changes() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    server.user("eve@example.com").await;
    let before = server.administer(Method::GET, &format!("/admin/users/{id}"), json!({})).await.body;
    let refusals = [
        (json!({ "role": "editor", "email": "no address" }), 400, "validation_failed"),
        (json!({ "role": "editor", "phone": "0" }), 400, "validation_failed"),
        (json!({ "role": "editor", "ban_duration": "soon" }), 400, "validation_failed"),
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
    let logged = server.logged("user_deleted").await;
    assert_eq!(logged["traits"], json!({ "user_id": id, "user_email": "ada@example.com", "user_phone": "" }));
    assert_eq!(delete(&server, &id, json!({})).await.refusal(), (404, "user_not_found"));
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
