//! Row-level security on objects, with two users.

use crate::support::Server;
use poem::http::{Method, StatusCode};
use serde_json::json;

const ANNA: &str = "8f9b2c1e-0000-4000-8000-00000000000a";
const BEN: &str = "8f9b2c1e-0000-4000-8000-00000000000b";

async fn server() -> Server {
    let server = Server::start().await;
    server.bucket("private", false).await;
    server
}

/// Lets everybody who is signed in do `command` below a folder of the own id.
async fn allow(server: &Server, command: &str) {
    let condition = "bucket_id = 'private' and (storage.foldername(name))[1] = auth.uid()::text";
    let check = match command {
        "insert" => format!("with check ({condition})"),
        _ => format!("using ({condition})"),
    };
    server
        .sql(&format!(
            "create policy own_{command} on storage.objects for {command} to authenticated {check}"
        ))
        .await;
}

#[tokio::test]
async fn each_right_is_asked_for_on_its_own() {
    let server = server().await;
    let (anna, ben) = (server.user(ANNA), server.user(BEN));
    let path = format!("private/{ANNA}/a.txt");
    let refused = async |token: &str, headers: &[(&str, &str)]| {
        let response = server.upload(token, &path, headers, b"x").await;
        assert_eq!(response.status, StatusCode::BAD_REQUEST);
        let response = response.json();
        (
            response["statusCode"].as_str().unwrap().to_owned(),
            response["message"].as_str().unwrap().to_owned(),
        )
    };
    let policy = ("403".to_owned(), "new row violates row-level security policy".to_owned());
    assert_eq!(refused(&anna, &[]).await, policy);
    allow(&server, "insert").await;
    assert_eq!(refused(&ben, &[]).await, policy);
    assert_eq!(refused(&anna, &[("x-upsert", "true")]).await, policy, "an upsert also reads");
    assert_eq!(server.upload(&anna, &path, &[], b"one").await.status, StatusCode::OK);
    assert_eq!(refused(&anna, &[]).await.0, "409");
    assert_eq!(refused(&ben, &[]).await, policy, "who may not write is not told what is there");
    let row = server.row("select owner::text, owner_id from storage.objects").await;
    assert_eq!(row, [ANNA, ANNA]);

    let read = format!("/object/{path}");
    let hidden = server.json_as(&anna, Method::GET, &read, &json!(null)).await;
    assert_eq!(hidden.json()["message"], "Object not found");
    allow(&server, "select").await;
    assert_eq!(server.json_as(&anna, Method::GET, &read, &json!(null)).await.body, b"one");
    let hidden = server.json_as(&ben, Method::GET, &read, &json!(null)).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey");

    assert_eq!(refused(&anna, &[("x-upsert", "true")]).await, policy, "replacing is an update");
    allow(&server, "update").await;
    let replaced = server.upload(&anna, &path, &[("x-upsert", "true")], b"two").await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.text());

    let kept = server.json_as(&anna, Method::DELETE, &read, &json!({})).await;
    assert_eq!(kept.json()["message"], "Access denied");
    allow(&server, "delete").await;
    let kept = server.json_as(&ben, Method::DELETE, &read, &json!({})).await;
    assert_eq!(kept.json()["statusCode"], "403");
    let gone = server.json_as(&anna, Method::DELETE, &read, &json!({})).await;
    assert_eq!(gone.json(), json!({ "message": "Successfully deleted" }));
    let missing = server.json_as(&anna, Method::DELETE, &read, &json!({})).await;
    assert_eq!(missing.json()["code"], "NoSuchKey");
    assert_eq!(server.stored_files(), 0);
}

#[tokio::test]
async fn policies_see_the_request() {
    let server = server().await;
    server
        .sql(
            "create table public.seen (operation text, method text, path text, header text, role text, size text); \
             grant all on public.seen to public; \
             create function public.note() returns trigger language plpgsql as $$ begin \
               insert into public.seen values (storage.operation(), current_setting('request.method'), \
                 current_setting('request.path'), current_setting('request.headers')::json->>'x-client-info', \
                 current_user, new.metadata->>'contentLength'); return new; end $$; \
             create trigger note before insert on storage.objects for each row execute function public.note()",
        )
        .await;
    let service = server.service_role().to_owned();
    server.upload(&service, "private/a", &[("x-client-info", "test")], b"abc").await;
    let seen = server.row("select operation, method, path, header, role, size from public.seen").await;
    assert_eq!(seen, ["storage.object.upload", "POST", "/object/private/a", "test", "service_role", "3"]);
}

#[tokio::test]
async fn lists_and_removals_touch_only_what_is_visible() {
    let server = server().await;
    for command in ["insert", "select", "delete"] {
        allow(&server, command).await;
    }
    for (id, token) in [(ANNA, server.user(ANNA)), (BEN, server.user(BEN))] {
        server.upload(&token, &format!("private/{id}/a"), &[], b"x").await;
    }
    let anna = server.user(ANNA);
    let listed = server.json_as(&anna, Method::POST, "/object/list/private", &json!({ "prefix": "" })).await;
    assert_eq!(listed.json().as_array().unwrap().len(), 1);
    assert_eq!(listed.json()[0]["name"], ANNA);
    let names = [format!("{ANNA}/a"), format!("{BEN}/a"), "missing".to_owned()];
    let removed =
        server.json_as(&anna, Method::DELETE, "/object/private", &json!({ "prefixes": names })).await;
    assert_eq!(removed.json().as_array().unwrap().len(), 1);
    assert_eq!(removed.json()[0]["name"], names[0]);
    assert_eq!(removed.json()[0]["bucket_id"], "private");
    assert_eq!(server.stored_files(), 1);
    let unknown =
        server.json_as(&anna, Method::DELETE, "/object/nowhere", &json!({ "prefixes": ["a"] })).await;
    assert_eq!(unknown.json(), json!([]));
    let none = server.json_as(&anna, Method::DELETE, "/object/private", &json!({ "prefixes": [] })).await;
    assert_eq!(none.json()["message"], "body/prefixes must NOT have fewer than 1 items");
}

#[tokio::test]
async fn a_role_that_does_not_exist_is_named() {
    let server = server().await;
    let expires = time::OffsetDateTime::now_utc().unix_timestamp() + 60;
    let token = server.keys().sign(&json!({ "role": "nobody", "exp": expires })).unwrap();
    let refused = server.upload(&token, "private/a", &[], b"x").await;
    assert_eq!(refused.json()["message"], "role \"nobody\" does not exist");
}
