//! Keys of views that show a column of their tables more than once.

use serde_json::json;

use crate::harness::League;

const VIEWS: &str = "
    create table league.people (id int primary key, club_id int references league.clubs, boss int references league.people);
    insert into league.people values (1, 1, null), (2, 2, 1);
    create view league.pairs as
      select a.id as first, a.club_id as first_club, b.id as second, b.club_id as second_club
      from league.people a join league.people b on b.boss = a.id;
    create view league.chained as select first as x, second as y, first_club as k, second_club as l from league.pairs;
    create view league.doubled as select id, id as again, name from league.clubs;
    create table league.stands (row_no int, number int, primary key (row_no, number));
    create table league.places (
      id int primary key, row_no int, number int, foreign key (row_no, number) references league.stands
    );
    insert into league.stands values (1, 2);
    insert into league.places values (7, 1, 2);
    create view league.shown as select id, row_no, number, row_no as row_again from league.places;
    grant all on all tables in schema league to anon, authenticated;
";

async fn start() -> League {
    League::extended(VIEWS, |_| {}).await
}

/// Returns what the candidates of an ambiguous embed are joined by.
async fn candidates(league: &League, url: &str) -> Vec<String> {
    let response = league.get(url).await;
    assert_eq!((response.status, response.code()), (300, "PGRST201".to_owned()), "{url}: {response:?}");
    let details = response.json()["details"].as_array().cloned().unwrap_or_default();
    details.iter().filter_map(|candidate| Some(candidate["relationship"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn each_name_of_a_column_holds_the_key() {
    let league = start().await;
    let key = "people_club_id_fkey using";
    assert_eq!(
        candidates(&league, "/pairs?select=clubs(*)").await,
        [format!("{key} pairs(first_club) and clubs(id)"), format!("{key} pairs(second_club) and clubs(id)")]
    );
    assert_eq!(
        candidates(&league, "/chained?select=clubs(*)").await,
        [format!("{key} chained(k) and clubs(id)"), format!("{key} chained(l) and clubs(id)")]
    );
    assert_eq!(
        candidates(&league, "/people?select=pairs(*)").await,
        [
            "people_boss_fkey using people(boss) and pairs(first)",
            "people_boss_fkey using people(boss) and pairs(second)"
        ]
    );
    assert_eq!(
        candidates(&league, "/pairs?select=doubled(*)").await,
        [
            format!("{key} pairs(first_club) and doubled(again)"),
            format!("{key} pairs(first_club) and doubled(id)"),
            format!("{key} pairs(second_club) and doubled(again)"),
            format!("{key} pairs(second_club) and doubled(id)"),
        ]
    );
    assert_eq!(
        league.rows("/pairs?select=first,a:clubs!first_club(name),b:clubs!second_club(name)").await,
        json!([{ "first": 1, "a": { "name": "Harbour Row" }, "b": { "name": "Mill Lane" } }])
    );
}

#[tokio::test]
async fn composite_keys_are_combined() {
    let league = start().await;
    let key = "places_row_no_number_fkey using";
    assert_eq!(
        candidates(&league, "/shown?select=stands(*)").await,
        [
            format!("{key} shown(row_again, number) and stands(row_no, number)"),
            format!("{key} shown(row_no, number) and stands(row_no, number)"),
        ]
    );
}

#[tokio::test]
async fn the_first_name_of_a_column_is_the_primary_key() {
    let league = start().await;
    let made = league
        .change("POST", "/doubled", &[("prefer", "return=headers-only")], r#"{"id":77,"name":"x"}"#)
        .await;
    assert_eq!((made.status, made.header("location")), (201, "/doubled?id=eq.77"));
}
