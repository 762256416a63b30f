//! Two nodes on one database, and many requests for one thing.

use auth::{SecuritySettings, Settings};
use serde_json::{Value, json};

use crate::crowd::winners;
use crate::harness::{PASSWORD, Response, Server};
use crate::pkce::signing_up;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const EMAIL: &str = "ada@example.com";

/// Posts the same `body` so many times at once.
async fn at_once(server: &Server, count: usize, path: &str, body: &Value) -> Vec<Response> {
    server.at_once(count, async |node, _| node.post(path, body.clone()).await).await
}

#[tokio::test]
async fn one_use_of_a_code_wins() {
    let server = Server::start().await;
    server.post("/signup", json!({ "email": EMAIL, "password": PASSWORD })).await;
    server.plant("confirmation_token", EMAIL, "123456").await;
    let body = json!({ "type": "signup", "email": EMAIL, "token": "123456" });
    let responses = at_once(&server, 8, "/verify", &body).await;
    assert_eq!(winners(&responses, "otp_expired"), 1);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
}

#[tokio::test]
async fn one_use_of_a_link_wins() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    server.post("/recover", json!({ "email": EMAIL })).await;
    let hash = server.hash("recovery_token").await;
    let responses = at_once(&server, 8, "/verify", &json!({ "type": "recovery", "token_hash": hash })).await;
    assert_eq!(winners(&responses, "otp_expired"), 1);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
}

#[tokio::test]
async fn one_exchange_of_a_code_wins() {
    let server = signing_up().await;
    let code = server.code("confirmation_token", "signup").await;
    let body = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let responses = at_once(&server, 8, "/token?grant_type=pkce", &body).await;
    assert_eq!(winners(&responses, "flow_state_not_found"), 1);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
}

#[tokio::test]
async fn two_sign_ups_with_one_address_make_one_user() {
    let server = Server::start().await;
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let responses = at_once(&server, 6, "/signup", &body).await;
    assert_eq!(winners(&responses, "over_email_send_rate_limit"), 1);
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
    assert_eq!(server.value("select count(*) from auth.identities").await, 1);
}

#[tokio::test]
async fn refreshes_on_two_nodes_get_the_same_new_token() {
    for algorithm in [1, 2] {
        let security = SecuritySettings { refresh_token_algorithm: algorithm, ..Default::default() };
        let server = Server::with(Settings { security, ..Default::default() }).await;
        server.user(EMAIL).await;
        let first = server.sign_in(EMAIL).await.text("refresh_token").to_owned();
        let body = json!({ "refresh_token": first });
        let responses = at_once(&server, 8, "/token?grant_type=refresh_token", &body).await;
        assert_eq!(winners(&responses, ""), 8);
        let successor = responses[0].text("refresh_token");
        assert!(
            responses.iter().all(|response| response.text("refresh_token") == successor)
                && successor != first
        );
    }
}
