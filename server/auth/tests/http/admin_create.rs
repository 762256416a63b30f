//! Administrators create users.

use auth::{PasswordSettings, Settings};
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{PASSWORD, PASSWORD_HASH, Response, Server};

async fn create(server: &Server, body: Value) -> Response {
    server.administer(Method::POST, "/admin/users", body).await
}

#[tokio::test]
async fn every_field_is_taken_at_once() {
    let server = Server::start().await;
    let id = Uuid::new_v4();
    let response = create(
        &server,
        json!({
            "id": id, "aud": "staff", "role": " editor ", "email": "Ada@Example.com", "phone": "+41 79 123 45 67",
            "password": PASSWORD, "email_confirm": true, "phone_confirm": true, "ban_duration": "24h",
            "user_metadata": { "full_name": "Ada" }, "app_metadata": { "plan": "gold", "unknown": null },
            "something": "else",
        }),
    )
    .await;
    assert_eq!(response.status, 200, "{}", response.body);
    let user = &response.body;
    assert_eq!((&user["id"], &user["aud"], &user["role"]), (&json!(id), &json!("staff"), &json!("editor")));
    assert_eq!((response.text("email"), response.text("phone")), ("ada@example.com", "41791234567"));
    for field in ["email_confirmed_at", "phone_confirmed_at", "banned_until"] {
        assert!(user[field].is_string(), "{field}");
    }
    assert_eq!(user["user_metadata"], json!({ "full_name": "Ada", "email_verified": true }));
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "email", "providers": ["email", "phone"], "plan": "gold" })
    );
    let identities = user["identities"].as_array().unwrap();
    let of = |provider: &str| identities.iter().find(|identity| identity["provider"] == provider).unwrap();
    assert_eq!(
        of("email")["identity_data"],
        json!({ "sub": id, "email": "ada@example.com", "email_verified": false, "phone_verified": false })
    );
    assert_eq!(of("phone")["identity_data"]["phone"], json!("41791234567"));
    let banned =
        server.value("select extract(epoch from banned_until - created_at)::bigint / 3600 from auth.users");
    assert_eq!(banned.await, 24);
    let logged = server.logged("user_signedup").await;
    assert_eq!((&logged["actor_username"], &logged["log_type"]), (&json!("service_role"), &json!("team")));
    assert_eq!(
        logged["traits"],
        json!({ "user_id": id, "user_email": "ada@example.com", "user_phone": "41791234567", "provider": "email" })
    );
}

#[tokio::test]
async fn somebody_who_was_created_signs_in_as_soon_as_the_address_is_confirmed() {
    let server = Server::start().await;
    create(&server, json!({ "email": "ada@example.com", "password": PASSWORD, "email_confirm": true })).await;
    create(&server, json!({ "email": "eve@example.com", "password": PASSWORD })).await;
    assert_eq!(server.sign_in("ada@example.com").await.status, 200);
    assert_eq!(server.sign_in("eve@example.com").await.refusal(), (400, "email_not_confirmed"));
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 0, "nothing is mailed");
}

#[tokio::test]
async fn a_hash_of_another_system_is_taken_as_it_is() {
    let server = Server::start().await;
    let body = json!({ "email": "ada@example.com", "password_hash": PASSWORD_HASH, "email_confirm": true });
    assert_eq!(create(&server, body).await.status, 200);
    assert_eq!(server.sign_in("ada@example.com").await.status, 200);
    let argon2 = "$argon2id$v=19$m=16,t=2,p=1$c29tZXNhbHQ$LFrLBrVe4YFMiPEyrPkWWg";
    let body = json!({ "email": "eve@example.com", "password_hash": argon2 });
    assert_eq!(create(&server, body).await.status, 200);
    let stored = "select encrypted_password from auth.users where email = 'eve@example.com'";
    assert_eq!(server.text(stored).await, argon2);
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
async fn what_cannot_be_a_user_is_refused_and_leaves_nothing() {
    let server = Server::start().await;
    let email = "ada@example.com";
    let bodies = [
        json!({ "role": "editor" }),
        json!({ "email": "", "phone": "" }),
        json!({ "email": "no address" }),
        json!({ "phone": "079 123 45 67" }),
        json!({ "email": email, "password": PASSWORD, "password_hash": PASSWORD_HASH }),
        json!({ "email": email, "password": "x".repeat(73) }),
        json!({ "email": email, "password_hash": "secret" }),
        json!({ "email": email, "id": "1" }),
        json!({ "email": email, "id": Uuid::nil() }),
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
async fn what_somebody_else_has_is_refused() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    create(&server, json!({ "phone": "41791234567" })).await;
    let refusals = [
        (json!({ "email": "ADA@example.com" }), "email_exists"),
        (json!({ "phone": "+41791234567" }), "phone_exists"),
        (json!({ "email": "eve@example.com", "id": id }), "user_already_exists"),
    ];
    for (body, code) in refusals {
        assert_eq!(create(&server, body.clone()).await.refusal(), (422, code), "{body}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 2);
}
