//! Registration of passkeys and sign-in with them.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::authenticator::{Authenticator, settings};
use crate::crowd::winners;
use crate::harness::{Response, Server};

const ADA: &str = "ada@example.com";

pub(crate) async fn signed_in() -> (Server, String) {
    let server = Server::with(settings()).await;
    server.user(ADA).await;
    let (access, _) = server.tokens(ADA).await;
    (server, access)
}

async fn begin(server: &Server, token: &str) -> Response {
    server.call(Method::POST, "/passkeys/registration/options", token, json!({})).await
}

async fn end(server: &Server, token: &str, challenge: &str, credential: Value) -> Response {
    let body = json!({ "challenge_id": challenge, "credential": credential });
    server.call(Method::POST, "/passkeys/registration/verify", token, body).await
}

/// Registers `key`; returns the passkey's id.
pub(crate) async fn registered(server: &Server, token: &str, key: &mut Authenticator) -> String {
    let begun = begin(server, token).await;
    assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
    let ended = end(server, token, begun.text("challenge_id"), key.create(&begun.body["options"])).await;
    assert_eq!(ended.status, StatusCode::OK, "{}", ended.body);
    ended.text("id").to_owned()
}

async fn offered(server: &Server) -> (String, Value) {
    let response = server.send(Method::POST, "/passkeys/authentication/options", &[], ()).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.body);
    (response.text("challenge_id").to_owned(), response.body["options"].clone())
}

async fn authenticate(server: &Server, challenge: &str, credential: Value) -> Response {
    let body = json!({ "challenge_id": challenge, "credential": credential });
    server.post("/passkeys/authentication/verify", body).await
}

/// Signs in with `key`.
pub(crate) async fn signs_in(server: &Server, key: &mut Authenticator) -> Response {
    let (challenge, options) = offered(server).await;
    authenticate(server, &challenge, key.get_counted(&options)).await
}

#[tokio::test]
async fn a_passkey_is_registered_and_opens_sessions() {
    let (server, token) = signed_in().await;
    let google = uuid::uuid!("ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4");
    let mut key = Authenticator { aaguid: google.into_bytes(), ..Authenticator::new() };
    let begun = begin(&server, &token).await;
    assert_eq!(begun.status, StatusCode::OK, "{}", begun.body);
    let options = &begun.body["options"];
    let selection = &options["authenticatorSelection"];
    assert_eq!(
        (&selection["residentKey"], &selection["requireResidentKey"]),
        (&json!("required"), &json!(true))
    );
    assert_eq!(
        (&selection["userVerification"], &options["attestation"]),
        (&json!("preferred"), &json!("none"))
    );
    assert!(
        begun.body["expires_at"].as_i64().unwrap() > time::OffsetDateTime::now_utc().unix_timestamp() + 200
    );
    let ended = end(&server, &token, begun.text("challenge_id"), key.create(options)).await;
    assert_eq!((ended.status, ended.text("friendly_name")), (StatusCode::OK, "Google Password Manager"));
    assert!(ended.text("created_at").ends_with('Z') && ended.body.get("last_used_at").is_none());
    let user = server.claims(&token)["sub"].clone();
    assert_eq!(String::from_utf8(key.user_handle.clone()).unwrap(), user, "the handle is the text of the id");

    let (challenge, options) = offered(&server).await;
    assert_eq!((&options["rpId"], options.get("allowCredentials")), (&json!("localhost"), None));
    let session = authenticate(&server, &challenge, key.get_counted(&options)).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    assert_eq!((&session.body["user"]["id"], session.text("token_type")), (&user, "bearer"));
    let claims = server.claims(session.text("access_token"));
    assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal1"), &json!("passkey")));
    assert_eq!(server.refresh(session.text("refresh_token")).await.status, StatusCode::OK);
    let list = server.get_as("/passkeys", &token).await;
    assert!(list.body[0]["last_used_at"].is_string(), "{}", list.body);
}

#[tokio::test]
async fn a_registration_counts_once_in_time_and_for_its_own_user() {
    let (server, token) = signed_in().await;
    server.user("eve@example.com").await;
    let (eve, _) = server.tokens("eve@example.com").await;
    let begun = begin(&server, &token).await;
    let (challenge, options) = (begun.text("challenge_id"), &begun.body["options"]);
    let credential = Authenticator::new().create(options);
    assert_eq!(
        end(&server, &eve, challenge, credential.clone()).await.refusal(),
        (400, "webauthn_challenge_not_found")
    );
    assert_eq!(end(&server, &token, challenge, credential.clone()).await.status, StatusCode::OK);
    assert_eq!(
        end(&server, &token, challenge, credential).await.refusal(),
        (400, "webauthn_challenge_not_found")
    );
    let begun = begin(&server, &token).await;
    server.sql("update auth.webauthn_challenges set expires_at = now() - interval '1 s'").await;
    let late = Authenticator::new().create(&begun.body["options"]);
    let late = end(&server, &token, begun.text("challenge_id"), late).await;
    assert_eq!(late.refusal(), (400, "webauthn_challenge_expired"));
}

