//! Tokens: what each that is refused is told, line by line of the errors' table, and the ones that are taken.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::time::{SystemTime, UNIX_EPOCH};

use poem::Endpoint as _;
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokens::{KeyOverrides, Keys};

use crate::harness::{League, Response, send, token, token_of};

async fn with(league: &League, bearer: &str) -> Response {
    send(league.request("GET", "/rpc/context").header(AUTHORIZATION, format!("Bearer {bearer}"))).await
}

/// Returns the time that lies so many seconds from now, in seconds since 1970.
fn seconds(from_now: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + from_now
}

#[tokio::test]
async fn tokens_that_cannot_be_trusted_are_told_apart() {
    let league = League::start().await;
    let good = token_of("authenticated");
    let (head, rest) = good.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    // {"alg":"none"}, {"alg":"HS999"}, {"alg":"RS256","kid":"of somebody else"}
    let (none, unknown) = ("eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzk5OSJ9");
    let foreign = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im9mIHNvbWVib2R5IGVsc2UifQ";
    for (bearer, message, details) in [
        (String::new(), "Empty JWT is sent in Authorization header", Value::Null),
        ("x".to_owned(), "Expected 3 parts in JWT; got 1", Value::Null),
        (format!("{head}.{payload}"), "Expected 3 parts in JWT; got 2", Value::Null),
        (format!("{good}.x"), "Expected 3 parts in JWT; got 4", Value::Null),
        (
            format!("{none}.{payload}."),
            "Wrong or unsupported encoding algorithm",
            json!("JWT is unsecured but expected 'alg' was not 'none'"),
        ),
        (
            format!("{unknown}.{payload}.{signature}"),
            "Wrong or unsupported encoding algorithm",
            json!("JWT is signed with unsupported algorithm 'HS999'"),
        ),
        (
            format!("{foreign}.{payload}.{signature}"),
            "No suitable key or wrong key type",
            json!("No suitable key was found to decode the JWT"),
        ),
        (
            format!("{head}.{payload}."),
            "No suitable key or wrong key type",
            json!("None of the keys was able to decode the JWT"),
        ),
        (
            format!("{head}.e30.{signature}"),
            "No suitable key or wrong key type",
            json!("None of the keys was able to decode the JWT"),
        ),
        ("a.b.c".to_owned(), "JWT cryptographic operation failed", Value::Null),
    ] {
        let response = with(&league, &bearer).await;
        assert_eq!((response.status, response.code().as_str()), (401, "PGRST301"), "{bearer}: {response:?}");
        let body = response.json();
        assert_eq!((&body["message"], &body["details"]), (&json!(message), &details), "{bearer}");
        let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{message}\"");
        assert_eq!(response.header("www-authenticate"), challenge);
    }
}

#[tokio::test]
async fn claims_are_refused_by_name() {
    let league = League::with(|settings| assert!(settings.set("jwt-aud", "league").unwrap())).await;
    for (claims, message) in [
        (json!({ "exp": seconds(-60) }), "JWT expired"),
        (json!({ "nbf": seconds(60) }), "JWT not yet valid"),
        (json!({ "iat": seconds(60) }), "JWT issued at future"),
        (json!({ "aud": "another" }), "JWT not in audience"),
        (json!({ "aud": ["another", "third"] }), "JWT not in audience"),
        (json!({ "exp": "tomorrow" }), "The JWT 'exp' claim must be a number"),
        (json!({ "nbf": [] }), "The JWT 'nbf' claim must be a number"),
        (json!({ "iat": true }), "The JWT 'iat' claim must be a number"),
        (json!({ "aud": 5 }), "The JWT 'aud' claim must be a string or an array of strings"),
        (json!({ "aud": [5] }), "The JWT 'aud' claim must be a string or an array of strings"),
    ] {
        let response = with(&league, &token(&claims)).await;
        assert_eq!((response.status, response.code().as_str()), (401, "PGRST303"), "{claims}: {response:?}");
        assert_eq!(response.json()["message"], message, "{claims}");
    }
    for claims in [
        json!({ "exp": seconds(-10), "nbf": seconds(10), "iat": seconds(10) }),
        json!({ "exp": seconds(60), "aud": "league" }),
        json!({ "aud": ["another", "league"] }),
        json!({ "aud": [] }),
        json!({ "aud": null, "exp": null }),
        json!({}),
    ] {
        let response = with(&league, &token(&claims)).await;
        assert_eq!(response.status, 200, "{claims}: {response:?}");
        assert_eq!(response.json()["role"], "anon", "a token without a role is the anonymous role's");
    }
}

