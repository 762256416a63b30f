//! Sign-in with a password.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server};

#[tokio::test]
async fn a_password_opens_a_session() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let response = server.sign_in("Ada@Example.com").await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    assert_eq!((response.text("token_type"), &response.body["expires_in"]), ("bearer", &json!(3600)));
    assert_eq!(response.text("refresh_token").len(), 12);
    assert!(response.body.get("weak_password").is_none());
    assert_eq!(response.headers["sb-auth-user-id"], id);

    let user = &response.body["user"];
    assert_eq!(
        (&user["id"], &user["email"], &user["phone"]),
        (&json!(id), &json!("ada@example.com"), &json!(""))
    );
    assert_eq!((&user["user_metadata"]["full_name"], &user["is_anonymous"]), (&json!("Ada"), &json!(false)));
    assert_eq!(user["identities"][0]["identity_data"]["sub"], json!(id));
    assert!(
        user["identities"][0]["identity_id"].is_string()
            && user["last_sign_in_at"].as_str().unwrap().ends_with('Z')
    );
    for absent in
        ["encrypted_password", "confirmation_token", "is_sso_user", "factors", "banned_until", "instance_id"]
    {
        assert!(user.get(absent).is_none(), "{absent}");
    }
}

#[tokio::test]
async fn the_access_token_says_everything_that_services_rely_on() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let response = server.sign_in("ada@example.com").await;
    let token = server.keys.verifier().verify(response.text("access_token")).unwrap();
    let claim = |name: &str| token.claims.get(name).cloned().unwrap_or(Value::Null);
    assert_eq!(claim("sub"), json!(id));
    assert_eq!((claim("aud"), claim("role")), (json!("authenticated"), json!("authenticated")));
    assert_eq!(claim("iss"), json!("http://127.0.0.1:54321/auth/v1"));
    assert_eq!((claim("email"), claim("phone")), (json!("ada@example.com"), json!("")));
    assert_eq!((claim("aal"), claim("is_anonymous")), (json!("aal1"), json!(false)));
    assert_eq!(claim("app_metadata")["provider"], json!("email"));
    assert_eq!(claim("user_metadata"), json!({ "full_name": "Ada" }));
    assert_eq!(claim("amr")[0]["method"], json!("password"));
    assert!(claim("amr")[0]["timestamp"].is_i64());
    assert_eq!(claim("exp").as_i64().unwrap() - claim("iat").as_i64().unwrap(), 3600);
    assert_eq!(claim("exp"), response.body["expires_at"]);
    assert_eq!(claim("session_id"), json!(response.headers["sb-auth-session-id"].to_str().unwrap()));
}

#[tokio::test]
async fn a_session_remembers_where_it_was_opened_and_the_audit_log_who_opened_it() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let body = json!({ "email": "ada@example.com", "password": PASSWORD }).to_string();
    let headers = [("user-agent", "tests/1.0")];
    server.send(Method::POST, "/token?grant_type=password", &headers, body).await;
    let kept = "select count(*) from auth.sessions where user_agent = 'tests/1.0' and ip is not null and aal = 'aal1'";
    assert_eq!(server.value(kept).await, 1);
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'login'
      and payload ->> 'actor_username' = 'ada@example.com' and payload #>> '{traits,provider}' = 'email'";
    assert_eq!(server.value(logged).await, 1);
}

