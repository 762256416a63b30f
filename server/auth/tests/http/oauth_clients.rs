//! Clients of the OAuth server: registration and administration.

use auth::{LimitSettings, OauthServerSettings, Settings};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Response, Server};
use crate::oauth::{CALLBACK, client, settings};

async fn admin(server: &Server, method: Method, path: &str, body: Value) -> Response {
    let bearer = format!("Bearer {}", server.keys.api_keys().service_role());
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(method, path, &[("authorization", &bearer)], body).await
}

#[tokio::test]
async fn the_row_of_a_deleted_client_stays() {
    let server = Server::with(settings()).await;
    let made = client(&server, json!({})).await;
    let path = format!("/admin/oauth/clients/{}", made.text("client_id"));
    assert_eq!(admin(&server, Method::DELETE, &path, Value::Null).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.value("select count(*) from auth.oauth_clients where deleted_at is not null").await, 1);
}

#[tokio::test]
async fn secrets_are_stored_hashed_and_can_be_renewed() {
    let server = Server::with(settings()).await;
    let made = client(&server, json!({})).await;
    let stored =
        "select count(*) from auth.oauth_clients where client_secret_hash = translate(rtrim(encode(sha256(";
    let is_stored = async |secret: &str| {
        server.value(&format!("{stored}'{secret}'::bytea), 'base64'), '='), '+/', '-_')")).await == 1
    };
    assert!(is_stored(made.text("client_secret")).await);
    let path = format!("/admin/oauth/clients/{}/regenerate_secret", made.text("client_id"));
    let renewed = admin(&server, Method::POST, &path, Value::Null).await;
    assert_ne!(renewed.text("client_secret"), made.text("client_secret"));
    assert!(is_stored(renewed.text("client_secret")).await);
    assert!(!is_stored(made.text("client_secret")).await);
}

#[tokio::test]
async fn fields_that_postgres_cannot_store_and_fields_of_other_types_are_refused() {
    let server = Server::with(settings()).await;
    for (fields, code) in [
        (json!({ "redirect_uris": [CALLBACK], "client_name": "a\u{0}b" }), "validation_failed"),
        (json!({ "redirect_uris": "x" }), "bad_json"),
    ] {
        let refused = server.post_as_admin("/admin/oauth/clients", fields.clone()).await;
        assert_eq!(refused.refusal(), (400, code), "{fields}");
    }
}