#[tokio::test]
async fn credentials_that_do_not_fit_are_refused() {
    let (server, token) = signed_in().await;
    for path in ["/passkeys/registration/verify", "/passkeys/authentication/verify"] {
        assert_eq!(server.post_as(path, &token).await.refusal(), (400, "bad_json"), "{path}");
    }
    let honest = Authenticator::new();
    let keys = [
        Authenticator { origin: "http://localhost:3001".into(), ..honest.clone() },
        Authenticator { rp_id: "evil.example".into(), ..honest.clone() },
        Authenticator { flags: 0, ..honest.clone() },
    ];
    for mut key in keys {
        let begun = begin(&server, &token).await;
        let refused = key.create(&begun.body["options"]);
        let refused = end(&server, &token, begun.text("challenge_id"), refused).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"));
    }
    let begun = begin(&server, &token).await;
    let garbage = end(&server, &token, begun.text("challenge_id"), json!({ "id": 7 })).await;
    assert_eq!(garbage.refusal(), (400, "webauthn_verification_failed"));
    assert_eq!(server.get_as("/passkeys", &token).await.body, json!([]));
}

#[tokio::test]
async fn only_the_registered_key_opens_a_session() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    let eve = server.user("eve@example.com").await;
    let mut stranger = Authenticator::new();
    stranger.user_handle.clone_from(&key.user_handle);
    let keys = [
        ("another key", stranger.clone()),
        ("another key under its id", Authenticator { id: key.id.clone(), ..stranger }),
        ("another user", Authenticator { user_handle: eve.into_bytes(), ..key.clone() }),
        ("no user", Authenticator { user_handle: Vec::new(), ..key.clone() }),
        ("another page", Authenticator { origin: "https://evil.example".into(), ..key.clone() }),
        ("another relying party", Authenticator { rp_id: "evil.example".into(), ..key.clone() }),
    ];
    for (case, mut key) in keys {
        let refused = signs_in(&server, &mut key).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "{case}");
    }
    let (challenge, options) = offered(&server).await;
    let credential = key.get_counted(&options);
    assert_eq!(authenticate(&server, &challenge, credential.clone()).await.status, StatusCode::OK);
    let second = authenticate(&server, &challenge, credential).await;
    assert_eq!(second.refusal(), (400, "webauthn_challenge_not_found"));
    let (challenge, options) = offered(&server).await;
    server.sql("update auth.webauthn_challenges set expires_at = now() - interval '1 s'").await;
    let late = authenticate(&server, &challenge, key.get_counted(&options)).await;
    assert_eq!(late.refusal(), (400, "webauthn_challenge_expired"));
}

#[tokio::test]
async fn only_pages_of_the_listed_origins_count() {
    let mut settings = settings();
    settings.webauthn.rp_id = Some("example.com".to_owned());
    settings.webauthn.rp_origins = vec!["https://app.example.com".to_owned()];
    let server = Server::with(settings).await;
    server.user(ADA).await;
    let (token, _) = server.tokens(ADA).await;
    let at = |origin: &str, key: Authenticator| Authenticator {
        origin: origin.to_owned(),
        rp_id: "example.com".to_owned(),
        ..key
    };
    let mut key = at("https://app.example.com", Authenticator::new());
    registered(&server, &token, &mut key).await;
    for origin in [
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://example.com",
        "https://other.example.com",
        "https://evil.app.example.com",
        "https://evilapp.example.com",
        "https://app-example.com",
        "https://app.example.com.evil.com",
        "https://app.example.com.",
        "https://app.example.com@evil.com",
        "https://evil.com/https://app.example.com",
        "https://evil.com\\@app.example.com",
        "https://\u{430}pp.example.com",
        "android:apk-key-hash:app.example.com",
        "null",
        "",
    ] {
        let refused = signs_in(&server, &mut at(origin, key.clone())).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "sign-in at {origin:?}");
        let begun = begin(&server, &token).await;
        let credential = at(origin, Authenticator::new()).create(&begun.body["options"]);
        let refused = end(&server, &token, begun.text("challenge_id"), credential).await;
        assert_eq!(refused.refusal(), (400, "webauthn_verification_failed"), "registration at {origin:?}");
    }
    assert_eq!(signs_in(&server, &mut key).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_copied_passkey_is_found_out_by_its_counter() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    let mut copy = key.clone();
    for _ in 0..2 {
        assert_eq!(signs_in(&server, &mut key).await.status, StatusCode::OK);
    }
    assert_eq!(signs_in(&server, &mut copy).await.refusal(), (400, "webauthn_verification_failed"));

    let mut synced = Authenticator::new();
    registered(&server, &token, &mut synced).await;
    for _ in 0..2 {
        let (challenge, options) = offered(&server).await;
        let response = authenticate(&server, &challenge, synced.get(&options)).await;
        assert_eq!(response.status, StatusCode::OK, "those that are synchronized do not count");
    }
}

