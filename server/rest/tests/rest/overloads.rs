//! Functions whose parameters have no name, and those that share theirs with others.

use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::harness::{League, Response, send};

const FUNCTIONS: &str = "
    create function league.takes_text(text) returns text immutable language sql as $$ select 'text ' || $1 $$;
    create function league.takes_bytes(bytea) returns text immutable language sql as $$ select encode($1, 'hex') $$;
    create function league.takes_xml(xml) returns text immutable language sql as $$ select 'xml ' || $1::text $$;
    create function league.takes_any(json) returns text immutable language sql as $$ select 'json ' || $1::text $$;
    create function league.takes_all(text default 'nothing') returns text immutable language sql
      as $$ select 'all ' || $1 $$;
    create function league.gives_one(int, out one int) immutable language sql as $$ select $1 + 1 $$;
    create function league.mixed(text, b int) returns text immutable language sql as $$ select $1 || b $$;
    create function league.both() returns text immutable language sql as $$ select 'none' $$;
    create function league.both(text default 'x') returns text immutable language sql as $$ select 'text' $$;
    create function league.longer(a int) returns text immutable language sql as $$ select '1' $$;
    create function league.longer(a int, text default 'x') returns text immutable language sql as $$ select '2' $$;
    create function league.hidden() returns text immutable language sql as $$ select '0' $$;
    create function league.hidden(int default 1) returns text immutable language sql as $$ select '1' $$;
    create function league.calls_hidden() returns text language plpgsql as $$ begin return league.hidden(); end $$;
    create function league.pick(a bigint, b int default 1) returns int immutable language sql as $$ select 2 $$;
    create function league.pick(a text) returns int immutable language sql as $$ select 2 $$;
    create function league.pick(a json) returns int immutable language sql as $$ select 3 $$;
    create function league.pick(a int) returns int immutable language sql as $$ select 1 $$;
    create function league.whole(json) returns text immutable language sql as $$ select 'json' $$;
    create function league.whole(jsonb) returns text immutable language sql as $$ select 'jsonb' $$;
    create function league.whole(text) returns text immutable language sql as $$ select 'text' $$;
";

async fn start() -> League {
    League::extended(FUNCTIONS, |_| {}).await
}

async fn post(league: &League, function: &str, media: &str, body: &str) -> Response {
    let request = league.request("POST", &format!("/rpc/{function}")).header(CONTENT_TYPE, media);
    send(request.body(body.to_owned())).await
}

#[tokio::test]
async fn bodies_are_for_the_parameter_of_their_type() {
    let league = start().await;
    for (function, media, body, given) in [
        ("takes_text", "text/plain", "<a/>", "text <a/>"),
        ("takes_text", "text/plain; charset=utf-8", "it's", "text it's"),
        ("takes_bytes", "application/octet-stream", "\u{0}a", "0061"),
        ("takes_xml", "text/xml", "<a/>", "xml <a/>"),
        ("takes_any", "application/json", "{}", "json {}"),
        ("takes_all", "text/plain", "x", "all x"),
    ] {
        assert_eq!(post(&league, function, media, body).await.json(), json!(given), "{function} {media}");
    }
    for (function, media) in
        [("takes_text", "text/xml"), ("takes_bytes", "text/plain"), ("takes_xml", "text/plain")]
    {
        let refused = post(&league, function, media, "<a/>").await;
        assert_eq!((refused.status, refused.code()), (404, "PGRST202".to_owned()), "{function} {media}");
    }
}

#[tokio::test]
async fn the_empty_key_names_a_parameter_without_a_name() {
    let league = start().await;
    let object = r#"{"":"<a/>"}"#;
    for (function, given) in [
        ("takes_text", format!("text {object}")),
        ("takes_xml", format!("xml {object}")),
        ("takes_any", format!("json {object}")),
        ("takes_all", format!("all {object}")),
        ("takes_bytes", "7b22223a223c612f3e227d".to_owned()),
    ] {
        for (media, body) in
            [("application/json", object), ("application/x-www-form-urlencoded", "=%3Ca/%3E")]
        {
            let response = post(&league, function, media, body).await;
            assert_eq!((response.status, response.json()), (200, json!(given)), "{function} {media}");
        }
    }
    // The second time by a plan that was kept.
    assert_eq!(
        post(&league, "takes_text", "application/json", r#"{"":1}"#).await.json(),
        json!("text {\"\":1}")
    );
    let refused = post(&league, "gives_one", "application/json", object).await;
    assert_eq!((refused.status, refused.code()), (400, "22P02".to_owned()), "{refused:?}");
    let unknown = post(&league, "takes_text", "application/json", r#"{"":1,"b":2}"#).await;
    assert_eq!((unknown.status, unknown.code()), (404, "PGRST202".to_owned()));
    assert_eq!(post(&league, "mixed", "application/json", r#"{"":"a","b":2}"#).await.json(), json!("a2"));
    assert_eq!(league.rows("/rpc/takes_all").await, json!("all {}"));
}

#[tokio::test]
async fn functions_that_cannot_be_told_apart_are_listed() {
    let league = start().await;
    let between = |response: &Response| {
        let message = response.json()["message"].as_str().unwrap_or_default().to_owned();
        message.split_once(": ").map(|(_, list)| list.to_owned()).unwrap_or_default()
    };
    for (function, body, candidates) in [
        ("both", "{}", "league.both(), league.both( => text)"),
        ("longer", r#"{"a":1}"#, "league.longer(a => integer), league.longer(a => integer,  => text)"),
        (
            "pick",
            r#"{"a":1}"#,
            "league.pick(a => integer), league.pick(a => json), league.pick(a => text), \
             league.pick(a => bigint, b => integer)",
        ),
        ("whole", "{}", "league.whole( => json), league.whole( => jsonb)"),
        ("whole", r#"{"":1}"#, "league.whole( => json), league.whole( => jsonb), league.whole( => text)"),
        // One that only Postgres knows of.
        ("hidden", "{}", "league.hidden()"),
    ] {
        let response = post(&league, function, "application/json", body).await;
        assert_eq!((response.status, response.code()), (300, "PGRST203".to_owned()), "{response:?}");
        assert_eq!(between(&response), candidates);
    }
    assert_eq!(post(&league, "both", "text/plain", "x").await.json(), json!("text"));
    let inside = post(&league, "calls_hidden", "application/json", "{}").await;
    assert_eq!(
        (inside.status, inside.code()),
        (400, "42725".to_owned()),
        "what a function does is not the client's"
    );
}
