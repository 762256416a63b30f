//! The user of an access token (`/user`), and the checks of the token.

use http::{Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use crate::harness::Server;

async fn signed_in() -> (Server, String, String) {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let response = server.sign_in("ada@example.com").await;
    let (access, refresh) =
        (response.text("access_token").to_owned(), response.text("refresh_token").to_owned());
    (server, access, refresh)
}

#[tokio::test]
async fn tokens_are_checked_in_upstreams_order() {
    let (server, _, _) = signed_in().await;
    let refusal = async |token: &str| {
        let response = server.get_as("/user", token).await;
        (response.status.as_u16(), response.headers["x-sb-error-code"].to_str().unwrap().to_owned())
    };
    let sign = |claims: serde_json::Value| server.keys.sign(&claims).unwrap();
    let id = server.user("eve@example.com").await;
    let stranger = Uuid::new_v4();
    assert_eq!(refusal("").await, (401, "no_authorization".into()));
    assert_eq!(refusal("a.b.c").await, (403, "bad_jwt".into()));
    let just_now = time::OffsetDateTime::now_utc().unix_timestamp() - 1;
    assert_eq!(refusal(&sign(json!({ "sub": id, "exp": just_now }))).await, (403, "bad_jwt".into()));
    assert_eq!(refusal(server.keys.api_keys().anon()).await, (403, "bad_jwt".into()));
    assert_eq!(refusal(&sign(json!({ "sub": "me" }))).await, (400, "bad_jwt".into()));
    assert_eq!(refusal(&sign(json!({ "sub": stranger }))).await, (403, "user_not_found".into()));
    assert_eq!(refusal(&sign(json!({ "sub": id, "session_id": "x" }))).await, (403, "bad_jwt".into()));
    assert_eq!(
        refusal(&sign(json!({ "sub": id, "session_id": stranger }))).await,
        (403, "session_not_found".into())
    );
    server.sql("update auth.users set banned_until = now() + interval '1 hour'").await;
    assert_eq!(
        refusal(&sign(json!({ "sub": id, "aud": "authenticated" }))).await,
        (403, "user_banned".into())
    );
}

#[tokio::test]
async fn an_api_key_is_no_users_token() {
    let (server, token, _) = signed_in().await;
    let api = server.keys.api_keys().clone();
    let opaque = format!("Bearer {}", api.publishable());
    let keys = [api.anon(), api.service_role(), api.publishable(), api.secret()];
    for path in
        ["/user", "/user/identities/authorize?provider=github", "/reauthenticate", "/factors", "/logout"]
    {
        let method = if matches!(path, "/factors" | "/logout") { Method::POST } else { Method::GET };
        for key in keys {
            let response = server.send(method.clone(), path, &[("apikey", key)], "").await;
            assert_eq!(response.refusal(), (401, "no_authorization"), "{path} {key}");
        }
        let headers = [("apikey", api.publishable()), ("authorization", opaque.as_str())];
        let response = server.send(method, path, &headers, "").await;
        assert_eq!(
            response.refusal(),
            (401, "no_authorization"),
            "{path}, as clients send a key without a session"
        );
    }
    let response = server.get_as("/user", api.anon()).await;
    assert_eq!(
        (response.refusal(), response.text("msg")),
        ((403, "bad_jwt"), "invalid claim: missing sub claim")
    );
    let bearer = format!("Bearer {token}");
    let headers = [("apikey", api.publishable()), ("authorization", bearer.as_str())];
    assert_eq!(server.send(Method::GET, "/user", &headers, ()).await.status, 200);
}

#[tokio::test]
async fn a_token_is_one_word_after_one_space() {
    let (server, token, _) = signed_in().await;
    let of = async |header: String| {
        let response = server.send(Method::GET, "/user", &[("authorization", header.as_str())], ()).await;
        (response.status.as_u16(), response.refusal().1.to_owned())
    };
    assert_eq!(of(format!("bEARER {token}")).await, (200, String::new()));
    for header in [
        format!("Bearer {token} x"),
        format!("Bearer x {token}"),
        format!("Bearer  {token}"),
        format!("Bearer {token}\tx"),
        format!("Token {token}"),
        "Bearer a b".to_owned(),
        "Bearer".to_owned(),
        token.clone(),
    ] {
        assert_eq!(of(header.clone()).await, (401, "no_authorization".to_owned()), "{header}");
    }
}

#[tokio::test]
async fn a_token_names_the_algorithm_that_its_key_is_for() {
    let (server, token, _) = signed_in().await;
    let claims = token.split('.').nth(1).unwrap();
    let secret = server.keys.jwt_secret().as_bytes().to_vec();
    let signed = |name: &str, sign: &dyn Fn(&[u8]) -> Vec<u8>| {
        use base64::Engine as _;
        let encode = |bytes: &[u8]| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let message =
            format!("{}.{claims}", encode(json!({ "alg": name, "typ": "JWT" }).to_string().as_bytes()));
        format!("{message}.{}", encode(&sign(message.as_bytes())))
    };
    fn mac<M: hmac::Mac + hmac::KeyInit>(secret: &[u8], message: &[u8]) -> Vec<u8> {
        let mac = <M as hmac::KeyInit>::new_from_slice(secret).unwrap();
        mac.chain_update(message).finalize().into_bytes().to_vec()
    }
    let short = signed("HS256", &|message| mac::<hmac::Hmac<sha2::Sha256>>(&secret, message));
    let long = signed("HS512", &|message| mac::<hmac::Hmac<sha2::Sha512>>(&secret, message));
    assert_eq!(server.get_as("/user", &short).await.status, 200);
    assert_eq!(server.get_as("/user", &long).await.refusal(), (403, "bad_jwt"));
}

#[tokio::test]
async fn another_audience_is_refused_and_a_token_without_session_is_not() {
    let (server, token, _) = signed_in().await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("x-jwt-aud", "other")];
    let response = server.send(Method::GET, "/user", &headers, ()).await;
    assert_eq!(response.refusal(), (400, "validation_failed"));
    let id = server.user("eve@example.com").await;
    let unbound = server.keys.sign(&json!({ "sub": id, "aud": ["authenticated"] })).unwrap();
    assert_eq!(server.get_as("/user", &unbound).await.status, StatusCode::OK);
}

#[tokio::test]
async fn signing_out_ends_the_sessions_that_were_meant() {
    for (scope, own_ends, other_ends) in [
        ("", true, true),
        ("?scope=global", true, true),
        ("?scope=local", true, false),
        ("?scope=others", false, true),
    ] {
        let (server, token, refresh) = signed_in().await;
        let other = server.sign_in("ada@example.com").await;
        let bystander = server.user("eve@example.com").await;
        let eve = server.sign_in("eve@example.com").await;
        let response = server.post_as(&format!("/logout{scope}"), &token).await;
        assert_eq!((response.status, response.body), (StatusCode::NO_CONTENT, json!("")), "{scope}");
        let ended =
            async |refresh: &str| server.refresh(refresh).await.refusal() == (400, "refresh_token_not_found");
        assert_eq!(ended(&refresh).await, own_ends, "{scope}");
        assert_eq!(ended(other.text("refresh_token")).await, other_ends, "{scope}");
        assert!(!ended(eve.text("refresh_token")).await, "{bystander} was not asked");
        let own = server.get_as("/user", &token).await;
        assert_eq!(own.refusal() == (403, "session_not_found"), own_ends, "{scope}");
    }
}
