//! Calls with and without a token.

use functions::Function;
use poem::Request;
use serde_json::json;

use crate::harness::{Project, Response};

#[tokio::test]
async fn callers_need_a_token_of_the_project() {
    let project =
        Project::with(&[("guarded/index.ts", "Deno.serve(() => new Response('in'))")], |settings| {
            settings.functions.insert("guarded".to_owned(), Function::default());
        })
        .await;
    let call = async |name: &'static str, value: String| {
        let request = Request::builder().uri("/guarded".parse().unwrap()).header(name, value).finish();
        Response::read(project.send(request).await).await
    };
    let keys = project.keys.api_keys();
    let user = project.keys.sign(&json!({ "role": "authenticated", "exp": 4_000_000_000_u64 })).unwrap();
    for token in [keys.anon(), &user] {
        assert_eq!(call("authorization", format!("Bearer {token}")).await.text, "in");
    }
    for key in [keys.publishable(), keys.secret(), keys.anon(), keys.service_role()] {
        let response = call("apikey", key.to_owned()).await;
        assert_eq!(response.refusal(), (401, "UNAUTHORIZED_NO_AUTH_HEADER".to_owned()), "a key is no token");
    }
    let (head, _) = keys.anon().split_once('.').unwrap();
    let expired = project.keys.sign(&json!({ "role": "authenticated", "exp": 1 })).unwrap();
    for (value, code) in [
        (format!("Bearer {head}.e30.AAAA"), "UNAUTHORIZED_LEGACY_JWT"),
        (format!("Bearer {expired}"), "UNAUTHORIZED_ASYMMETRIC_JWT"),
        ("Bearer eyJhbGciOiJub25lIn0.e30.".to_owned(), "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM"),
        (format!("Bearer {}", keys.publishable()), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (format!("Bearer {}", keys.secret()), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        ("Bearer nonsense".to_owned(), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        ("Basic abc".to_owned(), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
    ] {
        let response = call("authorization", value).await;
        assert_eq!(response.refusal(), (401, code.to_owned()));
        assert_eq!(response.json()["msg"], response.json()["message"]);
        assert_eq!(response.header("x-relay-error"), "true");
    }
    assert_eq!(project.get("/guarded").await.refusal(), (401, "UNAUTHORIZED_NO_AUTH_HEADER".to_owned()));
    assert_eq!(project.get("/nobody").await.refusal(), (404, "NOT_FOUND".to_owned()));
    assert_eq!(project.get("/").await.refusal(), (404, "NOT_FOUND".to_owned()));
    project.functions.stop().await;
}
