//! The `postgrest` crate as a client: every method of its interface against the service.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use postgrest::{Builder, Postgrest};
use serde_json::{Value, json};

use crate::harness::{League, token_of};

/// Returns the client, signed in.
fn client(league: &League) -> Postgrest {
    Postgrest::new(league.base())
        .insert_header("authorization", format!("Bearer {}", token_of("authenticated")))
}

/// Returns status and body of what `builder` asks.
async fn response(builder: Builder) -> (u16, Value) {
    let response = builder.execute().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

/// Returns the `id`s of the players that `builder` finds.
async fn ids(builder: Builder) -> Vec<i64> {
    let (status, body) = response(builder.select("id").order("id")).await;
    assert_eq!(status, 200, "{body}");
    body.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn comparisons_find_their_rows() {
    let league = League::start().await;
    let client = client(&league);
    let players = || client.from("players");
    assert_eq!(ids(players().eq("name", "Dot, \"the wall\" (x)")).await, [4]);
    assert_eq!(ids(players().neq("id", "1")).await, [2, 3, 4]);
    assert_eq!(ids(players().gt("id", "1").lt("id", "4")).await, [2, 3]);
    assert_eq!(ids(players().gte("id", "2").lte("id", "3")).await, [2, 3]);
    assert_eq!(ids(players().like("name", "*a")).await, [1, 2]);
    assert_eq!(ids(players().ilike("name", "a%")).await, [1]);
    assert_eq!(ids(players().is("born", "null")).await, [3]);
    assert_eq!(ids(players().in_("name", ["Ada", "Dot, \\\"the wall\\\" (x)"].map(quoted))).await, [1, 4]);
    assert_eq!(ids(players().not("in", "id", "(1,2)")).await, [3, 4]);
    assert_eq!(ids(players().not("is", "height", "null")).await, [1, 2, 4]);
    assert_eq!(ids(players().and("id.gt.1,name.like.*a")).await, [2]);
    assert_eq!(ids(players().or("id.eq.1,and(id.gt.2,active.is.true)")).await, [1, 4]);
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

#[tokio::test]
async fn containment_ranges_and_words_find_their_rows() {
    let league = League::start().await;
    let client = client(&league);
    let players = || client.from("players");
    assert_eq!(ids(players().cs("tags", "{left}")).await, [1, 2]);
    assert_eq!(ids(players().cd("tags", "{left,right}")).await, [2, 3, 4]);
    assert_eq!(ids(players().ov("tags", "{captain,right}")).await, [1, 4]);
    assert_eq!(ids(players().sl("shirt", (6, 10))).await, [1]);
    assert_eq!(ids(players().sr("shirt", (4, 10))).await, [4]);
    assert_eq!(ids(players().nxl("shirt", (4, 10))).await, [2, 4]);
    assert_eq!(ids(players().nxr("shirt", (4, 10))).await, [1, 2]);
    assert_eq!(ids(players().adj("shirt", (8, 20))).await, [2, 4]);
    assert_eq!(ids(players().fts("biography", "striker", Some("english"))).await, [1, 4]);
    assert_eq!(ids(players().plfts("biography", "patient keepers", Some("english"))).await, [2]);
    assert_eq!(ids(players().phfts("biography", "fast striker", Some("english"))).await, [1]);
    assert_eq!(ids(players().wfts("biography", "striker -fast", None)).await, [4]);
}

#[tokio::test]
async fn results_are_shaped_ordered_and_counted() {
    let league = League::start().await;
    let client = client(&league);
    let one = client.from("clubs").select("name").eq("id", "2").single();
    assert_eq!(response(one).await, (200, json!({ "name": "Mill Lane" })));
    let none = client.from("clubs").eq("id", "99").single();
    assert_eq!(response(none).await.0, 406);
    let nested = client
        .from("clubs")
        .select("name,teams(name)")
        .order("name.desc")
        .order_with_options("name", Some("teams"), false, true)
        .foreign_table_limit(1, "teams")
        .limit(2);
    let expected = json!([{ "name": "Old Quarry", "teams": [] }, { "name": "Mill Lane", "teams": [{ "name": "Lane Firsts" }] }]);
    assert_eq!(response(nested).await.1, expected);
    let second = client.from("clubs").select("id").order("id").range(1, 1);
    assert_eq!(response(second).await.1, json!([{ "id": 2 }]));
    for (builder, range) in [
        (client.from("clubs").exact_count().range(1, 2), "1-2/3"),
        // It asks for the first row alone when it counts.
        (client.from("clubs").exact_count(), "0-0/3"),
        (client.from("clubs").range(5, 6), "*/*"),
    ] {
        let response = builder.execute().await.unwrap();
        assert_eq!(response.headers()["content-range"], range);
    }
    for builder in [client.from("clubs").planned_count(), client.from("clubs").estimated_count()] {
        let response = builder.execute().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
    }
}

#[tokio::test]
async fn rows_are_changed_and_shown() {
    let league = League::start().await;
    let client = client(&league);
    let made = client.from("clubs").insert(r#"[{"name":"North End"},{"name":"South End"}]"#).select("name");
    assert_eq!(response(made).await, (201, json!([{ "name": "North End" }, { "name": "South End" }])));
    let merged = client.from("clubs").upsert(r#"[{"name":"North End","founded":"1950-01-01"}]"#);
    let (status, body) = response(merged.on_conflict("name").select("name,founded")).await;
    assert_eq!((status, body), (200, json!([{ "name": "North End", "founded": "1950-01-01" }])));
    let changed = client.from("clubs").eq("name", "South End").update(r#"{"name":"Far End"}"#).select("name");
    assert_eq!(response(changed).await, (200, json!([{ "name": "Far End" }])));
    let gone = client.from("clubs").eq("name", "Far End").delete().select("name");
    assert_eq!(response(gone).await, (200, json!([{ "name": "Far End" }])));
    let (status, body) = response(client.from("clubs").insert(r#"{"name":"Mill Lane"}"#)).await;
    assert_eq!((status, &body["code"]), (409, &json!("23505")));
}

#[tokio::test]
async fn functions_schemas_and_tokens_are_chosen() {
    let league = League::start().await;
    let client = client(&league);
    assert_eq!(response(client.rpc("add", r#"{"a":1,"b":2}"#)).await, (200, json!(3)));
    let players = client.rpc("team_players", r#"{"team":1}"#).select("name").eq("id", "2");
    assert_eq!(response(players).await, (200, json!([{ "name": "Bea" }])));
    let archive = Postgrest::new(league.base()).schema("archive");
    assert_eq!(response(archive.from("clubs")).await, (200, json!([{ "id": 7, "name": "Ghost Town" }])));
    let (status, body) = response(Postgrest::new(league.base()).schema("secret").from("clubs")).await;
    assert_eq!((status, &body["code"]), (406, &json!("PGRST106")));
    let mine = Postgrest::new(league.base()).from("secrets").auth(token_of("authenticated")).select("note");
    assert_eq!(response(mine).await, (200, json!([{ "note": "mine" }])));
    let anonymous = Postgrest::new(league.base()).from("secrets").select("note");
    assert_eq!(response(anonymous).await.0, 401);
}
