//! Which keys a project has: generated, kept and overridden ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokens::{ApiKeyKind, KeyError, KeyOverrides, Keys};

const SECRET: &str = "a secret of more than thirty-two bytes";

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/keys.json");
    (folder, path)
}

fn load(overrides: KeyOverrides) -> Result<Keys, KeyError> {
    let (_folder, path) = folder();
    Keys::load_or_create(&path, overrides)
}

fn refusal(overrides: KeyOverrides) -> String {
    load(overrides).unwrap_err().to_string()
}

#[test]
fn the_second_start_finds_the_keys_of_the_first() {
    let (_folder, path) = folder();
    let first = Keys::load_or_create(&path, KeyOverrides::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left behind");
    let token = first.sign(&json!({ "role": "authenticated" })).unwrap();

    let second = Keys::load_or_create(&path, KeyOverrides::default()).unwrap();
    assert_eq!(second.verifier().verify(&token).unwrap().role(), Some("authenticated"));
    assert_eq!(second.jwks(), first.jwks());
    assert_eq!(second.api_keys().anon(), first.api_keys().anon());
    assert_eq!(second.api_keys().secret(), first.api_keys().secret());
    assert_eq!(second.derive("authenticator"), first.derive("authenticator"));
}

#[test]
fn generated_projects_sign_users_with_es256_and_api_keys_with_the_secret() {
    let keys = load(KeyOverrides::default()).unwrap();
    let jwk = &keys.jwks()["keys"][0];
    assert_eq!(
        (&jwk["kty"], &jwk["crv"], &jwk["alg"], &jwk["use"]),
        (&json!("EC"), &json!("P-256"), &json!("ES256"), &json!("sig"))
    );
    let algorithm = |token: &str| jsonwebtoken::decode_header(token).unwrap().alg;
    assert_eq!(algorithm(&keys.sign(&json!({})).unwrap()), jsonwebtoken::Algorithm::ES256);
    assert_eq!(algorithm(keys.api_keys().anon()), jsonwebtoken::Algorithm::HS256);
    let anon = keys.verifier().verify(keys.api_keys().anon()).unwrap();
    assert_eq!(
        (anon.role(), &anon.claims["iss"], &anon.claims["ref"]),
        (Some("anon"), &json!("supabase"), &json!("basalt"))
    );
}

#[test]
fn simultaneous_first_starts_have_the_same_keys() {
    let (_folder, path) = folder();
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                Keys::load_or_create(&path, KeyOverrides::default()).unwrap().jwks().clone()
            })
        })
        .collect();
    let seen: Vec<Value> = starts.into_iter().map(|start| start.join().unwrap()).collect();
    assert!(seen.iter().all(|jwks| *jwks == seen[0]));
}