#[tokio::test]
async fn wrong_password_and_unknown_user_cannot_be_told_apart() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    server.sql("update auth.users set encrypted_password = null where false").await;
    let wrong = json!({ "email": "ada@example.com", "password": "wrong" });
    let unknown = json!({ "email": "nobody@example.com", "password": PASSWORD });
    let wrong = server.post("/token?grant_type=password", wrong).await;
    let unknown = server.post("/token?grant_type=password", unknown).await;
    assert_eq!(wrong.refusal(), (400, "invalid_credentials"));
    assert_eq!(wrong.text("msg"), "Invalid login credentials");
    assert_eq!((unknown.refusal(), &unknown.body), (wrong.refusal(), &wrong.body));
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn accounts_that_may_not_sign_in_are_told_why() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let wrong = json!({ "email": "ada@example.com", "password": "wrong" });

    server.sql("update auth.users set email_confirmed_at = null").await;
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "email_not_confirmed"));
    let response = server.post("/token?grant_type=password", wrong).await;
    assert_eq!(response.refusal(), (400, "invalid_credentials"), "only who knows the password learns that");

    server.sql("update auth.users set banned_until = now() + interval '1 hour'").await;
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "user_banned"));
    server
        .sql("update auth.users set banned_until = now() - interval '1 s', email_confirmed_at = now()")
        .await;
    assert_eq!(server.sign_in("ada@example.com").await.status, StatusCode::OK);
    server.sql("update auth.users set encrypted_password = null").await;
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn one_address_of_an_enabled_kind_in_the_right_audience_is_wanted() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let refusal = async |body: Value| {
        let response = server.post("/token?grant_type=password", body).await;
        (response.status.as_u16(), response.headers["x-sb-error-code"].to_str().unwrap().to_owned())
    };
    assert_eq!(refusal(json!({})).await, (400, "validation_failed".into()));
    assert_eq!(refusal(json!({ "email": "a@b.c", "phone": "1" })).await, (400, "validation_failed".into()));
    assert_eq!(refusal(json!({ "phone": "+1 555" })).await, (422, "phone_provider_disabled".into()));
    let body = json!({ "email": "ada@example.com", "password": PASSWORD }).to_string();
    let other =
        server.send(Method::POST, "/token?grant_type=password", &[("x-jwt-aud", "other")], body).await;
    assert_eq!(other.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn a_phone_number_is_an_address_however_it_is_written() {
    let server = Server::with(auth::Settings {
        providers: auth::ProviderSettings { phone: true, ..Default::default() },
        ..Default::default()
    })
    .await;
    server.user("ada@example.com").await;
    server.sql("update auth.users set phone = '15550001', email = null").await;
    let body = json!({ "phone": "+1 555 0001", "password": PASSWORD });
    let path = "/token?grant_type=password";
    assert_eq!(server.post(path, body.clone()).await.refusal(), (400, "phone_not_confirmed"));
    server.sql("update auth.users set phone_confirmed_at = now()").await;
    assert_eq!(server.post(path, body).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_password_below_todays_policy_still_opens_but_is_reported() {
    let mut settings = auth::Settings::default();
    settings.passwords.min_length = 40;
    let server = Server::with(settings).await;
    server.user("ada@example.com").await;
    let response = server.sign_in("ada@example.com").await;
    assert_eq!(
        (response.status, &response.body["weak_password"]["reasons"]),
        (StatusCode::OK, &json!(["length"]))
    );
}

#[tokio::test]
async fn a_projects_own_trigger_may_refuse_a_sign_in_in_its_own_words() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    server
        .sql(
            "create function public.closed() returns trigger language plpgsql as $$
               begin raise exception 'closed on Sundays' using errcode = 'PT423', hint = 'come back'; end $$;
             create trigger closed before update on auth.users for each row execute function public.closed()",
        )
        .await;
    let response = server.sign_in("ada@example.com").await;
    assert_eq!(response.status.as_u16(), 423);
    assert_eq!(
        response.body,
        json!({ "code": "PT423", "message": "closed on Sundays", "hint": "come back" })
    );
    let body = json!({ "email": "ada@example.com", "password": PASSWORD }).to_string();
    let headers = [("x-supabase-api-version", "2024-01-01")];
    let response = server.send(Method::POST, "/token?grant_type=password", &headers, body).await;
    assert_eq!(response.refusal(), (500, "unexpected_failure"));
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn an_address_that_postgres_cannot_hold_is_nobodys() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let response = server.sign_in("ada@example.com\0").await;
    assert_eq!(response.refusal(), (400, "invalid_credentials"));
}

#[tokio::test]
async fn moments_beyond_the_calendar_keep_nobody_from_a_response() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    server.sql("update auth.users set banned_until = 'infinity'").await;
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "user_banned"));
    let strange =
        "banned_until = '-infinity', invited_at = '12026-01-01', recovery_sent_at = '0044-03-15 BC'";
    server.sql(&format!("update auth.users set {strange}")).await;
    let response = server.sign_in("ada@example.com").await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    let user = &response.body["user"];
    assert_eq!(user["banned_until"], json!("0001-01-01T00:00:00Z"));
    assert_eq!(user["invited_at"], json!("9999-12-31T23:59:59Z"));
    assert_eq!(user["recovery_sent_at"], json!("0001-01-01T00:00:00Z"));
}
