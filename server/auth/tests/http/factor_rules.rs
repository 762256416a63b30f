//! What holds for factors of all kinds.

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::crowd::winners;
use crate::harness::{Response, Server};

const ADA: &str = "ada@example.com";

async fn signed_in(settings: Settings) -> (Server, String) {
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (access, _) = server.tokens(ADA).await;
    (server, access)
}

#[tokio::test]
async fn kinds_are_known_and_switched_on() {
    let (server, token) = signed_in(Settings::default()).await;
    let refusal = async |body: Value| {
        let response = server.enroll(&token, body).await;
        (response.status.as_u16(), response.refusal().1.to_owned())
    };
    assert_eq!(refusal(json!({})).await, (400, "validation_failed".to_owned()));
    assert_eq!(refusal(json!({ "factor_type": "smoke" })).await, (400, "validation_failed".to_owned()));
    assert_eq!(refusal(json!({ "factor_type": 7 })).await, (400, "bad_json".to_owned()));
    assert_eq!(refusal(json!([])).await, (400, "bad_json".to_owned()));
    let phone = json!({ "factor_type": "phone", "phone": "+41791234567" });
    assert_eq!(refusal(phone).await, (422, "mfa_phone_enroll_not_enabled".to_owned()));
    let webauthn = json!({ "factor_type": "webauthn" });
    assert_eq!(refusal(webauthn).await, (422, "mfa_webauthn_enroll_not_enabled".to_owned()));
    let mut settings = Settings::default();
    (settings.mfa.totp.enroll, settings.mfa.totp.verify) = (false, false);
    let without = server.second_node_with(settings).await;
    let totp = json!({ "factor_type": "totp" });
    assert_eq!(without.enroll(&token, totp.clone()).await.refusal(), (422, "mfa_totp_enroll_not_enabled"));
    let app = server.enroll_app(&token, "app").await;
    let challenge = server.challenged(&token, &app.factor).await;
    let refused = without.challenge(&token, &app.factor, json!({})).await;
    assert_eq!(refused.refusal(), (422, "mfa_totp_verify_not_enabled"));
    let refused = without.show_code(&token, &app.factor, &challenge, &app.code()).await;
    assert_eq!(refused.refusal(), (422, "mfa_totp_verify_not_enabled"));
}

#[tokio::test]
async fn hostile_names_and_issuers_are_refused_or_kept_as_they_are() {
    let (server, token) = signed_in(Settings::default()).await;
    let enroll = async |field: &str, text: String| {
        server.enroll(&token, json!({ "factor_type": "totp", field: text })).await
    };
    for text in ["a\0b".to_owned(), "x".repeat(1025)] {
        assert_eq!(enroll("friendly_name", text).await.refusal(), (400, "validation_failed"));
    }
    assert_eq!(enroll("issuer", "x".repeat(10_000)).await.refusal(), (400, "validation_failed"));
    let kept = "'; drop table auth.users; -- <b>ü</b>";
    let response = enroll("friendly_name", kept.to_owned()).await;
    assert_eq!((response.status, response.text("friendly_name")), (StatusCode::OK, kept));
    let response = enroll("issuer", "A & B/ü".to_owned()).await;
    assert!(response.body["totp"]["uri"].as_str().unwrap().contains("issuer=A%20%26%20B%2F%C3%BC&"));
}

#[tokio::test]
async fn there_are_only_so_many_factors() {
    let mut settings = Settings::default();
    settings.mfa.max_enrolled_factors = 3;
    let (server, token) = signed_in(settings).await;
    let enroll = async |node: &Server, attempt| {
        let body = json!({ "factor_type": "totp", "friendly_name": format!("app {attempt}") });
        node.enroll(&token, body).await
    };
    assert_eq!(winners(&server.at_once(9, enroll).await, "too_many_enrolled_mfa_factors"), 3);
    assert_eq!(server.factors(&token).await.len(), 3);

    let mut settings = Settings::default();
    settings.mfa.max_verified_factors = 1;
    let strict = server.second_node_with(settings).await;
    server
        .sql(
            "update auth.mfa_factors set status = 'verified' where friendly_name = (
        select min(friendly_name) from auth.mfa_factors)",
        )
        .await;
    let response = strict.enroll(&token, json!({ "factor_type": "totp", "friendly_name": "one more" })).await;
    assert_eq!(response.refusal(), (422, "too_many_enrolled_mfa_factors"));
}

#[tokio::test]
async fn factors_that_nobody_ever_challenged_are_forgotten() {
    let mut settings = Settings::default();
    settings.mfa.max_enrolled_factors = 2;
    let (server, token) = signed_in(settings).await;
    server.enroll_app(&token, "forgotten").await;
    let challenged = server.enroll_app(&token, "challenged").await;
    server.challenged(&token, &challenged.factor).await;
    let full = server.enroll(&token, json!({ "factor_type": "totp", "friendly_name": "new" })).await;
    assert_eq!(full.refusal(), (422, "too_many_enrolled_mfa_factors"));
    server.sql("update auth.mfa_factors set created_at = now() - interval '301 s'").await;
    server.enroll_app(&token, "new").await;
    let names: Vec<_> =
        server.factors(&token).await.iter().map(|factor| factor["friendly_name"].clone()).collect();
    assert_eq!(names, [json!("challenged"), json!("new")]);
}

#[tokio::test]
async fn factors_need_a_user_with_an_address_and_a_session() {
    let (server, token) = signed_in(Settings::default()).await;
    let body = json!({ "factor_type": "totp" });
    let refusal = |response: Response| (response.status.as_u16(), response.refusal().1.to_owned());
    let without = server.send(Method::POST, "/factors", &[("authorization", "Bearer ")], "nonsense").await;
    assert_eq!(refusal(without), (401, "no_authorization".to_owned()), "who asks comes before what is asked");
    let mut claims = server.claims(&token);
    claims["is_anonymous"] = json!(true);
    let anonymous = server.keys.sign(&claims).unwrap();
    let response = server.enroll(&anonymous, body.clone()).await;
    assert_eq!(refusal(response), (403, "no_authorization".to_owned()));
    let unbound = server.keys.sign(&json!({ "sub": claims["sub"], "aud": "authenticated" })).unwrap();
    assert_eq!(refusal(server.enroll(&unbound, body).await), (403, "session_not_found".to_owned()));
}
