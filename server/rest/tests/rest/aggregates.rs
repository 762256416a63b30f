//! Aggregates, and the rows that they group.

use serde_json::json;

use crate::harness::League;

const GOALS: &str = "
  create table league.goals (
    id int primary key, player_id int references league.players, amount numeric not null, at timestamp not null,
    details json not null, facts jsonb not null
  );
  insert into league.goals values
    (1, 1, 2, '2024-05-01 10:00', '{\"xg\":0.5}', '{\"foot\":\"left\"}'),
    (2, 1, 1, '2024-05-01 20:00', '{\"xg\":0.25}', '{\"foot\":\"left\"}'),
    (3, 3, 4, '2024-06-01 10:00', '{\"xg\":0.75}', '{\"foot\":\"right\"}'),
    (4, null, 8, '2024-06-01 10:00', '{\"xg\":0.9}', '{\"foot\":\"right\"}');
  grant select on league.goals to anon;
  grant select, insert, delete on league.goals to authenticated";

async fn start() -> League {
    League::extended(GOALS, |settings| settings.db_aggregates_enabled = true).await
}

#[tokio::test]
async fn aggregates_are_off_unless_enabled() {
    let league = League::start().await;
    for url in [
        "/players?select=count()",
        "/players?select=...teams(id.max())",
        "/teams?select=...players(id.max())",
    ] {
        let response = league.get(url).await;
        assert_eq!((response.status, response.code()), (400, "PGRST123".to_owned()), "{url}");
        assert_eq!(response.json()["message"], "Use of aggregate functions is not allowed");
    }
}

#[tokio::test]
async fn a_select_of_aggregates_alone_is_one_row() {
    let league = start().await;
    assert_eq!(
        league.rows("/goals?select=count(),amount.sum(),amount.avg(),amount.min(),latest:at.max()").await,
        json!([{ "count": 4, "sum": 15, "avg": 3.75, "min": 1, "latest": "2024-06-01T10:00:00" }])
    );
    assert_eq!(
        league.rows("/goals?select=players:player_id.count(),count()").await,
        json!([{ "players": 3, "count": 4 }])
    );
    assert_eq!(
        league.rows("/goals?select=count(),amount.sum()&id=gt.100").await,
        json!([{ "count": 0, "sum": null }])
    );
}

#[tokio::test]
async fn other_columns_group() {
    let league = start().await;
    assert_eq!(
        league.rows("/goals?select=player_id,amount.sum()&order=player_id.nullslast").await,
        json!([{ "player_id": 1, "sum": 3 }, { "player_id": 3, "sum": 4 }, { "player_id": null, "sum": 8 }])
    );
    assert_eq!(
        league.rows("/goals?select=facts->>foot,count()&order=facts->>foot").await,
        json!([{ "foot": "left", "count": 2 }, { "foot": "right", "count": 2 }])
    );
    assert_eq!(
        league.rows("/goals?select=id:player_id,count()&player_id=eq.1").await,
        json!([{ "id": 1, "count": 2 }])
    );
    assert_eq!(
        league.rows("/staff?select=*,count()&id=eq.1").await,
        json!([
            { "id": 1, "name": "Una", "manager_id": null, "count": 1 }
        ])
    );
}

#[tokio::test]
async fn casts_stand_before_and_after() {
    let league = start().await;
    assert_eq!(
        league.rows("/goals?select=details->>xg::numeric.sum()::text,average:amount.avg()::int").await,
        json!([{ "sum": "2.40", "average": 4 }])
    );
    assert_eq!(
        league.rows("/goals?select=day:at::date,count()&player_id=eq.1").await,
        json!([{ "day": "2024-05-01", "count": 2 }])
    );
    // Under its own name, a column is grouped by before its cast, as upstream has it.
    assert_eq!(
        league.rows("/goals?select=at::date,count()&player_id=eq.1").await,
        json!([{ "at": "2024-05-01", "count": 1 }, { "at": "2024-05-01", "count": 1 }])
    );
}

