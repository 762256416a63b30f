//! Fields and relationships that functions compute.

use serde_json::json;

use crate::harness::League;

const FUNCTIONS: &str = "
  create table league.venues (id int primary key, club_id int, name text not null);
  insert into league.venues values (1, 1, 'Quay Park'), (2, 1, 'Old Dock'), (3, 9, 'Nowhere');
  grant select on league.venues to anon;
  grant all on league.venues to authenticated;
  create function league.owner(league.venues) returns setof league.clubs stable rows 1 language sql
    as $$ select * from league.clubs where id = $1.club_id $$;
  create function league.grounds(league.clubs) returns setof league.venues stable language sql
    as $$ select * from league.venues where club_id = $1.id $$;
  create function league.first_ground(league.clubs) returns league.venues stable language sql
    as $$ select * from league.venues where club_id = $1.id order by id limit 1 $$;
  create function league.any_ground(league.clubs) returns setof league.venues stable rows 1 language sql
    as $$ select * from league.venues where club_id = $1.id order by id $$;
  -- Takes the place of what the foreign key says.
  create function league.teams(league.clubs) returns setof league.teams stable language sql
    as $$ select * from league.teams where club_id = $1.id and name not like '%Reserves' $$;
  create function league.managers(league.staff) returns setof league.staff stable rows 1 language sql
    as $$ select * from league.staff where id = $1.manager_id $$;
  create function league.shout(c league.clubs) returns text stable language sql as $$ select upper(c.name) || '!' $$;
  create function league.shout(v league.venues) returns text stable language sql as $$ select upper(v.name) || '?' $$;
  create function league.initials(league.clubs) returns jsonb stable language sql
    as $$ select jsonb_build_object('first', left($1.name, 1)) $$;
  create function league.old_clubs() returns setof league.clubs stable language sql
    as $$ select * from league.clubs where founded is not null $$;
  create function public.motto(league.clubs) returns text stable language sql as $$ select 'we are ' || $1.name $$";

async fn start() -> League {
    League::extended(FUNCTIONS, |settings| {
        settings.db_aggregates_enabled = true;
        settings.db_plan_enabled = true;
    })
    .await
}

#[tokio::test]
async fn computed_fields_are_selected_filtered_and_ordered_by() {
    let league = start().await;
    assert_eq!(
        league.rows("/clubs?select=id,shout,loud:shout::text,initials->>first&shout=like.M*").await,
        json!([{ "id": 2, "shout": "MILL LANE!", "loud": "MILL LANE!", "first": "M" }])
    );
    assert_eq!(league.ids("/clubs?select=id&order=shout.desc").await, [3, 2, 1]);
    assert_eq!(league.ids("/clubs?select=id&order=initials->>first.desc&limit=1").await, [3]);
    assert_eq!(league.ids("/clubs?select=id&shout=fts.quarry").await, [3]);
    assert_eq!(
        league.ids("/clubs?select=id&or=(shout.eq.MILL LANE!,initials->>first.eq.O)&order=id").await,
        [2, 3]
    );
    assert_eq!(league.rows("/clubs?select=motto&id=eq.2").await, json!([{ "motto": "we are Mill Lane" }]));
    let whole = league.rows("/clubs?id=eq.1").await;
    assert_eq!(whole, json!([{ "id": 1, "name": "Harbour Row", "founded": "1901-05-01" }]));
    let unknown = league.get("/clubs?select=whisper").await;
    assert_eq!((unknown.status, unknown.code()), (400, "42703".to_owned()));
}

#[tokio::test]
async fn computed_fields_of_embeds() {
    let league = start().await;
    assert_eq!(
        league
            .rows("/players?select=label,team:team_id(name,clubs(shout))&team.clubs.shout=like.H*&id=eq.1")
            .await,
        json!([{ "label": "Ada #1", "team": { "name": "Row Firsts", "clubs": { "shout": "HARBOUR ROW!" } } }])
    );
    assert_eq!(
        league.rows("/squads?select=name,...clubs(shout)&order=clubs(shout).desc.nullslast&limit=1").await,
        json!([{ "name": "Lane Firsts", "shout": "MILL LANE!" }])
    );
    assert_eq!(
        league.rows("/clubs?select=count(),shout.max()").await,
        json!([{ "count": 3, "max": "OLD QUARRY!" }])
    );
}

