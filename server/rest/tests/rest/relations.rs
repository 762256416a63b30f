//! Relations of every kind that Postgres has, and refusals that need several rows or overloads.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use serde_json::json;

use crate::harness::League;

const RELATIONS: &str = "
    create type league.address as (street text, zip text);
    create table league.grounds (
      id int primary key generated always as identity, club_id int references league.clubs,
      name text not null, loud text generated always as (upper(name)) stored, place league.address, gates int[]
    );
    insert into league.grounds (club_id, name, place, gates) values (1, 'Pier Field', row('Quay 1', 'H4'), '{3,5,8}');
    create materialized view league.club_names as select id as club_id, name from league.clubs;
    create table league.goals (match_id int references league.matches, minute int, primary key (match_id, minute))
      partition by range (minute);
    create table league.goals_early partition of league.goals for values from (0) to (45);
    create table league.goals_late partition of league.goals for values from (45) to (200);
    insert into league.goals values (1, 3), (1, 90), (2, 50);
    create view league.club_entries as select name from league.clubs;
    create function league.enter() returns trigger language plpgsql as $$ begin
      insert into league.clubs (name) values ('Entered ' || new.name); return new;
    end $$;
    create trigger enter instead of insert on league.club_entries for each row execute function league.enter();
    create function league.which(a int) returns text language sql as $$ select 'number' $$;
    create function league.which(a text) returns text language sql as $$ select 'text' $$;
    grant all on all tables in schema league to anon, authenticated;
    notify pgrst";

async fn start() -> League {
    let league = League::start().await;
    league.database.client().await.batch_execute(RELATIONS).await.unwrap();
    league.until("/grounds", 200).await;
    league
}

#[tokio::test]
async fn views_partitions_and_materialized_views_are_read() {
    let league = start().await;
    assert_eq!(
        league.rows("/club_names?select=name&order=club_id&limit=1").await,
        json!([{ "name": "Harbour Row" }])
    );
    assert_eq!(
        league.rows("/matches?select=id,goals(minute)&order=id&goals.order=minute").await,
        json!([
            { "id": 1, "goals": [{ "minute": 3 }, { "minute": 90 }] },
            { "id": 2, "goals": [{ "minute": 50 }] },
        ])
    );
    let merged = league
        .change(
            "POST",
            "/goals",
            &[("prefer", "resolution=merge-duplicates, return=representation")],
            r#"[{"match_id":1,"minute":3},{"match_id":2,"minute":7}]"#,
        )
        .await;
    assert_eq!((merged.status, merged.json().as_array().unwrap().len()), (201, 2), "{merged:?}");
}

#[tokio::test]
async fn composites_and_arrays_are_stepped_into() {
    let league = start().await;
    assert_eq!(
        league.rows("/grounds?select=place->>street,zip:place->zip,last:gates->-1&place->>zip=eq.H4").await,
        json!([{ "street": "Quay 1", "zip": "H4", "last": 8 }])
    );
    assert_eq!(league.rows("/grounds?select=id&gates->0=gt.3").await, json!([]));
}

#[tokio::test]
async fn columns_that_postgres_writes_itself_cannot_be_given() {
    let league = start().await;
    for body in [r#"{"name":"x","loud":"y"}"#, r#"{"id":7,"name":"x"}"#] {
        let refused = league.change("POST", "/grounds", &[], body).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "428C9"), "{refused:?}");
    }
    let row = r#"{"name":"x","place":{"street":"s","zip":"z"},"gates":[1,2]}"#;
    let made = league
        .change("POST", "/grounds?select=loud,place,gates", &[("prefer", "return=representation")], row)
        .await;
    let expected = json!([{ "loud": "X", "place": { "street": "s", "zip": "z" }, "gates": [1, 2] }]);
    assert_eq!((made.status, made.json()), (201, expected));
}

#[tokio::test]
async fn triggers_of_views_take_what_is_inserted() {
    let league = start().await;
    let made = league.change("POST", "/club_entries", &[], r#"{"name":"Late"}"#).await;
    assert_eq!((made.status, made.header("content-length")), (201, "0"), "{made:?}");
    assert_eq!(
        league.rows("/clubs?select=name&name=like.Entered*").await,
        json!([{ "name": "Entered Late" }])
    );
    let refused = league.change("DELETE", "/club_names?name=eq.x", &[], "").await;
    assert!(refused.status >= 400 && refused.status < 500, "{refused:?}");
}

#[tokio::test]
async fn refusals_that_depend_on_rows_and_overloads() {
    let league = start().await;
    let ambiguous = league.change("POST", "/rpc/which", &[], r#"{"a":1}"#).await;
    assert_eq!((ambiguous.status, ambiguous.code().as_str()), (300, "PGRST203"), "{ambiguous:?}");
    let other = league.change("PUT", "/clubs?id=eq.1", &[], r#"{"id":2,"name":"x"}"#).await;
    assert_eq!((other.status, other.code().as_str()), (400, "PGRST115"), "{other:?}");
    let keyless = league.change("PUT", "/clubs?name=eq.x", &[], r#"{"id":2,"name":"x"}"#).await;
    assert_eq!((keyless.status, keyless.code().as_str()), (405, "PGRST105"), "{keyless:?}");
    let strict = [("prefer", "handling=strict, max-affected=1")];
    let many = league.change("DELETE", "/goals?minute=gt.0", &strict, "").await;
    assert_eq!((many.status, many.code().as_str()), (400, "PGRST124"), "{many:?}");
    let single = league.change("POST", "/rpc/add", &strict, r#"{"a":1}"#).await;
    assert_eq!((single.status, single.code().as_str()), (400, "PGRST128"), "{single:?}");
    assert_eq!(league.rows("/goals?select=minute&order=minute").await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn errors_that_functions_spell_wrongly_are_told_apart() {
    let league = start().await;
    let raise =
        "create function league.spell(message text, detail text) returns void language plpgsql as $$ begin
        if detail is null then raise sqlstate 'PGRST' using message = message;
        else raise sqlstate 'PGRST' using message = message, detail = detail; end if;
      end $$; notify pgrst";
    league.database.client().await.batch_execute(raise).await.unwrap();
    league.until("/rpc/spell?message=x&detail=y", 500).await;
    let good = r#"{"code":"1","message":"m"}"#;
    let mut details = Vec::new();
    for (message, detail) in [("nonsense", Some("{}")), (good, Some("nonsense")), (good, None)] {
        let response = league.call("spell", &json!({ "message": message, "detail": detail })).await;
        assert_eq!((response.status, response.code().as_str()), (500, "PGRST121"), "{response:?}");
        details.push(response.json()["details"].to_string());
    }
    details.dedup();
    assert_eq!(details.len(), 3, "{details:?}");
}
