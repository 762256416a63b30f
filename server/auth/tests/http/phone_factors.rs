//! Factors of type `phone`: codes that are sent by text message.

use auth::{FactorSettings, Hook, HookName, Settings};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::crowd::winners;
use crate::harness::Server;

const ADA: &str = "ada@example.com";
const NUMBER: &str = "+41 79 123 45 67";

/// Returns settings without anybody who sends text messages.
fn mute() -> Settings {
    let mut settings = Settings::default();
    settings.mfa.phone.enabled = FactorSettings { enroll: true, verify: true };
    settings
}

/// Returns settings whose text messages go to a function of the database, which drops them.
fn settings() -> Settings {
    let mut settings = mute();
    let uri = "pg-functions://postgres/public/drop_message".to_owned();
    settings.hooks.0.insert(HookName::SendSms, Hook { uri, ..Hook::default() });
    settings
}

async fn signed_in() -> (Server, String) {
    let server = Server::with(settings()).await;
    let function = "create function public.drop_message(event jsonb) returns jsonb language sql
        as $$ select '{}'::jsonb $$";
    server.sql(function).await;
    begin(server).await
}

async fn begin(server: Server) -> (Server, String) {
    server.user(ADA).await;
    let (access, _) = server.tokens(ADA).await;
    (server, access)
}

async fn enrolled(server: &Server, token: &str) -> String {
    let response = server.enroll(token, json!({ "factor_type": "phone", "phone": NUMBER })).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    response.text("id").to_owned()
}

/// Returns the code that was sent for a challenge.
async fn code(server: &Server, challenge: &str) -> String {
    server.text(&format!("select otp_code from auth.mfa_challenges where id = '{challenge}'")).await
}

#[tokio::test]
async fn a_number_is_enrolled_challenged_and_verified() {
    let (server, token) = signed_in().await;
    let enrolled = server.enroll(&token, json!({ "factor_type": "phone", "phone": NUMBER })).await;
    assert_eq!((enrolled.status, enrolled.text("type")), (StatusCode::OK, "phone"), "{}", enrolled.body);
    assert_eq!((enrolled.text("phone"), enrolled.body.get("totp")), (NUMBER, None));
    let factor = enrolled.text("id");
    assert_eq!(server.factors(&token).await[0]["phone"], json!("41791234567"));
    let challenge = server.challenge(&token, factor, json!({ "channel": "sms" })).await;
    assert_eq!((challenge.status, challenge.text("type")), (StatusCode::OK, "phone"), "{}", challenge.body);
    let code = code(&server, challenge.text("id")).await;
    assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()));
    let wrong = if code == "000000" { "000001" } else { "000000" };
    for (code, refusal) in [("", (400, "validation_failed")), (wrong, (422, "mfa_verification_failed"))] {
        assert_eq!(server.show_code(&token, factor, challenge.text("id"), code).await.refusal(), refusal);
    }
    let verified = server.show_code(&token, factor, challenge.text("id"), &code).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    let claims = server.claims(verified.text("access_token"));
    assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal2"), &json!("mfa/phone")));
    let second = server.show_code(&token, factor, challenge.text("id"), &code).await;
    assert_eq!(second.refusal(), (422, "mfa_challenge_expired"));
}

#[tokio::test]
async fn messages_go_out_only_so_often_however_many_ask() {
    let (server, token) = signed_in().await;
    let factor = enrolled(&server, &token).await;
    let challenge = async |node: &Server, _| node.challenge(&token, &factor, json!({})).await;
    let responses = server.at_once(6, challenge).await;
    assert_eq!(winners(&responses, "over_sms_send_rate_limit"), 1);
    assert_eq!(server.value("select count(*) from auth.mfa_challenges").await, 1);
    server.sql("update auth.mfa_factors set last_challenged_at = now() - interval '61 s'").await;
    assert_eq!(server.challenge(&token, &factor, json!({})).await.status, StatusCode::OK);
}

#[tokio::test]
async fn channels_and_bodies_are_checked() {
    let (server, token) = begin(Server::with(mute()).await).await;
    let factor = enrolled(&server, &token).await;
    for channel in ["pigeon", "whatsapp"] {
        let refused = server.challenge(&token, &factor, json!({ "channel": channel })).await;
        assert_eq!(refused.refusal(), (400, "validation_failed"), "{channel}");
    }
    let path = format!("/factors/{factor}/challenge");
    assert_eq!(server.post_as(&path, &token).await.refusal(), (400, "bad_json"));
    let mut off = settings();
    off.mfa.phone.enabled.verify = false;
    let off = server.second_node_with(off).await;
    assert_eq!(
        off.challenge(&token, &factor, json!({})).await.refusal(),
        (422, "mfa_phone_verify_not_enabled")
    );
}

#[tokio::test]
async fn numbers_are_numbers_and_there_is_one_verified_factor_of_each() {
    let (server, token) = signed_in().await;
    let enroll = async |name: &str, phone: Value| {
        server.enroll(&token, json!({ "factor_type": "phone", "friendly_name": name, "phone": phone })).await
    };
    for phone in [json!(""), json!("0791234567"), json!("+4179123456789012")] {
        assert_eq!(enroll("a", phone.clone()).await.refusal(), (400, "validation_failed"), "{phone}");
    }
    let factor = enrolled(&server, &token).await;
    let challenge = server.challenged(&token, &factor).await;
    let code = code(&server, &challenge).await;
    let verified = server.show_code(&token, &factor, &challenge, &code).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    assert_eq!(enroll("b", json!(NUMBER)).await.refusal(), (422, "mfa_verified_factor_exists"));
}

#[tokio::test]
async fn verifying_one_kind_leaves_attempts_at_others_alone() {
    let (server, token) = signed_in().await;
    let factor = enrolled(&server, &token).await;
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    assert_eq!(server.factors(&risen).await.len(), 2);
    let gone = server.call(Method::DELETE, &format!("/factors/{factor}"), &risen, json!(null)).await;
    assert_eq!(gone.status, StatusCode::OK);
}
