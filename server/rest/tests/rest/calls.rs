//! Functions.

use hyper::ext::ReasonPhrase;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::harness::{League, Response, send};

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
async fn rows_of_no_type_are_given_as_they_are() {
    let sql = "CREATE FUNCTION league.untyped() RETURNS SETOF record STABLE LANGUAGE sql
            AS $$ SELECT id, name FROM league.clubs ORDER BY id $$;
        CREATE FUNCTION league.untyped_row() RETURNS record STABLE LANGUAGE sql AS $$ SELECT 1 AS id, 'one'::text AS name $$;";
    let league = League::extended(sql, |_| {}).await;
    let all = league.rows("/rpc/untyped").await;
    assert_eq!(all, league.rows("/clubs?select=id,name&order=id").await);
    assert_eq!(league.call("untyped", &json!({})).await.json(), all);
    let page = league.get_with("/rpc/untyped?limit=1&offset=1", &[("prefer", "count=exact")]).await;
    assert_eq!(page.json(), json!([all[1]]));
    assert_eq!(page.header("content-range"), format!("1-1/{}", all.as_array().unwrap().len()));
    assert_eq!(league.rows("/rpc/untyped_row").await, json!({ "id": 1, "name": "one" }));
    for url in ["/rpc/untyped?select=id", "/rpc/untyped?id=eq.1"] {
        let refused = league.get(url).await;
        assert!((400..500).contains(&refused.status), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn results_are_read_like_relations() {
    let league = League::start().await;
    let url = "/rpc/team_players?team=1&select=name,label,teams(name)&id=lt.9&order=id.desc&limit=1";
    let response = league.get_with(url, &[("prefer", "count=exact")]).await;
    assert_eq!(
        response.json(),
        json!([{ "name": "Bea", "label": "Bea #2", "teams": { "name": "Row Firsts" } }])
    );
    assert_eq!((response.status, response.header("content-range")), (206, "0-0/2"));
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

const BODIES: &str = "
  create function league.shouted(text) returns text immutable language sql as $$ select upper($1) $$;
  create function league.mirrored(xml) returns xml immutable language sql as $$ select $1 $$;
  create function league.kept(jsonb) returns jsonb immutable language sql as $$ select $1 $$;
  create function league.either(jsonb) returns text immutable language sql as $$ select 'the body' $$;
  create function league.either(a int) returns text immutable language sql as $$ select 'by name' $$;
  create function league.named(a jsonb) returns jsonb immutable language sql as $$ select a $$;
  create type league.place as (street text, no int);
  create type league.mood as enum ('glad', 'sad');
  create domain league.positive as int check (value > 0);
  create function league.street(p league.place) returns text immutable language sql as $$ select p.street $$;
  create function league.opposite(m league.mood) returns league.mood immutable language sql
    as $$ select case m when 'glad' then 'sad'::league.mood else 'glad' end $$;
  create function league.doubled(n league.positive) returns league.positive immutable language sql as $$ select n * 2 $$;
  create function league.\"odd call\"(\"a b\" int, \"c.d\" int default 2, \"é\" int default 3) returns int immutable
    language sql as $$ select $1 + $2 + $3 $$;
  create function league.both(inout a int, inout b text) immutable language sql as $$ select $1 + 1, $2 || '!' $$;
  create function league.twice(n int) returns table (n_times int, squared int) immutable language sql
    as $$ select n * i, n * n from generate_series(1, 2) i $$;
  create function league.nobody() returns league.clubs stable language sql as $$ select * from league.clubs where false $$";

/// Sends a body by POST as it is.
async fn post_as(league: &League, url: &str, content_type: &str, body: &[u8]) -> Response {
    send(league.request("POST", url).header(CONTENT_TYPE, content_type).body(body.to_vec())).await
}

#[tokio::test]
async fn unnamed_parameters_of_every_type_take_bodies_of_their_media_type() {
    let league = League::extended(BODIES, |_| {}).await;
    for (url, content_type, body, result) in [
        ("/rpc/shouted", "text/plain", "héllo, \"you\"", json!("HÉLLO, \"YOU\"")),
        ("/rpc/shouted", "text/plain; charset=utf-8", "", json!("")),
        ("/rpc/mirrored", "text/xml", "<a b=\"c\">d</a>", json!("<a b=\"c\">d</a>")),
        ("/rpc/kept", "application/json", "{\"b\":1.50,\"a\":[null]}", json!({ "a": [null], "b": 1.50 })),
        ("/rpc/size", "application/octet-stream", "abc", json!(3)),
        ("/rpc/either", "application/json", "{\"a\":1}", json!("by name")),
        ("/rpc/either", "application/json", "{\"b\":1}", json!("the body")),
    ] {
        let response = post_as(&league, url, content_type, body.as_bytes()).await;
        assert_eq!((response.status, response.json()), (200, result), "{url} {content_type} {body}");
    }
}

#[tokio::test]
async fn bodies_that_no_unnamed_parameter_takes_are_refused() {
    let league = League::extended(BODIES, |_| {}).await;
    for (url, content_type, body, status, code, details) in [
        (
            "/rpc/shouted",
            "application/octet-stream",
            "x",
            404,
            "PGRST202",
            "a single unnamed bytea parameter",
        ),
        ("/rpc/size", "text/plain", "x", 404, "PGRST202", "a single unnamed text parameter"),
        ("/rpc/kept", "text/xml", "<a/>", 404, "PGRST202", "a single unnamed xml parameter"),
        ("/rpc/shouted", "application/json", "{}", 404, "PGRST202", "a single unnamed json/jsonb parameter"),
        // A parameter with a name is never the whole body.
        ("/rpc/named", "application/json", "{\"x\":1}", 404, "PGRST202", "with parameter x or with"),
        ("/rpc/mirrored", "text/xml", "<a>", 400, "2200N", "line 1"),
        ("/rpc/kept", "application/json", "{", 400, "PGRST102", ""),
        ("/rpc/shouted", "text/plain", "\0", 400, "22021", ""),
        ("/rpc/shouted", "image/png", "x", 400, "PGRST102", ""),
        // Only objects have the names of arguments, which are looked for first.
        ("/rpc/kept", "application/json", "[1,2]", 400, "PGRST102", ""),
    ] {
        let response = post_as(&league, url, content_type, body.as_bytes()).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (status, code),
            "{url} {content_type}: {response:?}"
        );
        assert!(response.json()["details"].as_str().unwrap_or_default().contains(details), "{response:?}");
    }
    let raw = post_as(&league, "/rpc/size", "text/plain", b"x").await.json();
    assert_eq!(raw["message"], "Could not find the function league.size in the schema cache");
    assert_eq!(raw["hint"], json!(null));
}

#[tokio::test]
async fn forms_name_arguments() {
    let league = League::start().await;
    let form = "application/x-www-form-urlencoded";
    for (url, body, result) in [
        ("/rpc/add", "a=1&b=2", json!(3)),
        ("/rpc/add", "a=40", json!(50)),
        ("/rpc/many", "names=x+y&names=%2B", json!("x y++")),
        ("/rpc/sum_of", "numbers=%7B1,2%7D", json!(3)),
        ("/rpc/team_players?select=id&order=id.desc", "team=1", json!([{ "id": 2 }, { "id": 1 }])),
    ] {
        let response = post_as(&league, url, form, body.as_bytes()).await;
        assert_eq!((response.status, response.json()), (200, result), "{url} {body}");
    }
    for (body, status, code) in
        [("c=1", 404, "PGRST202"), ("", 404, "PGRST202"), ("a=x", 400, "22P02"), ("a=%FF", 400, "PGRST102")]
    {
        let response = post_as(&league, "/rpc/add", form, body.as_bytes()).await;
        assert_eq!((response.status, response.code().as_str()), (status, code), "{body}: {response:?}");
    }
}

#[tokio::test]
async fn arguments_and_results_are_of_any_type_and_name() {
    let league = League::extended(BODIES, |_| {}).await;
    for (url, result) in [
        ("/rpc/street?p=(Quay,7)", json!("Quay")),
        ("/rpc/opposite?m=glad", json!("sad")),
        ("/rpc/doubled?n=4", json!(8)),
        ("/rpc/named?a={%22x%22:1}", json!({ "x": 1 })),
        ("/rpc/odd%20call?%22a%20b%22=1", json!(6)),
        ("/rpc/odd%20call?%22a%20b%22=1&%22c.d%22=10&%C3%A9=100", json!(111)),
        ("/rpc/both?a=1&b=x", json!({ "a": 2, "b": "x!" })),
        ("/rpc/twice?n=3&select=squared,n_times&n_times=gt.3", json!([{ "squared": 9, "n_times": 6 }])),
        ("/rpc/nobody", json!({ "id": null, "name": null, "founded": null })),
    ] {
        assert_eq!(league.rows(url).await, result, "{url}");
    }
    for (function, arguments, result) in [
        ("street", json!({ "p": { "street": "Quay", "no": 7 } }), json!("Quay")),
        ("opposite", json!({ "m": "sad" }), json!("glad")),
        ("doubled", json!({ "n": 4 }), json!(8)),
        ("odd%20call", json!({ "a b": 1, "c.d": 10 }), json!(14)),
    ] {
        assert_eq!(league.call(function, &arguments).await.json(), result, "{function}");
    }
    for (url, code) in [
        ("/rpc/street?p=(Quay", "22P02"),
        ("/rpc/opposite?m=angry", "22P02"),
        ("/rpc/doubled?n=-4", "23514"),
        ("/rpc/named?a=nonsense", "22P02"),
        ("/rpc/add?=1", "PGRST100"),
    ] {
        let refused = league.get(url).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, code), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn errors_of_missing_functions_suggest_similar_ones() {
    let league = League::start().await;
    for (url, hint) in [
        ("/rpc/team_playrs?team=1", json!("Perhaps you meant to call the function league.team_players")),
        ("/rpc/add?a=1&bb=2", json!("Perhaps you meant to call the function league.add(a, b)")),
        ("/rpc/add?b=1", json!("Perhaps you meant to call the function league.add(a, b)")),
        // Nothing is near to nothing, and short names are near to nothing.
        ("/rpc/add", json!(null)),
        ("/rpc/ad?a=1", json!(null)),
        ("/rpc/nothing_of_the_kind", json!(null)),
    ] {
        let missing = league.get(url).await;
        assert_eq!((missing.status, missing.code().as_str()), (404, "PGRST202"), "{url}: {missing:?}");
        assert_eq!(missing.json()["hint"], hint, "{url}");
    }
    for url in ["/rpc/add?a=1&id=in.1,2", "/rpc/many?names=is.great", "/rpc/many?names=not.eqx"] {
        let mistaken = league.get(url).await;
        assert_eq!((mistaken.status, mistaken.code().as_str()), (400, "PGRST100"), "{url}: {mistaken:?}");
    }
    let body = league.get("/rpc/add?b=1&c=2").await.json();
    assert_eq!(body["message"], "Could not find the function league.add(b, c) in the schema cache");
    let details = "Searched for the function league.add with parameters b, c, but no matches were found in the \
                   schema cache.";
    assert_eq!(body["details"], details);
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
    let response = league.call("teapot", &json!({})).await;
    assert_eq!((response.status, response.json()), (418, json!("short and stout")));
    assert_eq!((response.header("x-brew"), response.header("cache-control")), ("tea", "no-store"));
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
async fn functions_say_what_the_status_line_says() {
    let sql = "create function league.expire(state text, message text, detail text) returns void language plpgsql as $$
      begin raise exception using errcode = state, message = message, detail = detail; end $$";
    let league = League::extended(sql, |_| {}).await;
    let message = r#"{"code":"9","message":"m"}"#;
    let detail = |text: &str| json!({ "status": 419, "status_text": text, "headers": {} }).to_string();
    for (state, message, detail, reason) in [
        ("PT419", "Page Expired", "x".to_owned(), Some("Page Expired")),
        ("PGRST", message, detail("Page Expired"), Some("Page Expired")),
        ("PT402", "Payment Required", "x".to_owned(), Some("Payment Required")),
        ("PT404", "Nobody is here", "x".to_owned(), Some("Nobody is here")),
        // What no status line can hold is left out of it.
        ("PT404", "two\nlines", "x".to_owned(), Some("Not Found")),
        ("PGRST", message, detail("two\r\nX-Planted: 1"), None),
    ] {
        let body = json!({ "state": state, "message": message, "detail": detail });
        let response = league.request("POST", "/rpc/expire").json(&body).send().await.unwrap();
        let status = response.status();
        let reason_phrase =
            response.extensions().get::<ReasonPhrase>().map(|reason| reason.as_bytes().to_vec());
        let reason_phrase = reason_phrase.or_else(|| Some(status.canonical_reason()?.as_bytes().to_vec()));
        assert!(!response.headers().contains_key("x-planted"));
        match reason {
            Some(reason) => {
                assert_eq!(reason_phrase.as_deref(), Some(reason.as_bytes()), "{body}: {response:?}")
            }
            None => assert_eq!(status.as_u16(), 419, "{body}: {response:?}"),
        }
    }
}

#[tokio::test]
async fn functions_own_time_limits_hold() {
    let league = League::start().await;
    let slow = league.call("refuse", &json!({ "how": "slow" })).await;
    assert_eq!((slow.status, slow.code()), (500, "57014".to_owned()));
}