#[tokio::test]
async fn computed_fields_of_changed_rows_and_results() {
    let league = start().await;
    let full = [("prefer", "return=representation")];
    for (select, expected) in [
        ("id,shout", json!([{ "id": 9, "shout": "NEW DOCK?" }])),
        ("*,shout", json!([{ "id": 9, "club_id": 2, "name": "New Dock", "shout": "NEW DOCK?" }])),
        ("shout,owner(shout)", json!([{ "shout": "NEW DOCK?", "owner": { "shout": "MILL LANE!" } }])),
        (
            "*,owner(name)",
            json!([{ "id": 9, "club_id": 2, "name": "New Dock", "owner": { "name": "Mill Lane" } }]),
        ),
    ] {
        let url = format!("/venues?select={select}");
        let response = league.change("POST", &url, &full, r#"{"id":9,"club_id":2,"name":"New Dock"}"#).await;
        assert_eq!((response.status, response.json()), (201, expected.clone()), "{select}");
        let response =
            league.change("PATCH", &format!("{url}&id=eq.9"), &full, r#"{"name":"New Dock"}"#).await;
        assert_eq!((response.status, response.json()), (200, expected.clone()), "{select}");
        let response = league.change("DELETE", &format!("{url}&shout=eq.NEW DOCK?"), &full, "").await;
        assert_eq!((response.status, response.json()), (200, expected), "{select}");
    }
    assert_eq!(
        league.rows("/rpc/old_clubs?select=shout,first_ground(name)&order=shout.desc&shout=like.*!").await,
        json!([
            { "shout": "MILL LANE!", "first_ground": { "name": null } },
            { "shout": "HARBOUR ROW!", "first_ground": { "name": "Quay Park" } },
        ])
    );
    assert_eq!(
        league.rows("/rpc/old_clubs?shout=like.M*").await,
        json!([{ "id": 2, "name": "Mill Lane", "founded": "1923-08-12" }])
    );
    assert_eq!(
        league.rows("/rpc/oldest_club?select=*,shout,grounds(name,shout)&grounds.order=id.desc").await,
        json!({
            "id": 1, "name": "Harbour Row", "founded": "1901-05-01", "shout": "HARBOUR ROW!",
            "grounds": [{ "name": "Old Dock", "shout": "OLD DOCK?" }, { "name": "Quay Park", "shout": "QUAY PARK?" }],
        })
    );
}

#[tokio::test]
async fn functions_relate_relations() {
    let league = start().await;
    assert_eq!(
        league.rows("/venues?select=name,owner(name,founded)&order=id").await,
        json!([
            { "name": "Quay Park", "owner": { "name": "Harbour Row", "founded": "1901-05-01" } },
            { "name": "Old Dock", "owner": { "name": "Harbour Row", "founded": "1901-05-01" } },
            { "name": "Nowhere", "owner": null },
        ])
    );
    assert_eq!(
        league.rows("/clubs?select=id,grounds(name,club:owner(name))&grounds.order=name&grounds.limit=1&order=id&limit=2").await,
        json!([
            { "id": 1, "grounds": [{ "name": "Old Dock", "club": { "name": "Harbour Row" } }] },
            { "id": 2, "grounds": [] },
        ])
    );
    assert_eq!(
        league.rows("/venues?select=name,...owner(club:name,...first_ground(first:name))&order=owner(name),name&limit=1").await,
        json!([{ "name": "Old Dock", "club": "Harbour Row", "first": "Quay Park" }])
    );
    assert_eq!(league.ids("/clubs?select=id,grounds!inner(id)&grounds.name=eq.Old%20Dock").await, [1]);
    assert_eq!(league.ids("/clubs?select=id,grounds()&grounds=is.null&order=id").await, [2, 3]);
    assert_eq!(
        league.rows("/clubs?select=id,...grounds(grounds:name)&id=lt.3&order=id&grounds.order=id").await,
        json!([{ "id": 1, "grounds": ["Quay Park", "Old Dock"] }, { "id": 2, "grounds": [] }])
    );
    assert_eq!(
        league.rows("/clubs?select=id,grounds(count())&id=eq.1").await,
        json!([{ "id": 1, "grounds": [{ "count": 2 }] }])
    );
    assert_eq!(
        league.rows("/venues?select=count(),...owner(name)&id=lt.3").await,
        json!([{ "count": 2, "name": "Harbour Row" }])
    );
}

#[tokio::test]
async fn a_function_that_breaks_its_promise_of_one_row_gives_its_first() {
    let league = start().await;
    assert_eq!(
        league.rows("/clubs?select=any_ground(name)&id=eq.1&order=any_ground(name)").await,
        json!([{ "any_ground": { "name": "Quay Park" } }])
    );
    assert_eq!(
        league.rows("/clubs?select=...any_ground(name)&id=eq.1&order=any_ground(name)").await,
        json!([{ "name": "Quay Park" }])
    );
}

#[tokio::test]
async fn a_function_called_like_a_relation_takes_its_place() {
    let league = start().await;
    assert_eq!(
        league.rows("/clubs?select=teams(name)&id=eq.1").await,
        json!([{ "teams": [{ "name": "Row Firsts" }] }])
    );
    // What leads the other way, and what other functions do, is left alone.
    assert_eq!(
        league.rows("/teams?select=clubs(name)&id=eq.2").await,
        json!([{ "clubs": { "name": "Harbour Row" } }])
    );
    assert_eq!(
        league.rows("/staff?select=name,managers(name),staff(name)&id=eq.2").await,
        json!([{ "name": "Vic", "managers": { "name": "Una" }, "staff": [] }])
    );
    let missing = league.get("/clubs?select=ground(name)").await;
    assert_eq!((missing.status, missing.code()), (400, "PGRST200".to_owned()));
    assert_eq!(missing.json()["hint"], json!(null), "what a function is called is no relation");
}

#[tokio::test]
async fn functions_of_one_statement_become_part_of_the_query() {
    let league = start().await;
    for url in [
        "/clubs?select=id,grounds(name)",
        "/venues?select=id,owner(name)",
        "/venues?select=id,...owner(name)",
    ] {
        let plan = league.get_with(url, &[("accept", "application/vnd.pgrst.plan+text")]).await;
        assert_eq!(plan.status, 200, "{plan:?}");
        assert!(!plan.text.contains("Function Scan"), "{url}: {}", plan.text);
    }
}

#[tokio::test]
async fn many_to_many_within_a_relation_is_computed() {
    let league = League::extended(
        "create function league.opponents(league.teams) returns setof league.teams stable language sql as $$
           select distinct t.* from league.teams t join league.matches m
             on m.home_id = $1.id and m.away_id = t.id or m.away_id = $1.id and m.home_id = t.id $$",
        |_| {},
    )
    .await;
    assert_eq!(
        league.rows("/teams?select=name,opponents(name,opponents(name))&id=eq.1").await,
        json!([{ "name": "Row Firsts", "opponents": [{ "name": "Lane Firsts", "opponents": [{ "name": "Row Firsts" }] }] }])
    );
}
