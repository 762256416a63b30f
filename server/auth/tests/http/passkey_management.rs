//! Passkeys after their registration, and where there are none.

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::json;

use crate::authenticator::Authenticator;
use crate::harness::Server;
use crate::passkeys::{registered, signed_in, signs_in};

#[tokio::test]
async fn owners_list_name_and_remove_their_passkeys() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    let id = registered(&server, &token, &mut key).await;
    let other = registered(&server, &token, &mut Authenticator::new()).await;
    let list = server.get_as("/passkeys", &token).await;
    let ids: Vec<_> = list.body.as_array().unwrap().iter().map(|passkey| passkey["id"].clone()).collect();
    assert_eq!(ids, [json!(id), json!(other)]);
    assert_eq!(list.body[0]["friendly_name"], json!("Passkey"));
    assert!(list.body[0].get("last_used_at").is_none() && list.body[0].get("credential").is_none());

    let path = format!("/passkeys/{id}");
    let named = server.call(Method::PATCH, &path, &token, json!({ "friendly_name": "ü".repeat(120) })).await;
    assert_eq!((named.status, named.text("friendly_name")), (StatusCode::OK, &*"ü".repeat(120)));
    for name in [json!(null), json!(""), json!("x".repeat(121)), json!("a\0b")] {
        let refused = server.call(Method::PATCH, &path, &token, json!({ "friendly_name": name })).await;
        assert_eq!(refused.refusal(), (400, "validation_failed"), "{name}");
    }
    let gone = server.call(Method::DELETE, &path, &token, json!(null)).await;
    assert_eq!((gone.status, gone.body), (StatusCode::NO_CONTENT, json!("")));
    assert_eq!(
        server.call(Method::DELETE, &path, &token, json!(null)).await.refusal(),
        (404, "validation_failed")
    );
    assert_eq!(signs_in(&server, &mut key).await.refusal(), (400, "webauthn_verification_failed"));
}

#[tokio::test]
async fn other_peoples_passkeys_do_not_exist() {
    let (server, token) = signed_in().await;
    let id = registered(&server, &token, &mut Authenticator::new()).await;
    server.user("eve@example.com").await;
    let (eve, _) = server.tokens("eve@example.com").await;
    assert_eq!(server.get_as("/passkeys", &eve).await.body, json!([]));
    for path in [format!("/passkeys/{id}"), "/passkeys/7".to_owned()] {
        for method in [Method::PATCH, Method::DELETE] {
            let refused = server.call(method, &path, &eve, json!({ "friendly_name": "mine" })).await;
            assert_eq!(refused.refusal(), (404, "validation_failed"), "{path}");
        }
    }
}

#[tokio::test]
async fn who_has_a_second_factor_needs_it_to_remove_a_passkey() {
    let (server, token) = signed_in().await;
    let id = registered(&server, &token, &mut Authenticator::new()).await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    let (low, _) = server.tokens("ada@example.com").await;
    let path = format!("/passkeys/{id}");
    assert_eq!(
        server.call(Method::DELETE, &path, &low, json!(null)).await.refusal(),
        (403, "insufficient_aal")
    );
    assert_eq!(server.call(Method::DELETE, &path, &risen, json!(null)).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_project_without_passkeys_has_no_such_endpoints() {
    let server = Server::with(Settings::default()).await;
    for (method, path) in [
        (Method::POST, "/passkeys/registration/options"),
        (Method::POST, "/passkeys/registration/verify"),
        (Method::POST, "/passkeys/authentication/options"),
        (Method::POST, "/passkeys/authentication/verify"),
        (Method::GET, "/passkeys"),
        (Method::PATCH, "/passkeys/7"),
        (Method::DELETE, "/passkeys/7"),
    ] {
        let response = server.send(method, path, &[], ()).await;
        assert_eq!(response.refusal(), (404, "passkey_disabled"), "{path}");
    }
}

#[tokio::test]
async fn ceremonies_that_were_never_ended_are_cleared_away() {
    let (server, token) = signed_in().await;
    let begin =
        async || server.call(Method::POST, "/passkeys/authentication/options", &token, json!({})).await;
    begin().await;
    server.sql("update auth.webauthn_challenges set expires_at = now() - interval '61 minutes'").await;
    begin().await;
    assert_eq!(server.value("select count(*) from auth.webauthn_challenges").await, 1);
}
