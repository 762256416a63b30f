//! Factors of type `webauthn`: security keys.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::authenticator::{Authenticator, settings};
use crate::harness::{Response, Server};

const ADA: &str = "ada@example.com";

async fn signed_in() -> (Server, String) {
    let server = Server::with(settings()).await;
    server.user(ADA).await;
    let (access, _) = server.tokens(ADA).await;
    (server, access)
}

/// Enrols a security key; returns the factor's id.
async fn enrolled(server: &Server, token: &str, name: &str) -> String {
    let response = server.enroll(token, json!({ "factor_type": "webauthn", "friendly_name": name })).await;
    assert_eq!((response.status, response.text("type")), (StatusCode::OK, "webauthn"), "{}", response.body);
    response.text("id").to_owned()
}

/// Begins a challenge; returns its id and what the browser gets.
async fn challenge(server: &Server, token: &str, factor: &str) -> (String, Value) {
    let response = server.challenge(token, factor, json!({})).await;
    assert_eq!((response.status, response.text("type")), (StatusCode::OK, "webauthn"), "{}", response.body);
    (response.text("id").to_owned(), response.body["webauthn"].clone())
}

async fn answer(
    server: &Server,
    token: &str,
    (factor, challenge): (&str, &str),
    kind: &str,
    response: &Value,
) -> Response {
    let webauthn = json!({ "type": kind, "credential_response": response });
    let body = json!({ "challenge_id": challenge, "webauthn": webauthn });
    server.call(Method::POST, &format!("/factors/{factor}/verify"), token, body).await
}

/// Registers `key`; returns the factor's id and a token at aal2.
async fn registered(server: &Server, token: &str, key: &mut Authenticator) -> (String, String) {
    let factor = enrolled(server, token, "key").await;
    let (id, ceremony) = challenge(server, token, &factor).await;
    let response = key.create(&ceremony["credential_options"]["publicKey"]);
    let verified = answer(server, token, (&factor, &id), "create", &response).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    (factor, verified.text("access_token").to_owned())
}

#[tokio::test]
async fn a_key_is_registered_and_then_verified() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator { aaguid: [7; 16], ..Authenticator::new() };
    let factor = enrolled(&server, &token, "key").await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    assert_eq!(ceremony["type"], "create");
    let options = &ceremony["credential_options"]["publicKey"];
    assert_eq!(options["rp"], json!({ "id": "localhost", "name": "localhost" }));
    assert_eq!((&options["user"]["name"], &options["attestation"]), (&json!(ADA), &json!("none")));
    assert_eq!(options["pubKeyCredParams"][0], json!({ "type": "public-key", "alg": -7 }));
    assert!(options["challenge"].as_str().unwrap().len() >= 43 && options["timeout"] == json!(300_000));
    let mut response = key.create(options);
    response["clientExtensionResults"] = json!({ "note": "what Postgres cannot store: \0" });
    let verified = answer(&server, &token, (&factor, &id), "create", &response).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
    let claims = server.claims(verified.text("access_token"));
    assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal2"), &json!("mfa/webauthn")));
    let stored = &server.factors(&token).await[0];
    assert_eq!((&stored["status"], &stored["factor_type"]), (&json!("verified"), &json!("webauthn")));
    assert_eq!(stored["web_authn_aaguid"], json!("07070707-0707-0707-0707-070707070707"));
    let last = &stored["last_webauthn_challenge_data"];
    assert_eq!((&last["type"], &last["challenge"]["challenge_id"]), (&json!("create"), &json!(id)));
    assert_eq!(last["credential_response"]["rawId"], response["id"]);
    assert!(stored.get("web_authn_credential").is_none());

    let (token, _) = server.tokens(ADA).await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    assert_eq!(ceremony["type"], "request");
    let options = &ceremony["credential_options"]["publicKey"];
    assert_eq!(options["rpId"], json!("localhost"));
    let allowed =
        json!([{ "type": "public-key", "id": response["id"], "transports": ["internal", "hybrid"] }]);
    assert_eq!(options["allowCredentials"], allowed);
    let session = answer(&server, &token, (&factor, &id), "request", &key.get_counted(options)).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    assert_eq!(server.claims(session.text("access_token"))["aal"], json!("aal2"));
    let second = answer(&server, &token, (&factor, &id), "request", &key.get_counted(options)).await;
    assert_eq!(second.refusal(), (422, "mfa_challenge_expired"));
}

