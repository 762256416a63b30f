//! Recovery codes: making, using and removing them.

use auth::{FactorSettings, Settings};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::crowd::winners;
use crate::harness::{Response, Server};
use crate::totp::App;

const ADA: &str = "ada@example.com";
const PATH: &str = "/factors/recovery-codes";

fn settings() -> Settings {
    let mut settings = Settings::default();
    let codes = &mut settings.mfa.recovery_codes;
    codes.enabled = FactorSettings { enroll: true, verify: true };
    (codes.count, codes.max_verify_attempts) = (4, 3);
    settings
}

impl Server {
    async fn make_codes(&self, token: &str) -> Response {
        // The body is optional.
        self.post_as(PATH, token).await
    }

    async fn use_code(&self, token: &str, code: &str) -> Response {
        self.call(Method::POST, &format!("{PATH}/verify"), token, json!({ "code": code })).await
    }

    async fn remake_codes(&self, token: &str) -> Response {
        self.post_as(&format!("{PATH}/regenerate"), token).await
    }

    async fn remove_codes(&self, token: &str) -> Response {
        self.call(Method::DELETE, PATH, token, Value::Null).await
    }
}

/// Returns a server with a user who has an app, the user's token at aal2, and the app.
async fn raised(settings: Settings) -> (Server, String, App) {
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (token, _) = server.tokens(ADA).await;
    let app = server.enroll_app(&token, "app").await;
    let (token, _) = server.rise(&token, &app).await;
    (server, token, app)
}

fn codes(response: &Response) -> Vec<String> {
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    serde_json::from_value(response.body["codes"].clone()).unwrap()
}

#[tokio::test]
async fn codes_are_shown_once_and_each_raises_a_session_once() {
    let (server, token, _) = raised(settings()).await;
    let made = server.make_codes(&token).await;
    let codes = codes(&made);
    assert_eq!((made.text("type"), made.text("friendly_name")), ("recovery_code", "Recovery codes"));
    assert_eq!((&made.body["total"], codes.len()), (&json!(4), 4));
    for code in &codes {
        let is_base32 = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
        assert!(code.len() == 16 && code.bytes().all(is_base32), "{code}");
    }
    let status = server.get_as(PATH, &token).await;
    let expected = json!({ "id": made.body["id"], "type": "recovery_code", "total": 4, "remaining": 4 });
    assert_eq!(status.body, expected);
    let stored = "select count(*) from auth.mfa_recovery_codes where code_hash like '$argon2id$v=19$m=19456,t=1,p=1$%'";
    assert_eq!(server.value(stored).await, 4);
    let factor = server.factors(&token).await.pop().unwrap();
    assert_eq!(
        (&factor["id"], &factor["factor_type"], &factor["status"]),
        (&made.body["id"], &json!("recovery_code"), &json!("verified"))
    );

    let (second, _) = server.tokens(ADA).await;
    let typed = format!(" {}-{} {}", &codes[1][..4], codes[1][4..8].to_uppercase(), &codes[1][8..]);
    let used = server.use_code(&second, &typed).await;
    assert_eq!(used.status, StatusCode::OK, "{}", used.body);
    let claims = server.claims(used.text("access_token"));
    let methods: Vec<_> = claims["amr"].as_array().unwrap().iter().map(|entry| &entry["method"]).collect();
    assert_eq!(
        (&claims["aal"], methods),
        (&json!("aal2"), vec![&json!("mfa/recovery_code"), &json!("password")])
    );
    assert_eq!(claims["session_id"], server.claims(&second)["session_id"]);
    let refreshed = server.refresh(used.text("refresh_token")).await;
    assert_eq!(server.claims(refreshed.text("access_token"))["aal"], json!("aal2"));
    assert_eq!(server.get_as("/user", &token).await.status, StatusCode::OK, "a session at aal2 stays");
    assert_eq!(server.get_as(PATH, &token).await.body["remaining"], json!(3));

    let (third, _) = server.tokens(ADA).await;
    let again = server.use_code(&third, &codes[1]).await;
    assert_eq!(
        (again.refusal(), again.text("msg")),
        ((422, "mfa_verification_failed"), "Invalid recovery code entered")
    );
    assert_eq!(server.use_code(&third, " - ").await.refusal(), (400, "validation_failed"));
    let logged = server.text(
        "select string_agg(payload ->> 'action', ' ' order by created_at) from auth.audit_log_entries
         where payload ->> 'action' like 'recovery%'",
    );
    assert_eq!(logged.await, "recovery_codes_generated recovery_codes_verified");
}

