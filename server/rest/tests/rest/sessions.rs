//! What a function sets for the session, the next caller must not find.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::League;

const FUNCTIONS: &str = "
    create table league.notes (id int generated always as identity, words text, bytes bytea default 'é');
    insert into league.notes (words) values ('ÿ');
    grant all on league.notes to anon, authenticated;
    create function league.leave(name text, value text) returns text language sql as
      'select pg_catalog.set_config(name, value, false)';
    create function league.run(command text) returns void language plpgsql as $$ begin execute command; end $$;
    create function league.found() returns json language sql as
      $$ select json_object_agg(name, setting) from pg_settings
         where context = 'user' and name !~ '^(request|response|pgrst)\\.' $$;
    create function league.prepared() returns bigint language sql as
      'select count(*) from pg_prepared_statements where statement like ''SELECT%''';";

async fn league() -> League {
    League::on(testkit::Database::create().await, FUNCTIONS, |_| {}, |connection| connection.pool_size = 1)
        .await
}

/// Values of the kind that a setting has, other than its own.
const OTHERS: &str = "
    select name, coalesce(case vartype
      when 'bool' then case setting when 'on' then array['off'] else array['on'] end
      when 'enum' then array(select value from unnest(enumvals) as value where value <> setting)
      when 'string' then array['LATIN1', 'Asia/Tokyo', 'German', 'iso_8859_1', 'archive', 'C', 'x', 'pg_default', 'simple']
      else array[min_val, max_val, '1', '7', '0.5']
    end, '{}') from pg_settings where context = 'user' order by name";

/// Checks what everybody else sees: an anonymous reader, and a writer whose text is not only ASCII.
async fn check_others(league: &League, after: &str) {
    let rows = league.get("/clubs?select=name,founded&order=id&limit=1").await;
    assert_eq!(rows.text, r#"[{"name":"Harbour Row","founded":"1901-05-01"}]"#, "{after}");
    let rows = league.get("/notes?select=words,bytes&id=eq.1").await;
    assert_eq!(rows.text, r#"[{"words":"ÿ","bytes":"\\xc3a9"}]"#, "{after}");
    let written = league
        .change(
            "POST",
            "/notes?select=words",
            &[("prefer", "return=representation")],
            r#"{"words":"naïve 列"}"#,
        )
        .await;
    assert_eq!((written.status, written.text.as_str()), (201, r#"[{"words":"naïve 列"}]"#), "{after}");
}

#[tokio::test]
async fn no_setting_that_a_role_without_rights_may_change_outlives_its_request() {
    let league = league().await;
    let superuser = league.database.client().await;
    let found = async || -> BTreeMap<String, Value> {
        serde_json::from_value(league.call("found", &json!({})).await.json()).unwrap()
    };
    let untouched = found().await;
    assert_eq!(untouched["client_encoding"], "UTF8");
    let mut changed = 0;
    for row in superuser.query(OTHERS, &[]).await.unwrap() {
        let (name, values): (String, Vec<Option<String>>) = (row.get(0), row.get(1));
        for value in values.into_iter().flatten() {
            let left = league.call("leave", &json!({ "name": name, "value": value })).await;
            if left.status != 200 {
                // A value that it does not take, or one that this very request cannot go on with.
                continue;
            }
            changed += 1;
            assert_eq!(found().await, untouched, "{name} = {value}");
            break;
        }
    }
    assert!(changed > 80, "only {changed} settings could be changed at all");
    check_others(&league, "all settings").await;
    let words = superuser.query_one("select words from league.notes where id = 2", &[]).await.unwrap();
    assert_eq!(words.get::<_, String>(0), "naïve 列");
}

#[tokio::test]
async fn others_read_and_write_as_ever_after_what_harms_most() {
    let league = league().await;
    for (name, value) in [
        ("client_encoding", "LATIN1"),
        ("client_encoding", "SJIS"),
        ("default_transaction_read_only", "on"),
        ("default_transaction_isolation", "serializable"),
        ("row_security", "off"),
        ("statement_timeout", "1"),
        ("search_path", "archive"),
        ("DateStyle", "German"),
        ("bytea_output", "escape"),
        ("standard_conforming_strings", "off"),
        ("role", "service_role"),
        ("request.jwt.claims", "{\"role\":\"service_role\"}"),
    ] {
        let left = league.call("leave", &json!({ "name": name, "value": value })).await;
        check_others(&league, &format!("{name} = {value}: {left:?}")).await;
        // What is deferred to the end of a transaction, or undone, is one with a block.
        let preferences = [("prefer", "tx=rollback, return=representation")];
        let undone = league.change("POST", "/notes?select=words", &preferences, r#"{"words":"é"}"#).await;
        assert_eq!(undone.status, 201, "{name}: {undone:?}");
    }
}

#[tokio::test]
async fn statements_that_a_caller_drops_harm_nobody() {
    let league = league().await;
    for _ in 0..3 {
        check_others(&league, "deallocate all").await;
        let dropped = league.call("run", &json!({ "command": "deallocate all" })).await;
        assert_eq!(dropped.status, 204, "{dropped:?}");
    }
    for _ in 0..3 {
        check_others(&league, "deallocate all").await;
    }
    assert!(league.call("prepared", &json!({})).await.json().as_i64().unwrap() > 0, "no statement is kept");
}

#[tokio::test]
async fn what_the_function_of_an_index_sets_is_gone_for_the_next_caller() {
    let indexed = format!(
        "{FUNCTIONS}
         create function league.fold(words text) returns text language plpgsql immutable as
           $$ begin perform set_config('league.left', words, false); return lower(words); end $$;
         create index on league.notes (league.fold(words));
         create function league.left_behind() returns text language sql as
           $$ select coalesce(current_setting('league.left', true), '') $$;"
    );
    let database = testkit::Database::create().await;
    let league = League::on(database, &indexed, |_| {}, |connection| connection.pool_size = 1).await;
    for _ in 0..3 {
        let written = league.change("POST", "/notes", &[], r#"{"words":"Secret"}"#).await;
        assert_eq!(written.status, 201, "{written:?}");
        assert_eq!(league.call("left_behind", &json!({})).await.json(), json!(""));
    }
}
