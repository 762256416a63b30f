//! Media types: those built in, those that the database has handlers of, and the choice among them.

use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::harness::{League, Response, send};

const HANDLERS: &str = include_str!("media.sql");

async fn with_handlers() -> League {
    League::extended(HANDLERS, |_| {}).await
}

async fn accepting(league: &League, url: &str, accept: &str) -> Response {
    league.get_with(url, &[("accept", accept)]).await
}

/// Returns status, content type and body.
fn parts(response: &Response) -> (u16, &str, &str) {
    (response.status, response.header("content-type"), &response.text)
}

#[tokio::test]
async fn functions_give_the_media_type_that_their_domain_names() {
    let league = with_handlers().await;
    let text = accepting(&league, "/rpc/motto", "text/plain").await;
    assert_eq!(parts(&text), (200, "text/plain; charset=utf-8", "Row on — always"));
    let xml = accepting(&league, "/rpc/feed", "text/xml").await;
    assert_eq!(parts(&xml), (200, "text/xml; charset=utf-8", "<club name=\"Row\"/>"));
    let bytes = accepting(&league, "/rpc/keystream?size=600", "application/octet-stream").await;
    assert_eq!((bytes.status, bytes.header("content-type")), (200, "application/octet-stream"));
    assert_eq!(bytes.bytes, (0..600).map(|n| u8::try_from(n % 256).unwrap()).collect::<Vec<u8>>());
    let image = accepting(&league, "/rpc/crest", "image/png;x=1, */*;q=0.1").await;
    assert_eq!((image.status, image.header("content-type")), (200, "image/PNG"));
    assert_eq!(image.bytes, b"\x89PNG\r\n\x1a\n");
}

#[tokio::test]
async fn functions_still_give_json() {
    let league = with_handlers().await;
    for accept in ["*/*", "application/json", "image/gif, application/json;q=0.1"] {
        let json = accepting(&league, "/rpc/motto", accept).await;
        assert_eq!(parts(&json), (200, "application/json; charset=utf-8", "\"Row on — always\""), "{accept}");
    }
    let posted = league.change("POST", "/rpc/motto", &[("accept", "text/plain")], "{}").await;
    assert_eq!(posted.text, "Row on — always");
    let head = send(league.request("HEAD", "/rpc/motto").header("accept", "text/plain")).await;
    assert_eq!(parts(&head), (200, "text/plain; charset=utf-8", ""));
}

#[tokio::test]
async fn values_of_other_types_are_no_text() {
    let league = with_handlers().await;
    for (url, accept) in [
        ("/rpc/plain", "text/plain"),
        ("/rpc/motto", "text/xml"),
        ("/rpc/motto", "application/octet-stream"),
        ("/rpc/motto?select=x", "text/plain"),
        ("/clubs", "text/plain"),
    ] {
        let response = accepting(&league, url, accept).await;
        assert_eq!(
            (response.status, response.code()),
            (406, "PGRST107".to_owned()),
            "{url} {accept}: {response:?}"
        );
    }
}

#[tokio::test]
async fn a_handler_of_any_type_responds_to_everything() {
    let league = with_handlers().await;
    for accept in ["*/*", "application/json", "odd/type"] {
        let response = accepting(&league, "/rpc/anything", accept).await;
        assert_eq!(parts(&response), (200, "application/octet-stream", "<p>Row</p>"), "{accept}");
        let response = accepting(&league, "/teams.txt?id=lt.3&order=id", accept).await;
        assert_eq!(
            parts(&response),
            (200, "application/octet-stream", "Row Firsts\nRow Reserves\n"),
            "{accept}"
        );
    }
    let html = accepting(&league, "/rpc/anything", "text/html").await;
    assert_eq!(parts(&html), (200, "text/html; charset=utf-8", "<p>Row</p>"));
    assert_eq!(html.header("vary"), "Cookie");
    let object = accepting(&league, "/teams.txt?id=eq.1", "application/vnd.pgrst.object+json").await;
    assert_eq!(object.json(), json!({ "id": 1, "name": "Row Firsts" }));
    let some = accepting(&league, "/teams.txt?id=eq.1&select=name", "*/*").await;
    assert_eq!(some.json(), json!([{ "name": "Row Firsts" }]));
}