#[tokio::test]
async fn a_key_that_signs_something_else_is_not_registered() {
    let (server, token) = signed_in().await;
    let factor = enrolled(&server, &token, "key").await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    let options = &ceremony["credential_options"]["publicKey"];
    let mut other_challenge = options.clone();
    other_challenge["challenge"] = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let honest = Authenticator::new();
    let cases = [
        ("another page", Authenticator { origin: "http://localhost:3001".into(), ..honest.clone() }, options),
        ("another site", Authenticator { origin: "https://evil.example".into(), ..honest.clone() }, options),
        ("another relying party", Authenticator { rp_id: "evil.example".into(), ..honest.clone() }, options),
        ("nobody present", Authenticator { flags: 0, ..honest.clone() }, options),
        ("another challenge", honest.clone(), &other_challenge),
    ];
    for (case, mut key, options) in cases {
        let refused = answer(&server, &token, (&factor, &id), "create", &key.create(options)).await;
        assert_eq!(refused.refusal(), (422, "mfa_verification_failed"), "{case}");
    }
    let assertion = honest.clone().get(options);
    let refused = answer(&server, &token, (&factor, &id), "request", &assertion).await;
    assert_eq!(refused.refusal(), (422, "mfa_verification_failed"), "there is no key yet");
    assert_eq!(server.factors(&token).await[0]["status"], json!("unverified"));
    let right = answer(&server, &token, (&factor, &id), "create", &honest.clone().create(options)).await;
    assert_eq!(right.status, StatusCode::OK, "{}", right.body);
}

#[tokio::test]
async fn nothing_but_the_registered_key_is_accepted() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    let (factor, _) = registered(&server, &token, &mut key).await;
    let (token, _) = server.tokens(ADA).await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    let options = &ceremony["credential_options"]["publicKey"];
    let mut other_challenge = options.clone();
    other_challenge["challenge"] = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let impostor = Authenticator { id: key.id.clone(), ..Authenticator::new() };
    let mut stranger = Authenticator::new();
    stranger.user_handle.clone_from(&key.user_handle);
    let cases = [
        ("another key under the same id", impostor, options),
        ("another key", stranger, options),
        ("another page", Authenticator { origin: "http://localhost:3001".into(), ..key.clone() }, options),
        ("another relying party", Authenticator { rp_id: "evil.example".into(), ..key.clone() }, options),
        ("another user", Authenticator { user_handle: b"somebody".to_vec(), ..key.clone() }, options),
        ("another challenge", key.clone(), &other_challenge),
    ];
    for (case, mut key, options) in cases {
        let refused = answer(&server, &token, (&factor, &id), "request", &key.get(options)).await;
        assert_eq!(refused.refusal(), (422, "mfa_verification_failed"), "{case}");
    }
    let registration = key.clone().create(&{
        let mut creation = options.clone();
        creation["user"] = json!({ "id": "AA" });
        creation
    });
    let refused = answer(&server, &token, (&factor, &id), "create", &registration).await;
    assert_eq!(refused.refusal(), (422, "mfa_verification_failed"), "a key is not replaced");
    let right = answer(&server, &token, (&factor, &id), "request", &key.get(options)).await;
    assert_eq!(right.status, StatusCode::OK, "{}", right.body);
}

#[tokio::test]
async fn a_counter_that_goes_backwards_betrays_a_copy() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator { count: 5, ..Authenticator::new() };
    let (factor, mut token) = registered(&server, &token, &mut key).await;
    let mut copy = key.clone();
    for _ in 0..2 {
        let (id, ceremony) = challenge(&server, &token, &factor).await;
        let response = key.get_counted(&ceremony["credential_options"]["publicKey"]);
        let verified = answer(&server, &token, (&factor, &id), "request", &response).await;
        assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
        token = verified.text("access_token").to_owned();
    }
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    let response = copy.get_counted(&ceremony["credential_options"]["publicKey"]);
    let refused = answer(&server, &token, (&factor, &id), "request", &response).await;
    assert_eq!(refused.refusal(), (422, "mfa_verification_failed"));
}

