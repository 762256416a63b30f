//! Exchange of refresh tokens.

use std::collections::HashSet;
use std::time::Duration;

use auth::{SecuritySettings, SessionSettings, Settings};
use http::StatusCode;
use serde_json::json;

use crate::crowd::winners;
use crate::harness::Server;

/// Makes everything that has been refreshed or revoked so far older than any reuse interval.
const AGE: &str = "update auth.refresh_tokens set updated_at = updated_at - interval '1 hour'";

async fn signed_in(settings: Settings) -> (Server, String) {
    let server = Server::with(settings).await;
    server.user("ada@example.com").await;
    let token = server.sign_in("ada@example.com").await.text("refresh_token").to_owned();
    (server, token)
}

fn with_security(security: SecuritySettings) -> Settings {
    Settings { security, ..Settings::default() }
}

fn with_sessions(sessions: SessionSettings) -> Settings {
    Settings { sessions, ..Settings::default() }
}

#[tokio::test]
async fn a_refresh_rotates_the_token_and_keeps_the_session() {
    let (server, first) = signed_in(Settings::default()).await;
    server.sql("update auth.users set raw_user_meta_data = '{\"full_name\":\"Countess\"}'").await;
    let response = server.refresh(&first).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    assert_ne!(response.text("refresh_token"), first);
    assert_eq!(response.headers["sb-auth-refresh-token-reuse"], "false");
    let token = server.keys.verifier().verify(response.text("access_token")).unwrap();
    assert_eq!(token.claims["user_metadata"]["full_name"], json!("Countess"), "claims are those of now");
    assert_eq!(token.claims["amr"][0]["method"], json!("password"), "the way of signing in is kept");
    let second = server.refresh(response.text("refresh_token")).await;
    assert_eq!(second.headers["sb-auth-session-id"], response.headers["sb-auth-session-id"]);
    assert_eq!(server.value("select count(*) from auth.sessions where refreshed_at is not null").await, 1);
    assert_eq!(server.value("select count(*) from auth.refresh_tokens where not revoked").await, 1);
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' in ('token_refreshed', 'token_revoked')";
    assert_eq!(server.value(logged).await, 4);
}

#[tokio::test]
async fn a_client_that_missed_the_response_gets_it_again_at_any_time() {
    let (server, first) = signed_in(Settings::default()).await;
    let second = server.refresh(&first).await;
    server.sql(AGE).await;
    let repeated = server.refresh(&first).await;
    assert_eq!(repeated.text("refresh_token"), second.text("refresh_token"));
    assert_eq!(repeated.headers["sb-auth-refresh-token-reuse"], "true");
}

#[tokio::test]
async fn an_old_token_may_be_used_within_the_reuse_interval() {
    let interval = Duration::from_secs(600);
    let (server, first) = signed_in(with_security(SecuritySettings {
        refresh_token_reuse_interval: interval,
        ..Default::default()
    }))
    .await;
    let second = server.refresh(&first).await;
    server.refresh(second.text("refresh_token")).await;
    let repeated = server.refresh(&first).await;
    assert_eq!((repeated.status, repeated.text("refresh_token").len()), (StatusCode::OK, 12));
}

#[tokio::test]
async fn a_stolen_token_ends_its_whole_family() {
    let (server, first) = signed_in(Settings::default()).await;
    let second = server.refresh(&first).await;
    let third = server.refresh(second.text("refresh_token")).await;
    server.sql(AGE).await;
    let reuse = server.refresh(&first).await;
    assert_eq!(reuse.refusal(), (400, "refresh_token_already_used"));
    assert_eq!(reuse.text("msg"), "Invalid Refresh Token: Already Used");
    assert_eq!(server.value("select count(*) from auth.refresh_tokens where not revoked").await, 0);
    server.sql(AGE).await;
    assert_eq!(
        server.refresh(third.text("refresh_token")).await.refusal(),
        (400, "refresh_token_already_used")
    );
}

