//! Functions.

use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::harness::{League, send};

#[tokio::test]
async fn arguments_are_named_and_have_defaults() {
    let league = League::start().await;
    assert_eq!(league.call("add", &json!({ "a": 1, "b": 2 })).await.json(), json!(3));
    assert_eq!(league.call("add", &json!({ "a": "5" })).await.json(), json!(15));
    assert_eq!(league.rows("/rpc/add?a=1&b=41").await, json!(42));
    assert_eq!(league.call("sum_of", &json!({ "numbers": [1, 2, 3] })).await.json(), json!(6));
    assert_eq!(league.rows("/rpc/sum_of?numbers=%7B4,5%7D").await, json!(9));
    assert_eq!(league.rows("/rpc/many?names=a&names=b").await, json!("a+b"));
    assert_eq!(league.call("many", &json!({ "names": ["x", "y"] })).await.json(), json!("x+y"));
    assert_eq!(league.call("add", &json!({ "a": null, "b": 1 })).await.json(), json!(null));
    let unpaired = league.change("POST", "/rpc/refuse", &[], r#"{"how":"\ud800"}"#).await;
    assert_eq!((unpaired.status, unpaired.code()), (400, "22P02".to_owned()));
}

#[tokio::test]
async fn results_have_the_shape_of_what_is_returned() {
    let league = League::start().await;
    assert_eq!(
        league.call("oldest_club", &json!({})).await.json(),
        json!({ "id": 1, "name": "Harbour Row", "founded": "1901-05-01" })
    );
    assert_eq!(league.call("totals", &json!({})).await.json(), json!({ "players": 4, "teams": 4 }));
    assert_eq!(league.call("numbers", &json!({})).await.json(), json!([1, 2, 3]));
    let nothing = league.call("forget", &json!({})).await;
    assert_eq!((nothing.status, nothing.text.as_str()), (204, ""));
    let object = [("accept", "application/vnd.pgrst.object+json")];
    let one = league.get_with("/rpc/team_players?team=3&select=name", &object).await;
    assert_eq!(one.json(), json!({ "name": "Cyd" }));
    let two = league.get_with("/rpc/team_players?team=1", &object).await;
    assert_eq!((two.status, two.code()), (406, "PGRST116".to_owned()));
}

#[tokio::test]
async fn results_are_read_like_relations() {
    let league = League::start().await;
    let url = "/rpc/team_players?team=1&select=name,label,teams(name)&id=lt.9&order=id.desc&limit=1";
    let answer = league.get_with(url, &[("prefer", "count=exact")]).await;
    assert_eq!(
        answer.json(),
        json!([{ "name": "Bea", "label": "Bea #2", "teams": { "name": "Row Firsts" } }])
    );
    assert_eq!((answer.status, answer.header("content-range")), (206, "0-0/2"));
    let posted =
        league.change("POST", "/rpc/team_players?select=id&born=gt.1991-01-01", &[], r#"{"team":1}"#).await;
    assert_eq!(posted.json(), json!([{ "id": 2 }]));
}

#[tokio::test]
async fn a_single_unnamed_parameter_takes_the_body() {
    let league = League::start().await;
    assert_eq!(league.call("echo", &json!({ "any": ["thing"] })).await.json(), json!({ "any": ["thing"] }));
    let request = league.request("POST", "/rpc/size").header(CONTENT_TYPE, "application/octet-stream");
    assert_eq!(send(request.body(vec![0, 255, 7])).await.json(), json!(3));
}

#[tokio::test]
async fn get_may_only_read() {
    let league = League::start().await;
    let refused = league.get("/rpc/found_club?name=x").await;
    assert_eq!((refused.status, refused.code()), (405, "25006".to_owned()));
    let made = league.call("found_club", &json!({ "name": "Made" })).await;
    assert_eq!((made.status, &made.json()["name"]), (200, &json!("Made")));
    let options = send(league.request("OPTIONS", "/rpc/forget")).await;
    assert_eq!(options.header("allow"), "OPTIONS,POST");
}

#[tokio::test]
async fn functions_set_status_and_headers() {
    let league = League::start().await;
    let answer = league.call("teapot", &json!({})).await;
    assert_eq!((answer.status, answer.json()), (418, json!("short and stout")));
    assert_eq!((answer.header("x-brew"), answer.header("cache-control")), ("tea", "no-store"));
    let bad = league.call("refuse", &json!({ "how": "status-setting" })).await;
    assert_eq!((bad.status, bad.code()), (500, "PGRST112".to_owned()));
    let bad = league.call("refuse", &json!({ "how": "header-setting" })).await;
    assert_eq!((bad.status, bad.code()), (500, "PGRST111".to_owned()));
}

#[tokio::test]
async fn what_functions_raise_reaches_the_client() {
    let league = League::start().await;
    let plain = league.call("refuse", &json!({ "how": "plain" })).await;
    assert_eq!(plain.status, 400);
    assert_eq!(
        plain.json(),
        json!({ "code": "P0001", "message": "no", "details": "because", "hint": "try yes" })
    );
    let status = league.call("refuse", &json!({ "how": "status" })).await;
    assert_eq!((status.status, status.json()["hint"].as_str()), (402, Some("Upgrade")));
    let whole = league.call("refuse", &json!({ "how": "whole" })).await;
    assert_eq!((whole.status, whole.header("x-why")), (429, "quota"));
    assert_eq!(whole.json(), json!({ "code": "123", "message": "Nope", "details": "d", "hint": "h" }));
}

#[tokio::test]
async fn functions_own_time_limits_hold() {
    let league = League::start().await;
    let slow = league.call("refuse", &json!({ "how": "slow" })).await;
    assert_eq!((slow.status, slow.code()), (500, "57014".to_owned()));
}
