//! The OAuth server's authorization endpoint and consent.

use http::{Method, StatusCode};
use serde_json::Value;
use url::Url;

use crate::oauth::{App, CALLBACK, authorize, location, member, settings};

#[tokio::test]
async fn the_consent_page_is_a_path_of_the_site() {
    let app = App::start().await;
    let response = app.authorize(&[("scope", "openid  email openid")]).await;
    assert_eq!(response.status, StatusCode::FOUND);
    let target = Url::parse(location(&response)).unwrap();
    assert!(
        target.as_str().starts_with("https://site.example.com/oauth/consent?authorization_id="),
        "{target}"
    );
    let request = member(&target, "authorization_id").unwrap();
    assert_eq!(app.look(&request).await.text("scope"), "openid email");

    let mut settings = settings();
    settings.oauth_server.authorization_path = String::new();
    let pageless = app.server.second_node_with(settings).await;
    let target = Url::parse(location(&authorize(&pageless, &app.id, &[]).await)).unwrap();
    assert_eq!(member(&target, "error").as_deref(), Some("server_error"));
}

#[tokio::test]
async fn nothing_is_stored_of_a_request_that_is_refused() {
    let app = App::start().await;
    let long = "x".repeat(4097);
    for changes in [[("scope", "email admin")], [("nonce", long.as_str())], [("nonce", "a\0b")]] {
        let response = app.authorize(&changes).await;
        assert_eq!(response.status, StatusCode::FOUND, "{changes:?}");
        let target = Url::parse(location(&response)).unwrap();
        assert!(target.as_str().starts_with(CALLBACK), "{target}");
        assert_eq!(member(&target, "error").as_deref(), Some("invalid_request"), "{target}");
        assert_eq!(member(&target, "state").as_deref(), Some("s t&te"));
    }
    assert_eq!(app.server.value("select count(*) from auth.oauth_authorizations").await, 0);
}

#[tokio::test]
async fn what_waits_too_long_expires() {
    let app = App::start().await;
    let request = app.request(&[]).await;
    app.server
        .sql("update auth.oauth_authorizations set created_at = now() - interval '1 hour', expires_at = now() - interval '1 second'")
        .await;
    assert_eq!(app.look(&request).await.refusal(), (404, "oauth_authorization_not_found"));
    assert_eq!(app.server.text("select status::text from auth.oauth_authorizations").await, "expired");
    assert_eq!(app.decide(&request, "approve").await.refusal(), (404, "oauth_authorization_not_found"));
}

#[tokio::test]
async fn the_consent_page_is_the_sites_own() {
    let app = App::start().await;
    let request = app.request(&[]).await;
    let bearer = format!("Bearer {}", app.token);
    let look = async |headers: &[(&str, &str)]| {
        app.server.send(Method::GET, &format!("/oauth/authorizations/{request}"), headers, "").await
    };
    for origin in ["https://evil.example", "null"] {
        let response = look(&[("authorization", &bearer), ("origin", origin)]).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{origin}");
    }
    let own = look(&[("authorization", &bearer), ("origin", "https://site.example.com")]).await;
    assert_eq!(own.status, StatusCode::OK);
    assert_eq!(look(&[]).await.refusal(), (401, "no_authorization"));
    assert_eq!(app.decide("a%00b", "deny").await.refusal(), (404, "oauth_authorization_not_found"));
}

#[tokio::test]
async fn the_audit_log_tells_of_a_grant_that_is_taken_back() {
    let app = App::start().await;
    app.code(&[]).await;
    let path = format!("/user/oauth/grants?client_id={}", app.id);
    let revoked = app.server.call(Method::DELETE, &path, &app.token, Value::Null).await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'token_revoked'
        and payload -> 'traits' ->> 'action' = 'revoke_oauth_grant'";
    assert_eq!(app.server.value(logged).await, 1);
}
