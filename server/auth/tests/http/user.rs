//! The user of an access token (`/user`), and the checks of the token.

use http::Method;
use serde_json::json;

use crate::harness::Server;

async fn signed_in() -> (Server, String) {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    let (access, _) = server.tokens("ada@example.com").await;
    (server, access)
}

#[tokio::test]
async fn an_api_key_is_no_users_token() {
    let (server, token) = signed_in().await;
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
    let (server, token) = signed_in().await;
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
    let (server, token) = signed_in().await;
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
