//! Flows that end in a code: the link of a mail is opened, then whoever began exchanges the code.

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::json;

use crate::harness::{PASSWORD, Response, Server};

/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const EMAIL: &str = "ada@example.com";

impl Server {
    /// Opens the link with the hash in `column` and returns the code that the site gets.
    pub(crate) async fn code(&self, column: &str, kind: &str) -> String {
        let hash = self.hash(column).await;
        assert!(hash.starts_with("pkce_"));
        let response = self.send(Method::GET, &format!("/verify?token={hash}&type={kind}"), &[], ()).await;
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.body);
        let location = response.headers["location"].to_str().unwrap();
        let (_, code) = location.split_once("?code=").unwrap_or_else(|| panic!("no code in {location}"));
        code.to_owned()
    }

    pub(crate) async fn exchange(&self, code: &str, verifier: &str) -> Response {
        self.post("/token?grant_type=pkce", json!({ "auth_code": code, "code_verifier": verifier })).await
    }
}

pub(crate) async fn signing_up() -> Server {
    let server = Server::with(Settings::default()).await;
    let body = json!({
        "email": EMAIL, "password": PASSWORD, "code_challenge": CHALLENGE, "code_challenge_method": "S256",
    });
    assert_eq!(server.post("/signup", body).await.status, StatusCode::OK);
    server
}

#[tokio::test]
async fn the_link_of_a_sign_up_ends_in_a_code_for_whoever_began() {
    let server = signing_up().await;
    let code = server.code("confirmation_token", "signup").await;
    assert_eq!(server.exchange(&code, "wrong").await.refusal(), (400, "bad_code_verifier"));
    let session = server.exchange(&code, VERIFIER).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    let token = server.keys.verifier().verify(session.text("access_token")).unwrap();
    assert_eq!(token.claims["amr"][0]["method"], json!("email/signup"));
    assert_eq!(server.exchange(&code, VERIFIER).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn the_code_may_be_typed_as_well() {
    let server = signing_up().await;
    server.plant("confirmation_token", EMAIL, "123456").await;
    let session =
        server.post("/verify", json!({ "type": "signup", "email": EMAIL, "token": "123456" })).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
}

#[tokio::test]
async fn errors_reach_the_site_where_it_looks_for_codes() {
    let server = signing_up().await;
    let response = server.get("/verify?token=pkce_unknown&type=signup").await;
    let location = response.headers["location"].to_str().unwrap();
    let members =
        "error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired";
    assert!(location.ends_with(&format!("?{members}#{members}&sb=")), "{location}");
}

#[tokio::test]
async fn flows_age() {
    let server = signing_up().await;
    let code = server.code("confirmation_token", "signup").await;
    server.sql("update auth.flow_state set created_at = now() - interval '6 minutes'").await;
    assert_eq!(server.exchange(&code, VERIFIER).await.refusal(), (422, "flow_state_expired"));
    // Magic links count from when they were opened.
    server.sql("update auth.flow_state set authentication_method = 'magiclink'").await;
    assert_eq!(server.exchange(&code, VERIFIER).await.status, StatusCode::OK);
}

#[tokio::test]
async fn exchanges_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    let unknown = "0b9f6b0e-7d0a-4f3b-9d0a-3f1c2f7d8e9a";
    assert_eq!(server.exchange("", VERIFIER).await.refusal(), (400, "validation_failed"));
    assert_eq!(server.exchange(unknown, "").await.refusal(), (400, "validation_failed"));
    for code in [unknown, "no uuid", "a\u{0}b"] {
        assert_eq!(server.exchange(code, VERIFIER).await.refusal(), (404, "flow_state_not_found"));
    }
}