#[tokio::test]
async fn embeds_have_aggregates_of_their_own() {
    let league = start().await;
    assert_eq!(
        league.rows("/teams?select=name,players(count())&order=id").await,
        json!([
            { "name": "Row Firsts", "players": [{ "count": 2 }] }, { "name": "Row Reserves", "players": [{ "count": 0 }] },
            { "name": "Lane Firsts", "players": [{ "count": 1 }] }, { "name": "Strays", "players": [{ "count": 0 }] },
        ])
    );
    assert_eq!(
        league.rows("/players?select=name,goals(at,amount.sum())&id=eq.1&goals.order=at.desc").await,
        json!([{ "name": "Ada", "goals": [{ "at": "2024-05-01T20:00:00", "sum": 1 }, { "at": "2024-05-01T10:00:00", "sum": 2 }] }])
    );
    assert_eq!(
        league.rows("/clubs?select=name,teams(name,players(count()))&id=eq.2").await,
        json!([{ "name": "Mill Lane", "teams": [{ "name": "Lane Firsts", "players": [{ "count": 1 }] }] }])
    );
    assert_eq!(
        league.rows("/matches?select=id,players(count())&order=id").await,
        json!([{ "id": 1, "players": [{ "count": 2 }] }, { "id": 2, "players": [{ "count": 1 }] }])
    );
}

#[tokio::test]
async fn embeds_group_their_parent() {
    let league = start().await;
    assert_eq!(
        league.rows("/goals?select=amount.sum(),player:players(name,teams(name))&player_id=eq.1").await,
        json!([{ "sum": 3, "player": { "name": "Ada", "teams": { "name": "Row Firsts" } } }])
    );
    let by_team = league.rows("/players?select=count(),teams(name)").await;
    assert_eq!(
        sorted(&by_team, "count"),
        json!([
            { "count": 1, "teams": null }, { "count": 1, "teams": { "name": "Lane Firsts" } },
            { "count": 2, "teams": { "name": "Row Firsts" } },
        ])
    );
    assert_eq!(
        league.rows("/clubs?select=count(),teams(name)&id=gt.1&teams.limit=0").await,
        json!([{ "count": 2, "teams": [] }])
    );
    assert_eq!(
        league.rows("/clubs?select=count(),...teams(name)&id=gt.1&teams.limit=0").await,
        json!([{ "count": 2, "name": [] }])
    );
    assert_eq!(
        league.rows("/goals?select=amount.sum(),...players(player:name,...teams(team:name))&order=players(player).nullslast").await,
        json!([
            { "sum": 3, "player": "Ada", "team": "Row Firsts" },
            { "sum": 4, "player": "Cyd", "team": "Lane Firsts" },
            { "sum": 8, "player": null, "team": null },
        ])
    );
    assert_eq!(
        league.rows("/goals?select=amount.sum(),...players(team_id,matches(id))&id=eq.3").await,
        json!([{ "sum": 4, "team_id": 3, "matches": [{ "id": 1 }] }])
    );
    assert_eq!(league.rows("/clubs?select=count(),teams!inner()").await, json!([{ "count": 2 }]));
}

#[tokio::test]
async fn aggregates_of_to_one_spreads_are_lifted() {
    let league = start().await;
    assert_eq!(
        league.rows("/players?select=...teams(name.min(),name.max(),count())").await,
        json!([{ "min": "Lane Firsts", "max": "Row Firsts", "count": 3 }])
    );
    assert_eq!(
        league.rows("/goals?select=player_id,...players(height.max()::text,...teams(teams:name.count()))&player_id=lt.4&order=player_id").await,
        json!([{ "player_id": 1, "max": "1.75", "teams": 2 }, { "player_id": 3, "max": null, "teams": 1 }])
    );
    assert_eq!(
        league.rows("/goals?select=...players(...teams(name,goals:id.count()))&player_id=eq.1").await,
        json!([{ "name": "Row Firsts", "goals": 2 }])
    );
    assert_eq!(
        league.rows("/clubs?select=id,teams(...clubs(count()),name.max())&id=eq.1").await,
        json!([{ "id": 1, "teams": [{ "max": "Row Reserves", "count": 2 }] }])
    );
    assert_eq!(
        league.rows("/passports?select=count(),...players(*)&player_id=eq.1").await[0]["tags"],
        json!(["captain", "left"])
    );
}