#[tokio::test]
async fn a_handler_of_a_tables_rows_needs_whole_rows() {
    let league = with_handlers().await;
    for url in ["/players?id=lt.3&order=id", "/rpc/team_players?team=1", "/players?select=*&limit=2"] {
        let response = accepting(&league, url, "application/vnd.squad").await;
        assert_eq!(parts(&response), (200, "application/vnd.squad", "1=Ada;2=Bea;"), "{url}");
        assert_eq!(response.header("content-disposition"), "attachment; filename=\"squad\"");
    }
    for url in ["/players?select=id,name", "/players?select=*,teams(*)", "/teams", "/rpc/numbers"] {
        let response = accepting(&league, url, "application/vnd.squad").await;
        assert_eq!((response.status, response.code()), (406, "PGRST107".to_owned()), "{url}: {response:?}");
    }
    let full = [("accept", "application/vnd.squad"), ("prefer", "return=representation")];
    let new = league.change("POST", "/players", &full, r#"{"id":9,"name":"Eve"}"#).await;
    assert_eq!(parts(&new), (201, "application/vnd.squad", "9=Eve;"));
    let changed = league.change("PATCH", "/players?id=eq.9", &full, r#"{"name":"Eva"}"#).await;
    assert_eq!(parts(&changed), (200, "application/vnd.squad", "9=Eva;"));
    let gone = league.change("DELETE", "/players?id=eq.9", &full[..1], "").await;
    assert_eq!(parts(&gone), (204, "", ""));
}

#[tokio::test]
async fn a_handler_of_any_rows_takes_every_select() {
    let league = with_handlers().await;
    for (url, body) in [
        ("/clubs?select=name&id=lt.3&order=id", "{\"name\":\"Harbour Row\"}\n{\"name\":\"Mill Lane\"}\n"),
        ("/teams?select=id,clubs(id)&id=eq.1", "{\"id\":1,\"clubs\":{\"id\":1}}\n"),
        ("/rpc/add?a=1&b=2", "3\n"),
        ("/rpc/totals", "{\"players\":4,\"teams\":4}\n"),
    ] {
        let response = accepting(&league, url, "text/x-lines").await;
        assert_eq!(parts(&response), (200, "text/x-lines", body), "{url}");
    }
}

#[tokio::test]
async fn built_in_types_may_be_overridden_for_a_table() {
    let league = with_handlers().await;
    let own = accepting(&league, "/clubs?id=eq.1", "text/csv").await;
    assert_eq!(parts(&own), (200, "text/csv; charset=utf-8", "\u{feff}Harbour Row\r\n"));
    let built_in = accepting(&league, "/clubs?id=eq.1&select=id,name", "text/csv").await;
    assert_eq!(built_in.text, "id,name\n1,\"Harbour Row\"");
}

#[tokio::test]
async fn the_best_type_that_can_be_given_is() {
    let league = League::start().await;
    for (accept, given) in [
        ("text/csv;q=0.5, application/json;q=0.6", "application/json; charset=utf-8"),
        ("text/csv, application/json", "text/csv; charset=utf-8"),
        ("image/png, text/csv;q=0.2, */*;q=0.1", "text/csv; charset=utf-8"),
        ("application/json;charset=utf-8", "application/json; charset=utf-8"),
        ("APPLICATION/VND.PGRST.ARRAY+JSON", "application/json; charset=utf-8"),
        (
            "text/csv, application/vnd.pgrst.array+json;nulls=stripped",
            "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8",
        ),
        ("", "application/json; charset=utf-8"),
    ] {
        let response = accepting(&league, "/clubs", accept).await;
        assert_eq!((response.status, response.header("content-type")), (200, given), "{accept}");
        assert_eq!(response.header("vary"), "Accept, Prefer, Range");
    }
    let twice = [("accept", "image/png"), ("accept", "text/csv")];
    assert_eq!(league.get_with("/clubs", &twice).await.header("content-type"), "text/csv; charset=utf-8");
    for (accept, echoed) in [
        ("Image/PNG, text/html;level=1", "text/html;level=1, Image/PNG"),
        ("application/json;q=0", ""),
        ("application/geo+json", "application/geo+json"),
        (
            "application/vnd.pgrst.plan+json;options=analyze",
            "application/vnd.pgrst.plan+json; for=\"application/json\"; options=analyze",
        ),
    ] {
        let response = accepting(&league, "/clubs", accept).await;
        assert_eq!((response.status, response.code()), (406, "PGRST107".to_owned()), "{accept}");
        assert_eq!(response.json()["message"], format!("None of these media types are available: {echoed}"));
    }
}

#[tokio::test]
async fn nulls_are_left_out_where_that_is_asked_for() {
    let league = League::start().await;
    let array =
        [("accept", "application/vnd.pgrst.array+json;nulls=stripped"), ("prefer", "return=representation")];
    let object = [
        ("accept", "application/vnd.pgrst.object+json; nulls=stripped"),
        ("prefer", "return=representation"),
    ];
    let url = "/clubs?select=id,founded,teams(id,club:club_id)&id=eq.3";
    assert_eq!(league.get_with(url, &array[..1]).await.json(), json!([{ "id": 3, "teams": [] }]));
    assert_eq!(league.get_with(url, &object[..1]).await.json(), json!({ "id": 3, "teams": [] }));
    let new = league.change("POST", "/clubs", &object, r#"{"id":8,"name":"New"}"#).await;
    assert_eq!((new.status, new.json()), (201, json!({ "id": 8, "name": "New" })));
    assert_eq!(new.header("content-type"), "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8");
    let put = league.change("PUT", "/clubs?id=eq.8", &array, r#"{"id":8,"name":"Newer"}"#).await;
    assert_eq!(put.json(), json!([{ "id": 8, "name": "Newer" }]));
    let changed = league.change("PATCH", "/clubs?id=eq.8", &array, r#"{"name":"Newest"}"#).await;
    assert_eq!(changed.json(), json!([{ "id": 8, "name": "Newest" }]));
    let called = league.change("POST", "/rpc/found_club", &array, r#"{"name":"Other"}"#).await;
    assert_eq!(called.json()["founded"], json!(null));
    assert!(called.json().get("founded").is_none());
    let gone = league.change("DELETE", "/clubs?id=eq.8", &object, "").await;
    assert_eq!(gone.json(), json!({ "id": 8, "name": "Newest" }));
}

#[tokio::test]
async fn plans_are_told_where_that_is_allowed() {
    let league = League::extended(HANDLERS, |settings| settings.db_plan_enabled = true).await;
    let text = accepting(&league, "/clubs", "application/vnd.pgrst.plan").await;
    let media = "application/vnd.pgrst.plan+text; for=\"application/json\"; charset=utf-8";
    assert_eq!((text.status, text.header("content-type")), (200, media));
    assert!(text.text.starts_with("Aggregate  (cost="), "{text:?}");
    assert!(text.text.lines().count() > 1 && text.text.ends_with('\n'));
    assert_eq!((text.header("content-range"), text.header("content-profile")), ("", "league"));

    let accept = "application/vnd.pgrst.plan+json; for=\"application/vnd.pgrst.object+json\"; options=analyze|verbose|buffers|settings|wal;";
    let json = accepting(&league, "/clubs?id=gt.0", accept).await;
    let media = "application/vnd.pgrst.plan+json; for=\"application/vnd.pgrst.object+json\"; \
                 options=analyze|verbose|settings|buffers|wal; charset=utf-8";
    assert_eq!((json.status, json.header("content-type")), (200, media));
    let plan = &json.json()[0]["Plan"];
    assert_eq!((&plan["Actual Rows"].as_f64(), plan["Output"].is_array()), (&Some(1.0), true), "{json:?}");

    let of_handler = "application/vnd.pgrst.plan+json; for=\"application/vnd.squad\"; options=verbose";
    let handled = accepting(&league, "/players", of_handler).await;
    assert!(handled.text.contains("squad("), "{handled:?}");
    for accept in [
        "application/vnd.pgrst.plan; for=\"image/gif\"",
        "application/vnd.pgrst.plan; for=\"application/vnd.pgrst.plan\"",
    ] {
        assert_eq!(accepting(&league, "/players", accept).await.code(), "PGRST107", "{accept}");
    }
}

#[tokio::test]
async fn plans_of_changes_and_calls_change_nothing_unless_analyzed() {
    let league = League::with(|settings| {
        settings.db_plan_enabled = true;
        settings.db_tx_end = rest::TxEnd::CommitAllowOverride;
    })
    .await;
    let plan = "application/vnd.pgrst.plan+json";
    let analyzed = "application/vnd.pgrst.plan+json; options=analyze";
    let kept = ["/clubs?id=eq.3", "/clubs?select=id,name&id=eq.3"];
    for (method, url, body) in [
        ("POST", "/clubs", r#"{"name":"Never"}"#),
        ("PATCH", kept[0], r#"{"name":"Never"}"#),
        ("PUT", kept[0], r#"{"id":3,"name":"Never","founded":null}"#),
        ("DELETE", kept[0], ""),
        ("POST", "/rpc/found_club", r#"{"name":"Never"}"#),
    ] {
        let response = league.change(method, url, &[("accept", plan)], body).await;
        assert_eq!(response.status, 200, "{method} {url}: {response:?}");
        assert!(response.json()[0]["Plan"]["Node Type"].is_string());
        let undone = [("accept", analyzed), ("prefer", "tx=rollback")];
        assert_eq!(league.change(method, url, &undone, body).await.status, 200, "{method} {url}");
    }
    assert_eq!(league.rows("/clubs?select=name&order=id").await.as_array().unwrap().len(), 3);
    let done = league.change("PATCH", kept[0], &[("accept", analyzed)], r#"{"name":"Quarry"}"#).await;
    assert_eq!(done.status, 200);
    assert_eq!(league.rows(kept[1]).await, json!([{ "id": 3, "name": "Quarry" }]));
}

/// What PostGIS' function does with the first geometry of a row, for geometries that are JSON already.
const GEOJSON: &str = "
  create schema gis;
  grant usage on schema gis to anon, authenticated;
  create function gis.st_asgeojson(r record, geom_column text default '') returns text stable language plpgsql as $$
  begin
    return json_build_object('type', 'Feature', 'geometry', to_jsonb(r) -> 'place', 'properties', to_jsonb(r) - 'place');
  end $$;
  create table league.grounds (id int primary key, name text, place jsonb);
  grant select on league.grounds to anon;
  grant all on league.grounds to authenticated;
  insert into league.grounds values (1, 'The Row', '{\"type\":\"Point\",\"coordinates\":[1,2]}');
";

#[tokio::test]
async fn features_are_collected_where_postgis_is() {
    let league = League::extended(GEOJSON, |_| {}).await;
    let one = accepting(&league, "/grounds", "application/geo+json").await;
    assert_eq!((one.status, one.header("content-type")), (200, "application/geo+json; charset=utf-8"));
    let feature = json!({
        "type": "Feature", "geometry": { "type": "Point", "coordinates": [1, 2] },
        "properties": { "id": 1, "name": "The Row" },
    });
    assert_eq!(one.json(), json!({ "type": "FeatureCollection", "features": [feature] }));
    let none = accepting(&league, "/grounds?id=eq.2", "application/geo+json").await;
    assert_eq!(none.json(), json!({ "type": "FeatureCollection", "features": [] }));
    let full = [("accept", "application/geo+json"), ("prefer", "return=representation")];
    let new = league.change("POST", "/grounds?select=id,place", &full, r#"{"id":2}"#).await;
    assert_eq!(new.json()["features"][0]["properties"], json!({ "id": 2 }));
}

#[tokio::test]
async fn comma_separated_values_survive_both_ways() {
    let league = League::start().await;
    let values = "id,name,\"a, \"\"b\"\"\"\n1,\"x, \"\"y\"\"\nz \\ w\",\n2,NULL,\"\"\n";
    let superuser = league.database.client().await;
    superuser
        .batch_execute(
            "create table league.odd (id int, name text, \"a, \"\"b\"\"\" text);
             grant all on league.odd to authenticated; notify pgrst",
        )
        .await
        .unwrap();
    league.until("/odd", 401).await;
    let csv = |method, url| {
        let request = league.request(method, url).bearer_auth(crate::harness::token_of("authenticated"));
        request.header(CONTENT_TYPE, "text/csv; charset=utf-8").header("accept", "text/csv")
    };
    let new = send(csv("POST", "/odd").header("prefer", "return=representation").body(values)).await;
    let expected = "id,name,\"a, \"\"b\"\"\"\n1,\"x, \"\"y\"\"\nz \\ w\",\"\"\n2,,\"\"";
    assert_eq!(parts(&new), (201, "text/csv; charset=utf-8", expected));
    assert_eq!(send(csv("GET", "/odd?id=eq.9")).await.text, "\n");
    let changed =
        send(csv("PATCH", "/odd?id=eq.2").header("prefer", "return=representation").body("name\nX")).await;
    assert_eq!(changed.text, "id,name,\"a, \"\"b\"\"\"\n2,X,\"\"");
    let called = send(csv("POST", "/rpc/add").body("a,b\n1,2")).await;
    assert_eq!(parts(&called), (200, "text/csv; charset=utf-8", "pgrst_scalar\n3"));
    for (body, message) in [
        ("id,name\n1", "All lines must have same number of fields"),
        ("id,name\n\"1,x", "CSV has an unclosed quote"),
    ] {
        let refused = send(csv("POST", "/odd").body(body)).await;
        assert_eq!((refused.status, refused.code()), (400, "PGRST102".to_owned()));
        assert_eq!(refused.json()["message"], message);
    }
}
