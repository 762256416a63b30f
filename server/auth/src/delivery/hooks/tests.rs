//! Calls of hooks over HTTP and as functions, and the effect of their responses.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::*;
use crate::Secret;
use crate::testing::{self, Mock, MockResponse};

const CLIENT: Client<'static> = Client {
    user_agent: None,
    address: std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 7)),
    requested_host: crate::store::model::client::RequestedHost { host: None, is_plain: false },
};
const SECRET: &str = "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn hooks(name: HookName, uri: &str, database: &testkit::Database) -> Hooks {
    let hook = Hook { uri: uri.to_owned(), secrets: vec![Secret::from(SECRET)], ..Hook::default() };
    let settings = HookSettings(BTreeMap::from([(name, hook)]));
    let login =
        Database::connect(postgres::Settings::new(database.uri_as("supabase_auth_admin").parse().unwrap()))
            .await
            .unwrap();
    let mut hooks = Hooks::new(settings, HttpClient::new().unwrap(), login).unwrap();
    hooks.timeouts = HookTimeouts { total: Duration::from_secs(20), pause: Duration::from_millis(1) };
    hooks
}

async fn judged(
    responses: Vec<MockResponse>,
) -> (Result<AttemptDecision, (u16, Code, String)>, Vec<testing::ReceivedRequest>) {
    let (mock, database) = (Mock::start(responses).await, testkit::Database::empty().await);
    let hooks = hooks(HookName::PasswordVerificationAttempt, &mock.url, &database).await;
    let result = hooks.password_verification(Uuid::nil(), false, &CLIENT).await;
    let result = result.map_err(|error| (error.status().as_u16(), error.code().unwrap(), error.to_string()));
    (result, mock.received())
}

#[tokio::test]
async fn a_hook_request_has_user_id_time_and_a_valid_signature() {
    let response = testing::json(200, json!({ "decision": "continue" }));
    let (decision, received) = judged(vec![response]).await;
    assert_eq!(decision, Ok(AttemptDecision::Continue));
    let [received] = received.as_slice() else { panic!("{received:?}") };
    let payload: Json = serde_json::from_str(&received.body).unwrap();
    assert_eq!(
        (payload["user_id"].as_str(), &payload["valid"]),
        (Some(&*Uuid::nil().to_string()), &json!(false))
    );
    assert_eq!(payload["metadata"]["name"], "password-verification");
    assert_eq!(payload["metadata"]["ip_address"], "203.0.113.7");
    assert!(Uuid::try_parse(payload["metadata"]["uuid"].as_str().unwrap()).is_ok());
    assert!(OffsetDateTime::parse(payload["metadata"]["time"].as_str().unwrap(), &Rfc3339).is_ok());
    let timestamp: i64 = received.header("webhook-timestamp").parse().unwrap();
    let expected = signature::header(
        &[Secret::from(SECRET)],
        received.header("webhook-id"),
        timestamp,
        received.body.as_bytes(),
    );
    assert_eq!(received.header("webhook-signature"), expected.unwrap());
    assert_eq!(received.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_rejection_has_its_own_message_or_the_default() {
    let response = |message: &str| {
        testing::json(200, json!({ "decision": "reject", "message": message, "should_logout_user": true }))
    };
    let reject = |message: &str| Ok(AttemptDecision::Reject { message: message.to_owned(), logout: true });
    assert_eq!(judged(vec![response("Enough.")]).await.0, reject("Enough."));
    let usual = "Further password verification attempts will be rejected.";
    assert_eq!(judged(vec![response("")]).await.0, reject(usual));
}

#[tokio::test]
async fn responses_are_judged_by_status_type_and_size() {
    let response = |status, kind: &str, body: &str| MockResponse {
        status,
        headers: vec![("content-type", kind.to_owned())],
        body: body.to_owned(),
    };
    let large = format!("\"{}\"", "x".repeat(200 * 1024));
    for (response, status, code, words) in [
        (response(200, "text/html", "{}"), 400, Code::HookPayloadInvalidContentType, "text/html"),
        (response(200, "application/json", &large), 422, Code::HookPayloadOverSizeLimit, "204800 bytes"),
        (response(200, "application/json", "["), 500, Code::UnexpectedFailure, "unmarshaling"),
        (response(400, "application/json", "{}"), 500, Code::UnexpectedFailure, "Invalid payload"),
        (response(401, "application/json", "{}"), 500, Code::UnexpectedFailure, "authorization token"),
        (response(418, "application/json", "{}"), 500, Code::UnexpectedFailure, "418"),
        (response(503, "application/json", "{}"), 500, Code::UnexpectedFailure, "currently unavailable"),
    ] {
        let (result, received) = judged(vec![response]).await;
        let (found_status, found_code, message) = result.unwrap_err();
        assert_eq!((found_status, found_code), (status, code), "{message}");
        assert!(message.contains(words), "{message}");
        assert_eq!(received.len(), 1);
    }
    let empty = MockResponse { status: 204, headers: Vec::new(), body: String::new() };
    assert_eq!(judged(vec![empty]).await.0, Ok(AttemptDecision::Continue));
}

#[tokio::test]
async fn errors_in_responses_choose_the_status() {
    let response = testing::json(200, json!({ "error": { "http_code": 403, "message": "Not you." } }));
    let (status, _, message) = judged(vec![response]).await.0.unwrap_err();
    assert_eq!((status, message.as_str()), (403, "Not you."));
    let response = testing::json(200, json!({ "error": { "message": "Oops." } }));
    assert_eq!(judged(vec![response]).await.0.unwrap_err().0, 500);
}

#[tokio::test]
async fn a_busy_server_gets_three_attempts_with_one_id() {
    let busy =
        MockResponse { status: 503, headers: vec![("retry-after", "true".to_owned())], body: String::new() };
    let response = testing::json(200, json!({ "decision": "continue" }));
    let (decision, received) = judged(vec![busy.clone(), busy.clone(), response]).await;
    assert_eq!((decision, received.len()), (Ok(AttemptDecision::Continue), 3));
    assert_eq!(received[0].header("webhook-id"), received[2].header("webhook-id"));
    let (result, received) = judged(vec![busy]).await;
    assert_eq!((result.unwrap_err().1, received.len()), (Code::UnexpectedFailure, 3));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_timeout_after_retries() {
    let database = testkit::Database::empty().await;
    // A port that was free a moment ago, and that nobody listens on.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let hooks = hooks(HookName::SendSms, &format!("http://127.0.0.1:{port}/"), &database).await;
    let error = hooks.call(HookName::SendSms, json!({}), &CLIENT).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::HookTimeoutAfterRetry));
}

#[tokio::test]
async fn a_server_that_does_not_respond_is_given_up() {
    let database = testkit::Database::empty().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let mut hooks = hooks(HookName::SendSms, &uri, &database).await;
    hooks.timeouts.total = Duration::from_millis(50);
    let error = hooks.call(HookName::SendSms, json!({}), &CLIENT).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::HookTimeout));
}

