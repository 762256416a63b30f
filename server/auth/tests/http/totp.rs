//! An authenticator app, and what a user does with it.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sha1::Sha1;
use time::OffsetDateTime;

use crate::harness::{Response, Server};

/// An app that was set up.
pub(crate) struct App {
    pub(crate) factor: String,
    secret: Vec<u8>,
}

impl App {
    pub(crate) fn new(factor: &str, secret: &str) -> Self {
        Self { factor: factor.to_owned(), secret: BASE32_NOPAD.decode(secret.as_bytes()).unwrap() }
    }

    /// Returns the code that it shows now.
    pub(crate) fn code(&self) -> String {
        self.code_in(0)
    }

    /// Returns the code that it shows next, which is right already.
    pub(crate) fn next_code(&self) -> String {
        self.code_in(1)
    }

    /// Returns a code that it shows in none of the steps around now.
    pub(crate) fn wrong_code(&self) -> String {
        let near: Vec<_> = (-3..=3).map(|steps| self.code_in(steps)).collect();
        (0..).map(|code| format!("{code:06}")).find(|code| !near.contains(code)).unwrap()
    }

    fn code_in(&self, steps: i64) -> String {
        let step = OffsetDateTime::now_utc().unix_timestamp() / 30 + steps;
        let mut mac = Hmac::<Sha1>::new_from_slice(&self.secret).unwrap();
        mac.update(&step.to_be_bytes());
        let digest = mac.finalize().into_bytes();
        let offset = usize::from(digest[19] & 0xf);
        let chosen: [u8; 4] = digest[offset..offset + 4].try_into().unwrap();
        format!("{:06}", (u32::from_be_bytes(chosen) & 0x7fff_ffff) % 1_000_000)
    }
}

impl Server {
    /// Sends a request with `body` and the access token `token`.
    pub(crate) async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> Response {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        self.send(method, path, &headers, body.to_string()).await
    }

    /// Returns the claims of an access token.
    pub(crate) fn claims(&self, token: &str) -> Value {
        json!(self.keys.verifier().verify(token).unwrap().claims)
    }

    /// Signs in and returns access and refresh token.
    pub(crate) async fn tokens(&self, email: &str) -> (String, String) {
        let response = self.sign_in(email).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        (response.text("access_token").to_owned(), response.text("refresh_token").to_owned())
    }

    pub(crate) async fn enroll(&self, token: &str, body: Value) -> Response {
        self.call(Method::POST, "/factors", token, body).await
    }

    /// Enrols an app.
    pub(crate) async fn enroll_app(&self, token: &str, name: &str) -> App {
        let response = self.enroll(token, json!({ "factor_type": "totp", "friendly_name": name })).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        App::new(response.text("id"), response.body["totp"]["secret"].as_str().unwrap())
    }

    pub(crate) async fn challenge(&self, token: &str, factor: &str, body: Value) -> Response {
        self.call(Method::POST, &format!("/factors/{factor}/challenge"), token, body).await
    }

    /// Challenges `factor`; returns the challenge's id.
    pub(crate) async fn challenged(&self, token: &str, factor: &str) -> String {
        let response = self.challenge(token, factor, json!({})).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        response.text("id").to_owned()
    }

    pub(crate) async fn show_code(&self, token: &str, factor: &str, challenge: &str, code: &str) -> Response {
        let body = json!({ "challenge_id": challenge, "code": code });
        self.call(Method::POST, &format!("/factors/{factor}/verify"), token, body).await
    }

    /// Shows the code of `app`, as if its last one had long passed; returns the access token at aal2 and the refresh token.
    pub(crate) async fn rise(&self, token: &str, app: &App) -> (String, String) {
        self.sql("update auth.mfa_challenges set verified_at = verified_at - interval '301 s'").await;
        let challenge = self.challenged(token, &app.factor).await;
        let response = self.show_code(token, &app.factor, &challenge, &app.code()).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        (response.text("access_token").to_owned(), response.text("refresh_token").to_owned())
    }

    /// Returns the factors that the user sees.
    pub(crate) async fn factors(&self, token: &str) -> Vec<Value> {
        let response = self.get_as("/user", token).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        response.body["factors"].as_array().cloned().unwrap_or_default()
    }
}
