//! What the project's own code is told, and what it decides: the hooks, as functions of the database.

use std::collections::BTreeMap;

use auth::{Hook, HookName, HookSettings, Settings};
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server};

const ANN: &str = "ann@row.example";

fn with_hook(name: HookName, function: &str) -> Settings {
    let hook = Hook { uri: format!("pg-functions://postgres/public/{function}"), ..Hook::default() };
    Settings { hooks: HookSettings(BTreeMap::from([(name, hook)])), ..Settings::default() }
}

/// A hook that stores the event it gets.
const KEEPING: &str = "create table public.events (payload jsonb);
    create function public.keep(event jsonb) returns jsonb language sql security definer as
      $$ insert into public.events values (event); select '{}'::jsonb $$;
    grant execute on function public.keep to supabase_auth_admin";

async fn stored_event(server: &Server) -> Value {
    server.database.client().await.query_one("select payload from public.events", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_hook_sends_the_mail_in_place_of_smtp() {
    let server = Server::with(with_hook(HookName::SendEmail, "keep")).await;
    server.sql(KEEPING).await;
    server.user("ann@row.example").await;
    assert_eq!(server.post("/recover", json!({ "email": "ann@row.example" })).await.status, 200);
    let event = stored_event(&server).await;
    assert_eq!(event["metadata"]["name"], "send-email");
    assert_eq!(event["user"]["email"], "ann@row.example");
    assert_eq!(event["email_data"]["email_action_type"], "recovery");
    assert!(event["user"].get("encrypted_password").is_none());
    let token = event["email_data"]["token"].as_str().unwrap();
    let verified = json!({ "type": "recovery", "email": "ann@row.example", "token": token });
    let verified = server.post("/verify", verified).await;
    assert_eq!(verified.status, 200, "{}", verified.body);
}

#[tokio::test]
async fn a_hook_judges_attempts_to_sign_in() {
    let server = Server::with(with_hook(HookName::PasswordVerificationAttempt, "judge")).await;
    let judge = "create function public.judge(event jsonb) returns jsonb language sql as $$
        select case when (event ->> 'valid')::boolean then '{\"decision\": \"continue\"}'::jsonb
          else '{\"decision\": \"reject\", \"message\": \"Locked.\", \"should_logout_user\": true}'::jsonb end $$;
      grant execute on function public.judge to supabase_auth_admin";
    server.sql(judge).await;
    server.user("ann@row.example").await;
    assert_eq!(server.sign_in("ann@row.example").await.status, 200);
    let wrong = json!({ "email": "ann@row.example", "password": "wrong horse battery" });
    let refused = server.post("/token?grant_type=password", wrong).await;
    assert_eq!(refused.refusal(), (400, "invalid_credentials"));
    assert_eq!(refused.text("msg"), "Locked.");
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
    let nobody = json!({ "email": "nobody@row.example", "password": "wrong horse battery" });
    let refused = server.post("/token?grant_type=password", nobody).await;
    assert_eq!(refused.text("msg"), "Invalid login credentials");
}

#[tokio::test]
async fn a_refusal_before_a_user_is_created_creates_nobody() {
    let server = Server::with(with_hook(HookName::BeforeUserCreated, "refuse")).await;
    let refuse = "create function public.refuse(event jsonb) returns jsonb language sql as
        $$ select '{\"error\": {\"http_code\": 403, \"message\": \"Members only.\"}}'::jsonb $$;
      grant execute on function public.refuse to supabase_auth_admin";
    server.sql(refuse).await;
    let refused = server
        .post("/signup", json!({ "email": "ann@row.example", "password": "correct horse battery" }))
        .await;
    assert_eq!((refused.status.as_u16(), refused.text("msg")), (403, "Members only."));
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_hook_gets_new_users() {
    let server = Server::with(with_hook(HookName::AfterUserCreated, "keep")).await;
    server.sql(KEEPING).await;
    let signed_up = server.post("/signup", json!({ "email": ANN, "password": PASSWORD })).await;
    let event = stored_event(&server).await;
    assert_eq!(event["metadata"]["name"], "after-user-created");
    assert_eq!(
        (event["user"]["id"].as_str(), &event["user"]["email"]),
        (Some(signed_up.text("id")), &json!(ANN))
    );
    assert!(event["user"].get("encrypted_password").is_none());
}

#[tokio::test]
async fn a_hook_judges_attempts_to_show_a_factor_and_ends_all_sessions() {
    let server = Server::with(with_hook(HookName::MfaVerificationAttempt, "judge")).await;
    server
        .sql(
            "create function public.judge(event jsonb) returns jsonb language sql as $$
              select case when (event ->> 'valid')::boolean and event ->> 'factor_type' = 'totp'
                then '{\"decision\": \"continue\"}'::jsonb
                else '{\"decision\": \"reject\", \"message\": \"Too many attempts.\"}'::jsonb end $$;
            grant execute on function public.judge to supabase_auth_admin",
        )
        .await;
    server.user(ANN).await;
    let (token, _) = server.tokens(ANN).await;
    let app = server.enroll_app(&token, "app").await;
    let (token, _) = server.rise(&token, &app).await;
    let challenge = server.challenged(&token, &app.factor).await;
    let refused = server.show_code(&token, &app.factor, &challenge, &app.wrong_code()).await;
    assert_eq!(refused.refusal(), (403, "mfa_verification_rejected"));
    assert_eq!(refused.text("msg"), "Too many attempts.");
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn a_hook_that_rejects_a_recovery_code_leaves_the_code() {
    let mut settings = with_hook(HookName::MfaVerificationAttempt, "judge");
    settings.mfa.recovery_codes.enabled = auth::FactorSettings { enroll: true, verify: true };
    settings.mfa.recovery_codes.count = 4;
    let server = Server::with(settings).await;
    server
        .sql(
            "create function public.judge(event jsonb) returns jsonb language sql as $$
              select jsonb_build_object('decision',
                case when event ->> 'factor_type' = 'recovery_code' then 'reject' else 'continue' end) $$;
            grant execute on function public.judge to supabase_auth_admin",
        )
        .await;
    server.user(ANN).await;
    let (token, _) = server.tokens(ANN).await;
    let app = server.enroll_app(&token, "app").await;
    let (token, _) = server.rise(&token, &app).await;
    let made = server.post_as("/factors/recovery-codes", &token).await;
    let body = json!({ "code": made.body["codes"][0] });
    let refused = server.call(http::Method::POST, "/factors/recovery-codes/verify", &token, body).await;
    assert_eq!(refused.refusal(), (403, "mfa_verification_rejected"), "{}", refused.body);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
    assert_eq!(
        server.value("select count(*) from auth.mfa_recovery_codes where consumed_at is null").await,
        4
    );
}

#[tokio::test]
async fn a_hook_shapes_access_tokens_but_cannot_leave_out_what_they_need() {
    let server = Server::with(with_hook(HookName::CustomAccessToken, "shape")).await;
    let shape = async |claims: &str| {
        server
            .sql(&format!(
                "create or replace function public.shape(event jsonb) returns jsonb language sql as
                   $$ select jsonb_build_object('claims', {claims}) $$;
                 grant execute on function public.shape to supabase_auth_admin"
            ))
            .await;
    };
    server.user(ANN).await;
    shape("(event -> 'claims') || jsonb_build_object('club', 'row', 'by', event -> 'authentication_method')")
        .await;
    let signed_in = server.sign_in(ANN).await;
    let claims = server.claims(signed_in.text("access_token"));
    assert_eq!((&claims["club"], &claims["by"]), (&json!("row"), &json!("password")));
    let refreshed = server.refresh(signed_in.text("refresh_token")).await;
    assert_eq!(server.claims(refreshed.text("access_token"))["by"], "token_refresh");
    for claim in ["aud", "exp", "iat", "sub", "email", "phone", "role", "aal", "session_id", "is_anonymous"] {
        shape(&format!("(event -> 'claims') - '{claim}'")).await;
        assert_eq!(server.sign_in(ANN).await.status, 500, "{claim}");
    }
}
