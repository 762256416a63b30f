//! Endpoints without a user (health, settings, keys), the OpenAPI document, and the form of errors.

use http::{Method, StatusCode};

use crate::harness::{Server, is_keyless};

#[tokio::test]
async fn the_published_keys_are_those_of_the_server() {
    let server = Server::start().await;
    assert_eq!(server.get("/.well-known/jwks.json").await.body, *server.keys.jwks());
}

#[test]
fn browsers_and_clients_of_other_kinds_need_no_api_key() {
    for path in [
        "/.well-known/jwks.json",
        "/verify",
        "/oauth/authorize",
        "/oauth/token",
        "/oauth/userinfo",
        "/oauth/clients/register",
    ] {
        assert!(is_keyless(path), "{path}");
    }
    assert!(!is_keyless("/token"));
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
