//! Endpoints without a user (health, settings, keys), the OpenAPI document, and the form of errors.

use auth::{MailSettings, ProviderSettings};
use http::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Server, is_keyless};

#[tokio::test]
async fn health_and_settings_tell_what_is_open() {
    let server = Server::with(auth::Settings {
        providers: ProviderSettings {
            oauth: [("github".to_owned(), Default::default())].into(),
            ..Default::default()
        },
        mail: MailSettings { autoconfirm: true, ..Default::default() },
        ..Default::default()
    })
    .await;
    let health = server.send(Method::GET, "/health", &[], ()).await;
    assert_eq!((health.status, &health.body["name"]), (StatusCode::OK, &json!("GoTrue")));
    let settings = server.send(Method::GET, "/settings", &[], ()).await.body;
    let external = settings["external"].as_object().unwrap();
    assert_eq!(external.len(), 26);
    assert_eq!(
        (&external["email"], &external["github"], &external["gitlab"]),
        (&json!(true), &json!(true), &json!(false))
    );
    assert_eq!((&settings["mailer_autoconfirm"], &settings["disable_signup"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn the_public_keys_need_no_api_key_and_may_be_cached() {
    let server = Server::start().await;
    let response = server.send(Method::GET, "/.well-known/jwks.json", &[], ()).await;
    assert_eq!(response.headers["cache-control"], "public, max-age=600");
    assert_eq!(response.body, *server.keys.jwks());
    assert!(is_keyless("/.well-known/jwks.json") && is_keyless("/verify") && !is_keyless("/token"));
}

#[tokio::test]
async fn paths_that_need_no_api_key_are_paths_of_the_service() {
    let server = Server::start().await;
    let document = server.get("/openapi.json").await.body;
    let paths = document["paths"].as_object().unwrap();
    for keyless in auth::keyless_paths() {
        let is_declared = |path: &String| match keyless.strip_suffix('*') {
            Some(folder) => path.starts_with(folder),
            None => path == keyless,
        };
        assert!(paths.keys().any(is_declared), "{keyless}");
    }
}

#[tokio::test]
async fn the_openapi_document_describes_each_endpoint_and_its_errors() {
    let server = Server::start().await;
    let document = server.send(Method::GET, "/openapi.json", &[], ()).await.body;
    let paths = document["paths"].as_object().unwrap();
    for path in ["/health", "/settings", "/.well-known/jwks.json", "/token", "/user", "/logout"] {
        assert!(paths.contains_key(path), "{path}");
    }
    let token = &paths["/token"]["post"];
    assert!(token["requestBody"]["content"].is_object() && token["responses"]["4XX"].is_object());
}

#[tokio::test]
async fn unknown_paths_and_methods_are_told_apart() {
    let server = Server::start().await;
    assert_eq!(server.send(Method::GET, "/nothing", &[], ()).await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.send(Method::DELETE, "/token", &[], ()).await.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn bodies_are_json_whatever_they_are_called() {
    let server = Server::start().await;
    let path = "/token?grant_type=password";
    for body in ["", "{", "[]", "{\"email\": 7}", "nonsense"] {
        let response = server.send(Method::POST, path, &[("content-type", "application/json")], body).await;
        assert_eq!(response.refusal(), (400, "bad_json"), "{body}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let response = server.send(Method::POST, path, &form, "{\"email\":\"a@b.c\",\"extra\":1}").await;
    assert_eq!(response.refusal(), (400, "invalid_credentials"));
    let huge = format!("{{\"email\":\"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(server.send(Method::POST, path, &[], huge).await.refusal(), (413, "request_entity_too_large"));
}

#[tokio::test]
async fn errors_take_the_shape_that_the_client_asks_for() {
    let server = Server::start().await;
    let send = async |version: &str| {
        let headers = [("x-supabase-api-version", version)];
        server.send(Method::POST, "/token?grant_type=magic", &headers, "{}").await
    };
    let code = "invalid_credentials";
    let old = json!({ "code": 400, "error_code": code, "msg": "unsupported_grant_type" });
    let new = json!({ "code": code, "message": "unsupported_grant_type" });
    for (version, body) in
        [("", &old), ("2023-12-31", &old), ("soon", &old), ("2024-01-01", &new), ("2031-05-05", &new)]
    {
        let response = send(version).await;
        assert_eq!((response.refusal(), &response.body), ((400, code), body), "{version}");
        let echoed = response.headers.get("x-supabase-api-version").map(|value| value.to_str().unwrap());
        assert_eq!(echoed, (*body == new).then_some("2024-01-01"));
    }
}

#[tokio::test]
async fn a_database_that_is_gone_is_an_error_without_its_secrets() {
    let server = Server::start().await;
    server.sql("alter table auth.users rename to lost").await;
    let response = server.sign_in("ada@example.com").await;
    assert_eq!(response.refusal(), (500, "unexpected_failure"));
    assert_eq!(response.text("msg"), "Database error querying schema");
    assert_eq!(response.text("error_id"), response.headers["x-request-id"].to_str().unwrap());
}

#[tokio::test]
async fn no_path_allows_head() {
    let server = Server::start().await;
    let document = server.get("/openapi.json").await.body;
    let paths = document["paths"].as_object().unwrap();
    let readable: Vec<_> = paths.iter().filter(|(_, operations)| operations.get("get").is_some()).collect();
    assert!(readable.len() > 25, "{}", readable.len());
    for (path, _) in readable {
        let path = path.replace(['{', '}'], "");
        let response = server.send(Method::HEAD, &path, &[], ()).await;
        assert_eq!(response.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    assert_eq!(server.send(Method::HEAD, "/nowhere", &[], ()).await.status, StatusCode::NOT_FOUND);
}