#[tokio::test]
async fn one_assertion_opens_one_session_whichever_node_gets_it() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    let (challenge, options) = offered(&server).await;
    let credential = key.get(&options);
    let show = async |node: &Server, _| authenticate(node, &challenge, credential.clone()).await;
    assert_eq!(winners(&server.at_once(8, show).await, "webauthn_challenge_not_found"), 1);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 2);
}

#[tokio::test]
async fn accounts_that_may_not_sign_in_may_not_with_a_passkey_either() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    for (change, refusal) in [
        ("email_confirmed_at = null", (403, "email_not_confirmed")),
        ("email_confirmed_at = now(), phone = '15550001'", (403, "phone_not_confirmed")),
        ("phone_confirmed_at = now(), banned_until = now() + interval '1 hour'", (403, "user_banned")),
        ("banned_until = null, deleted_at = now()", (400, "webauthn_verification_failed")),
    ] {
        server.sql(&format!("update auth.users set {change}")).await;
        assert_eq!(signs_in(&server, &mut key).await.refusal(), refusal, "{change}");
    }
    server.sql("update auth.users set deleted_at = null").await;
    assert_eq!(signs_in(&server, &mut key).await.status, StatusCode::OK);
}

#[tokio::test]
async fn not_everybody_may_register_one() {
    let (server, token) = signed_in().await;
    server.sql("update auth.users set is_sso_user = true").await;
    assert_eq!(begin(&server, &token).await.refusal(), (422, "validation_failed"));
    server.sql("update auth.users set is_sso_user = false").await;
    let mut claims = server.claims(&token);
    claims["is_anonymous"] = json!(true);
    let anonymous = server.keys.sign(&claims).unwrap();
    assert_eq!(begin(&server, &anonymous).await.refusal(), (403, "no_authorization"));
    let app = server.enroll_app(&token, "app").await;
    let (risen, _) = server.rise(&token, &app).await;
    let (low, _) = server.tokens(ADA).await;
    assert_eq!(begin(&server, &low).await.refusal(), (403, "insufficient_aal"));
    let begun = begin(&server, &risen).await;
    assert_eq!(begun.status, StatusCode::OK);
    let credential = Authenticator::new().create(&begun.body["options"]);
    let refused = end(&server, &low, begun.text("challenge_id"), credential.clone()).await;
    assert_eq!(refused.refusal(), (403, "insufficient_aal"));
    assert_eq!(end(&server, &risen, begun.text("challenge_id"), credential).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_key_is_registered_once_and_there_are_only_so_many() {
    let mut few = settings();
    few.passkeys.max_per_user = 2;
    let server = Server::with(few).await;
    server.user(ADA).await;
    server.user("eve@example.com").await;
    let (token, _) = server.tokens(ADA).await;
    let (eve, _) = server.tokens("eve@example.com").await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    let begun = begin(&server, &eve).await;
    assert_eq!(begun.body["options"]["excludeCredentials"], json!([]));
    let taken =
        end(&server, &eve, begun.text("challenge_id"), key.clone().create(&begun.body["options"])).await;
    assert_eq!(taken.refusal(), (422, "webauthn_credential_exists"));
    let first = begin(&server, &token).await;
    assert_eq!(first.body["options"]["excludeCredentials"].as_array().unwrap().len(), 1);
    let second = begin(&server, &token).await;
    let (one, other) = (
        Authenticator::new().create(&first.body["options"]),
        Authenticator::new().create(&second.body["options"]),
    );
    let (one, other) = tokio::join!(
        end(&server, &token, first.text("challenge_id"), one),
        end(&server, &token, second.text("challenge_id"), other)
    );
    let refusals: Vec<_> =
        [&one, &other].into_iter().map(Response::refusal).filter(|(status, _)| *status != 200).collect();
    assert_eq!(refusals, [(422, "too_many_passkeys")]);
    assert_eq!(begin(&server, &token).await.refusal(), (422, "too_many_passkeys"));
}
