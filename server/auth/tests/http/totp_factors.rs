//! Factors of type `totp`: enrollment, challenges and verification.

use std::time::Duration;

use auth::Settings;
use http::{Method, StatusCode};
use serde_json::json;

use crate::crowd::winners;
use crate::harness::Server;

const ADA: &str = "ada@example.com";

async fn signed_in(settings: Settings) -> (Server, String, String) {
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (access, refresh) = server.tokens(ADA).await;
    (server, access, refresh)
}

#[tokio::test]
async fn a_new_factor_is_what_apps_and_pages_can_use() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let enrolled = server.enroll(&token, json!({ "factor_type": "totp", "friendly_name": "my app" })).await;
    assert_eq!(enrolled.status, StatusCode::OK, "{}", enrolled.body);
    let totp = &enrolled.body["totp"];
    let secret = totp["secret"].as_str().unwrap();
    assert_eq!(secret.len(), 32);
    let uri = format!(
        "otpauth://totp/127.0.0.1:3000:ada@example.com?algorithm=SHA1&digits=6&issuer=127.0.0.1:3000&period=30&secret={secret}"
    );
    assert_eq!(totp["uri"], json!(uri));
    let qr_code = totp["qr_code"].as_str().unwrap();
    assert!(qr_code.contains("<svg") && !qr_code.contains('#'), "clients put it into a data URL as it is");
    let challenge = server.challenge(&token, enrolled.text("id"), json!({})).await;
    let left =
        challenge.body["expires_at"].as_i64().unwrap() - time::OffsetDateTime::now_utc().unix_timestamp();
    assert!((200..=300).contains(&left), "{left}");
}

#[tokio::test]
async fn a_counted_refresh_token_from_before_the_verification_is_worth_nothing() {
    let mut settings = Settings::default();
    settings.security.refresh_token_algorithm = 2;
    let (server, token, refresh) = signed_in(settings).await;
    let app = server.enroll_app(&token, "app").await;
    let (_, risen) = server.rise(&token, &app).await;
    let refreshed = server.refresh(&risen).await;
    assert_eq!(refreshed.status, StatusCode::OK, "{}", refreshed.body);
    assert_eq!(server.claims(refreshed.text("access_token"))["aal"], json!("aal2"));
    assert_eq!(server.refresh(&refresh).await.refusal(), (400, "refresh_token_already_used"));
}

#[tokio::test]
async fn verification_leaves_sessions_that_are_as_sure_and_those_of_others() {
    let (server, token, _) = signed_in(Settings::default()).await;
    server.user("eve@example.com").await;
    let (_, eve) = server.tokens("eve@example.com").await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    assert_eq!(server.refresh(&eve).await.status, StatusCode::OK);
    let (second, _) = server.tokens(ADA).await;
    let (third, _) = server.rise(&second, &app).await;
    assert_eq!(server.get_as("/user", &risen).await.status, StatusCode::OK, "a session at aal2 stays");
    assert_eq!(server.claims(&third)["aal"], json!("aal2"));
}

#[tokio::test]
async fn a_code_is_good_once() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let code = app.code();
    let challenge = server.challenged(&token, &app.factor).await;
    assert_eq!(server.show_code(&token, &app.factor, &challenge, &code).await.status, StatusCode::OK);
    let (second, _) = server.tokens(ADA).await;
    let challenge = server.challenged(&second, &app.factor).await;
    let response = server.show_code(&second, &app.factor, &challenge, &code).await;
    assert_eq!(response.refusal(), (422, "mfa_verification_failed"));
    let next = server.show_code(&second, &app.factor, &challenge, &app.next_code()).await;
    assert_eq!(next.status, StatusCode::OK, "{}", next.body);
}

#[tokio::test]
async fn of_many_challenges_that_one_code_answers_one_counts() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let mut challenges = Vec::new();
    for _ in 0..8 {
        challenges.push(server.challenged(&token, &app.factor).await);
    }
    let code = app.code();
    let show =
        async |node: &Server, at: usize| node.show_code(&token, &app.factor, &challenges[at], &code).await;
    assert_eq!(winners(&server.at_once(8, show).await, "mfa_verification_failed"), 1);
}