#[tokio::test]
async fn to_many_spreads_take_no_aggregates() {
    let league = start().await;
    for url in ["/teams?select=...players(id.max())", "/clubs?select=...teams(...clubs(count()))"] {
        let response = league.get(url).await;
        assert_eq!((response.status, response.code()), (400, "PGRST127".to_owned()), "{url}");
        assert_eq!(
            (&response.json()["message"], &response.json()["details"]),
            (
                &json!("Feature not implemented"),
                &json!("Aggregates are not implemented for one-to-many or many-to-many spreads.")
            )
        );
    }
}

#[tokio::test]
async fn groups_are_what_is_counted_and_paged() {
    let league = start().await;
    let url = "/goals?select=player_id,count()&order=player_id&limit=1&offset=1";
    let response = league.get_with(url, &[("prefer", "count=exact")]).await;
    assert_eq!((response.status, response.header("content-range")), (206, "1-1/3"));
    assert_eq!(response.json(), json!([{ "player_id": 3, "count": 1 }]));
    let planned = league.get_with(url, &[("prefer", "count=planned")]).await;
    assert_eq!(planned.status, 206, "{planned:?}");
    let csv = league.get_with("/goals?select=count(),amount.sum()", &[("accept", "text/csv")]).await;
    assert_eq!(csv.text, "count,sum\n4,15");
}

#[tokio::test]
async fn changed_rows_and_results_are_aggregated() {
    let league = start().await;
    let response = league
        .change(
            "DELETE",
            "/goals?select=count(),amount.sum()&player_id=eq.1",
            &[("prefer", "return=representation")],
            "",
        )
        .await;
    assert_eq!((response.status, response.json()), (200, json!([{ "count": 2, "sum": 3 }])));
    assert_eq!(
        league.rows("/rpc/team_players?team=1&select=active,count(),...teams(name)&order=active").await,
        json!([
            { "active": false, "count": 1, "name": "Row Firsts" }, { "active": true, "count": 1, "name": "Row Firsts" }
        ])
    );
    let strict = [("prefer", "return=representation, handling=strict, max-affected=1")];
    let response = league.change("DELETE", "/goals?select=count()", &strict, "").await;
    assert_eq!((response.status, response.code()), (400, "PGRST124".to_owned()), "{response:?}");
}

#[tokio::test]
async fn what_cannot_be_grouped_or_aggregated_is_postgres_refusal() {
    let league = start().await;
    for (url, code) in [
        ("/players?select=name.sum()", "42883"),
        ("/goals?select=details,count()", "42883"),
        ("/goals?select=amount.sum()&order=player_id", "42803"),
        ("/goals?select=amount.median()", "PGRST100"),
    ] {
        let response = league.get(url).await;
        assert_eq!(response.code(), code, "{url}: {response:?}");
        assert!((400..500).contains(&response.status), "{response:?}");
    }
}

/// Sorts `rows` by the text of `key`, then of all: groups come in no order.
fn sorted(rows: &serde_json::Value, key: &str) -> serde_json::Value {
    let mut rows = rows.as_array().cloned().unwrap_or_default();
    rows.sort_by_key(|row| (row[key].to_string(), row.to_string().len()));
    rows.into()
}

#[tokio::test]
async fn values_of_domains_are_grouped_as_shown_and_aggregated_as_stored() {
    let league =
        League::extended(include_str!("domains.sql"), |settings| settings.db_aggregates_enabled = true).await;
    assert_eq!(
        league.rows("/kits?select=main,count()&id=eq.1").await,
        json!([{ "main": "#14294b", "count": 1 }])
    );
    assert_eq!(
        league.rows("/kits?select=*,main.max(),price.sum()&id=eq.3").await,
        json!([{ "id": 3, "club_id": 2, "main": "#000000", "trim": "#000001", "price": null, "max": 0, "sum": null }])
    );
}
