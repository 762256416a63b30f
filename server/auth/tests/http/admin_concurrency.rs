//! Administrators on two nodes of one database, at the same moment.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::crowd::winners;
use crate::harness::{PASSWORD, Response, Server};

const EMAIL: &str = "ada@example.com";

/// Sends an administrator's request.
async fn ask(node: &Server, method: Method, path: &str, body: &Value) -> Response {
    let bearer = format!("Bearer {}", node.keys.api_keys().service_role());
    node.send(method, path, &[("authorization", &bearer)], body.to_string()).await
}

#[tokio::test]
async fn one_creation_of_a_user_wins() {
    let server = Server::start().await;
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let responses =
        server.at_once(8, async |node, _| node.post_as_admin("/admin/users", body.clone()).await).await;
    assert_eq!(winners(&responses, "email_exists"), 1);
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
    assert_eq!(server.value("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn no_change_of_a_user_is_lost() {
    let server = Server::start().await;
    let path = format!("/admin/users/{}", server.user(EMAIL).await);
    let change = async |node: &Server, number| {
        let body = json!({ "user_metadata": { format!("key{number}"): number } });
        ask(node, Method::PUT, &path, &body).await
    };
    let responses = server.at_once(8, change).await;
    assert_eq!(winners(&responses, ""), 8);
    let keys =
        "select count(*) from auth.users, jsonb_object_keys(raw_user_meta_data) key where key like 'key_'";
    assert_eq!(server.value(keys).await, 8);
}

#[tokio::test]
async fn one_deletion_of_a_user_wins_and_is_logged_once() {
    let server = Server::start().await;
    let path = format!("/admin/users/{}", server.user(EMAIL).await);
    let delete = async |node: &Server, _| ask(node, Method::DELETE, &path, &json!({})).await;
    let responses = server.at_once(8, delete).await;
    assert_eq!(winners(&responses, "user_not_found"), 1);
    let logged = "select count(*) from auth.audit_log_entries where payload->>'action' = 'user_deleted'";
    assert_eq!(server.value(logged).await, 1);
}

#[tokio::test]
async fn of_many_links_the_last_one_counts() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    let body = json!({ "type": "magiclink", "email": EMAIL });
    let responses = server
        .at_once(8, async |node, _| node.post_as_admin("/admin/generate_link", body.clone()).await)
        .await;
    assert_eq!(winners(&responses, ""), 8);
    let mut opened = 0;
    for response in &responses {
        let body = json!({ "type": "magiclink", "token_hash": response.text("hashed_token") });
        opened += usize::from(server.post("/verify", body).await.status == StatusCode::OK);
    }
    assert_eq!(opened, 1);
}