#[tokio::test]
async fn all_are_listed_or_a_page_of_them() {
    let server = Server::with(settings()).await;
    let list = async |query: &str| {
        admin(&server, Method::GET, &format!("/admin/oauth/clients{query}"), Value::Null).await
    };
    assert_eq!(list("").await.body, json!({ "clients": [] }));
    for name in ["one", "two", "three"] {
        client(&server, json!({ "client_name": name })).await;
    }
    let names = |response: &Response| -> Vec<String> {
        let clients = response.body["clients"].as_array().unwrap();
        clients.iter().map(|client| client["client_name"].as_str().unwrap().to_owned()).collect()
    };
    // As the stock client asks when it is given no page.
    let all = list("?page=&per_page=").await;
    assert_eq!(names(&all), ["three", "two", "one"]);
    assert!(all.headers.get("link").is_none());
    let second = list("?page=2&per_page=1").await;
    assert_eq!(
        (names(&second), &second.headers["x-total-count"]),
        (vec!["two".to_owned()], &"3".parse().unwrap())
    );
    assert!(second.headers["link"].to_str().unwrap().contains("page=3&per_page=1>; rel=\"next\""));
    assert_eq!(list("?page=x").await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn clients_register_themselves_where_they_may() {
    let server = Server::with(settings()).await;
    let fields = json!({ "redirect_uris": ["myapp://callback"], "token_endpoint_auth_method": "none" });
    let made = server.post("/oauth/clients/register", fields.clone()).await;
    assert_eq!((made.status, made.text("registration_type")), (StatusCode::CREATED, "dynamic"));
    assert_eq!((made.text("client_type"), made.body.get("client_secret")), ("public", None));
    assert_eq!(server.post("/oauth/clients/register", json!({})).await.refusal(), (400, "validation_failed"));

    let closed = server.second_node_with(Settings {
        oauth_server: OauthServerSettings { enabled: true, ..OauthServerSettings::default() },
        ..Settings::default()
    });
    let refused = closed.await.post("/oauth/clients/register", fields).await;
    assert_eq!(refused.refusal(), (403, "oauth_dynamic_client_registration_disabled"));
}

#[tokio::test]
async fn redirects_that_lead_elsewhere_than_they_seem_are_refused() {
    let server = Server::with(settings()).await;
    let made = client(&server, json!({})).await;
    let path = format!("/admin/oauth/clients/{}", made.text("client_id"));
    for uri in [
        "https://*.example.com/back",
        "https://app.example.com/*",
        "myapp://*",
        "https://ada:secret@app.example.com/back",
        "https://app.example.com@evil.example/back",
        "https://@app.example.com/back",
        "http://localhost@evil.example/back",
        "https:/app.example.com/back",
        "https:app.example.com/back",
        "https://app.example.com/back#part",
        "http://app.example.com/back",
        "javascript://app.example.com/%0aalert(1)",
    ] {
        let fields = json!({ "redirect_uris": [CALLBACK, uri] });
        for response in [
            server.post("/oauth/clients/register", fields.clone()).await,
            admin(&server, Method::POST, "/admin/oauth/clients", fields.clone()).await,
            admin(&server, Method::PUT, &path, fields).await,
        ] {
            assert_eq!(response.refusal(), (400, "validation_failed"), "{uri}");
            let message = format!("invalid redirect_uri '{uri}': ");
            assert!(response.text("msg").starts_with(&message), "{}", response.body);
        }
    }
    assert_eq!(server.value("select count(*) from auth.oauth_clients").await, 1);
    let stored = server.text("select redirect_uris from auth.oauth_clients").await;
    assert_eq!(stored, CALLBACK);
}

#[tokio::test]
async fn registrations_of_one_address_are_limited() {
    let limits = LimitSettings {
        header: Some("x-client".to_owned()),
        oauth_client_registration: 0.0,
        ..LimitSettings::default()
    };
    let server = Server::with(Settings { limits, ..settings() }).await;
    let node = server.second_node().await;
    let register = async |server: &Server, address: &str| {
        let fields = json!({ "redirect_uris": ["myapp://callback"] }).to_string();
        server.send(Method::POST, "/oauth/clients/register", &[("x-client", address)], fields).await
    };
    for attempt in 0..30 {
        let server = if attempt % 2 == 0 { &server } else { &node };
        assert_eq!(register(server, "203.0.113.7").await.status, StatusCode::CREATED);
    }
    let refused = register(&server, "203.0.113.7").await;
    assert_eq!(refused.refusal(), (429, "over_request_rate_limit"));
    assert_eq!(register(&server, "203.0.113.8").await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn only_administrators_get_in_and_only_where_there_is_an_oauth_server() {
    let server = Server::with(settings()).await;
    let path = "/admin/oauth/clients";
    assert_eq!(server.post(path, json!({})).await.refusal(), (401, "no_authorization"));
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    assert_eq!(server.get_as(path, &token).await.refusal(), (403, "not_admin"));

    let off = server.second_node_with(Settings::default()).await;
    assert_eq!(admin(&off, Method::GET, path, Value::Null).await.refusal(), (404, "feature_disabled"));
    assert_eq!(off.get(path).await.refusal(), (401, "no_authorization"));
    for (method, path) in [
        (Method::GET, "/oauth/authorize"),
        (Method::POST, "/oauth/token"),
        (Method::GET, "/oauth/userinfo"),
        (Method::POST, "/oauth/userinfo"),
        (Method::POST, "/oauth/clients/register"),
        (Method::GET, "/oauth/authorizations/x"),
        (Method::POST, "/oauth/authorizations/x/consent"),
        (Method::GET, "/.well-known/oauth-authorization-server"),
    ] {
        assert_eq!(off.send(method, path, &[], "").await.refusal(), (404, "feature_disabled"), "{path}");
    }
    assert_eq!(off.get_as("/user/oauth/grants", &token).await.refusal(), (404, "feature_disabled"));
}
