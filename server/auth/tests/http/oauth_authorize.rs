//! The OAuth server's authorization endpoint and consent.

use http::{Method, StatusCode};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use crate::harness::is_keyless;
use crate::oauth::{App, CALLBACK, authorize, client, code_in, location, member, settings};

#[tokio::test]
async fn a_request_leads_to_the_consent_page_and_waits_there() {
    let app = App::start().await;
    let response = app.authorize(&[("scope", "openid  email openid")]).await;
    assert_eq!(response.status, StatusCode::FOUND);
    let target = Url::parse(location(&response)).unwrap();
    assert!(
        target.as_str().starts_with("https://site.example.com/oauth/consent?authorization_id="),
        "{target}"
    );
    let request = member(&target, "authorization_id").unwrap();
    let details = app.look(&request).await;
    let user = app.server.text("select id::text from auth.users").await;
    assert_eq!(
        details.body,
        json!({
            "authorization_id": request,
            "redirect_uri": CALLBACK,
            "client": { "id": app.id, "name": "Scoreboard" },
            "user": { "id": user, "email": "ada@example.com" },
            "scope": "openid email",
        })
    );
    assert_eq!(app.look(&request).await.body, details.body, "the page may be loaded again");
    assert!(is_keyless("/oauth/authorize"));
}

#[tokio::test]
async fn while_the_client_is_in_doubt_nobody_is_sent_anywhere() {
    let app = App::start().await;
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("client_id", "")], "validation_failed"),
        (&[("redirect_uri", "")], "validation_failed"),
        (&[("client_id", "me")], "oauth_client_not_found"),
        (&[("client_id", "00000000-0000-4000-8000-000000000000")], "oauth_client_not_found"),
        (&[("redirect_uri", "https://app.example.com/callback")], "validation_failed"),
        (&[("redirect_uri", "https://app.example.com/callback?keep=1&more=2")], "validation_failed"),
    ];
    for (changes, code) in cases {
        assert_eq!(app.authorize(changes).await.refusal(), (400, code), "{changes:?}");
    }
    app.server.sql("update auth.oauth_clients set deleted_at = now()").await;
    assert_eq!(app.authorize(&[]).await.refusal(), (400, "oauth_client_not_found"));
}

#[tokio::test]
async fn the_client_learns_what_is_wrong_with_its_request() {
    let app = App::start().await;
    let long = "x".repeat(4097);
    let cases: [&[(&str, &str)]; 10] = [
        &[("response_type", "token")],
        &[("scope", "email admin")],
        &[("scope", " ")],
        &[("code_challenge", "")],
        &[("code_challenge_method", "")],
        &[("code_challenge_method", "md5")],
        &[("code_challenge", "short")],
        &[("resource", "/relative")],
        &[("nonce", &long)],
        &[("nonce", "a\0b")],
    ];
    for changes in cases {
        let response = app.authorize(changes).await;
        assert_eq!(response.status, StatusCode::FOUND, "{changes:?}");
        let target = Url::parse(location(&response)).unwrap();
        assert!(target.as_str().starts_with(CALLBACK), "{target}");
        assert_eq!(member(&target, "error").as_deref(), Some("invalid_request"), "{target}");
        assert_eq!(member(&target, "state").as_deref(), Some("s t&te"));
        assert!(member(&target, "error_description").is_some_and(|text| !text.is_empty()));
    }
    assert_eq!(app.server.value("select count(*) from auth.oauth_authorizations").await, 0);

    let mut settings = settings();
    settings.oauth_server.authorization_path = String::new();
    let pageless = app.server.second_node_with(settings).await;
    let target = Url::parse(location(&authorize(&pageless, &app.id, &[]).await)).unwrap();
    assert_eq!(member(&target, "error").as_deref(), Some("server_error"));
}

#[tokio::test]
async fn what_was_granted_is_not_asked_for_again() {
    let app = App::start().await;
    app.code(&[("scope", "email profile")]).await;
    let request = app.request(&[("scope", "profile")]).await;
    let code = code_in(&app.look(&request).await);
    assert_eq!(app.exchange(&code).await.status, StatusCode::OK);
    let request = app.request(&[("scope", "profile phone")]).await;
    assert_eq!(app.look(&request).await.text("scope"), "profile phone");
}

#[tokio::test]
async fn a_request_belongs_to_the_first_user_who_looks_at_it() {
    let app = App::start().await;
    app.server.user("eve@example.com").await;
    let eve = app.server.sign_in("eve@example.com").await.text("access_token").to_owned();
    let request = app.request(&[]).await;
    assert_eq!(
        app.decide(&request, "approve").await.refusal(),
        (404, "oauth_authorization_not_found"),
        "nobody agrees to what they have not seen"
    );
    app.look(&request).await;
    let path = format!("/oauth/authorizations/{request}");
    assert_eq!(app.server.get_as(&path, &eve).await.refusal(), (404, "oauth_authorization_not_found"));
    let bearer = format!("Bearer {eve}");
    let body = json!({ "action": "approve" }).to_string();
    let consent = format!("{path}/consent");
    let stolen = app.server.send(Method::POST, &consent, &[("authorization", &bearer)], body).await;
    assert_eq!(stolen.refusal(), (404, "oauth_authorization_not_found"));
    assert_eq!(app.decide(&request, "approve").await.status, StatusCode::OK);
}

