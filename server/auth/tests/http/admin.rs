//! Who administers users, and what every one of those endpoints has in common.

use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Response, Server};

impl Server {
    /// Sends a request with the key that administers users. An empty object stands for no body.
    pub(crate) async fn administer(&self, method: Method, path: &str, body: Value) -> Response {
        let bearer = format!("Bearer {}", self.keys.api_keys().service_role());
        let body = if body == json!({}) { String::new() } else { body.to_string() };
        self.send(method, path, &[("authorization", &bearer)], body).await
    }
}

/// Returns every endpoint of the family, with a user in its path who is unknown.
fn endpoints() -> Vec<(Method, String)> {
    let user = format!("/admin/users/{}", Uuid::new_v4());
    vec![
        (Method::GET, "/admin/users".to_owned()),
        (Method::POST, "/admin/users".to_owned()),
        (Method::GET, user.clone()),
        (Method::PUT, user.clone()),
        (Method::DELETE, user),
        (Method::POST, "/admin/generate_link".to_owned()),
        (Method::GET, "/admin/audit".to_owned()),
    ]
}

#[tokio::test]
async fn only_administrators_get_in() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let user = server.sign_in("ada@example.com").await.text("access_token").to_owned();
    let sign = |claims: Value| server.keys.sign(&claims).unwrap();
    let gone = Uuid::new_v4();
    let callers = [
        (String::new(), 401, "no_authorization"),
        ("a.b.c".to_owned(), 403, "bad_jwt"),
        (sign(json!({ "role": "service_role", "exp": 1 })), 403, "bad_jwt"),
        (server.keys.api_keys().anon().to_owned(), 403, "not_admin"),
        (user, 403, "not_admin"),
        (sign(json!({ "role": "service_role", "session_id": "x" })), 403, "bad_jwt"),
        (sign(json!({ "role": "service_role", "session_id": gone, "sub": id })), 403, "session_not_found"),
    ];
    for (method, path) in endpoints() {
        for (token, status, code) in &callers {
            let bearer = format!("Bearer {token}");
            // Who asks is looked at before what is asked.
            let response = server.send(method.clone(), &path, &[("authorization", &bearer)], "no JSON").await;
            assert_eq!(response.refusal(), (*status, *code), "{method} {path}");
        }
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn an_opaque_key_administers_as_its_token_and_a_legacy_key_only_in_authorization() {
    let server = Server::start().await;
    let api = server.keys.api_keys().clone();
    let with = async |key: &str| server.send(Method::GET, "/admin/users", &[("apikey", key)], ()).await;
    assert_eq!(with(api.secret()).await.status, 200, "Supabase's gateway exchanges it");
    assert_eq!(with(api.publishable()).await.refusal(), (403, "not_admin"));
    assert_eq!(with(api.service_role()).await.refusal(), (401, "no_authorization"));
    assert_eq!(server.get_as("/admin/users", api.service_role()).await.status, 200);
}

#[tokio::test]
async fn an_administrators_session_counts_as_long_as_it_lives() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    server.sign_in("ada@example.com").await;
    let session = server.text("select id::text from auth.sessions").await;
    let claims = json!({ "role": "supabase_admin", "sub": id, "session_id": session });
    let token = server.keys.sign(&claims).unwrap();
    assert_eq!(server.get_as("/admin/users", &token).await.status, 200);
    server.sql("update auth.sessions set not_after = now() - interval '1 second'").await;
    assert_eq!(server.get_as("/admin/users", &token).await.refusal(), (403, "session_expired"));
}

#[tokio::test]
async fn bodies_are_json_of_the_right_types() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let user = format!("/admin/users/{id}");
    let places = [
        (Method::POST, "/admin/users"),
        (Method::PUT, user.as_str()),
        (Method::POST, "/admin/generate_link"),
    ];
    for (method, path) in places {
        for body in [json!([]), json!({ "email": 5 }), json!("text"), json!({})] {
            let response = server.administer(method.clone(), path, body.clone()).await;
            assert_eq!(response.refusal(), (400, "bad_json"), "{method} {path} {body}");
        }
    }
    for body in [json!({ "user_metadata": "text" }), json!({ "email_confirm": "yes" })] {
        let response = server.administer(Method::PUT, &user, body.clone()).await;
        assert_eq!(response.refusal(), (400, "bad_json"), "{body}");
    }
    let body = json!({ "should_soft_delete": "yes" });
    assert_eq!(server.administer(Method::DELETE, &user, body).await.refusal(), (400, "bad_json"));
}

#[tokio::test]
async fn users_in_paths_are_found_before_bodies_are_read() {
    let server = Server::start().await;
    let unknown = format!("/admin/users/{}", Uuid::new_v4());
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let nobody = server.administer(method.clone(), "/admin/users/me", json!([])).await;
        assert_eq!(nobody.refusal(), (404, "validation_failed"), "{method}");
        let gone = server.administer(method.clone(), &unknown, json!([])).await;
        assert_eq!(gone.refusal(), (404, "user_not_found"), "{method}");
    }
}