#[test]
fn a_file_that_others_can_read_is_made_private() {
    let (_folder, path) = folder();
    Keys::load_or_create(&path, KeyOverrides::default()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    Keys::load_or_create(&path, KeyOverrides::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_damaged_file_is_reported_and_kept() {
    let (_folder, path) = folder();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{ \"jwt_secret\": \"half a").unwrap();
    let error = Keys::load_or_create(&path, KeyOverrides::default()).unwrap_err().to_string();
    assert!(error.contains("keys.json is damaged") && !error.contains("half a"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ \"jwt_secret\": \"half a");
}

#[test]
fn a_secret_from_the_settings_signs_as_upstream_does_and_is_the_same_everywhere() {
    let secret = || KeyOverrides { jwt_secret: Some(SECRET.into()), ..Default::default() };
    let (one, other) = (load(secret()).unwrap(), load(secret()).unwrap());
    let token = one.sign(&json!({ "role": "authenticated" })).unwrap();
    assert!(other.verifier().verify(&token).is_ok());
    assert!(other.verifier().verify(one.api_keys().anon()).is_ok());
    assert_eq!(one.api_keys().secret(), other.api_keys().secret());
    assert_eq!(one.jwks(), &json!({ "keys": [] }));
    assert_eq!(one.jwt_secret(), SECRET);
}

#[test]
fn a_file_of_the_supabase_cli_signs_with_its_first_key_and_publishes_all() {
    let fixtures: Value = serde_json::from_str(include_str!("fixtures/private_keys.json")).unwrap();
    // As `gen signing-key --append` writes it: every key can sign.
    let file = ["rsa", "ed25519"].map(|name| {
        let mut key = fixtures[name].clone();
        key["key_ops"] = json!(["sign", "verify"]);
        key
    });
    let keys =
        load(KeyOverrides { signing_keys: Some(json!(file).to_string()), ..Default::default() }).unwrap();
    let ids = |keys: &Value| -> Vec<Value> {
        keys.as_array().unwrap().iter().map(|key| key["kid"].clone()).collect()
    };
    assert_eq!(ids(&keys.jwks()["keys"]), ids(&json!(file)));
    assert!(!keys.jwks().to_string().contains("\"d\""), "a private part is published");
    let token = keys.sign(&json!({ "role": "authenticated" })).unwrap();
    let header = jsonwebtoken::decode_header(&token).unwrap();
    assert_eq!(
        (header.alg, header.kid.as_deref()),
        (jsonwebtoken::Algorithm::RS256, file[0]["kid"].as_str())
    );
    assert_eq!(keys.verifier().verify(&token).unwrap().role(), Some("authenticated"));
    for (file, reason) in [
        ("[]".to_owned(), "at least one key"),
        (json!([{ "kty": "oct", "k": "c2VjcmV0" }]).to_string(), "private keys"),
        ("no JSON".to_owned(), "not JSON"),
    ] {
        let message = refusal(KeyOverrides { signing_keys: Some(file), ..Default::default() });
        assert!(message.contains("auth.signing_keys_path") && message.contains(reason), "{message}");
    }
}

#[test]
fn postgrests_key_set_verifies_and_its_secret_signs() {
    let issuer = load(KeyOverrides::default()).unwrap();
    let mut set = issuer.jwks().clone();
    let shared =
        json!({ "kty": "oct", "alg": "HS256", "k": "YSBzZWNyZXQgb2YgbW9yZSB0aGFuIHRoaXJ0eS10d28gYnl0ZXM" });
    set["keys"].as_array_mut().unwrap().push(shared);
    let keys = load(KeyOverrides { verification_keys: Some(set.to_string()), ..Default::default() }).unwrap();
    assert_eq!(keys.jwt_secret(), SECRET);
    assert!(keys.verifier().verify(&issuer.sign(&json!({})).unwrap()).is_ok());
    assert!(keys.verifier().verify(&keys.sign(&json!({})).unwrap()).is_ok());
}

#[test]
fn unusable_settings_are_refused_by_name_without_quoting_them() {
    let short = refusal(KeyOverrides { jwt_secret: Some("too short".into()), ..Default::default() });
    assert_eq!(short, "JWT_SECRET: holds 9 bytes, expected at least 32");
    let unsigned = json!([{ "kty": "oct", "k": "c2VjcmV0" }]).to_string();
    let nobody = refusal(KeyOverrides { jwt_keys: Some(unsigned), ..Default::default() });
    assert_eq!(nobody, "GOTRUE_JWT_KEYS: expected exactly one key with \"sign\" in key_ops, found 0");
    let curve = json!([{ "kty": "EC", "crv": "P-521", "d": "SECRET" }]).to_string();
    let unknown = refusal(KeyOverrides { jwt_keys: Some(curve), ..Default::default() });
    assert_eq!(unknown, "GOTRUE_JWT_KEYS: key number 1: curve (crv) \"P-521\" is none of P-256, P-384");
    let foreign = refusal(KeyOverrides { anon_key: Some("a.b.c".into()), ..Default::default() });
    assert!(foreign.starts_with("ANON_KEY: is not a token that the server's keys verify"), "{foreign}");
    let swapped = load(KeyOverrides::default()).unwrap().api_keys().anon().to_owned();
    let swapped = refusal(KeyOverrides { secret_key: Some(swapped), ..Default::default() });
    assert!(swapped.starts_with("SUPABASE_SECRET_KEY: must start with"), "{swapped}");
}

#[test]
fn a_private_key_that_does_not_match_its_public_part_is_refused() {
    let (one, other) = (load(KeyOverrides::default()).unwrap(), folder());
    Keys::load_or_create(&other.1, KeyOverrides::default()).unwrap();
    let file: Value = serde_json::from_slice(&fs::read(&other.1).unwrap()).unwrap();
    let mut mixed = one.jwks()["keys"][0].clone();
    mixed["d"] = file["signing_key"]["d"].clone();
    mixed["key_ops"] = json!(["sign"]);
    let refused = refusal(KeyOverrides { jwt_keys: Some(json!([mixed]).to_string()), ..Default::default() });
    assert!(refused.contains("do not belong together"), "{refused}");
}

#[test]
fn each_api_key_is_recognised_and_has_a_token() {
    let keys = load(KeyOverrides::default()).unwrap();
    let api = keys.api_keys();
    for (key, kind, token) in [
        (api.anon(), ApiKeyKind::Anon, api.anon()),
        (api.publishable(), ApiKeyKind::Publishable, api.anon()),
        (api.service_role(), ApiKeyKind::ServiceRole, api.service_role()),
        (api.secret(), ApiKeyKind::Secret, api.service_role()),
    ] {
        assert_eq!(api.identify(key), Some(kind));
        assert_eq!(api.token_for(kind), Some(token));
    }
    assert_eq!(api.identify(""), None);
    assert_eq!(api.identify(&api.secret()[..30]), None);
    let parts: Vec<&str> = api.publishable().trim_start_matches("sb_publishable_").rsplitn(2, '_').collect();
    assert_eq!((parts[0].len() <= 8, api.publishable().len()), (true, "sb_publishable_".len() + 22 + 1 + 8));
}