#[tokio::test]
async fn without_rotation_reuse_is_refused_but_ends_nothing() {
    let (server, first) =
        signed_in(with_security(SecuritySettings { refresh_token_rotation: false, ..Default::default() }))
            .await;
    let second = server.refresh(&first).await;
    let third = server.refresh(second.text("refresh_token")).await;
    server.sql(AGE).await;
    assert_eq!(server.refresh(&first).await.refusal(), (400, "refresh_token_already_used"));
    assert_eq!(server.refresh(third.text("refresh_token")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn parallel_refreshes_of_one_token_all_get_the_same_new_one() {
    let (server, first) = signed_in(Settings::default()).await;
    let responses = server.at_once(12, async |node, _| node.refresh(&first).await).await;
    assert_eq!(winners(&responses, ""), 12);
    let successors: HashSet<_> = responses.iter().map(|response| response.text("refresh_token")).collect();
    assert_eq!(successors.len(), 1);
    assert_eq!(server.value("select count(*) from auth.refresh_tokens").await, 2);
}

#[tokio::test]
async fn tokens_that_are_none_are_refused() {
    let (server, _) = signed_in(Settings::default()).await;
    assert_eq!(server.refresh("abcdefghijkl").await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(server.refresh("'; drop table auth.users").await.refusal(), (400, "validation_failed"));
    for body in [json!({ "refresh_token": "" }), json!({}), json!({ "refresh_token": null })] {
        let empty = server.post("/token?grant_type=refresh_token", body).await;
        assert_eq!(
            (empty.refusal(), empty.text("msg")),
            ((400, "validation_failed"), "Refresh token is not valid")
        );
    }
}

#[tokio::test]
async fn bans_and_lost_sessions_stop_a_refresh() {
    let (server, token) = signed_in(Settings::default()).await;
    server.sql("update auth.users set banned_until = now() + interval '1 hour'").await;
    assert_eq!(server.refresh(&token).await.refusal(), (400, "user_banned"));
    server
        .sql("update auth.users set banned_until = null; update auth.refresh_tokens set session_id = null")
        .await;
    assert_eq!(server.refresh(&token).await.refusal(), (400, "session_not_found"));
    let (server, token) = signed_in(Settings::default()).await;
    server
        .sql(
            "alter table auth.sessions drop constraint sessions_oauth_client_id_fkey;
             update auth.sessions set oauth_client_id = gen_random_uuid()",
        )
        .await;
    assert_eq!(server.refresh(&token).await.text("error"), "invalid_client");
}

#[tokio::test]
async fn sessions_end_by_each_of_their_rules() {
    let hour = Some(Duration::from_secs(3600));
    let rules = [
        (SessionSettings::default(), "not_after = now() - interval '1 s'", ""),
        (SessionSettings { timebox: hour, ..Default::default() }, "created_at = now() - interval '2 h'", ""),
        (
            SessionSettings { inactivity_timeout: hour, ..Default::default() },
            "refreshed_at = now() at time zone 'utc' - interval '2 h'",
            " (Inactivity)",
        ),
        (
            SessionSettings { allow_low_aal: hour, ..Default::default() },
            "created_at = now() - interval '2 h'",
            " (Low AAL: User Needs MFA Verification)",
        ),
    ];
    for (sessions, change, suffix) in rules {
        let (server, token) = signed_in(with_sessions(sessions)).await;
        server
            .sql(
                "insert into auth.mfa_factors
                   (id, user_id, friendly_name, secret, factor_type, status, created_at, updated_at)
                 select gen_random_uuid(), id, '', '', 'totp', 'verified', now(), now() from auth.users",
            )
            .await;
        server.sql(&format!("update auth.sessions set {change}")).await;
        let response = server.refresh(&token).await;
        assert_eq!(response.refusal(), (400, "session_expired"), "{change}");
        assert_eq!(response.text("msg"), format!("Invalid Refresh Token: Session Expired{suffix}"));
    }
}

#[tokio::test]
async fn with_a_single_session_per_user_the_newer_login_wins() {
    let sessions = SessionSettings { single_per_user: true, ..Default::default() };
    let (server, older) = signed_in(with_sessions(sessions)).await;
    server.sql("update auth.sessions set created_at = created_at - interval '1 min'; update auth.refresh_tokens set updated_at = updated_at - interval '1 min'").await;
    let newer = server.sign_in("ada@example.com").await;
    let response = server.refresh(&older).await;
    assert_eq!(response.text("msg"), "Invalid Refresh Token: Session Expired (Revoked by Newer Login)");
    assert_eq!(server.refresh(newer.text("refresh_token")).await.status, StatusCode::OK);
}

fn counted() -> SecuritySettings {
    SecuritySettings { refresh_token_algorithm: 2, ..Default::default() }
}

fn counter(response: &crate::harness::Response) -> &str {
    response.headers["sb-auth-refresh-token-counter"].to_str().unwrap()
}

#[tokio::test]
async fn counted_tokens_need_no_rows() {
    let (server, first) = signed_in(with_security(counted())).await;
    let second = server.refresh(&first).await;
    assert_eq!(second.status, StatusCode::OK, "{}", second.body);
    assert_eq!(
        (counter(&second), second.headers["sb-auth-refresh-token-reuse"].to_str().unwrap()),
        ("1", "false")
    );
    let third = server.refresh(second.text("refresh_token")).await;
    assert_eq!(counter(&third), "2");
    assert_eq!(third.headers["sb-auth-session-id"], second.headers["sb-auth-session-id"]);
    assert_eq!(server.value("select count(*) from auth.refresh_tokens").await, 0);
    let behind = server.refresh(second.text("refresh_token")).await;
    assert_eq!(behind.text("refresh_token"), third.text("refresh_token"), "the response was lost");
    assert_eq!(behind.headers["sb-auth-refresh-token-reuse-cause"], "fail-to-save");
}

#[tokio::test]
async fn a_stolen_counted_token_ends_the_session() {
    let (server, first) = signed_in(with_security(counted())).await;
    let second = server.refresh(&first).await;
    let third = server.refresh(second.text("refresh_token")).await;
    let reuse = server.refresh(&first).await;
    assert_eq!(reuse.refusal(), (400, "refresh_token_already_used"));
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
    assert_eq!(server.refresh(third.text("refresh_token")).await.refusal(), (400, "refresh_token_not_found"));
}

#[tokio::test]
async fn replaced_counted_tokens_may_be_let_in() {
    let interval = Duration::from_secs(600);
    for security in [
        SecuritySettings { refresh_token_reuse_interval: interval, ..counted() },
        SecuritySettings { refresh_token_allow_reuse: true, ..counted() },
    ] {
        let (server, first) = signed_in(with_security(security)).await;
        let second = server.refresh(&first).await;
        let third = server.refresh(second.text("refresh_token")).await;
        let repeated = server.refresh(&first).await;
        assert_eq!(repeated.text("refresh_token"), third.text("refresh_token"), "{}", repeated.body);
    }
    let security = SecuritySettings { refresh_token_rotation: false, ..counted() };
    let (server, first) = signed_in(with_security(security)).await;
    let second = server.refresh(&first).await;
    server.refresh(second.text("refresh_token")).await;
    assert_eq!(server.refresh(&first).await.refusal(), (400, "refresh_token_already_used"));
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
}

#[tokio::test]
async fn the_signature_of_a_counted_token_counts() {
    let (server, first) = signed_in(with_security(counted())).await;
    let (other, _) = signed_in(with_security(counted())).await;
    assert_eq!(other.refresh(&first).await.refusal(), (400, "refresh_token_not_found"));
    // All letters, so that no key stays as it is because it has none of them.
    let keys = "update auth.sessions set refresh_token_hmac_key =
      translate(refresh_token_hmac_key, 'abcdefghijklmnopqrstuvwxyz', 'bcdefghijklmnopqrstuvwxyza')";
    server.sql(keys).await;
    assert_eq!(server.refresh(&first).await.refusal(), (400, "refresh_token_not_found"));
    let (server, first) = signed_in(with_security(counted())).await;
    let second = server.refresh(&first).await;
    server.sql("update auth.sessions set refresh_token_counter = 0").await;
    assert_eq!(server.refresh(second.text("refresh_token")).await.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn sessions_move_to_counted_tokens_without_a_break() {
    let (server, first) = signed_in(Settings::default()).await;
    let upgrade = SecuritySettings { refresh_token_upgrade_percentage: 100, ..counted() };
    let upgrading = server.second_node_with(with_security(upgrade)).await;
    let second = upgrading.refresh(&first).await;
    assert_eq!((counter(&second), second.text("refresh_token").len() > 12), ("0", true), "{}", second.body);
    let repeated = upgrading.refresh(&first).await;
    assert_eq!(repeated.text("refresh_token"), second.text("refresh_token"), "the response was lost");
    let third = upgrading.refresh(second.text("refresh_token")).await;
    assert_eq!(counter(&third), "1");
    server.sql(AGE).await;
    assert_eq!(upgrading.refresh(&first).await.refusal(), (400, "refresh_token_already_used"));
}

#[tokio::test]
async fn sessions_of_another_kind_do_not_end_each_other() {
    let tags = vec!["web".to_owned(), "app".to_owned()];
    let sessions = SessionSettings { single_per_user: true, tags, ..Default::default() };
    let (server, older) = signed_in(with_sessions(sessions)).await;
    server.sql("update auth.sessions set tag = 'app', created_at = created_at - interval '1 min'").await;
    server.sql("update auth.refresh_tokens set updated_at = updated_at - interval '1 min'").await;
    let newer = server.sign_in("ada@example.com").await;
    assert_eq!(server.refresh(&older).await.status, StatusCode::OK);
    assert_eq!(server.refresh(newer.text("refresh_token")).await.status, StatusCode::OK);
}
