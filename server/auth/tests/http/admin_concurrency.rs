//! Administrators on two nodes of one database, at the same moment.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Answer, PASSWORD, Server};

const EMAIL: &str = "ada@example.com";

/// Sends all of `bodies` to `path` at once, alternately to two nodes.
async fn at_once(server: &Server, method: Method, path: &str, bodies: Vec<Value>) -> Vec<Answer> {
    let nodes = [server.clone(), server.second_node().await];
    let requests: Vec<_> = bodies
        .into_iter()
        .enumerate()
        .map(|(number, body)| {
            let (node, method, path) = (nodes[number % 2].clone(), method.clone(), path.to_owned());
            tokio::spawn(async move {
                let bearer = format!("Bearer {}", node.keys.api_keys().service_role());
                node.send(method, &path, &[("authorization", &bearer)], body.to_string()).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for request in requests {
        answers.push(request.await.unwrap());
    }
    answers
}

/// How many succeeded; all others were refused with `code`.
fn winners(answers: &[Answer], code: &str) -> usize {
    for answer in answers.iter().filter(|answer| answer.status != StatusCode::OK) {
        assert_eq!(answer.refusal().1, code, "{}", answer.body);
    }
    answers.iter().filter(|answer| answer.status == StatusCode::OK).count()
}

#[tokio::test]
async fn one_creation_of_a_user_wins() {
    let server = Server::start().await;
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let answers = at_once(&server, Method::POST, "/admin/users", vec![body; 8]).await;
    assert_eq!(winners(&answers, "email_exists"), 1);
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
    assert_eq!(server.value("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn no_change_of_a_user_is_lost() {
    let server = Server::start().await;
    let path = format!("/admin/users/{}", server.user(EMAIL).await);
    let bodies = (0..8).map(|number| json!({ "user_metadata": { format!("key{number}"): number } }));
    let answers = at_once(&server, Method::PUT, &path, bodies.collect()).await;
    assert_eq!(winners(&answers, ""), 8);
    let keys =
        "select count(*) from auth.users, jsonb_object_keys(raw_user_meta_data) key where key like 'key_'";
    assert_eq!(server.value(keys).await, 8);
}

#[tokio::test]
async fn one_deletion_of_a_user_wins_and_is_logged_once() {
    let server = Server::start().await;
    let path = format!("/admin/users/{}", server.user(EMAIL).await);
    let answers = at_once(&server, Method::DELETE, &path, vec![json!({}); 8]).await;
    assert_eq!(winners(&answers, "user_not_found"), 1);
    let logged = "select count(*) from auth.audit_log_entries where payload->>'action' = 'user_deleted'";
    assert_eq!(server.value(logged).await, 1);
}

#[tokio::test]
async fn of_many_links_the_last_one_counts() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    let body = json!({ "type": "magiclink", "email": EMAIL });
    let answers = at_once(&server, Method::POST, "/admin/generate_link", vec![body; 8]).await;
    assert_eq!(winners(&answers, ""), 8);
    let mut opened = 0;
    for answer in &answers {
        let body = json!({ "type": "magiclink", "token_hash": answer.text("hashed_token") });
        opened += usize::from(server.post("/verify", body).await.status == StatusCode::OK);
    }
    assert_eq!(opened, 1);
}
