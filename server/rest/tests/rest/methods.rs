//! Methods: which of them a resource takes, and what those without a body in the response return.

use serde_json::json;

use crate::harness::{League, send};

const RELATIONS: &str = "
  create materialized view league.club_names as select id, name from league.clubs;
  create view league.club_sizes as select club_id, count(*) as teams from league.teams group by club_id;
  create view league.entries as select club_id, count(*) as teams from league.teams group by club_id;
  create function league.enter() returns trigger language plpgsql as $$ begin return new; end $$;
  create trigger enter instead of insert on league.entries for each row execute function league.enter();
  create view league.rumours as select name from league.clubs;
  create rule rumour as on insert to league.rumours do instead
    insert into league.clubs (name) values ('They say ' || new.name) returning name;
  create table league.unkeyed (a int);
  create table league.gates (day date primary key, visitors int) partition by range (day);
  grant all on all tables in schema league to anon, authenticated";

#[tokio::test]
async fn relations_say_which_methods_they_take() {
    let league = League::extended(RELATIONS, |_| {}).await;
    for (path, allow) in [
        ("/clubs", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/gates", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/unkeyed", "OPTIONS,GET,HEAD,POST,PATCH,DELETE"),
        ("/squads", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/club_sizes", "OPTIONS,GET,HEAD"),
        ("/club_names", "OPTIONS,GET,HEAD"),
        ("/entries", "OPTIONS,GET,HEAD,POST"),
        ("/rumours", "OPTIONS,GET,HEAD,POST,PATCH,DELETE"),
        ("/rpc/totals", "OPTIONS,GET,HEAD,POST"),
        ("/rpc/forget", "OPTIONS,POST"),
        ("/", "OPTIONS,GET,HEAD"),
    ] {
        let response = send(league.request("OPTIONS", path)).await;
        assert_eq!(
            (response.status, response.header("allow"), response.text.as_str()),
            (200, allow, ""),
            "{path}"
        );
        assert_eq!(response.header("content-length"), "0");
        assert_eq!(response.header("access-control-allow-origin"), "*");
    }
    for (path, code) in [("/nothing", "PGRST205"), ("/rpc/nothing", "PGRST202"), ("/rpc/refuse", "PGRST202")]
    {
        let response = send(league.request("OPTIONS", path)).await;
        assert_eq!((response.status, response.code().as_str()), (404, code), "{path}: {response:?}");
    }
}

#[tokio::test]
async fn other_methods_are_refused() {
    let league = League::start().await;
    for (method, path, code, message) in [
        ("TRACE", "/clubs", "PGRST117", "Unsupported HTTP method: TRACE"),
        ("COPY", "/clubs", "PGRST117", "Unsupported HTTP method: COPY"),
        ("get", "/clubs", "PGRST117", "Unsupported HTTP method: get"),
        ("PATCH", "/", "PGRST117", "Unsupported HTTP method: PATCH"),
        ("DELETE", "/rpc/add", "PGRST101", "Cannot use the DELETE method on RPC"),
        ("PUT", "/rpc/add", "PGRST101", "Cannot use the PUT method on RPC"),
        ("PATCH", "/rpc/nothing", "PGRST101", "Cannot use the PATCH method on RPC"),
    ] {
        let response = send(league.request(method, path)).await;
        assert_eq!((response.status, response.code().as_str()), (405, code), "{method} {path}: {response:?}");
        assert_eq!(response.json()["message"], message);
        assert_eq!(response.header("proxy-status"), format!("PostgREST; error={code}"));
    }
}

#[tokio::test]
async fn head_responds_as_get_without_a_body() {
    let league = League::start().await;
    for (path, accept) in [
        ("/players?select=id,teams(name)&order=id&limit=2", "application/json"),
        ("/players", "text/csv"),
        ("/clubs?id=eq.1", "application/vnd.pgrst.object+json"),
        ("/rpc/team_players?team=1", "application/json"),
        ("/rpc/add?a=1", "application/json"),
        ("/", "application/openapi+json"),
        ("/nothing", "application/json"),
        ("/clubs", "application/vnd.pgrst.object+json"),
        ("/players?offset=9", "application/json"),
    ] {
        let ask = |method| {
            let request = league.request(method, path).header("accept", accept);
            send(request.header("prefer", "count=exact"))
        };
        let (get, head) = (ask("GET").await, ask("HEAD").await);
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
        for name in ["content-type", "content-range", "content-location", "preference-applied", "vary"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
        // Zero would be a lie: RFC 9110, section 8.6.
        let length = head.header("content-length");
        assert!(length.is_empty() || length == get.header("content-length"), "{path}: {length}");
    }
}

#[tokio::test]
async fn functions_called_by_head_may_only_read() {
    let league = League::start().await;
    let refused = send(league.request("HEAD", "/rpc/found_club?name=Never")).await;
    assert_eq!(refused.status, 405);
    assert_eq!(league.rows("/clubs?name=eq.Never").await, json!([]));
}

#[tokio::test]
async fn rules_and_triggers_of_views_take_what_is_inserted() {
    let league = League::extended(RELATIONS, |_| {}).await;
    let full = [("prefer", "return=representation")];
    let inserted = league.change("POST", "/rumours?select=name", &full, r#"{"name":"goal"}"#).await;
    assert_eq!((inserted.status, inserted.json()), (201, json!([{ "name": "They say goal" }])));
    let silent = league.change("POST", "/rumours", &[], r#"{"name":"save"}"#).await;
    assert_eq!((silent.status, silent.text.as_str()), (201, ""));
    assert_eq!(league.rows("/clubs?name=like.They*").await.as_array().unwrap().len(), 2);
    let entered = league.change("POST", "/entries", &full, r#"{"club_id":9,"teams":2}"#).await;
    assert_eq!((entered.status, entered.json()), (201, json!([{ "club_id": 9, "teams": 2 }])));
    for (method, path, body) in [
        ("POST", "/club_sizes", r#"{"teams":1}"#),
        ("POST", "/club_names", r#"{"name":"x"}"#),
        ("PATCH", "/entries?club_id=eq.1", r#"{"teams":1}"#),
        ("DELETE", "/club_sizes?club_id=eq.1", ""),
    ] {
        let refused = league.change(method, path, &[], body).await;
        assert!((400..600).contains(&refused.status), "{method} {path}: {refused:?}");
        assert!(matches!(refused.code().as_str(), "55000" | "42809"), "{method} {path}: {refused:?}");
    }
}
