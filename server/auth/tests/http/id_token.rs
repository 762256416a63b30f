//! Sign-in with ID tokens.

use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Response, Server};
use crate::provider::Provider;
use crate::sign_in_at::settings;

async fn start() -> (Provider, Server) {
    let provider = Provider::start().await;
    let server = Server::with(settings(&provider, &["keycloak", "google", "apple", "facebook"])).await;
    (provider, server)
}

async fn show(server: &Server, fields: Value) -> Response {
    server.post("/token?grant_type=id_token", fields).await
}

fn claims() -> Value {
    json!({ "sub": "1", "email": "ada@example.com", "email_verified": true, "name": "Ada" })
}

fn with(mut claims: Value, name: &str, value: impl Into<Value>) -> Value {
    claims[name] = value.into();
    claims
}

/// Returns status, `error` and `error_description` of an OAuth-style response.
fn oauth(response: &Response) -> (u16, &str, &str) {
    (response.status.as_u16(), response.text("error"), response.text("error_description"))
}

#[tokio::test]
async fn a_token_of_a_known_issuer_signs_in() {
    let (provider, server) = start().await;
    let token = provider.id_token(&claims());
    let session = show(&server, json!({ "provider": "keycloak", "id_token": token })).await;
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(session.body["user"]["email"], "ada@example.com");
    assert_eq!(session.body["user"]["app_metadata"]["provider"], "keycloak");
    assert_eq!(session.body["user"]["identities"][0]["id"], "1");
    let payload = session.text("access_token").split('.').nth(1).unwrap().to_owned();
    let payload = base64::Engine::decode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, payload).unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(payload["amr"][0]["method"], "oauth");
    // By its issuer, too.
    let body = json!({ "issuer": provider.url, "client_id": "client", "id_token": token });
    let session = show(&server, body).await;
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_said() {
    let (provider, server) = start().await;
    let token = provider.id_token(&claims());
    let invalid = |description: &'static str| (400, "invalid request", description);
    let response = show(&server, json!({ "id_token": token, "provider": "gitlab" })).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
    let response = show(&server, json!({ "id_token": token, "provider": "kakao" })).await;
    assert_eq!(response.refusal(), (400, "provider_disabled"));
    let unknown = json!({ "id_token": token, "issuer": "https://evil.example", "client_id": "client" });
    assert_eq!(show(&server, unknown).await.refusal(), (400, "validation_failed"));
    for id_token in ["nonsense", "a.b.c", "e30.e30.e30"] {
        let response = show(&server, json!({ "id_token": id_token, "provider": "keycloak" })).await;
        assert_eq!(oauth(&response), invalid("Bad ID token"), "{id_token}");
        let response = show(&server, json!({ "id_token": id_token, "provider": "apple" })).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{id_token}");
    }
    let foreign = show(&server, json!({ "id_token": 5, "provider": "keycloak" })).await;
    assert_eq!(foreign.refusal(), (400, "bad_json"));
    let _ = provider;
}