#[tokio::test]
async fn malformed_credentials_are_refused() {
    let (server, token) = signed_in().await;
    let factor = enrolled(&server, &token, "key").await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    let response = Authenticator::new().create(&ceremony["credential_options"]["publicKey"]);
    let path = format!("/factors/{factor}/verify");
    for webauthn in [
        json!({ "credential_response": response }),
        json!({ "type": "create", "credential_response": {} }),
        json!({ "type": "create", "credential_response": "AAAA" }),
        json!({ "type": "create", "credential_response": { "id": "AA", "rawId": "!", "response": [] } }),
    ] {
        let body = json!({ "challenge_id": id, "webauthn": webauthn });
        let refused = server.call(Method::POST, &path, &token, body).await;
        assert_eq!(refused.refusal(), (400, "validation_failed"), "{webauthn}");
    }
    for mangled in ["attestationObject", "clientDataJSON"] {
        let mut response = response.clone();
        response["response"][mangled] = json!("oWNmbXQ");
        let refused = answer(&server, &token, (&factor, &id), "create", &response).await;
        assert_eq!(refused.refusal(), (422, "mfa_verification_failed"), "{mangled}");
    }
    let bodiless = format!("/factors/{factor}/challenge");
    assert_eq!(server.post_as(&bodiless, &token).await.refusal(), (400, "bad_json"));
    let mut padded = response.clone();
    for member in ["attestationObject", "clientDataJSON"] {
        let text = padded["response"][member].as_str().unwrap().to_owned();
        padded["response"][member] = json!(format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4)));
    }
    let verified = answer(&server, &token, (&factor, &id), "create", &padded).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
}

#[tokio::test]
async fn of_many_registrations_one_counts_and_its_key_stays() {
    let (server, token) = signed_in().await;
    let factor = enrolled(&server, &token, "key").await;
    let challenges = [challenge(&server, &token, &factor).await, challenge(&server, &token, &factor).await];
    // Both nodes get answers to both challenges.
    let answered = |attempt: usize| &challenges[attempt / 2 % 2];
    let keys: Vec<_> = (0..6)
        .map(|attempt| Authenticator::new().create(&answered(attempt).1["credential_options"]["publicKey"]))
        .collect();
    let register = async |node: &Server, attempt: usize| {
        answer(node, &token, (&factor, &answered(attempt).0), "create", &keys[attempt]).await
    };
    let mut registered = Vec::new();
    for (response, key) in server.at_once(6, register).await.iter().zip(&keys) {
        assert!(matches!(response.status.as_u16(), 200 | 422), "{}", response.body);
        if response.status == StatusCode::OK {
            registered.push(key["id"].clone());
        }
    }
    let (_, ceremony) = challenge(&server, &token, &factor).await;
    let allowed = &ceremony["credential_options"]["publicKey"]["allowCredentials"];
    let allowed: Vec<_> = allowed.as_array().unwrap().iter().map(|key| key["id"].clone()).collect();
    assert_eq!((registered.len(), allowed), (1, registered));
}

#[tokio::test]
async fn pages_of_other_origins_may_be_allowed() {
    let mut settings = settings();
    settings.webauthn.rp_id = Some("example.com".to_owned());
    settings.webauthn.rp_display_name = Some("Example".to_owned());
    settings.webauthn.rp_origins = vec!["https://app.example.com".into(), "https://example.com".into()];
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (token, _) = server.tokens(ADA).await;
    let factor = enrolled(&server, &token, "key").await;
    let (id, ceremony) = challenge(&server, &token, &factor).await;
    let options = &ceremony["credential_options"]["publicKey"];
    assert_eq!(options["rp"], json!({ "id": "example.com", "name": "Example" }));
    let at = |origin: &str| Authenticator {
        origin: origin.to_owned(),
        rp_id: "example.com".to_owned(),
        ..Authenticator::new()
    };
    let refused = at("https://evil.example.com").create(options);
    let refused = answer(&server, &token, (&factor, &id), "create", &refused).await;
    assert_eq!(refused.refusal(), (422, "mfa_verification_failed"));
    let response = at("https://app.example.com").create(options);
    let verified = answer(&server, &token, (&factor, &id), "create", &response).await;
    assert_eq!(verified.status, StatusCode::OK, "{}", verified.body);
}
