//! Sign-up with an address and a password, and anonymous sign-up.

use auth::{MailSettings, PasswordSettings, ProviderSettings, Settings, SmsSettings};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server};
use crate::provider::Provider;

fn autoconfirm() -> Settings {
    Settings {
        mail: MailSettings { autoconfirm: true, ..Default::default() },
        sms: SmsSettings { autoconfirm: true, ..Default::default() },
        providers: all_open(),
        ..Default::default()
    }
}

fn all_open() -> ProviderSettings {
    ProviderSettings { phone: true, anonymous_users: true, ..Default::default() }
}

fn ada() -> Value {
    json!({ "email": "Ada@Example.com", "password": PASSWORD, "data": { "full_name": "Ada", "sub": "forged" } })
}

#[tokio::test]
async fn a_new_address_awaits_confirmation() {
    let server = Server::start().await;
    let response = server.post("/signup", ada()).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    let user = &response.body;
    assert_eq!(
        (response.text("email"), response.text("role"), response.text("aud")),
        ("ada@example.com", "authenticated", "authenticated")
    );
    assert!(user.get("email_confirmed_at").is_none() && user["confirmation_sent_at"].is_string());
    let metadata = &user["user_metadata"];
    assert_eq!((&metadata["full_name"], &metadata["email_verified"]), (&json!("Ada"), &json!(false)));
    assert_eq!(metadata["sub"], user["id"], "what the service says of a user cannot be overridden");
    assert_eq!(user["app_metadata"], json!({ "provider": "email", "providers": ["email"] }));
    let identity = &user["identities"][0];
    assert_eq!(
        (&identity["id"], &identity["identity_data"]["email"]),
        (&user["id"], &json!("ada@example.com"))
    );
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "email_not_confirmed"));
    assert_eq!(server.value("select count(*) from auth.one_time_tokens").await, 1);
    let secrets =
        ["encrypted_password", "confirmation_token", "is_sso_user", "instance_id", "is_super_admin"];
    assert!(secrets.iter().all(|secret| user.get(secret).is_none()));
}

#[tokio::test]
async fn where_addresses_need_no_confirmation_the_response_is_a_session() {
    let server = Server::with(autoconfirm()).await;
    let response = server.post("/signup", ada()).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    assert_eq!(response.body["user"]["user_metadata"]["email_verified"], json!(true));
    assert!(response.headers.contains_key("sb-auth-session-id"));
    assert_eq!(server.get_as("/user", response.text("access_token")).await.status, StatusCode::OK);
    let second = server.post("/signup", ada()).await;
    assert_eq!(second.refusal(), (422, "user_already_exists"));
    assert_eq!(second.text("msg"), "User already registered");
    let phone = server.post("/signup", json!({ "phone": "+41 79 123 45 67", "password": PASSWORD })).await;
    assert_eq!(phone.body["user"]["phone"], json!("41791234567"), "{}", phone.body);
}

#[tokio::test]
async fn the_address_of_a_confirmed_user_looks_like_a_new_one() {
    let server = Server::start().await;
    let id = server.user("ada@example.com").await;
    let taken = server.post("/signup", ada()).await;
    let fresh = server.post("/signup", json!({ "email": "new@example.com", "password": PASSWORD })).await;
    assert_eq!((taken.status, fresh.status), (StatusCode::OK, StatusCode::OK));
    assert_ne!(taken.text("id"), id);
    let members = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&taken.body), members(&fresh.body));
    assert_eq!((&taken.body["identities"], &taken.body["role"]), (&json!([]), &json!("")));
    assert_eq!(taken.body["user_metadata"]["full_name"], json!("Ada"));
    assert!(taken.body.get("email_confirmed_at").is_none());
    let sent = "select count(*) from auth.users where id = '{id}' and confirmation_sent_at is not null";
    assert_eq!(server.value(&sent.replace("{id}", &id)).await, 0, "nothing is sent");
}

