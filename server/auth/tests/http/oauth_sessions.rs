//! What an OAuth client may do with the token that a user has let it have.

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::Server;
use crate::oauth::{App, CALLBACK, VERIFIER, basic, claims, client, oauth_error, settings, token};

/// Returns settings with everything that users can do.
fn everything() -> Settings {
    let mut settings = settings();
    settings.security.manual_linking = true;
    settings.passkeys.enabled = true;
    settings
}

/// Returns the operations of the OpenAPI document, with an id in place of each parameter of the path.
async fn operations(server: &Server) -> Vec<(Method, String)> {
    let document = server.get("/openapi.json").await.body;
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let parts = path.split('/').map(|part| match part.starts_with('{') {
            true => "00000000-0000-4000-8000-000000000000",
            false => part,
        });
        let path = parts.collect::<Vec<_>>().join("/");
        methods.as_object().unwrap().keys().map(move |method| {
            (Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap(), path.clone())
        })
    });
    operations.collect()
}

#[tokio::test]
async fn a_clients_token_opens_nothing_but_what_it_is_for() {
    let app = App::with(everything()).await;
    let code = app.code(&[]).await;
    let access = app.exchange(&code).await.text("access_token").to_owned();
    let bearer = format!("Bearer {access}");
    let mut closed = 0;
    for (method, path) in operations(&app.server).await {
        let body = || if method == Method::GET { String::new() } else { "{}".to_owned() };
        let nobodys = app.server.send(method.clone(), &path, &[], body()).await;
        let needs_user = nobodys.refusal() == (401, "no_authorization");
        let is_open = matches!(path.as_str(), "/user" if method == Method::GET)
            || matches!(path.as_str(), "/oauth/userinfo" | "/logout");
        if !needs_user || is_open {
            continue;
        }
        let response = app.server.send(method.clone(), &path, &[("authorization", &bearer)], body()).await;
        let refusal = response.refusal();
        assert!(
            matches!(refusal, (403, "no_authorization" | "not_admin")),
            "{method} {path}: {refusal:?} {}",
            response.body
        );
        closed += 1;
    }
    assert!(closed >= 40, "{closed} operations need a user");
    assert_eq!(app.server.get_as("/user", &access).await.text("email"), "ada@example.com");
    assert_eq!(app.server.get_as("/oauth/userinfo", &access).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_changes_no_account() {
    let app = App::with(everything()).await;
    let access = app.exchange(&app.code(&[]).await).await.text("access_token").to_owned();
    let server = &app.server;
    let refused = (403, "no_authorization");
    for change in [
        json!({ "password": "a better secret" }),
        json!({ "email": "new@example.com" }),
        json!({ "phone": "41791234567" }),
        json!({ "data": { "a": 1 } }),
    ] {
        assert_eq!(server.put_as("/user", &access, change).await.refusal(), refused);
    }
    assert_eq!(server.enroll(&access, json!({ "factor_type": "totp" })).await.refusal(), refused);
    let own = server.enroll_app(&app.token, "app").await;
    let factor = format!("/factors/{}", own.factor);
    assert_eq!(server.call(Method::DELETE, &factor, &access, Value::Null).await.refusal(), refused);
    let request = app.request(&[]).await;
    let path = format!("/oauth/authorizations/{request}");
    assert_eq!(server.get_as(&path, &access).await.refusal(), refused);
    let consent =
        server.call(Method::POST, &format!("{path}/consent"), &access, json!({ "action": "approve" })).await;
    assert_eq!(consent.refusal(), refused);
    assert_eq!(server.sign_in("ada@example.com").await.status, StatusCode::OK, "the password is the old one");
}

#[tokio::test]
async fn an_administrators_client_administers_nothing() {
    let app = App::start().await;
    app.server.sql("update auth.users set role = 'service_role'").await;
    let own = app.server.sign_in("ada@example.com").await.text("access_token").to_owned();
    assert_eq!(app.server.get_as("/admin/users", &own).await.status, StatusCode::OK);
    let access = app.exchange(&app.code(&[]).await).await.text("access_token").to_owned();
    assert_eq!(claims(&access)["role"], "service_role");
    assert_eq!(app.server.get_as("/admin/users", &access).await.refusal(), (403, "not_admin"));
}

#[tokio::test]
async fn a_client_signs_out_itself_only() {
    for scope in ["", "?scope=global", "?scope=local", "?scope=others"] {
        let app = App::start().await;
        let access = app.exchange(&app.code(&[]).await).await.text("access_token").to_owned();
        let response = app.server.post_as(&format!("/logout{scope}"), &access).await;
        assert_eq!(response.status, StatusCode::NO_CONTENT, "{scope}: {}", response.body);
        assert_eq!(app.server.get_as("/user", &app.token).await.status, StatusCode::OK, "{scope}");
        let clients = app.server.get_as("/user", &access).await.status;
        assert_eq!(clients == StatusCode::OK, scope == "?scope=others", "{scope}");
    }
}

#[tokio::test]
async fn a_code_that_is_used_twice_ends_what_it_gave() {
    let app = App::start().await;
    let node = app.on_second_node().await;
    let kept = app.exchange(&app.code(&[]).await).await.text("access_token").to_owned();
    let code = app.code(&[]).await;
    let first = app.exchange(&code).await;
    let refreshed = app.refresh(first.text("refresh_token")).await;
    assert_eq!(refreshed.status, StatusCode::OK, "{}", refreshed.body);
    assert_eq!(oauth_error(&node.exchange(&code).await), "invalid_grant");
    for access in [first.text("access_token"), refreshed.text("access_token")] {
        assert_eq!(app.server.get_as("/user", access).await.refusal(), (403, "session_not_found"));
    }
    assert_ne!(app.refresh(refreshed.text("refresh_token")).await.status, StatusCode::OK);
    for access in [kept.as_str(), &app.token] {
        assert_eq!(app.server.get_as("/user", access).await.status, StatusCode::OK, "other sessions stay");
    }
    // Whoever else has the code: that it was used before is what counts.
    let code = app.code(&[]).await;
    let access = app.exchange(&code).await.text("access_token").to_owned();
    let other = client(&app.server, json!({})).await;
    let header = basic(other.text("client_id"), other.text("client_secret"));
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str())];
    assert_eq!(
        oauth_error(&token(&app.server, &[("authorization", &header)], &fields).await),
        "invalid_grant"
    );
    assert_eq!(app.server.get_as("/user", &access).await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn a_refused_exchange_uses_the_code_up() {
    let app = App::start().await;
    let other = client(&app.server, json!({})).await;
    let (own, others) =
        (basic(&app.id, &app.secret), basic(other.text("client_id"), other.text("client_secret")));
    for (what, header, name, value) in [
        ("no verifier", &own, "code_verifier", ""),
        ("a wrong verifier", &own, "code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"),
        ("another redirect URI", &own, "redirect_uri", "https://app.example.com/other"),
        ("another resource", &own, "resource", "https://other.example.com"),
        ("another client", &others, "resource", "https://api.example.com"),
    ] {
        let code = app.code(&[("resource", "https://api.example.com")]).await;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("resource", "https://api.example.com"),
        ];
        fields.iter_mut().find(|(known, _)| *known == name).unwrap().1 = value;
        let refused = token(&app.server, &[("authorization", header)], &fields).await;
        assert_eq!(oauth_error(&refused), "invalid_grant", "{what}");
        assert_eq!(oauth_error(&app.exchange(&code).await), "invalid_grant", "{what}");
    }
}
