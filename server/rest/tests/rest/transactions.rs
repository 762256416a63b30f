//! What a request's transaction sees and leaves behind.

use serde_json::json;

use crate::harness::{League, send, token_of};

#[tokio::test]
async fn functions_see_who_asked_and_how() {
    let league = League::start().await;
    let request = league.request("GET", "/rpc/context").bearer_auth(token_of("authenticated"));
    let request = request.header("x-probe", "yes").header("cookie", "flavour=oat; other=1");
    let seen = send(request.header("prefer", "timezone=Europe/Lisbon")).await.json();
    assert_eq!(seen["role"], "authenticated");
    assert_eq!(seen["claims"]["sub"], "11111111-1111-1111-1111-111111111111");
    assert_eq!((&seen["method"], &seen["path"]), (&json!("GET"), &json!("/rpc/context")));
    assert_eq!((&seen["header"], &seen["cookie"]), (&json!("yes"), &json!("oat")));
    assert_eq!(seen["search_path"], "\"league\", \"public\"");
    assert_eq!(seen["zone"], "Europe/Lisbon");
    let anonymous = league.get("/rpc/context").await.json();
    assert_eq!((&anonymous["role"], &anonymous["claims"]), (&json!("anon"), &json!({ "role": "anon" })));
    assert_ne!(anonymous["zone"], "Europe/Lisbon", "settings must not outlive their transaction");
}

#[tokio::test]
async fn clients_may_choose_the_end_where_they_are_allowed_to() {
    let league = League::with(|settings| settings.db_tx_end = rest::TxEnd::CommitAllowOverride).await;
    let tried = ("prefer", "tx=rollback, return=representation");
    let answer = league.change("POST", "/clubs?select=name", &[tried], r#"{"name":"Ghost"}"#).await;
    assert_eq!((answer.status, answer.json()), (201, json!([{ "name": "Ghost" }])));
    assert_eq!(answer.header("preference-applied"), "return=representation, tx=rollback");
    assert_eq!(league.rows("/clubs?name=eq.Ghost").await, json!([]));

    let league = League::start().await;
    let answer = league.change("POST", "/clubs", &[("prefer", "tx=rollback")], r#"{"name":"Real"}"#).await;
    assert_eq!(answer.header("preference-applied"), "");
    assert_eq!(league.rows("/clubs?name=eq.Real").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_function_can_be_called_before_every_request() {
    let league = League::with(|settings| settings.db_pre_request = Some("league.check".into())).await;
    let superuser = league.database.client().await;
    let check = "create function league.check() returns void language plpgsql as $$ begin
        if current_setting('request.headers')::json ->> 'x-blocked' is not null then
          raise sqlstate 'PT403' using message = 'blocked';
        end if;
      end $$";
    superuser.batch_execute(check).await.unwrap();
    assert_eq!(league.get("/clubs").await.status, 200);
    let blocked = league.get_with("/clubs", &[("x-blocked", "1")]).await;
    assert_eq!((blocked.status, blocked.json()["message"].as_str()), (403, Some("blocked")));
}