#[tokio::test]
async fn an_unconfirmed_user_gets_the_confirmation_again_and_keeps_the_password() {
    let server = Server::start().await;
    let first = server.post("/signup", ada()).await;
    let hash = server.hash("confirmation_token").await;
    let soon = server.post("/signup", ada()).await;
    assert_eq!(soon.refusal(), (429, "over_email_send_rate_limit"));
    assert!(soon.text("msg").starts_with("For security purposes, you can only request this after "));
    assert_eq!(server.hash("confirmation_token").await, hash, "nothing changed");
    server.let_time_pass().await;
    let password = server.text("select encrypted_password::text from auth.users").await;
    let second =
        server.post("/signup", json!({ "email": "ada@example.com", "password": "another secret" })).await;
    assert_eq!(second.text("id"), first.text("id"));
    assert_ne!(server.hash("confirmation_token").await, hash);
    assert_eq!(server.text("select encrypted_password::text from auth.users").await, password);
}

#[tokio::test]
async fn what_cannot_be_an_account_is_refused() {
    let server = Server::with(Settings { providers: all_open(), ..Default::default() }).await;
    let email = "ada@example.com";
    let refusals = [
        (json!({ "email": email }), 400, "validation_failed"),
        (json!({ "email": email, "password": "short" }), 422, "weak_password"),
        (json!({ "email": email, "password": "x".repeat(73) }), 400, "validation_failed"),
        (json!({ "email": email, "phone": "41791234567", "password": PASSWORD }), 400, "validation_failed"),
        (json!({ "email": "no address", "password": PASSWORD }), 400, "validation_failed"),
        (json!({ "phone": "0791234567", "password": PASSWORD }), 400, "validation_failed"),
        (
            json!({ "phone": "41791234567", "password": PASSWORD, "channel": "pigeon" }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": email, "password": PASSWORD, "code_challenge": "a".repeat(43) }),
            400,
            "validation_failed",
        ),
        (
            json!({ "phone": "41791234567", "password": PASSWORD, "code_challenge": "a".repeat(43), "code_challenge_method": "s256" }),
            400,
            "validation_failed",
        ),
        (json!({ "email": email, "password": PASSWORD, "data": "text" }), 400, "bad_json"),
        (json!({ "email": 5, "password": PASSWORD }), 400, "bad_json"),
        (
            json!({ "email": email, "password": PASSWORD, "data": { "a": ["\u{0}"] } }),
            400,
            "validation_failed",
        ),
        (json!({ "email": "a\u{0}@example.com", "password": PASSWORD }), 400, "validation_failed"),
    ];
    for (body, status, code) in refusals {
        let response = server.post("/signup", body.clone()).await;
        assert_eq!(response.refusal(), (status, code), "{body}");
    }
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn a_refusal_of_a_weak_password_names_what_it_lacks() {
    let passwords = PasswordSettings {
        required_characters: auth::CharacterSets(vec!["0123456789".into()]),
        ..Default::default()
    };
    let server = Server::with(Settings { passwords, ..Default::default() }).await;
    let body = json!({ "email": "ada@example.com", "password": "abc" }).to_string();
    let version = [("x-supabase-api-version", "2024-01-01")];
    let response = server.send(Method::POST, "/signup", &version, body).await;
    assert_eq!(response.refusal(), (422, "weak_password"));
    assert_eq!(response.body["weak_password"], json!({ "reasons": ["length", "characters"] }));
}

#[tokio::test]
async fn doors_that_are_closed_say_so() {
    let closed =
        Server::with(Settings { disable_signup: true, providers: all_open(), ..Default::default() }).await;
    for body in [ada(), json!({ "phone": "41791234567", "password": PASSWORD }), json!({})] {
        assert_eq!(closed.post("/signup", body).await.refusal(), (422, "signup_disabled"));
    }
    let providers = ProviderSettings { email: false, ..Default::default() };
    let server = Server::with(Settings { providers, ..Default::default() }).await;
    assert_eq!(server.post("/signup", ada()).await.refusal(), (400, "email_provider_disabled"));
    let phone = json!({ "phone": "41791234567", "password": PASSWORD });
    assert_eq!(server.post("/signup", phone).await.refusal(), (400, "phone_provider_disabled"));
    let anonymous = server.post("/signup", json!({})).await;
    assert_eq!(anonymous.refusal(), (422, "anonymous_provider_disabled"));
    assert_eq!(anonymous.text("msg"), "Anonymous sign-ins are disabled");
}

#[tokio::test]
async fn audiences_have_users_of_their_own() {
    let server = Server::with(autoconfirm()).await;
    let other = [("x-jwt-aud", "other")];
    let session = server.send(Method::POST, "/signup", &other, ada().to_string()).await;
    assert_eq!(session.body["user"]["aud"], json!("other"), "{}", session.body);
    assert_eq!(server.sign_in("ada@example.com").await.refusal(), (400, "invalid_credentials"));
    let sign_in = json!({ "email": "ada@example.com", "password": PASSWORD }).to_string();
    let response = server.send(Method::POST, "/token?grant_type=password", &other, sign_in).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    // Postgres keeps addresses unique over all audiences.
    assert_eq!(server.post("/signup", ada()).await.refusal(), (422, "email_exists"));
    let endless = "x".repeat(256);
    let nobodys = [("x-jwt-aud", endless.as_str())];
    let response = server.send(Method::POST, "/signup", &nobodys, ada().to_string()).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn an_invitation_makes_a_user_who_may_be_invited_again() {
    let server = Server::start().await;
    let invitation = json!({ "email": "ada@example.com", "data": { "team": "blue" } });
    let invited = server.post_as_admin("/invite", invitation.clone()).await;
    assert_eq!(invited.status, StatusCode::OK, "{}", invited.body);
    assert!(invited.body["invited_at"].is_string() && invited.body["user_metadata"]["team"] == json!("blue"));
    let second = server.post_as_admin("/invite", invitation.clone()).await;
    assert_eq!(second.text("id"), invited.text("id"));
    server.let_time_pass().await;
    let stranger = server.post("/signup", ada()).await;
    assert_eq!((&stranger.body["identities"], &stranger.body["user_metadata"]), (&json!([]), &json!({})));
    server.sql("update auth.users set email_confirmed_at = now()").await;
    assert_eq!(server.post_as_admin("/invite", invitation.clone()).await.refusal(), (422, "email_exists"));
    assert_eq!(server.post("/invite", invitation).await.refusal(), (401, "no_authorization"));
    let logged = "select count(*) from auth.audit_log_entries where payload ->> 'action' = 'user_invited' and payload ->> 'actor_username' = 'service_role'";
    assert_eq!(server.value(logged).await, 2);
}

#[tokio::test]
async fn leaked_passwords_are_refused_to_new_users_and_told_to_known_ones() {
    let archive = Provider::start().await;
    // SHA-1 of "password", of which the first five digits are asked for.
    archive.respond_with("/range/5BAA6", 200, "1E4C9B93F3F0682250B6CF8331B7EE68FD8:10437277\r\n");
    let mut settings = Settings::default();
    settings.passwords.leaked_check = true;
    settings.passwords.leaked_check_url = format!("{}/range/", archive.url);
    settings.mail.autoconfirm = true;
    let server = Server::with(settings).await;
    let body = json!({ "email": "eve@example.com", "password": "password" });
    let refused = server.post("/signup", body.clone()).await;
    assert_eq!(refused.refusal(), (422, "weak_password"));
    assert_eq!(refused.body["weak_password"]["reasons"], json!(["pwned"]));
    assert_eq!(server.value("select count(*) from auth.users").await, 0);

    let known = server
        .post_as_admin(
            "/admin/users",
            json!({ "email": "eve@example.com", "password": "password", "email_confirm": true }),
        )
        .await;
    assert_eq!(known.status, StatusCode::OK, "{}", known.body);
    let signed_in = server.post("/token?grant_type=password", body).await;
    assert_eq!(signed_in.body["weak_password"]["reasons"], json!(["pwned"]), "{}", signed_in.body);
}

#[tokio::test]
async fn a_sign_up_that_fails_leaves_nothing_behind() {
    let mut settings = Settings::default();
    settings.mail.autoconfirm = true;
    let server = Server::with(settings).await;
    server.sql("alter table auth.sessions rename column scopes to anything_else").await;
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    let failed = server.post("/signup", body.clone()).await;
    assert_eq!(failed.status, 500, "{}", failed.body);
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
    server.sql("alter table auth.sessions rename column anything_else to scopes").await;
    assert_eq!(server.post("/signup", body).await.status, 200);
}

/// Checks that what users' own code sets for a session, and prepares in it, ends with the loan of the connection.
#[tokio::test]
async fn triggers_cannot_harm_those_who_come_next() {
    let server = Server::with(autoconfirm()).await;
    server
        .sql(
            "create function public.poison() returns trigger language plpgsql security definer as $$
             begin
               perform set_config(name, value, false) from (values
                 ('search_path', 'nowhere'), ('client_encoding', 'latin1'), ('datestyle', 'sql, dmy'),
                 ('timezone', 'Asia/Tokyo'), ('bytea_output', 'escape'), ('default_transaction_read_only', 'on'),
                 ('default_transaction_isolation', 'serializable'), ('row_security', 'off')
               ) settings (name, value);
               return new;
             end $$;
             create trigger poison after insert on auth.users
               for each row when (new.email like 'poison%') execute function public.poison()",
        )
        .await;
    for round in 0..8 {
        let poison = json!({ "email": format!("poison{round}@example.com"), "password": PASSWORD });
        let poisoned = server.post("/signup", poison).await;
        assert_eq!(poisoned.status, StatusCode::OK, "else all is undone: {}", poisoned.body);
        let name = format!("Žofie {round}");
        let body = json!({ "email": format!("{round}@example.com"), "password": PASSWORD, "data": { "name": name } });
        let response = server.post("/signup", body).await;
        assert_eq!(response.status, StatusCode::OK, "{round}: {}", response.body);
        let user = server.get_as("/user", response.text("access_token")).await;
        assert_eq!(user.status, StatusCode::OK, "{round}: {}", user.body);
        assert_eq!(user.body["user_metadata"]["name"], name);
        assert!(user.body["created_at"].as_str().unwrap().ends_with('Z'), "{}", user.body);
        let refreshed = json!({ "refresh_token": response.text("refresh_token") });
        assert_eq!(server.post("/token?grant_type=refresh_token", refreshed).await.status, StatusCode::OK);
    }
}

/// Checks the log for upstream's words, by which people look for a trigger that fails.
#[tokio::test]
async fn errors_of_the_database_name_the_operation() {
    let server = Server::with(autoconfirm()).await;
    let signed_up = server.post("/signup", json!({ "email": "ada@example.com", "password": PASSWORD })).await;
    let ada = signed_up.body["user"]["id"].as_str().unwrap().to_owned();
    server
        .sql(
            "create function public.broken() returns trigger language plpgsql as $$
             begin insert into nowhere values (1); return null; end $$;
             create trigger broken after insert or update or delete on auth.users
               for each row execute function public.broken()",
        )
        .await;
    let body = json!({ "email": "grace@example.com", "password": PASSWORD });
    let key = format!("Bearer {}", server.keys.api_keys().service_role());
    let (path, admin) = (format!("/admin/users/{ada}"), [("authorization", key.as_str())]);
    for (response, message) in [
        (server.post("/signup", body.clone()).await, "Database error saving new user"),
        (server.post("/signup", json!({})).await, "Database error creating anonymous user"),
        (server.post_as_admin("/admin/users", body).await, "Database error creating new user"),
        (server.send(Method::DELETE, &path, &admin, ()).await, "Database error deleting user"),
    ] {
        assert_eq!(response.refusal(), (500, "unexpected_failure"), "{message}: {}", response.body);
        assert_eq!(response.text("msg"), message);
    }
}
