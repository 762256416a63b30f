//! Tokens that a client may send: genuine, expired, forged and malformed.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use tokens::{Error, KeyOverrides, Keys};

const SECRET: &str = "a secret of more than thirty-two bytes";

fn keys_with(overrides: KeyOverrides) -> Keys {
    let folder = tempfile::tempdir().unwrap();
    Keys::load_or_create(&folder.path().join("keys.json"), overrides).unwrap()
}

fn keys() -> Keys {
    keys_with(KeyOverrides { jwt_secret: Some(SECRET.into()), ..Default::default() })
}

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/private_keys.json");
    let mut all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    all[name].take()
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn hs256(claims: &Value) -> String {
    jsonwebtoken::encode(&Header::default(), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[test]
fn a_genuine_token_identifies_the_caller() {
    let claims = json!({ "sub": "u1", "role": "authenticated", "session_id": "s1", "exp": now() + 60 });
    let verified = keys().verifier().verify(&hs256(&claims)).unwrap();
    assert_eq!(verified.role(), Some("authenticated"));
    assert_eq!(verified.subject(), Some("u1"));
    assert_eq!(verified.session_id(), Some("s1"));
    assert_eq!(serde_json::from_str::<Value>(&verified.json).unwrap(), claims);
}

#[test]
fn times_are_checked_with_half_a_minute_of_leeway() {
    let verifier = keys().verifier();
    let outcome = |claims: Value| verifier.verify(&hs256(&claims)).map(|_| ());
    assert_eq!(outcome(json!({ "exp": now() - 20 })), Ok(()));
    assert_eq!(outcome(json!({ "exp": now() - 40 })), Err(Error::Expired));
    assert_eq!(outcome(json!({ "nbf": now() + 20 })), Ok(()));
    assert_eq!(outcome(json!({ "nbf": now() + 40 })), Err(Error::NotYetValid));
    assert_eq!(outcome(json!({ "iat": now() + 40 })), Err(Error::IssuedInFuture));
    assert_eq!(outcome(json!({ "exp": 1e300 })), Ok(()));
    assert_eq!(outcome(json!({ "exp": null })), Ok(()));
    assert_eq!(outcome(json!({ "exp": "tomorrow" })), Err(Error::ClaimType("exp")));
    assert_eq!(outcome(json!({ "aud": 7 })), Err(Error::ClaimType("aud")));
    assert_eq!(Error::ClaimType("nbf").to_string(), "The JWT 'nbf' claim must be a number");
}

#[test]
fn an_audience_is_required_only_by_services_that_have_one() {
    let verifier = keys().verifier();
    let picky = verifier.with_audience("authenticated");
    for (aud, accepted) in [
        (json!("authenticated"), true),
        (json!(["other", "authenticated"]), true),
        (json!([]), true),
        (json!("other"), false),
        (json!(["other"]), false),
    ] {
        let token = hs256(&json!({ "aud": aud }));
        assert!(verifier.verify(&token).is_ok());
        assert_eq!(picky.verify(&token).is_ok(), accepted, "{aud}");
    }
}

#[test]
fn unsigned_tokens_are_refused_for_every_spelling_of_none() {
    let verifier = keys().verifier();
    for name in ["none", "None", "NONE", "", "HS255"] {
        let token =
            format!("{}.{}.", part(&json!({ "alg": name })), part(&json!({ "role": "service_role" })));
        assert_eq!(verifier.verify(&token).unwrap_err(), Error::UnsupportedAlgorithm(name.into()));
    }
    let nameless = format!("{}.{}.", part(&json!({})), part(&json!({})));
    assert_eq!(verifier.verify(&nameless).unwrap_err(), Error::UnsupportedAlgorithm(String::new()));
}

#[test]
fn a_public_key_is_never_used_as_a_shared_secret() {
    let rsa = fixture("rsa");
    let keys = keys_with(KeyOverrides {
        verification_keys: Some(
            json!({ "kty": "RSA", "kid": "rsa", "n": rsa["n"], "e": rsa["e"] }).to_string(),
        ),
        ..Default::default()
    });
    let modulus = URL_SAFE_NO_PAD.decode(rsa["n"].as_str().unwrap()).unwrap();
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("rsa".into());
    let forged = jsonwebtoken::encode(
        &header,
        &json!({ "role": "service_role" }),
        &EncodingKey::from_secret(&modulus),
    )
    .unwrap();
    // The key id belongs to the RSA key only, so no key is even tried.
    assert_eq!(keys.verifier().verify(&forged).unwrap_err(), Error::NoSuitableKey);
    let only_rsa = fixture("rsa");
    let signing = keys_with(KeyOverrides {
        jwt_keys: Some(json!([with_sign(only_rsa)]).to_string()),
        jwt_secret: Some(
            json!({ "kty": "oct", "kid": "shared", "k": URL_SAFE_NO_PAD.encode(SECRET) }).to_string(),
        ),
        key_id: Some("shared".into()),
        ..Default::default()
    });
    assert_eq!(signing.verifier().verify(&forged).unwrap_err(), Error::NoSuitableKey);
}

#[test]
fn a_known_key_id_excludes_other_keys() {
    let rsa = fixture("rsa");
    let public = json!({ "kty": "RSA", "kid": "rsa", "n": rsa["n"], "e": rsa["e"] });
    let keys = keys_with(KeyOverrides {
        jwt_secret: Some(SECRET.into()),
        key_id: Some("shared".into()),
        verification_keys: Some(public.to_string()),
        ..Default::default()
    });
    let verified = |token: &str| keys.verifier().verify(token).map(|_| ());
    for (id, expected) in [
        (None, Ok(())),
        (Some("shared"), Ok(())),
        (Some("retired"), Ok(())),
        (Some("rsa"), Err(Error::NoSuitableKey)),
    ] {
        let header = Header { kid: id.map(str::to_owned), ..Header::default() };
        let secret = EncodingKey::from_secret(SECRET.as_bytes());
        let token = jsonwebtoken::encode(&header, &json!({}), &secret).unwrap();
        assert_eq!(verified(&token), expected, "{id:?}");
    }
    for (id, expected) in [
        (None, Ok(())),
        (Some("rsa"), Ok(())),
        (Some("retired"), Err(Error::NoSuitableKey)),
        (Some("shared"), Err(Error::NoSuitableKey)),
    ] {
        let mut key = with_sign(rsa.clone());
        key["kid"] = json!(id);
        let jwt_keys = Some(json!([key]).to_string());
        let signer = keys_with(KeyOverrides { jwt_keys, ..Default::default() });
        let token = signer.sign(&json!({})).unwrap();
        assert_eq!(verified(&token), expected, "{id:?}");
    }
}

fn with_sign(mut key: Value) -> Value {
    key["key_ops"] = json!(["sign", "verify"]);
    key
}

#[test]
fn every_supported_type_of_key_signs_what_it_verifies() {
    for (name, algorithm) in [("rsa", "RS256"), ("ed25519", "EdDSA"), ("p384", "ES384")] {
        let jwt_keys = json!([with_sign(fixture(name))]).to_string();
        let keys = keys_with(KeyOverrides { jwt_keys: Some(jwt_keys), ..Default::default() });
        let token = keys.sign(&json!({ "role": "authenticated" })).unwrap();
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap())
                .unwrap();
        assert_eq!(header, json!({ "typ": "JWT", "alg": algorithm, "kid": name }));
        assert_eq!(keys.verifier().verify(&token).unwrap().role(), Some("authenticated"));
        let public = &keys.jwks()["keys"][0];
        assert_eq!(public["kid"], name);
        assert_eq!(public["key_ops"], json!(["verify"]));
        assert!(public.get("d").is_none(), "private part published");
    }
}

#[test]
fn a_key_for_one_algorithm_refuses_related_ones() {
    let jwt_keys = json!([with_sign(fixture("rsa"))]).to_string();
    let keys = keys_with(KeyOverrides { jwt_keys: Some(jwt_keys), ..Default::default() });
    let token = keys.sign(&json!({})).unwrap();
    let mut parts = token.split('.');
    let (_, payload, signature) = (parts.next(), parts.next().unwrap(), parts.next().unwrap());
    let relabelled = format!("{}.{payload}.{signature}", part(&json!({ "alg": "RS512", "kid": "rsa" })));
    assert_eq!(keys.verifier().verify(&relabelled).unwrap_err(), Error::NoSuitableKey);
}

#[test]
fn tampering_shows() {
    let verifier = keys().verifier();
    let token = hs256(&json!({ "role": "anon" }));
    let (head, signature) = token.rsplit_once('.').unwrap();
    let header = head.split('.').next().unwrap();
    let forged = format!("{header}.{}.{signature}", part(&json!({ "role": "service_role" })));
    assert_eq!(verifier.verify(&forged).unwrap_err(), Error::Signature);
    assert_eq!(verifier.verify("").unwrap_err(), Error::Empty);
    assert_eq!(verifier.verify("a.b").unwrap_err(), Error::Parts(2));
    assert_eq!(verifier.verify(&format!("{token}.x")).unwrap_err(), Error::Parts(4));
    assert_eq!(verifier.verify(&format!("{token}=")).unwrap_err(), Error::Malformed("signature"));
    assert_eq!(verifier.verify("%.b.c").unwrap_err(), Error::Malformed("header"));
}

#[test]
fn signatures_of_every_type_are_of_this_text_and_this_key_alone() {
    let mut all = vec![keys_with(KeyOverrides::default())];
    for name in ["rsa", "ed25519", "p384"] {
        let jwt_keys = json!([with_sign(fixture(name))]).to_string();
        all.push(keys_with(KeyOverrides { jwt_keys: Some(jwt_keys), ..Default::default() }));
    }
    for keys in all {
        let token = keys.sign(&json!({ "role": "anon" })).unwrap();
        let verifier = keys.verifier();
        assert!(verifier.verify(&token).is_ok());
        let (head, signature) = token.rsplit_once('.').unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let mut changed =
            vec![Vec::new(), vec![0; bytes.len()], bytes[1..].to_vec(), [&bytes[..], &[0]].concat()];
        for index in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut flipped = bytes.clone();
            flipped[index] ^= 1;
            changed.push(flipped);
        }
        for bytes in changed {
            let forged = format!("{head}.{}", URL_SAFE_NO_PAD.encode(bytes));
            assert_eq!(verifier.verify(&forged).unwrap_err(), Error::Signature);
        }
        let header = head.split('.').next().unwrap();
        let other = format!("{header}.{}.{signature}", part(&json!({ "role": "service_role" })));
        assert_eq!(verifier.verify(&other).unwrap_err(), Error::Signature);
    }
}

