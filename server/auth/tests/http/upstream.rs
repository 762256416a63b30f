//! Beside the Supabase Auth service on one database: rows that it can read, and ceremonies that it began.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use ed25519_dalek::{Signer, SigningKey};
use http::{Method, StatusCode};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::authenticator::Authenticator;
use crate::harness::{Response, Server};
use crate::passkeys::{registered, signed_in};

/// The columns that may be null in the database, and that upstream reads into types that know no null: a single such row
/// makes it response 500, for a whole list at times. Source: its folder `internal/models`.
const READ_AS_TEXT_OR_TIME: [(&str, &[&str]); 14] = [
    (
        "users",
        &[
            "instance_id",
            "aud",
            "role",
            "confirmation_token",
            "recovery_token",
            "email_change_token_new",
            "email_change_token_current",
            "email_change",
            "email_change_confirm_status",
            "phone_change",
            "phone_change_token",
            "reauthentication_token",
            "created_at",
            "updated_at",
        ],
    ),
    ("identities", &["created_at", "updated_at"]),
    ("sessions", &["created_at", "updated_at"]),
    ("refresh_tokens", &["instance_id", "token", "user_id", "revoked", "created_at", "updated_at"]),
    ("mfa_factors", &["friendly_name", "secret"]),
    ("mfa_challenges", &["otp_code"]),
    ("flow_state", &["provider_access_token", "provider_refresh_token", "created_at", "updated_at"]),
    ("audit_log_entries", &["instance_id", "payload", "created_at"]),
    ("sso_providers", &["created_at", "updated_at"]),
    ("sso_domains", &["created_at", "updated_at"]),
    ("saml_providers", &["attribute_mapping", "created_at", "updated_at"]),
    ("saml_relay_states", &["redirect_to", "created_at", "updated_at"]),
    ("oauth_clients", &["client_secret_hash"]),
    ("oauth_client_states", &["created_at"]),
];

/// Returns statements after which the database refuses every row that upstream could not read. All tests of this crate
/// run so.
pub(crate) fn refuse_unreadable_rows() -> String {
    change_columns("set not null")
}

/// Returns statements that undo those of [`refuse_unreadable_rows`], for tests that plant rows of few columns.
pub(crate) fn allow_unreadable_rows() -> String {
    change_columns("drop not null")
}

fn change_columns(change: &str) -> String {
    let table = |(table, columns): (&str, &[&str])| {
        let constraints: Vec<_> =
            columns.iter().map(|column| format!("alter column {column} {change}")).collect();
        format!("alter table auth.{table} {};", constraints.join(", "))
    };
    READ_AS_TEXT_OR_TIME.map(table).concat()
}

/// Stores a ceremony as upstream does; returns its id and what the browser gets.
async fn begun(server: &Server, ceremony: &str, user: Option<&str>) -> (String, Value) {
    let challenge = BASE64URL_NOPAD.encode(&rand::random::<[u8; 32]>());
    let kinds = [-7, -35, -36, -257, -258, -259, -37, -38, -39, -8];
    let kinds = kinds.map(|alg| json!({ "type": "public-key", "alg": alg }));
    let mut state = json!({
        "challenge": challenge, "rpId": "localhost", "user_id": user.map(|id| BASE64.encode(id.as_bytes())),
        "expires": "0001-01-01T00:00:00Z", "userVerification": "preferred", "mediation": "default"
    });
    if ceremony == "registration" {
        state["credParams"] = json!(kinds);
    }
    let id = uuid::Uuid::new_v4().to_string();
    let owner = user.map_or("null".to_owned(), |id| format!("'{id}'"));
    server
        .sql(&format!(
            "insert into auth.webauthn_challenges (id, user_id, challenge_type, session_data, expires_at)
             values ('{id}', {owner}, '{ceremony}', '{state}', now() + interval '5 minutes')"
        ))
        .await;
    let handle = BASE64URL_NOPAD.encode(user.unwrap_or_default().as_bytes());
    (id, json!({ "challenge": challenge, "user": { "id": handle } }))
}

async fn authenticate(server: &Server, challenge: &str, credential: Value) -> Response {
    let body = json!({ "challenge_id": challenge, "credential": credential });
    server.post("/passkeys/authentication/verify", body).await
}

#[tokio::test]
async fn ceremonies_that_upstream_began_end_here() {
    let (server, token) = signed_in().await;
    let user = server.claims(&token)["sub"].as_str().unwrap().to_owned();
    let mut key = Authenticator::new();
    let (challenge, options) = begun(&server, "registration", Some(&user)).await;
    let body = json!({ "challenge_id": challenge, "credential": key.create(&options) });
    let ended = server.call(Method::POST, "/passkeys/registration/verify", &token, body).await;
    assert_eq!(ended.status, StatusCode::OK, "{}", ended.body);
    let (challenge, options) = begun(&server, "authentication", None).await;
    let session = authenticate(&server, &challenge, key.get_counted(&options)).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    let (challenge, _) = begun(&server, "authentication", None).await;
    let foreign = authenticate(&server, &challenge, key.get_counted(&options)).await;
    assert_eq!(foreign.refusal(), (400, "webauthn_verification_failed"));
}