#[tokio::test]
async fn who_refuses_sends_the_client_away_with_nothing() {
    let app = App::start().await;
    let request = app.request(&[]).await;
    app.look(&request).await;
    let target = Url::parse(app.decide(&request, "deny").await.text("redirect_url")).unwrap();
    assert_eq!(member(&target, "error").as_deref(), Some("access_denied"));
    assert_eq!((member(&target, "state").as_deref(), member(&target, "code")), (Some("s t&te"), None));
    assert_eq!(app.decide(&request, "approve").await.refusal(), (400, "validation_failed"));
    assert_eq!(app.look(&request).await.refusal(), (400, "validation_failed"));
    assert_eq!(app.server.value("select count(*) from auth.oauth_consents").await, 0);
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
    for (id, body, refusal) in [
        (request.as_str(), "{\"action\":\"maybe\"}", (400, "validation_failed")),
        (request.as_str(), "{}", (400, "validation_failed")),
        (request.as_str(), "nonsense", (400, "bad_json")),
        ("unknown", "{\"action\":\"deny\"}", (404, "oauth_authorization_not_found")),
        ("a%00b", "{\"action\":\"deny\"}", (404, "oauth_authorization_not_found")),
    ] {
        let path = format!("/oauth/authorizations/{id}/consent");
        let response = app.server.send(Method::POST, &path, &[("authorization", &bearer)], body).await;
        assert_eq!(response.refusal(), refusal, "{id} {body}");
    }
}

#[tokio::test]
async fn a_client_that_is_gone_is_not_asked_about() {
    let app = App::start().await;
    let request = app.request(&[]).await;
    app.server.sql("update auth.oauth_clients set deleted_at = now()").await;
    assert_eq!(app.look(&request).await.refusal(), (404, "oauth_authorization_not_found"));
}

#[tokio::test]
async fn grants_are_listed_and_taken_back_with_their_sessions() {
    let app = App::start().await;
    let (server, token) = (&app.server, &app.token);
    assert_eq!(server.get_as("/user/oauth/grants", token).await.body, json!([]));
    let code = app.code(&[("scope", "email phone")]).await;
    let tokens = app.exchange(&code).await;
    let grants = server.get_as("/user/oauth/grants", token).await.body;
    assert_eq!(
        (&grants[0]["client"], &grants[0]["scopes"]),
        (&json!({ "id": app.id, "name": "Scoreboard" }), &json!(["email", "phone"]))
    );
    assert!(grants[0]["granted_at"].as_str().unwrap().ends_with('Z'));

    let bearer = format!("Bearer {token}");
    let revoke = async |id: &str| {
        let path = format!("/user/oauth/grants?client_id={id}");
        server.send(Method::DELETE, &path, &[("authorization", &bearer)], "").await
    };
    assert_eq!(revoke("").await.refusal(), (400, "validation_failed"));
    assert_eq!(revoke("me").await.refusal(), (400, "validation_failed"));
    assert_eq!(revoke(&Uuid::new_v4().to_string()).await.refusal(), (404, "oauth_consent_not_found"));
    assert_eq!(revoke(&app.id).await.status, StatusCode::NO_CONTENT);
    assert_eq!(revoke(&app.id).await.refusal(), (404, "oauth_consent_not_found"));

    let refused = app.refresh(tokens.text("refresh_token")).await;
    assert_eq!(refused.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(
        server.get_as("/user", tokens.text("access_token")).await.refusal(),
        (403, "session_not_found")
    );
    assert_eq!(server.get_as("/user", token).await.status, StatusCode::OK, "the user's own session goes on");
    assert_eq!(server.get_as("/user/oauth/grants", token).await.body, json!([]));
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'token_revoked'
        and payload -> 'traits' ->> 'action' = 'revoke_oauth_grant'";
    assert_eq!(server.value(logged).await, 1);
    let request = app.request(&[("scope", "email")]).await;
    assert_eq!(app.look(&request).await.text("scope"), "email", "the user is asked again");
}

#[tokio::test]
async fn grants_tell_only_of_clients_that_are_there() {
    let app = App::start().await;
    app.code(&[]).await;
    let other = client(&app.server, json!({ "client_name": "Other" })).await;
    assert!(!other.text("client_id").is_empty());
    app.server.sql("update auth.oauth_clients set deleted_at = now() where client_name = 'Scoreboard'").await;
    assert_eq!(app.server.get_as("/user/oauth/grants", &app.token).await.body, json!([]));
}
