//! Relations embedded into others.

use serde_json::json;

use crate::harness::League;

#[tokio::test]
async fn embeds_follow_keys_to_any_depth() {
    let league = League::start().await;
    assert_eq!(
        league.rows("/players?select=name,teams(name,clubs(name,founded))&id=in.(1,4)&order=id").await,
        json!([
            { "name": "Ada", "teams": { "name": "Row Firsts", "clubs": { "name": "Harbour Row", "founded": "1901-05-01" } } },
            { "name": "Dot, \"the wall\" (x)", "teams": null },
        ])
    );
    assert_eq!(
        league.rows("/clubs?select=name,teams(name,players(name))&order=id&teams.order=id&teams.players.order=name.desc").await,
        json!([
            { "name": "Harbour Row", "teams": [
                { "name": "Row Firsts", "players": [{ "name": "Bea" }, { "name": "Ada" }] },
                { "name": "Row Reserves", "players": [] },
            ] },
            { "name": "Mill Lane", "teams": [{ "name": "Lane Firsts", "players": [{ "name": "Cyd" }] }] },
            { "name": "Old Quarry", "teams": [] },
        ])
    );
    assert_eq!(
        league.rows("/players?select=id,passports(number)&id=lt.3&order=id").await,
        json!([{ "id": 1, "passports": { "number": "P-001" } }, { "id": 2, "passports": null }])
    );
}

#[tokio::test]
async fn two_embeds_of_one_name_are_refused() {
    let league = League::start().await;
    for (url, table) in [
        ("/clubs?select=id,teams(id),teams(name)", "clubs_teams_1"),
        ("/clubs?select=id,a:teams(id),a:teams(name)", "clubs_a_1"),
        ("/players?select=id,...teams(a:id),...teams(name)", "players_teams_1"),
        ("/clubs?select=teams(players(id),players())", "teams_players_2"),
    ] {
        let refused = league.get(url).await;
        assert_eq!((refused.status, refused.code()), (400, "42712".to_owned()), "{url}: {refused:?}");
        assert_eq!(refused.json()["message"], format!("table name \"{table}\" specified more than once"));
    }
    assert_eq!(league.get("/clubs?select=id,a:teams(id),teams(name)").await.status, 200);
}

#[tokio::test]
async fn suggestions_are_relations() {
    let sql = "create function league.xyzzy(league.clubs) returns setof league.teams stable language sql
                 as $$ select * from league.teams where club_id = $1.id $$;";
    let league = League::extended(sql, |_| {}).await;
    let hint = async |url: &str| league.get(url).await.json()["hint"].clone();
    assert_eq!(hint("/clubs?select=team(id)").await, json!("Perhaps you meant 'teams' instead of 'team'."));
    assert_eq!(hint("/clubs?select=xyzz(id)").await, json!(null));
}

#[tokio::test]
async fn many_to_many_goes_through_the_junction() {
    let league = League::start().await;
    assert_eq!(
        league.rows("/matches?select=id,players(name)&players.order=id&order=id").await,
        json!([
            { "id": 1, "players": [{ "name": "Ada" }, { "name": "Cyd" }] },
            { "id": 2, "players": [{ "name": "Ada" }] },
        ])
    );
    assert_eq!(league.ids("/players?select=id,matches!inner(id)&matches.id=eq.2").await, [1]);
}

#[tokio::test]
async fn aliases_and_hints_tell_relationships_apart() {
    let league = League::start().await;
    assert_eq!(
        league
            .rows("/matches?select=home:teams!home_id(name),away:teams!matches_away_id_fkey(name)&id=eq.1")
            .await,
        json!([{ "home": { "name": "Row Firsts" }, "away": { "name": "Lane Firsts" } }])
    );
    assert_eq!(
        league.rows("/matches?select=home:home_id(name)&id=eq.2").await,
        json!([{ "home": { "name": "Lane Firsts" } }])
    );
    let ambiguous = league.get("/matches?select=teams(name)").await;
    assert_eq!((ambiguous.status, ambiguous.code()), (300, "PGRST201".to_owned()));
    assert_eq!(
        ambiguous.json()["details"][0],
        json!({
            "cardinality": "many-to-one", "embedding": "matches with teams",
            "relationship": "matches_away_id_fkey using matches(away_id) and teams(id)",
        })
    );
}

