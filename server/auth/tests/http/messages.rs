//! Mails, limits and imported hashes: from the request to what they do.

use auth::{LimitSettings, Rate, Settings};
use http::Method;
use mail_parser::MessageParser;
use serde_json::json;

use crate::harness::{PASSWORD, Server};

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
    let response = server.send(Method::GET, path, &[], ()).await;
    let location = response.headers["location"].to_str().unwrap();
    assert!(response.status == 303 && location.contains("#access_token="), "{location}");
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
async fn a_network_that_asks_for_many_mails_leaves_some_to_others() {
    let mails = Rate { events: 10.0, per: None };
    let limits = LimitSettings { mails, ..LimitSettings::default() };
    let server = Server::with(Settings { limits, ..Settings::default() }).await;
    let node = server.behind_a_proxy().await;
    let ask = async |address: &str, number: usize| {
        let (path, body) = match number % 3 {
            0 => ("/otp", json!({ "email": format!("{number}@row.example") })),
            1 => ("/signup", json!({ "email": format!("{number}@row.example"), "password": PASSWORD })),
            _ => ("/recover", json!({ "email": format!("{}@row.example", number - 2) })),
        };
        node.send(Method::POST, path, &[("x-forwarded-for", address)], body.to_string()).await
    };
    let mut refused = 0;
    for number in 0..30 {
        let response = ask("192.0.2.1", number).await;
        if response.status != 200 {
            assert_eq!(response.refusal(), (429, "over_email_send_rate_limit"), "{}", response.body);
            refused += 1;
        }
    }
    assert!(refused >= 10, "{refused}");
    let left = "select tokens::int8 from basalt.rate_limits where bucket like 'mails %' and client = ''";
    assert_eq!(server.value(left).await, 5);
    let other = ask("192.0.2.2", 30).await;
    assert_eq!(other.status, 200, "{}", other.body);
    let bearer = format!("Bearer {}", node.keys.api_keys().service_role());
    let headers = [("authorization", bearer.as_str()), ("x-forwarded-for", "192.0.2.1")];
    let invited = json!({ "email": "guest@row.example" }).to_string();
    let invited = node.send(Method::POST, "/invite", &headers, invited).await;
    assert_eq!(invited.status, 200, "administrators have no share: {}", invited.body);
}

#[tokio::test]
async fn a_request_counts_whatever_its_body_is() {
    let limits = LimitSettings {
        otp: 1e-6,
        token: 1e-6,
        web3: 1e-6,
        verify: 1e-6,
        header: Some("x-client".to_owned()),
        ..LimitSettings::default()
    };
    let server = Server::with(Settings { limits, ..Settings::default() }).await;
    for path in [
        "/token?grant_type=password",
        "/token?grant_type=refresh_token",
        "/token?grant_type=web3",
        "/verify",
        "/otp",
        "/recover",
        "/resend",
        "/magiclink",
    ] {
        let ask = async || server.send(Method::POST, path, &[("x-client", path)], "no JSON").await;
        for _ in 0..30 {
            assert!(matches!(ask().await.refusal().0, 400 | 422), "{path}");
        }
        assert_eq!(ask().await.refusal(), (429, "over_request_rate_limit"), "{path}");
    }
}

#[tokio::test]
async fn a_switch_is_looked_at_before_the_body() {
    let mut settings = Settings::default();
    settings.providers.email = false;
    let server = Server::with(settings).await;
    for (path, status, code) in [
        ("/token?grant_type=web3", 422, "web3_provider_disabled"),
        ("/magiclink", 422, "email_provider_disabled"),
        ("/recover", 400, "email_provider_disabled"),
        ("/sso", 404, "saml_provider_disabled"),
        ("/passkeys/authentication/options", 404, "passkey_disabled"),
        ("/oauth/clients/register", 404, "feature_disabled"),
    ] {
        let response = server.send(Method::POST, path, &[], "no JSON").await;
        assert_eq!(response.refusal(), (status, code), "{path}");
    }
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