#[tokio::test]
async fn only_the_right_challenge_from_the_right_place_in_time_counts() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let verify = async |challenge: &str, code: &str| {
        let response = server.show_code(&token, &app.factor, challenge, code).await;
        (response.status.as_u16(), response.refusal().1.to_owned())
    };
    let unknown = uuid::Uuid::new_v4().to_string();
    assert_eq!(verify(&unknown, "").await, (400, "validation_failed".to_owned()));
    assert_eq!(verify(&unknown, &app.code()).await, (422, "mfa_factor_not_found".to_owned()));
    assert_eq!(verify("no uuid", &app.code()).await, (400, "bad_json".to_owned()));
    let missing = server
        .call(Method::POST, &format!("/factors/{}/verify", app.factor), &token, json!({ "code": app.code() }))
        .await;
    assert_eq!(missing.refusal(), (422, "mfa_factor_not_found"));

    let challenge = server.challenged(&token, &app.factor).await;
    server.sql("update auth.mfa_challenges set ip_address = '203.0.113.9'").await;
    assert_eq!(verify(&challenge, &app.code()).await, (422, "mfa_ip_address_mismatch".to_owned()));
    let challenge = server.challenged(&token, &app.factor).await;
    server.sql("update auth.mfa_challenges set created_at = now() - interval '301 s'").await;
    assert_eq!(verify(&challenge, &app.code()).await, (422, "mfa_challenge_expired".to_owned()));
    assert_eq!(verify(&challenge, &app.code()).await, (422, "mfa_factor_not_found".to_owned()));

    let other = server.enroll_app(&token, "other").await;
    let challenge = server.challenged(&token, &other.factor).await;
    assert_eq!(verify(&challenge, &app.code()).await, (422, "mfa_factor_not_found".to_owned()));
}

#[tokio::test]
async fn of_many_answers_to_one_challenge_one_counts_whichever_node_gets_them() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let challenge = server.challenged(&token, &app.factor).await;
    let code = app.code();
    let show = async |node: &Server, _| node.show_code(&token, &app.factor, &challenge, &code).await;
    assert_eq!(winners(&server.at_once(8, show).await, "mfa_challenge_expired"), 1);
    let live = "select count(*) from auth.refresh_tokens where not revoked";
    assert_eq!(server.value(live).await, 1);
}

#[tokio::test]
async fn a_refresh_beside_the_verification_leaves_one_live_token() {
    let (server, token, refresh) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let challenge = server.challenged(&token, &app.factor).await;
    let code = app.code();
    let (verified, refreshed) =
        tokio::join!(server.show_code(&token, &app.factor, &challenge, &code), server.refresh(&refresh));
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    assert_eq!(refreshed.status, StatusCode::OK, "{}", refreshed.body);
    assert_eq!(server.value("select count(*) from auth.refresh_tokens where not revoked").await, 1);
}

#[tokio::test]
async fn doing_without_the_factor_may_be_allowed_for_a_while_only() {
    let mut settings = Settings::default();
    settings.sessions.allow_low_aal = Some(Duration::from_secs(600));
    let (server, token, _) = signed_in(settings).await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    let life = |token: &str| {
        let claims = server.claims(token);
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap()
    };
    assert_eq!(life(&risen), 3600);
    let (low, refresh) = server.tokens(ADA).await;
    assert!((590..=600).contains(&life(&low)), "{}", life(&low));
    server.sql("update auth.sessions set created_at = now() - interval '601 s' where aal = 'aal1'").await;
    assert_eq!(server.refresh(&refresh).await.refusal(), (400, "session_expired"));
}

#[tokio::test]
async fn the_audit_log_tells_the_life_of_a_factor() {
    let (server, token, _) = signed_in(Settings::default()).await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    server.call(Method::DELETE, &format!("/factors/{}", app.factor), &risen, json!(null)).await;
    let actions = format!(
        "select string_agg(payload ->> 'action', ' ' order by created_at) from auth.audit_log_entries
         where payload ->> 'log_type' = 'factor' and payload ->> 'actor_username' = '{ADA}'
           and payload #>> '{{traits,factor_id}}' = '{}'",
        app.factor
    );
    assert_eq!(
        server.text(&actions).await,
        "factor_in_progress challenge_created verification_attempted factor_unenrolled"
    );
}