#[tokio::test]
async fn functions_of_the_database_are_hooks_too() {
    let database = testkit::Database::create().await;
    let sql = "create function public.claims(event jsonb) returns jsonb language sql as
         $$ select jsonb_set(event, '{claims,team}', '\"row\"') - 'user_id' $$;
       create function public.nothing(event jsonb) returns void language sql as $$ select $$;
       create function public.fails(event jsonb) returns jsonb language plpgsql as
         $$ begin raise exception 'secret detail'; end $$;
       grant execute on all functions in schema public to supabase_auth_admin";
    database.client().await.batch_execute(sql).await.unwrap();
    let claims = json!({
        "aud": "authenticated", "exp": 2, "iat": 1, "sub": "x", "email": "", "phone": "", "role": "authenticated",
        "aal": "aal1", "session_id": "y", "is_anonymous": false,
    });
    let customize = async |function: &str, claims: &Json| {
        let uri = format!("pg-functions://postgres/public/{function}");
        let hooks = hooks(HookName::CustomAccessToken, &uri, &database).await;
        hooks.customize_access_token(Uuid::nil(), claims.clone(), "password", &CLIENT).await
    };
    assert_eq!(customize("claims", &claims).await.unwrap()["team"], "row");
    let mut poor = claims.clone();
    poor.as_object_mut().unwrap().remove("role");
    poor["exp"] = json!("soon");
    let message = customize("claims", &poor).await.unwrap_err().to_string();
    assert!(message.contains("role is required") && message.contains("exp: Invalid type"), "{message}");
    let message = customize("nothing", &claims).await.unwrap_err().to_string();
    assert_eq!(message, "output claims field is missing");
    let error = customize("fails", &claims).await.unwrap_err();
    assert_eq!(error.status().as_u16(), 500);
    assert_eq!(error.to_string(), "Error running hook URI: pg-functions://postgres/public/fails");
}

#[test]
fn a_hook_that_was_set_over_the_platform_interface_is_public() {
    let check = |uri: &str| check(&Hook { uri: uri.to_owned(), is_public: true, ..Hook::default() });
    for uri in ["https://example.org/hook", "pg-functions://postgres/public/hook"] {
        assert_eq!(check(uri), Ok(()), "{uri}");
    }
    for uri in ["http://localhost:9/x", "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/"] {
        assert!(check(uri).is_err(), "{uri}");
    }
}

#[test]
fn uris_and_secrets_are_checked_at_the_start() {
    let check = |uri: &str, secret: &str| {
        check(&Hook { uri: uri.to_owned(), secrets: vec![Secret::from(secret)], ..Hook::default() })
    };
    for uri in [
        "https://example.org/hook",
        "http://localhost:9/x",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://host.docker.internal:1/",
        "pg-functions://postgres/public/hook",
    ] {
        assert_eq!(check(uri, SECRET), Ok(()), "{uri}");
    }
    for uri in
        ["http://example.org/", "ftp://x/", "pg-functions://postgres/hook", "hook", "http://127.0.0.1.evil/"]
    {
        assert!(check(uri, SECRET).is_err(), "{uri}");
    }
    assert!(!check("https://x/", "hunter2").unwrap_err().contains("hunter2"));
}