#[tokio::test]
async fn codes_are_for_those_who_have_shown_another_factor() {
    let (server, token, app) = raised(settings()).await;
    let off = server.second_node_with(Settings::default()).await;
    assert_eq!(off.make_codes(&token).await.refusal(), (422, "mfa_recovery_codes_enroll_not_enabled"));
    assert_eq!(off.remake_codes(&token).await.refusal(), (422, "mfa_recovery_codes_enroll_not_enabled"));
    assert_eq!(off.use_code(&token, "x").await.refusal(), (422, "mfa_recovery_codes_verify_not_enabled"));

    for path in [PATH, "/factors/recovery-codes/regenerate"] {
        assert_eq!(server.post_as(path, "").await.refusal(), (401, "no_authorization"));
    }
    assert_eq!(server.get_as(PATH, &token).await.refusal(), (404, "mfa_factor_not_found"));
    assert_eq!(server.remake_codes(&token).await.refusal(), (404, "mfa_factor_not_found"));
    assert_eq!(server.remove_codes(&token).await.refusal(), (404, "mfa_factor_not_found"));
    assert_eq!(server.use_code(&token, "x").await.refusal(), (422, "mfa_verification_failed"));
    let named = |name: &str| json!({ "friendly_name": name });
    let conflict = server.call(Method::POST, PATH, &token, named("app")).await;
    assert_eq!(conflict.refusal(), (422, "mfa_factor_name_conflict"));
    let long = server.call(Method::POST, PATH, &token, named(&"x".repeat(1025))).await;
    assert_eq!(long.refusal(), (400, "validation_failed"));
    let made = server.call(Method::POST, PATH, &token, named("In the safe")).await;
    assert_eq!((made.status, made.text("friendly_name")), (StatusCode::OK, "In the safe"));
    assert_eq!(server.make_codes(&token).await.refusal(), (422, "mfa_verified_factor_exists"));

    let (low, _) = server.tokens(ADA).await;
    assert_eq!(server.make_codes(&low).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(server.remake_codes(&low).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(server.remove_codes(&low).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(server.get_as(PATH, &low).await.body["remaining"], json!(4));

    // The endpoints of other factors know none of them.
    let path = format!("/factors/{}", made.text("id"));
    assert_eq!(
        server.call(Method::DELETE, &path, &token, Value::Null).await.refusal(),
        (422, "validation_failed")
    );
    let challenge = server.challenge(&token, made.text("id"), json!({})).await;
    assert_eq!(challenge.refusal(), (400, "validation_failed"));
    let enrolled = server.enroll(&token, json!({ "factor_type": "recovery_code" })).await;
    assert_eq!(enrolled.refusal(), (400, "validation_failed"));

    // They are never the only factor.
    let path = format!("/factors/{}", app.factor);
    let last = server.call(Method::DELETE, &path, &token, Value::Null).await;
    assert_eq!(last.refusal(), (422, "mfa_recovery_codes_sole_factor"));
    assert_eq!(server.remove_codes(&token).await.text("id"), made.text("id"));
    let removed = server.call(Method::DELETE, &path, &token, Value::Null).await;
    assert_eq!(removed.status, StatusCode::OK, "{}", removed.body);
    server.sql("update auth.sessions set aal = 'aal2'").await;
    assert_eq!(server.make_codes(&token).await.refusal(), (422, "mfa_recovery_codes_sole_factor"));
}

#[tokio::test]
async fn wrong_codes_lock_the_right_ones_for_a_while() {
    let (server, token, _) = raised(settings()).await;
    let codes = codes(&server.make_codes(&token).await);
    let (low, _) = server.tokens(ADA).await;
    for _ in 0..3 {
        assert_eq!(server.use_code(&low, "wrong").await.refusal(), (422, "mfa_verification_failed"));
    }
    for code in [codes[0].as_str(), "wrong"] {
        assert_eq!(server.use_code(&low, code).await.refusal(), (429, "mfa_recovery_codes_locked"));
    }
    let left = "select extract(epoch from verification_locked_until - now())::bigint from auth.mfa_recovery_code_sets";
    assert!((880..=900).contains(&server.value(left).await));
    server
        .sql("update auth.mfa_recovery_code_sets set verification_locked_until = now() - interval '1 s'")
        .await;
    assert_eq!(server.use_code(&low, "wrong").await.refusal(), (422, "mfa_verification_failed"));
    let failures = "select failed_verification_count::bigint from auth.mfa_recovery_code_sets
        where verification_locked_until is null";
    assert_eq!(server.value(failures).await, 1, "they are counted from the beginning");
    let used = server.use_code(&low, &codes[0]).await;
    assert_eq!(used.status, StatusCode::OK, "{}", used.body);
    assert_eq!(server.value(failures).await, 0);
}

#[tokio::test]
async fn other_codes_replace_all_there_are_and_unlock() {
    let (server, token, _) = raised(settings()).await;
    let old = codes(&server.make_codes(&token).await);
    server
        .sql("update auth.mfa_recovery_code_sets set verification_locked_until = now() + interval '1 h'")
        .await;
    let made = server.remake_codes(&token).await;
    let new = codes(&made);
    assert_eq!((made.text("friendly_name"), &made.body["total"]), ("Recovery codes", &json!(4)));
    assert_eq!(server.value("select count(*) from auth.mfa_recovery_codes").await, 4);
    let (low, _) = server.tokens(ADA).await;
    assert_eq!(server.use_code(&low, &old[0]).await.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(server.use_code(&low, &new[0]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn sessions_that_codes_have_raised_fall_with_them() {
    let (server, token, _) = raised(settings()).await;
    let codes = codes(&server.make_codes(&token).await);
    let (low, _) = server.tokens(ADA).await;
    let used = server.use_code(&low, &codes[0]).await;
    let removed = server.remove_codes(used.text("access_token")).await;
    assert_eq!(removed.status, StatusCode::OK, "{}", removed.body);
    assert_eq!(server.value("select count(*) from auth.mfa_recovery_codes").await, 0);
    let refreshed = server.refresh(used.text("refresh_token")).await;
    let claims = server.claims(refreshed.text("access_token"));
    assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal1"), &json!("password")));
    assert_eq!(server.make_codes(refreshed.text("access_token")).await.refusal(), (403, "insufficient_aal"));
    assert_eq!(server.make_codes(&token).await.status, StatusCode::OK, "the app's session stays at aal2");
}

#[tokio::test]
async fn of_many_uses_of_one_code_one_counts_whichever_node_gets_them() {
    let mut settings = settings();
    settings.mfa.recovery_codes.max_verify_attempts = 15;
    let (server, token, _) = raised(settings).await;
    let codes = codes(&server.make_codes(&token).await);
    let (low, _) = server.tokens(ADA).await;
    let responses = server.at_once(6, async |node: &Server, _| node.use_code(&low, &codes[0]).await).await;
    assert_eq!(winners(&responses, "mfa_verification_failed"), 1);
    assert_eq!(server.get_as(PATH, &token).await.body["remaining"], json!(3));
}

#[tokio::test]
async fn a_hash_of_hosted_supabase_is_understood() {
    let (server, token, _) = raised(settings()).await;
    server.make_codes(&token).await;
    // Of "password", as the tests of Argon2's reference implementation have it.
    let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    server.sql(&format!("update auth.mfa_recovery_codes set code_hash = '{hash}'")).await;
    let (low, _) = server.tokens(ADA).await;
    assert_eq!(server.use_code(&low, "PASS-WORD").await.status, StatusCode::OK);
}