#[tokio::test]
async fn only_tokens_for_this_project_and_this_moment_count() {
    let (provider, server) = start().await;
    let show_claims = async |claims: Value| {
        show(&server, json!({ "provider": "keycloak", "id_token": provider.id_token(&claims) })).await
    };
    let bad = [
        with(claims(), "exp", 1_000_000_000),
        with(claims(), "exp", Value::Null),
        with(claims(), "nbf", 9_000_000_000_u64),
        with(claims(), "iss", "https://evil.example"),
        with(claims(), "email", 5),
    ];
    for claims in bad {
        let response = show_claims(claims.clone()).await;
        assert_eq!(oauth(&response), (400, "invalid request", "Bad ID token"), "{claims}");
    }
    let response = show_claims(with(claims(), "sub", "")).await;
    assert_eq!(oauth(&response), (400, "invalid request", "Missing sub claim in id_token"));
    for audience in [json!("somebody"), json!([]), json!(["a", "b"])] {
        let response = show_claims(with(claims(), "aud", audience)).await;
        assert!(response.text("error_description").starts_with("Unacceptable audience in id_token"));
    }
    for audience in [json!("other-client"), json!(["a", "client"])] {
        assert_eq!(show_claims(with(claims(), "aud", audience)).await.status, 200);
    }
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let (provider, server) = start().await;
    let token = provider.id_token(&claims());
    let (message, _) = token.rsplit_once('.').unwrap();
    let (_, payload) = message.split_once('.').unwrap();
    let encode = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, text);
    let none = encode(r#"{"alg":"none"}"#);
    let symmetric = jsonwebtoken::encode(
        &jsonwebtoken::Header::default(),
        &json!({ "iss": provider.url, "aud": "client", "sub": "1", "exp": 9_000_000_000_u64 }),
        // Published by the issuer as if it were a key.
        &jsonwebtoken::EncodingKey::from_secret(b"secret"),
    )
    .unwrap();
    let others = provider.id_token_by("second", &claims());
    for forged in
        [format!("{none}.{payload}."), format!("{message}.AAAA"), format!("{message}."), symmetric, others]
    {
        let response = show(&server, json!({ "provider": "keycloak", "id_token": forged })).await;
        assert_eq!(oauth(&response), (400, "invalid request", "Bad ID token"), "{forged}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn keys_are_fetched_once_and_again_when_they_change() {
    let (provider, server) = start().await;
    for _ in 0..3 {
        let token = provider.id_token(&claims());
        assert_eq!(show(&server, json!({ "provider": "keycloak", "id_token": token })).await.status, 200);
    }
    assert_eq!(provider.requests("/keys").len(), 1);
    assert_eq!(provider.requests("/.well-known/openid-configuration").len(), 1);
    provider.publish("second");
    let token = provider.id_token_by("second", &claims());
    assert_eq!(show(&server, json!({ "provider": "keycloak", "id_token": token })).await.status, 200);
    assert_eq!(provider.requests("/keys").len(), 2);
    let retired = provider.id_token(&claims());
    for _ in 0..20 {
        let response = show(&server, json!({ "provider": "keycloak", "id_token": retired })).await;
        assert_eq!(response.text("error_description"), "Bad ID token");
    }
    let count = provider.requests("/keys").len();
    assert!(count <= 12, "a flood of forged tokens asked {count} times");
}

#[tokio::test]
async fn an_issuer_that_is_down_keeps_nobody_out_for_longer_than_it_is() {
    let (provider, server) = start().await;
    let token = provider.id_token(&claims());
    provider.respond_with("/.well-known/openid-configuration", 503, "");
    let response = show(&server, json!({ "provider": "keycloak", "id_token": token })).await;
    assert_eq!(oauth(&response), (400, "invalid request", "Bad ID token"));
    provider.publish("first");
    assert_eq!(show(&server, json!({ "provider": "keycloak", "id_token": token })).await.status, 200);
    provider.respond_with("/.well-known/openid-configuration", 503, "");
    assert_eq!(show(&server, json!({ "provider": "keycloak", "id_token": token })).await.status, 200);
}

#[tokio::test]
async fn a_nonce_is_on_both_sides_or_on_none() {
    let (provider, server) = start().await;
    let hash =
        Sha256::digest("secret nonce").iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let fields = |claims: &Value, nonce: &str| json!({ "provider": "keycloak", "id_token": provider.id_token(claims), "nonce": nonce });
    let both = with(claims(), "nonce", hash);
    assert_eq!(show(&server, fields(&both, "secret nonce")).await.status, 200);
    let response = show(&server, fields(&both, "another")).await;
    assert_eq!(oauth(&response), (400, "invalid nonce", "Nonces mismatch"));
    for (claims, nonce) in [(&both, ""), (&claims(), "secret nonce")] {
        let response = show(&server, fields(claims, nonce)).await;
        let description = "Passed nonce and nonce in id_token should either both exist or not.";
        assert_eq!(oauth(&response), (400, "invalid request", description));
    }
    // Facebook's have one that nobody can check.
    let facebook = json!({ "provider": "facebook", "id_token": provider.id_token(&both) });
    assert_eq!(show(&server, facebook).await.status, 200);
}

#[tokio::test]
async fn an_access_token_must_be_the_one_that_came_along() {
    let (provider, server) = start().await;
    let token = provider.id_token(&with(claims(), "at_hash", "77QmUPtjPfzWtF2AnpK9RQ"));
    let fields = |access: &str| json!({ "provider": "google", "id_token": token, "access_token": access });
    let fitting = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    assert_eq!(show(&server, fields(fitting)).await.status, 200);
    assert_eq!(show(&server, fields("another")).await.text("error_description"), "Bad ID token");
    assert_eq!(show(&server, fields("")).await.status, 200);
}

#[tokio::test]
async fn unverified_addresses_and_banned_users_stay_out() {
    let (provider, server) = start().await;
    let token = provider.id_token(&with(claims(), "email_verified", false));
    let response = show(&server, json!({ "provider": "google", "id_token": token })).await;
    assert_eq!(response.refusal(), (422, "provider_email_needs_verification"));
    let token = provider.id_token(&with(claims(), "sub", "2"));
    server.sql("delete from auth.users").await;
    assert_eq!(show(&server, json!({ "provider": "google", "id_token": token })).await.status, 200);
    server.sql("update auth.users set banned_until = 'infinity'").await;
    let response = show(&server, json!({ "provider": "google", "id_token": token })).await;
    assert_eq!(response.refusal(), (403, "user_banned"));
}

#[tokio::test]
async fn apples_tokens_may_be_for_the_app() {
    let provider = Provider::start().await;
    let mut apple = settings(&provider, &["apple"]);
    apple.providers.ios_bundle_id = "example.app".to_owned();
    let server = Server::with(apple).await;
    let token = provider.id_token(&json!({ "sub": "001", "email": "ada@example.com", "aud": "example.app" }));
    let session = show(&server, json!({ "provider": "apple", "id_token": token })).await;
    assert_eq!(session.status, 200, "{}", session.body);
    let mismatch = json!({ "provider": "apple", "id_token": token, "issuer": "https://account.apple.com" });
    assert_eq!(show(&server, mismatch).await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn settings_may_allow_an_issuer() {
    let provider = Provider::start().await;
    let mut allowing = settings(&provider, &[]);
    allowing.providers.allowed_id_token_issuers.push(provider.url.clone());
    let server = Server::with(allowing).await;
    let token = provider.id_token(&with(claims(), "aud", "anybody"));
    let fields = json!({ "issuer": provider.url, "client_id": "anybody", "id_token": token });
    let session = show(&server, fields).await;
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(session.body["user"]["identities"][0]["provider"], provider.url.as_str());
}

#[tokio::test]
async fn a_token_links_to_whoever_shows_an_access_token_with_it() {
    let (provider, server) = start().await;
    let id = server.user("grace@example.com").await;
    let access = server.sign_in("grace@example.com").await.text("access_token").to_owned();
    let fields =
        json!({ "provider": "google", "id_token": provider.id_token(&claims()), "link_identity": true });
    let response = show(&server, fields.clone()).await;
    let description = "Linking requires a valid user access token in Authorization";
    assert_eq!(oauth(&response), (400, "invalid request", description));
    let bearer = format!("Bearer {access}");
    let headers = [("authorization", bearer.as_str())];
    let link =
        async || server.send(Method::POST, "/token?grant_type=id_token", &headers, fields.to_string()).await;
    let session = link().await;
    assert_eq!(session.status, 200, "{}", session.body);
    assert_eq!(session.body["user"]["id"], id.as_str());
    assert_eq!(session.body["user"]["email"], "grace@example.com");
    assert_eq!(session.body["user"]["app_metadata"]["providers"], json!(["email", "google"]));
    assert_eq!(link().await.refusal(), (422, "identity_already_exists"));
}