#[tokio::test]
async fn a_relation_can_be_embedded_into_itself() {
    let league = League::start().await;
    assert_eq!(
        league.rows("/staff?select=name,boss:manager_id(name),reports:staff(name)&id=lt.3&order=id&reports.order=id").await,
        json!([
            { "name": "Una", "boss": null, "reports": [{ "name": "Vic" }, { "name": "Wyn" }] },
            { "name": "Vic", "boss": { "name": "Una" }, "reports": [] },
        ])
    );
}

#[tokio::test]
async fn embeds_are_filtered_ordered_and_limited() {
    let league = League::start().await;
    assert_eq!(
        league.rows("/clubs?select=id,teams(name)&teams.name=like.*Firsts&order=id&limit=2").await,
        json!([{ "id": 1, "teams": [{ "name": "Row Firsts" }] }, { "id": 2, "teams": [{ "name": "Lane Firsts" }] }])
    );
    assert_eq!(
        league.rows("/clubs?select=id,squads:teams(id)&id=eq.1&squads.order=id.desc&squads.limit=1&squads.offset=1").await,
        json!([{ "id": 1, "squads": [{ "id": 1 }] }])
    );
    assert_eq!(
        league.rows("/clubs?select=id,teams(id)&id=eq.1&teams.or=(id.eq.2,name.eq.x)").await,
        json!([{ "id": 1, "teams": [{ "id": 2 }] }])
    );
    assert_eq!(
        league
            .rows("/clubs?select=id,teams(id)&id=eq.1&teams.not.and=(id.gt.1,not.or(name.is.null,id.gt.9))")
            .await,
        json!([{ "id": 1, "teams": [{ "id": 1 }] }])
    );
    assert_eq!(
        league
            .rows(
                "/clubs?select=id,teams(players(id))&id=eq.1&teams.id=eq.1&teams.players.or=(id.eq.2,id.eq.3)"
            )
            .await,
        json!([{ "id": 1, "teams": [{ "players": [{ "id": 2 }] }] }])
    );
}

#[tokio::test]
async fn inner_embeds_filter_their_parent() {
    let league = League::start().await;
    assert_eq!(league.ids("/clubs?select=id,teams!inner(id)&order=id").await, [1, 2]);
    assert_eq!(league.ids("/clubs?select=id,teams!inner(id)&teams.name=eq.Row%20Reserves").await, [1]);
    assert_eq!(
        league.ids("/clubs?select=id,teams!inner(players!inner(id))&teams.players.name=eq.Cyd").await,
        [2]
    );
    assert_eq!(league.ids("/clubs?select=id,teams!left(id)&teams.name=eq.none&order=id").await, [1, 2, 3]);
    assert_eq!(league.ids("/clubs?select=id,teams!inner(id)&teams.offset=1").await, [1]);
    let counted =
        league.get_with("/clubs?select=id,teams!inner(id)&limit=1", &[("prefer", "count=exact")]).await;
    assert_eq!((counted.status, counted.header("content-range")), (206, "0-0/2"));
}

#[tokio::test]
async fn rows_can_be_filtered_by_whether_an_embed_is_null() {
    let league = League::start().await;
    assert_eq!(league.rows("/clubs?select=id,teams()&teams=is.null").await, json!([{ "id": 3 }]));
    assert_eq!(league.ids("/clubs?select=id,teams(id)&teams=not.is.null&order=id").await, [1, 2]);
    assert_eq!(league.ids("/clubs?select=id,teams()&or=(teams.is.null,id.eq.1)&order=id").await, [1, 3]);
    assert_eq!(
        league.ids("/clubs?select=id,teams()&teams.name=eq.Lane%20Firsts&teams=not.is.null").await,
        [2]
    );
}

