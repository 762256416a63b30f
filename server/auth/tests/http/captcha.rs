//! Endpoints that demand proof of being human, and who is spared.

use std::time::Duration;

use auth::{Captcha, CaptchaProvider, SecuritySettings, Settings};
use http::Method;
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Response, Server};
use crate::provider::Provider;

const EMAIL: &str = "ada@example.com";
const JUDGE: &str = "/siteverify";

/// Starts a server whose captchas a judge of these tests decides about.
async fn guarded(provider: CaptchaProvider) -> (Provider, Server) {
    let judge = Provider::start().await;
    let captcha = Captcha {
        enabled: true,
        provider,
        secret: "site secret".into(),
        url: Some(format!("{}{JUDGE}", judge.url)),
        timeout: Duration::from_secs(5),
    };
    let security = SecuritySettings { captcha: Some(captcha), ..SecuritySettings::default() };
    let mut settings = Settings { security, ..Settings::default() };
    settings.passkeys.enabled = true;
    (judge, Server::with(settings).await)
}

fn with_token(mut body: Value) -> Value {
    body["gotrue_meta_security"] = json!({ "captcha_token": "from the page" });
    body
}

#[tokio::test]
async fn either_judge_is_asked_before_anything_is_done() {
    for provider in [CaptchaProvider::Hcaptcha, CaptchaProvider::Turnstile] {
        let (judge, server) = guarded(provider).await;
        let body = json!({ "email": EMAIL, "password": PASSWORD });
        judge.respond(JUDGE, &json!({ "success": false, "error-codes": ["timeout-or-duplicate"] }));
        let refused = server.post("/signup", with_token(body.clone())).await;
        assert_eq!(refused.refusal(), (400, "captcha_failed"));
        assert!(refused.text("msg").contains("timeout-or-duplicate"), "{}", refused.body);
        assert_eq!(server.value("select count(*) from auth.users").await, 0);
        judge.respond(JUDGE, &json!({ "success": true }));
        assert_eq!(server.post("/signup", with_token(body)).await.status, 200);
        let requests = judge.requests(JUDGE);
        assert_eq!((requests.len(), &requests[1].method), (2, &Method::POST));
        assert_eq!(
            (&*requests[1].form["secret"], &*requests[1].form["response"]),
            ("site secret", "from the page")
        );
    }
}

#[tokio::test]
async fn what_anybody_may_ask_is_guarded_and_nothing_else() {
    let (_judge, server) = guarded(CaptchaProvider::Turnstile).await;
    server.user(EMAIL).await;
    for path in [
        "/signup",
        "/token?grant_type=password",
        "/token?grant_type=web3",
        "/otp",
        "/magiclink",
        "/recover",
        "/resend",
        "/passkeys/authentication/options",
    ] {
        let body = json!({ "email": EMAIL, "password": PASSWORD, "chain": "ethereum", "type": "signup" });
        assert_eq!(server.post(path, body).await.refusal(), (400, "captcha_failed"), "{path}");
    }
    let spared = |response: Response| assert_ne!(response.refusal().1, "captcha_failed", "{}", response.body);
    for grant in ["refresh_token", "pkce", "id_token"] {
        spared(server.post(&format!("/token?grant_type={grant}"), json!({})).await);
    }
    let signed_in = server
        .post_as_admin("/token?grant_type=password", json!({ "email": EMAIL, "password": PASSWORD }))
        .await;
    assert_eq!(signed_in.status, 200, "administrators are known: {}", signed_in.body);
}