#[tokio::test]
async fn without_a_key_of_tokens_every_token_fails_with_500() {
    let nowhere = postgres::Settings::new("postgres://authenticator@127.0.0.1:1/postgres".parse().unwrap());
    let database = postgres::Database::connect(nowhere).await.unwrap();
    let rest = rest::service(rest::Settings::default(), database, None);
    let bearer = format!("Bearer {}", token_of("authenticated"));
    let request = poem::Request::builder().uri_str("/clubs").header(AUTHORIZATION.as_str(), bearer).finish();
    let response = rest.call(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 500);
    assert!(!response.headers().contains_key("www-authenticate"));
    let body = response.into_body().into_string().await.unwrap();
    assert!(body.contains("\"PGRST300\"") && body.contains("\"Server lacks JWT secret\""), "{body}");
}

#[tokio::test]
async fn roles_that_are_none_are_refused() {
    let league = League::start().await;
    for (claims, status, code) in [
        (json!({ "role": "nobody" }), 401, "22023"),
        (json!({ "role": 5 }), 401, "22023"),
        (json!({ "role": "postgres" }), 403, "42501"),
    ] {
        let response = with(&league, &token(&claims)).await;
        assert_eq!((response.status, response.code().as_str()), (status, code), "{claims}: {response:?}");
    }
    assert_eq!(with(&league, &token_of("authenticated")).await.json()["role"], "authenticated");
    let league = League::with(|settings| settings.db_anon_role = None).await;
    let without = with(&league, &token(&json!({ "sub": "x" }))).await;
    assert_eq!((without.status, without.code().as_str()), (401, "PGRST302"), "{without:?}");
    assert_eq!(without.json()["message"], "Anonymous access is disabled");
}

/// The secret of the next test, and what its base64 is, in whichever alphabet.
const SECRET: &str = "the secret that both sides know, in 45 bytes!";
const IN_BASE64: &str = "dGhlIHNlY3JldCB0aGF0IGJvdGggc2lkZXMga25vdywgaW4gNDUgYnl0ZXMh";

#[tokio::test]
async fn secrets_are_texts_base64_keys_and_sets_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = KeyOverrides { jwt_secret: Some(SECRET.to_owned()), ..KeyOverrides::default() };
    let theirs = Keys::load_or_create(&folder.path().join("keys.json"), overrides).unwrap();
    let bearer = theirs.sign(&json!({ "role": "authenticated", "exp": seconds(600) })).unwrap();
    let key = json!({ "kty": "oct", "alg": "HS256", "k": IN_BASE64 });
    let other =
        json!({ "kty": "oct", "alg": "HS256", "k": "b3RoZXIgYnl0ZXMgb2Ygd2hpY2ggdGhlcmUgYXJlIGVub3VnaA" });
    for (secret, is_base64, status) in [
        (SECRET.to_owned(), "false", 200),
        (IN_BASE64.to_owned(), "true", 200),
        (key.to_string(), "false", 200),
        (json!({ "keys": [other, key] }).to_string(), "false", 200),
        (IN_BASE64.to_owned(), "false", 401),
        (json!({ "keys": [other] }).to_string(), "false", 401),
    ] {
        let league = League::with(|settings| {
            settings.set("jwt-secret", &secret).unwrap();
            settings.set("jwt-secret-is-base64", is_base64).unwrap();
        })
        .await;
        let response = with(&league, &bearer).await;
        assert_eq!(response.status, status, "{secret}: {response:?}");
        let ours = with(&league, &token_of("authenticated")).await;
        assert_eq!((ours.status, ours.code().as_str()), (401, "PGRST301"), "the key of another is none");
    }
}