#[tokio::test]
async fn rows_can_be_ordered_by_what_they_refer_to() {
    let league = League::start().await;
    assert_eq!(
        league.ids("/players?select=id,teams(name)&order=teams(name).desc.nullslast,id").await,
        [1, 2, 3, 4]
    );
    assert_eq!(
        league.ids("/players?select=id,team:teams(name)&order=team(name).nullsfirst,id.desc").await,
        [4, 3, 2, 1]
    );
}

#[tokio::test]
async fn spread_embeds_lift_their_columns() {
    let league = League::start().await;
    assert_eq!(
        league
            .rows("/players?select=id,...teams(team:name,...clubs(club:name,founded))&id=in.(1,4)&order=id")
            .await,
        json!([
            { "id": 1, "team": "Row Firsts", "club": "Harbour Row", "founded": "1901-05-01" },
            { "id": 4, "team": null, "club": null, "founded": null },
        ])
    );
    assert_eq!(
        league.rows("/clubs?select=name,...teams(teams:name,ids:id)&order=id&teams.order=id.desc").await,
        json!([
            { "name": "Harbour Row", "teams": ["Row Reserves", "Row Firsts"], "ids": [2, 1] },
            { "name": "Mill Lane", "teams": ["Lane Firsts"], "ids": [3] },
            { "name": "Old Quarry", "teams": [], "ids": [] },
        ])
    );
    assert_eq!(
        league.rows("/matches?select=...home_id(home:name),...away_id(away:name),...players(born)&id=eq.1&players.order=id").await,
        json!([{ "home": "Row Firsts", "away": "Lane Firsts", "born": ["1990-01-01", null] }])
    );
    assert_eq!(league.ids("/players?select=id,...teams!inner(name)&teams.name=eq.Lane%20Firsts").await, [3]);
    assert_eq!(
        league.ids("/players?select=id,...teams(name)&order=teams(name).desc.nullslast,id").await,
        [1, 2, 3, 4]
    );
}

#[tokio::test]
async fn views_inherit_their_tables_relationships() {
    let league = League::start().await;
    assert_eq!(
        league.rows("/squads?select=name,clubs(name),players(name)&squad_id=eq.3").await,
        json!([{ "name": "Lane Firsts", "clubs": { "name": "Mill Lane" }, "players": [{ "name": "Cyd" }] }])
    );
    assert_eq!(
        league.rows("/clubs?select=first_squads(first_id)&id=eq.1").await,
        json!([{ "first_squads": [{ "first_id": 1 }] }])
    );
    assert_eq!(
        league.rows("/players?select=first_squads(name,clubs(name))&id=eq.3").await,
        json!([{ "first_squads": { "name": "Lane Firsts", "clubs": { "name": "Mill Lane" } } }])
    );
    assert_eq!(
        league.rows("/players?select=team_id(name),players_team_id_fkey(id)&id=eq.3").await,
        json!([{ "team_id": { "name": "Lane Firsts" }, "players_team_id_fkey": { "id": 3 } }])
    );
}

#[tokio::test]
async fn a_view_on_a_junction_is_another_junction() {
    let league = League::start().await;
    let superuser = league.database.client().await;
    let view =
        "create view league.appearances as select match_id as game, player_id as who from league.lineups;
                grant select on league.appearances to anon; notify pgrst";
    superuser.batch_execute(view).await.unwrap();
    league.until("/appearances", 200).await;
    league.until("/matches?select=players(name)", 300).await;
    assert_eq!(
        league.rows("/matches?select=players!appearances(name)&id=eq.2").await,
        json!([{ "players": [{ "name": "Ada" }] }])
    );
}