#[tokio::test]
async fn ceremonies_have_upstreams_form() {
    let (server, token) = signed_in().await;
    let user = server.claims(&token)["sub"].as_str().unwrap().to_owned();
    let begun = server.call(Method::POST, "/passkeys/registration/options", &token, json!({})).await;
    let stored = server.text("select session_data::text from auth.webauthn_challenges").await;
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let challenge = &begun.body["options"]["challenge"];
    assert_eq!((&stored["challenge"], &stored["rpId"]), (challenge, &json!("localhost")));
    assert_eq!(stored["user_id"], BASE64.encode(user.as_bytes()));
    assert_eq!(stored["credParams"], begun.body["options"]["pubKeyCredParams"]);
    assert_eq!(
        (&stored["userVerification"], &stored["expires"]),
        (&json!("preferred"), &json!("0001-01-01T00:00:00Z"))
    );
}

/// Puts an Ed25519 key into the place of the only passkey's.
async fn with_ed25519(server: &Server) -> SigningKey {
    let key = SigningKey::from_bytes(&rand::random());
    let cose = Cbor::Map(
        [
            (Cbor::Integer(1), Cbor::Integer(1)),
            (Cbor::Integer(3), Cbor::Integer(-8)),
            (Cbor::Integer(-1), Cbor::Integer(6)),
            (Cbor::Integer(-2), Cbor::Bytes(key.verifying_key().as_bytes().to_vec())),
        ]
        .into(),
    );
    let cose = HEXLOWER.encode(&serde_cbor_2::to_vec(&cose).unwrap());
    server.sql(&format!("update auth.webauthn_credentials set public_key = decode('{cose}', 'hex')")).await;
    key
}

#[tokio::test]
async fn a_passkey_of_a_kind_that_only_upstream_offers_signs_in() {
    let (server, token) = signed_in().await;
    let mut key = Authenticator::new();
    registered(&server, &token, &mut key).await;
    let ed25519 = with_ed25519(&server).await;
    let mut show = async |forged: bool| {
        let (challenge, options) = begun(&server, "authentication", None).await;
        let mut credential = key.get_counted(&options);
        let bytes = |name: &str| {
            BASE64URL_NOPAD.decode(credential["response"][name].as_str().unwrap().as_bytes()).unwrap()
        };
        let mut signed = bytes("authenticatorData");
        signed.extend(Sha256::digest(bytes("clientDataJSON")));
        if !forged {
            let signature = ed25519.sign(&signed).to_bytes();
            credential["response"]["signature"] = BASE64URL_NOPAD.encode(&signature).into();
        }
        authenticate(&server, &challenge, credential).await
    };
    assert_eq!(show(true).await.refusal(), (400, "webauthn_verification_failed"));
    let session = show(false).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.body);
    server.sql("update auth.webauthn_credentials set public_key = 'no key'").await;
    assert_eq!(show(false).await.refusal(), (400, "webauthn_verification_failed"), "and no 500");
}

#[tokio::test]
async fn tokens_without_an_end_and_of_other_audiences_are_judged_as_upstream_judges_them() {
    let (server, token) = signed_in().await;
    let user = async |change: &dyn Fn(&mut Value), audience: Option<&str>| {
        let mut claims = server.claims(&token);
        change(&mut claims);
        let bearer = format!("Bearer {}", server.keys.sign(&claims).unwrap());
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(audience.map(|audience| ("x-jwt-aud", audience)));
        let response = server.send(Method::GET, "/user", &headers, ()).await;
        (response.status.as_u16(), response.refusal().1.to_owned())
    };
    let fine = (200, String::new());
    let mismatch = (400, "validation_failed".to_owned());
    assert_eq!(user(&|claims| drop(claims.as_object_mut().unwrap().remove("exp")), None).await, fine);
    let just_now = time::OffsetDateTime::now_utc().unix_timestamp() - 1;
    assert_eq!(user(&|claims| claims["exp"] = json!(just_now), None).await, (403, "bad_jwt".to_owned()));
    assert_eq!(user(&|claims| claims["aud"] = json!("elsewhere"), None).await, fine);
    assert_eq!(user(&|claims| claims["aud"] = json!(["elsewhere", "authenticated"]), None).await, fine);
    assert_eq!(user(&|claims| claims["aud"] = json!("elsewhere"), Some("elsewhere")).await, fine);
    assert_eq!(user(&|_| {}, Some("elsewhere")).await, mismatch);
    assert_eq!(user(&|claims| drop(claims.as_object_mut().unwrap().remove("aud")), None).await, mismatch);
}
