//! POST, PATCH, PUT and DELETE on relations.

use serde_json::json;

use crate::harness::{League, send, token_of};

const FULL: (&str, &str) = ("prefer", "return=representation");
const OBJECT: (&str, &str) = ("accept", "application/vnd.pgrst.object+json");

#[tokio::test]
async fn rows_are_inserted_and_shown_as_asked() {
    let league = League::start().await;
    let minimal = league.change("POST", "/clubs", &[], r#"{"name":"New"}"#).await;
    assert_eq!((minimal.status, minimal.text.as_str(), minimal.header("content-length")), (201, "", "0"));
    assert_eq!(minimal.header("content-range"), "*/*");

    let full = league
        .change("POST", "/teams?select=name,clubs(name)", &[FULL], r#"[{"name":"N1","club_id":4}]"#)
        .await;
    assert_eq!((full.status, full.json()), (201, json!([{ "name": "N1", "clubs": { "name": "New" } }])));
    assert_eq!(full.header("preference-applied"), "return=representation");

    let one = league.change("POST", "/clubs?select=name", &[FULL, OBJECT], r#"{"name":"Solo"}"#).await;
    assert_eq!(one.json(), json!({ "name": "Solo" }));

    let located = league
        .change("POST", "/lineups", &[("prefer", "return=headers-only")], r#"{"match_id":2,"player_id":4}"#)
        .await;
    assert_eq!((located.status, located.header("location")), (201, "/lineups?match_id=eq.2&player_id=eq.4"));

    let counted = league
        .change("POST", "/clubs", &[("prefer", "count=exact")], r#"[{"name":"A1"},{"name":"A2"}]"#)
        .await;
    assert_eq!(counted.header("content-range"), "*/2");
}

#[tokio::test]
async fn computed_fields_are_shown_of_changed_rows() {
    let league = League::start().await;
    let made = league.change("POST", "/players?select=label", &[FULL], r#"{"id":70,"name":"Gus"}"#).await;
    assert_eq!(made.json(), json!([{ "label": "Gus #70" }]));
    let changed =
        league.change("PATCH", "/players?id=eq.70&select=label", &[FULL], r#"{"name":"Hal"}"#).await;
    assert_eq!(changed.json(), json!([{ "label": "Hal #70" }]));
    let gone = league.change("DELETE", "/players?id=eq.70&select=label", &[FULL], "").await;
    assert_eq!(gone.json(), json!([{ "label": "Hal #70" }]));
}

#[tokio::test]
async fn every_type_is_read_as_postgres_reads_it() {
    let league = League::start().await;
    let row = json!({
        "id": 50, "name": "It's \"É\" \\ ", "height": 1.5, "active": null, "data": { "a": [1, null] }, "tags": ["x,y", "z"],
        "shirt": "[1,3)", "born": "2000-02-29",
    });
    let response = league
        .change(
            "POST",
            "/players?select=id,name,height,active,data,tags,shirt,born",
            &[FULL],
            &row.to_string(),
        )
        .await;
    assert_eq!(response.json(), json!([row]));
}

#[tokio::test]
async fn only_the_columns_named_are_written() {
    let league = League::start().await;
    let body = r#"[{"id":60,"name":"X","born":"1999-01-01"},{"id":61,"name":"Y"}]"#;
    let response = league
        .change("POST", "/players?columns=id,name&select=id,born,active&order=id.desc", &[FULL], body)
        .await;
    assert_eq!(
        response.json(),
        json!([{ "id": 61, "born": null, "active": true }, { "id": 60, "born": null, "active": true }])
    );
    let missing = ("prefer", "missing=default, return=representation");
    let body = r#"[{"id":62,"name":"X","active":false},{"id":63,"name":"Y"}]"#;
    let response = league
        .change("POST", "/players?columns=id,name,active&select=active&order=id", &[missing], body)
        .await;
    assert_eq!(response.json(), json!([{ "active": false }, { "active": true }]));
    assert_eq!(response.header("preference-applied"), "missing=default, return=representation");
}

#[tokio::test]
async fn nothing_given_means_defaults() {
    let league = League::start().await;
    let refused = league.change("POST", "/clubs", &[], "{}").await;
    assert_eq!((refused.status, refused.code()), (400, "23502".to_owned()));
    let none = league.change("POST", "/clubs", &[FULL], "[]").await;
    assert_eq!((none.status, none.json()), (201, json!([])));
}

#[tokio::test]
async fn forms_are_rows_too() {
    let league = League::start().await;
    let request = league.request("POST", "/clubs?select=name").bearer_auth(token_of("authenticated"));
    let request = request.header("prefer", "return=representation").form(&[("name", "From a form")]);
    assert_eq!(send(request).await.json(), json!([{ "name": "From a form" }]));
}

#[tokio::test]
async fn lines_of_csv_are_rows_too() {
    let league = League::start().await;
    let request = league.request("POST", "/players?select=id,name,born,tags&order=id");
    let request = request.bearer_auth(token_of("authenticated")).header("content-type", "text/csv");
    let request = request.header("prefer", "return=representation");
    let body = "id,name,born,tags\n80,\"Ida, the 1st\",NULL,\"{a,b}\"\n81,Jon,1999-09-09,{}\n";
    assert_eq!(
        send(request.body(body)).await.json(),
        json!([
            { "id": 80, "name": "Ida, the 1st", "born": null, "tags": ["a", "b"] },
            { "id": 81, "name": "Jon", "born": "1999-09-09", "tags": [] },
        ])
    );
}

#[tokio::test]
async fn duplicates_are_merged_or_ignored() {
    let league = League::start().await;
    let merge = ("prefer", "resolution=merge-duplicates, return=representation");
    let body = r#"[{"name":"Mill Lane","founded":"1900-01-01"},{"name":"Newer","founded":null}]"#;
    let mixed =
        league.change("POST", "/clubs?on_conflict=name&select=name,founded&order=id", &[merge], body).await;
    assert_eq!(mixed.status, 201);
    assert_eq!(
        mixed.json(),
        json!([{ "name": "Mill Lane", "founded": "1900-01-01" }, { "name": "Newer", "founded": null }])
    );
    let updated = league
        .change("POST", "/clubs?on_conflict=name", &[merge], r#"{"name":"Newer","founded":"1990-01-01"}"#)
        .await;
    assert_eq!(updated.status, 200);
    let ignore = ("prefer", "resolution=ignore-duplicates, return=representation");
    let ignored = league.change("POST", "/clubs", &[ignore], r#"{"id":1,"name":"Other"}"#).await;
    assert_eq!((ignored.status, ignored.json()), (201, json!([])));
    let clash = league.change("POST", "/clubs", &[], r#"{"id":1,"name":"Other"}"#).await;
    assert_eq!((clash.status, clash.code()), (409, "23505".to_owned()));
}

#[tokio::test]
async fn keys_of_several_columns_conflict_as_a_whole() {
    let league = League::start().await;
    let merge = ("prefer", "resolution=merge-duplicates, return=representation");
    let body = r#"[{"match_id":1,"player_id":1,"minutes":5},{"match_id":2,"player_id":4,"minutes":7}]"#;
    let merged =
        league.change("POST", "/lineups?select=match_id,minutes&order=match_id", &[merge], body).await;
    assert_eq!(
        (merged.status, merged.json()),
        (201, json!([{ "match_id": 1, "minutes": 5 }, { "match_id": 2, "minutes": 7 }]))
    );
    assert_eq!(merged.header("preference-applied"), "resolution=merge-duplicates, return=representation");
    let ignore = ("prefer", "resolution=ignore-duplicates, return=representation");
    let body = r#"[{"match_id":1,"player_id":1,"minutes":1},{"match_id":2,"player_id":2,"minutes":2}]"#;
    let ignored = league.change("POST", "/lineups?select=player_id", &[ignore], body).await;
    assert_eq!((ignored.status, ignored.json()), (201, json!([{ "player_id": 2 }])));
    let put = r#"{"match_id":1,"player_id":3,"minutes":12}"#;
    let replaced = league.change("PUT", "/lineups?match_id=eq.1&player_id=eq.3", &[FULL], put).await;
    assert_eq!(
        (replaced.status, replaced.json()),
        (200, json!([{ "match_id": 1, "player_id": 3, "minutes": 12 }]))
    );
    for (method, url, body, status, code) in [
        ("PUT", "/lineups?match_id=eq.1", put, 405, "PGRST105"),
        ("PUT", "/lineups?match_id=eq.1&player_id=gt.3", put, 405, "PGRST105"),
        ("PUT", "/lineups?match_id=eq.1&player_id=eq.3&minutes=eq.1", put, 405, "PGRST105"),
        ("PUT", "/lineups?match_id=eq.1&player_id=eq.3&or=(minutes.eq.1)", put, 405, "PGRST105"),
        ("PUT", "/lineups?match_id=eq.1&player_id=eq.4", put, 400, "PGRST115"),
        ("PUT", "/lineups?match_id=eq.1&player_id=eq.3&offset=1", put, 400, "PGRST114"),
        ("POST", "/lineups?on_conflict=minutes", put, 400, "42P10"),
        ("POST", "/lineups?on_conflict=nope", put, 400, "42703"),
    ] {
        let refused = league.change(method, url, &[merge], body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{method} {url}: {refused:?}");
    }
    let twice = league.change("POST", "/lineups", &[merge], &format!("[{put},{put}]")).await;
    assert_eq!((twice.status, twice.code()), (500, "21000".to_owned()));
}

#[tokio::test]
async fn changes_write_only_the_columns_named() {
    let league = League::start().await;
    let body = r#"{"height":1.5,"name":"Passed over","nonsense":true}"#;
    let url = "/players?id=eq.1&columns=height&select=name,height";
    let changed = league.change("PATCH", url, &[FULL], body).await;
    assert_eq!((changed.status, changed.json()), (200, json!([{ "name": "Ada", "height": 1.5 }])));
    let missing =
        league.change("PATCH", "/players?id=eq.1&columns=height,born&select=born", &[FULL], body).await;
    assert_eq!(missing.json(), json!([{ "born": null }]), "what is named and missing becomes null");
    let default = [("prefer", "return=representation, missing=default")];
    let url = "/players?id=eq.2&columns=height,active&select=active";
    assert_eq!(league.change("PATCH", url, &default, body).await.json(), json!([{ "active": true }]));
    let unknown = league.change("PATCH", "/players?id=eq.1&columns=nonsense", &[], body).await;
    assert_eq!((unknown.status, unknown.code()), (400, "PGRST204".to_owned()));
    assert_eq!(
        unknown.json()["message"],
        "Could not find the 'nonsense' column of 'players' in the schema cache"
    );
    let limited = league.change("DELETE", "/lineups?limit=1&select=match_id", &[FULL], "").await;
    assert_eq!(limited.json().as_array().map(Vec::len), Some(3), "a limit limits no changes");
}

#[tokio::test]
async fn only_one_new_row_with_a_key_has_a_place() {
    let sql = "create table league.unkeyed (a int); grant all on league.unkeyed to authenticated";
    let league = League::extended(sql, |_| {}).await;
    let headers = [("prefer", "return=headers-only")];
    let one = league.change("POST", "/clubs", &headers, r#"{"id":50,"name":"One"}"#).await;
    assert_eq!((one.status, one.header("location"), one.text.as_str()), (201, "/clubs?id=eq.50", ""));
    assert_eq!(one.header("preference-applied"), "return=headers-only");
    let two = league.change("POST", "/clubs", &headers, r#"[{"name":"Two"},{"name":"Three"}]"#).await;
    assert_eq!((two.status, two.header("location")), (201, ""));
    let unkeyed = league.change("POST", "/unkeyed", &headers, r#"{"a":1}"#).await;
    assert_eq!((unkeyed.status, unkeyed.header("location")), (201, ""));
}

#[tokio::test]
async fn schemas_of_changes_are_chosen_by_their_own_header() {
    let league = League::start().await;
    let superuser = league.database.client().await;
    superuser.batch_execute("grant all on archive.clubs to authenticated").await.unwrap();
    let archive = [("content-profile", "archive"), FULL];
    let made = league.change("POST", "/clubs", &archive, r#"{"id":8,"name":"Dust"}"#).await;
    assert_eq!((made.status, made.header("content-profile")), (201, "archive"));
    assert_eq!(made.json(), json!([{ "id": 8, "name": "Dust" }]));
    let read = [("accept-profile", "archive"), FULL];
    let changed = league.change("DELETE", "/clubs?id=eq.7", &read, "").await;
    assert_eq!(changed.json(), json!([]), "a header for reads says nothing of changes");
    let gone = league.change("DELETE", "/clubs?id=eq.7", &archive, "").await;
    assert_eq!(gone.json(), json!([{ "id": 7, "name": "Ghost Town" }]));
    let secret =
        league.change("PATCH", "/clubs?id=eq.1", &[("content-profile", "secret")], r#"{"name":"x"}"#).await;
    assert_eq!((secret.status, secret.code()), (406, "PGRST106".to_owned()));
    assert_eq!(secret.json()["hint"], "Only the following schemas are exposed: league, archive");
}

#[tokio::test]
async fn put_makes_or_replaces_one_row() {
    let league = League::start().await;
    let made = league.change("PUT", "/clubs?id=eq.90", &[FULL], r#"{"id":90,"name":"Put"}"#).await;
    assert_eq!(made.status, 201);
    let replaced = league.change("PUT", "/clubs?id=eq.90", &[FULL], r#"{"id":90,"name":"Put again"}"#).await;
    assert_eq!((replaced.status, &replaced.json()[0]["name"]), (200, &json!("Put again")));
    let other = league.change("PUT", "/clubs?id=eq.91", &[], r#"{"id":92,"name":"Other"}"#).await;
    assert_eq!((other.status, other.code()), (400, "PGRST115".to_owned()));
    assert_eq!(league.rows("/clubs?id=eq.92").await, json!([]));
}

#[tokio::test]
async fn rows_are_updated_by_filters() {
    let league = League::start().await;
    let silent = league.change("PATCH", "/players?id=eq.1", &[], r#"{"height":1.8}"#).await;
    assert_eq!((silent.status, silent.header("content-range")), (204, "0-0/*"));
    let updated = league
        .change(
            "PATCH",
            "/players?or=(id.eq.1,id.eq.2)&select=id,height,teams(name)&order=id.desc",
            &[FULL],
            r#"{"height":2}"#,
        )
        .await;
    assert_eq!(
        updated.json(),
        json!([
            { "id": 2, "height": 2, "teams": { "name": "Row Firsts" } },
            { "id": 1, "height": 2, "teams": { "name": "Row Firsts" } },
        ])
    );
    let renamed = league.change("PATCH", "/players?name=eq.Ada", &[FULL], r#"{"name":"Eve"}"#).await;
    assert_eq!(renamed.json()[0]["name"], "Eve");
    let nothing = league.change("PATCH", "/players?id=eq.1", &[FULL], "{}").await;
    assert_eq!((nothing.status, nothing.json()), (200, json!([])));
    let none = league.change("PATCH", "/players?id=eq.99", &[FULL], r#"{"name":"x"}"#).await;
    assert_eq!((none.status, none.json(), none.header("content-range")), (200, json!([]), "*/*"));
}

#[tokio::test]
async fn what_is_refused_is_undone() {
    let league = League::start().await;
    let two = league.change("PATCH", "/players?id=lt.3", &[FULL, OBJECT], r#"{"height":9}"#).await;
    assert_eq!((two.status, two.code()), (406, "PGRST116".to_owned()));
    assert_eq!(two.json()["details"], "The result contains 2 rows");
    let most = ("prefer", "handling=strict, max-affected=1");
    let many = league.change("DELETE", "/lineups", &[most], "").await;
    assert_eq!((many.status, many.code()), (400, "PGRST124".to_owned()));
    assert_eq!(many.json()["details"], "The query affects 3 rows");
    assert_eq!(league.rows("/players?select=height&height=eq.9").await, json!([]));
    assert_eq!(league.rows("/lineups").await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn rows_are_deleted_by_filters() {
    let league = League::start().await;
    let counted = league.change("DELETE", "/lineups?match_id=eq.1", &[("prefer", "count=exact")], "").await;
    assert_eq!((counted.status, counted.header("content-range")), (204, "*/2"));
    let deleted = league.change("DELETE", "/lineups?select=minutes", &[FULL], "").await;
    assert_eq!((deleted.status, deleted.json()), (200, json!([{ "minutes": 10 }])));
}

#[tokio::test]
async fn constraints_speak_through() {
    let league = League::start().await;
    let missing = league.change("POST", "/teams", &[], r#"{"name":"x","club_id":999}"#).await;
    assert_eq!((missing.status, missing.code()), (409, "23503".to_owned()));
    assert!(missing.json()["details"].as_str().unwrap().contains("club_id"));
    let check = league
        .change("POST", "/passports", &[], &json!({ "player_id": 2, "number": "9".repeat(30) }).to_string())
        .await;
    assert_eq!((check.status, check.code()), (400, "23514".to_owned()));
    let malformed = league.change("POST", "/players", &[], r#"{"id":"x","name":"y"}"#).await;
    assert_eq!((malformed.status, malformed.code()), (400, "22P02".to_owned()));
}

/// As the extension `safeupdate` of hosted Supabase has it: what has no WHERE clause is refused, whoever asks.
#[tokio::test]
async fn changes_of_every_row_are_refused_where_they_are_to_be() {
    let league = League::with(|settings| settings.db_safe_update = true).await;
    let (update, delete) = ("UPDATE requires a WHERE clause", "DELETE requires a WHERE clause");
    for (method, path, headers, body, message) in [
        ("DELETE", "/lineups", &[][..], "", delete),
        ("DELETE", "/lineups?select=match_id", &[FULL], "", delete),
        ("DELETE", "/lineups?order=match_id&limit=1", &[], "", delete),
        ("DELETE", "/teams?select=name,clubs(name)&clubs.name=eq.New", &[FULL], "", delete),
        ("PATCH", "/clubs", &[], r#"{"name":"All"}"#, update),
        (
            "PATCH",
            "/clubs?columns=name",
            &[("prefer", "handling=strict, max-affected=1")],
            r#"{"name":"All"}"#,
            update,
        ),
    ] {
        let response = league.change(method, path, headers, body).await;
        let expected = json!({ "code": "21000", "details": null, "hint": null, "message": message });
        assert_eq!((response.status, response.json()), (400, expected), "{method} {path}");
    }
    for (method, path, body, status) in [
        ("DELETE", "/lineups?match_id=eq.999", "", 204),
        ("DELETE", "/lineups?or=(match_id.eq.998,match_id.eq.999)", "", 204),
        ("PATCH", "/players?id=gt.0", r#"{"height":1.5}"#, 204),
        ("PATCH", "/players", "{}", 204),
    ] {
        assert_eq!(league.change(method, path, &[], body).await.status, status, "{method} {path}");
    }
    let upsert = ("prefer", "resolution=merge-duplicates");
    let upserted =
        league.change("POST", "/clubs", &[upsert], r#"[{"id":1,"name":"A"},{"id":2,"name":"B"}]"#).await;
    assert!(upserted.status < 300, "an upsert is an INSERT: {upserted:?}");

    let upstream = League::start().await;
    assert_eq!(upstream.change("PATCH", "/players", &[], r#"{"height":1.5}"#).await.status, 204);
    let superuser = upstream.database.client().await;
    // What else is set at once shows when it holds.
    let statements = "do $$ begin
                  execute format('alter role authenticator in database %I set pgrst.db_safe_update = true',
                    current_database());
                  execute format('alter role authenticator in database %I set pgrst.openapi_mode = disabled',
                    current_database());
                end $$; notify pgrst, 'reload config'";
    superuser.batch_execute(statements).await.unwrap();
    upstream.until("/", 404).await;
    assert_eq!(upstream.change("PATCH", "/players", &[], r#"{"height":1.5}"#).await.status, 400);
}
