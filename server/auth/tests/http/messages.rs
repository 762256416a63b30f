//! Mails, hooks, limits: from the request to what they do.

use std::collections::BTreeMap;

use auth::{Hook, HookName, HookSettings, LimitSettings, Settings};
use http::Method;
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::harness::Server;

fn with_hook(name: HookName, function: &str) -> Settings {
    let hook = Hook { uri: format!("pg-functions://postgres/public/{function}"), secrets: Vec::new() };
    Settings { hooks: HookSettings(BTreeMap::from([(name, hook)])), ..Settings::default() }
}

/// What hooks were told, as the function of the next test keeps it.
const KEEPING: &str = "create table public.told (payload jsonb);
    create function public.keep(event jsonb) returns jsonb language sql security definer as
      $$ insert into public.told values (event); select '{}'::jsonb $$;
    grant execute on function public.keep to supabase_auth_admin";

async fn told(server: &Server) -> Value {
    server.database.client().await.query_one("select payload from public.told", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn without_a_mail_server_the_link_is_in_a_file_and_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.mail.folder = Some(folder.path().join("mail"));
    let server = Server::with(settings).await;
    let signed_up = server
        .post("/signup", json!({ "email": "ann@row.example", "password": "correct horse battery" }))
        .await;
    assert_eq!(signed_up.status, 200, "{}", signed_up.body);
    let files: Vec<_> =
        std::fs::read_dir(folder.path().join("mail")).unwrap().map(|file| file.unwrap()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let raw = std::fs::read(file.path()).unwrap();
    let mail = MessageParser::default().parse(&raw).unwrap();
    assert_eq!(mail.to().unwrap().first().unwrap().address(), Some("ann@row.example"));
    let text = mail.body_text(0).unwrap();
    let link = text.split_whitespace().find(|word| word.contains("/verify?")).unwrap();
    assert!(link.starts_with("http://127.0.0.1:54321/auth/v1/verify?token="), "{link}");
    let path = link.strip_prefix("http://127.0.0.1:54321/auth/v1").unwrap();
    let answer = server.send(Method::GET, path, &[], ()).await;
    let location = answer.headers["location"].to_str().unwrap();
    assert!(answer.status == 303 && location.contains("#access_token="), "{location}");
}

#[tokio::test]
async fn a_hook_sends_the_mail_in_place_of_smtp() {
    let server = Server::with(with_hook(HookName::SendEmail, "keep")).await;
    server.sql(KEEPING).await;
    server.user("ann@row.example").await;
    assert_eq!(server.post("/recover", json!({ "email": "ann@row.example" })).await.status, 200);
    let told = told(&server).await;
    assert_eq!(told["metadata"]["name"], "send-email");
    assert_eq!(told["user"]["email"], "ann@row.example");
    assert_eq!(told["email_data"]["email_action_type"], "recovery");
    assert!(told["user"].get("encrypted_password").is_none());
    let token = told["email_data"]["token"].as_str().unwrap();
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
async fn nodes_limit_a_client_together_and_leave_others_alone() {
    let limits = LimitSettings { otp: 1e-6, header: Some("x-client".to_owned()), ..LimitSettings::default() };
    let server = Server::with(Settings { limits, ..Settings::default() }).await;
    let other = server.second_node().await;
    let ask = async |node: &Server, client: &str| {
        let body = json!({ "email": "nobody@row.example" }).to_string();
        node.send(Method::POST, "/recover", &[("x-client", client)], body).await
    };
    for _ in 0..15 {
        assert_eq!(ask(&server, "a, proxy").await.status, 200);
        assert_eq!(ask(&other, "a").await.status, 200);
    }
    let refused = ask(&server, "a").await;
    assert_eq!(refused.refusal(), (429, "over_request_rate_limit"));
    assert_eq!(refused.text("msg"), "Request rate limit reached");
    assert_eq!(ask(&other, "b").await.status, 200);
    let unnamed = server.post("/recover", json!({ "email": "nobody@row.example" })).await;
    assert_eq!(unnamed.status, 200);
}

#[tokio::test]
async fn imported_hashes_let_their_users_in() {
    let server = Server::start().await;
    let id = server.user("ann@row.example").await;
    // Argon2id of "password", from the reference implementation's tests.
    let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    server.sql(&format!("update auth.users set encrypted_password = '{hash}' where id = '{id}'")).await;
    let attempt = async |password: &str| {
        let body = json!({ "email": "ann@row.example", "password": password });
        server.post("/token?grant_type=password", body).await.status.as_u16()
    };
    assert_eq!((attempt("password").await, attempt("Password").await), (200, 400));
}