#[test]
fn a_payload_that_is_not_an_object_or_needs_extensions_is_refused() {
    let verifier = keys().verifier();
    assert_eq!(verifier.verify(&hs256(&json!([1]))).unwrap_err(), Error::Claims);
    let token = format!("{}.{}.AA", part(&json!({ "alg": "HS256", "crit": ["b64"] })), part(&json!({})));
    assert_eq!(verifier.verify(&token).unwrap_err(), Error::Malformed("crit"));
}

#[test]
fn base64_secrets_verify_in_either_alphabet() {
    let secret: Vec<u8> = (200..=255).collect();
    let token =
        jsonwebtoken::encode(&Header::default(), &json!({}), &EncodingKey::from_secret(&secret)).unwrap();
    for text in [base64::engine::general_purpose::STANDARD.encode(&secret), URL_SAFE_NO_PAD.encode(&secret)] {
        let keys =
            keys_with(KeyOverrides { jwt_secret: Some(text), secret_is_base64: true, ..Default::default() });
        assert!(keys.verifier().verify(&token).is_ok());
    }
}

#[test]
fn printed_values_contain_no_secret() {
    let keys = keys();
    let token = hs256(&json!({ "email": "ada@example.com" }));
    let verified = keys.verifier().verify(&token).unwrap();
    let printed = format!("{keys:?} {:?} {verified:?} {:?}", keys.verifier(), keys.api_keys());
    for secret in [SECRET, keys.api_keys().secret(), keys.api_keys().service_role(), "ada@example.com"] {
        assert!(!printed.contains(secret));
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_refused_without_a_panic(token in "\\PC{0,200}") {
        prop_assert!(keys().verifier().verify(&token).is_err());
    }

    #[test]
    fn arbitrary_headers_are_refused_without_a_panic(header in "\\PC{0,80}", payload in "\\PC{0,80}") {
        let token = format!("{}.{}.AAAA", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
        prop_assert!(keys().verifier().verify(&token).is_err());
    }
}
