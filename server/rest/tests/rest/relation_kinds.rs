//! Relations of every kind as what is read and embedded, and values inside their columns.

use serde_json::json;

use crate::harness::League;

const RELATIONS: &str = r#"
  -- The foreign key names the columns of the primary key in another order.
  create table league.seats (row_no int, number int, block text, primary key (row_no, number));
  create table league.tickets (
    number int, row_no int, holder text not null, primary key (row_no, number),
    foreign key (number, row_no) references league.seats (number, row_no)
  );
  insert into league.seats values (1, 2, 'A'), (2, 1, 'B');
  insert into league.tickets (row_no, number, holder) values (1, 2, 'Ida');

  create table league.gates (
    match_id int references league.matches, day date not null, visitors int not null, primary key (match_id, day)
  ) partition by range (day);
  create table league.gates_2024 partition of league.gates for values from ('2024-01-01') to ('2025-01-01');
  create table league.gates_2025 partition of league.gates for values from ('2025-01-01') to ('2026-01-01');
  insert into league.gates values (1, '2024-05-01', 900), (1, '2025-05-01', 1100), (2, '2025-06-01', 700);
  create table league.stewards (
    name text primary key, match_id int, day date, foreign key (match_id, day) references league.gates
  );
  insert into league.stewards values ('Max', 1, '2025-05-01');

  create materialized view league.honours as select id as player, team_id as team, name from league.players
    where height is not null;

  create type league.place as (street text, no int);
  create table league.offices (
    id int primary key, place league.place, places league.place[], marks int[], names text[]
  );
  insert into league.offices values
    (1, row('Quay', 7), array[row('Quay', 7), row('Dock', 8)]::league.place[], '{5,6,7}', '{a,b}'),
    (2, row('Mill', 3), '{}', '{1}', null);

  create function league.players_taller(than numeric) returns setof league.players stable language sql
    as $$ select * from league.players where height > than $$;
  create function league.honoured() returns setof league.honours stable language sql
    as $$ select * from league.honours $$;
  create function league.player_named(name text) returns league.players stable language sql
    as $$ select p from league.players p where p.name = player_named.name $$;
  create function league.pairs() returns table (id int, club_id int) stable language sql
    as $$ select id, club_id from league.teams $$;
  grant select on all tables in schema league to anon;
"#;

async fn start() -> League {
    League::extended(RELATIONS, |_| {}).await
}

#[tokio::test]
async fn one_to_one_is_found_whatever_the_order_of_the_key() {
    let league = start().await;
    assert_eq!(
        league.rows("/tickets?select=holder,seats(block)").await,
        json!([{ "holder": "Ida", "seats": { "block": "A" } }])
    );
    assert_eq!(
        league.rows("/seats?select=block,tickets(holder)&order=tickets(holder).nullslast").await,
        json!([{ "block": "A", "tickets": { "holder": "Ida" } }, { "block": "B", "tickets": null }])
    );
}

#[tokio::test]
async fn partitioned_tables_are_one_relation() {
    let league = start().await;
    assert_eq!(
        league.rows("/matches?select=id,gates(day,visitors)&order=id&gates.order=day.desc").await,
        json!([
            { "id": 1, "gates": [{ "day": "2025-05-01", "visitors": 1100 }, { "day": "2024-05-01", "visitors": 900 }] },
            { "id": 2, "gates": [{ "day": "2025-06-01", "visitors": 700 }] },
        ])
    );
    assert_eq!(
        league
            .rows("/gates?select=visitors,matches(id,home:home_id(name)),stewards(name)&visitors=gt.1000")
            .await,
        json!([{
            "visitors": 1100, "matches": { "id": 1, "home": { "name": "Row Firsts" } }, "stewards": [{ "name": "Max" }],
        }])
    );
    let part = league.get("/gates_2024").await;
    assert_eq!((part.status, part.code()), (404, "PGRST205".to_owned()));
    let embedded = league.get("/matches?select=gates_2024(*)").await;
    assert_eq!((embedded.status, embedded.code()), (400, "PGRST200".to_owned()));
}

#[tokio::test]
async fn materialized_views_are_read_and_embedded() {
    let league = start().await;
    assert_eq!(
        league.rows("/honours?select=name,teams(name,clubs(name))&order=player&limit=1").await,
        json!([{ "name": "Ada", "teams": { "name": "Row Firsts", "clubs": { "name": "Harbour Row" } } }])
    );
    assert_eq!(
        league.rows("/teams?select=honours(name)&id=eq.1&honours.order=name.desc").await,
        json!([{ "honours": [{ "name": "Bea" }, { "name": "Ada" }] }])
    );
    assert_eq!(
        league.rows("/passports?select=number,honours(name)").await,
        json!([{ "number": "P-001", "honours": { "name": "Ada" } }])
    );
}

#[tokio::test]
async fn foreign_tables_are_related_by_functions() {
    let league = start().await;
    let superuser = league.database.client().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("transfers.csv");
    std::fs::write(&file, "1,2500.50\n3,100\n").unwrap();
    // The server, which reads it, may be another user.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = format!(
        "create extension file_fdw;
         create server files foreign data wrapper file_fdw;
         create foreign table league.transfers (player_id int, fee numeric) server files
           options (filename '{}', format 'csv');
         grant select on league.transfers to anon;
         create function league.player(league.transfers) returns setof league.players rows 1 stable language sql
           as $$ select * from league.players where id = $1.player_id $$;
         create function league.transfers(league.players) returns setof league.transfers stable language sql
           as $$ select * from league.transfers where player_id = $1.id $$;
         notify pgrst",
        file.display()
    );
    superuser.batch_execute(&script).await.unwrap();
    league.until("/transfers", 200).await;
    assert_eq!(
        league.rows("/transfers?select=fee,player(name,teams(name))&order=fee").await,
        json!([
            { "fee": 100, "player": { "name": "Cyd", "teams": { "name": "Lane Firsts" } } },
            { "fee": 2500.50, "player": { "name": "Ada", "teams": { "name": "Row Firsts" } } },
        ])
    );
    assert_eq!(league.ids("/players?select=id,transfers!inner(fee)&transfers.fee=gt.1000").await, [1]);
    let refused = league.change("POST", "/transfers", &[], r#"{"player_id":1,"fee":1}"#).await;
    assert!((400..500).contains(&refused.status), "{refused:?}");
}

#[tokio::test]
async fn values_inside_composites_and_arrays() {
    let league = start().await;
    assert_eq!(
        league
            .rows("/offices?select=place->>street,no:place->no,places->-1->>street,marks->0,second:names->>1&id=eq.1")
            .await,
        json!([{ "street": "Dock", "no": 7, "marks": 5, "second": "b" }]),
        "of two columns of one name, the last counts"
    );
    assert_eq!(
        league.rows("/offices?select=place,places,marks&id=eq.2").await,
        json!([{ "place": { "street": "Mill", "no": 3 }, "places": [], "marks": [1] }])
    );
    assert_eq!(league.ids("/offices?select=id&place->>street=eq.Mill").await, [2]);
    assert_eq!(league.ids("/offices?select=id&place->no=gt.3").await, [1]);
    assert_eq!(league.ids("/offices?select=id&marks->0=eq.5").await, [1]);
    assert_eq!(league.ids("/offices?select=id&marks=cs.{6,7}").await, [1]);
    assert_eq!(league.ids("/offices?select=id&names=is.null").await, [2]);
    assert_eq!(league.ids("/offices?select=id&order=place->>street").await, [2, 1]);
    assert_eq!(
        league.ids("/offices?select=id&or=(place->>street.eq.Mill,marks->-1.eq.7)&order=id").await,
        [1, 2]
    );
}

#[tokio::test]
async fn results_of_functions_have_their_relations_relationships() {
    let league = start().await;
    assert_eq!(
        league
            .rows(
                "/rpc/players_taller?than=1.7&select=name,teams(name,clubs(name)),passports(number)&order=id"
            )
            .await,
        json!([
            { "name": "Ada", "teams": { "name": "Row Firsts", "clubs": { "name": "Harbour Row" } },
              "passports": { "number": "P-001" } },
            { "name": "Dot, \"the wall\" (x)", "teams": null, "passports": null },
        ])
    );
    assert_eq!(
        league.ids("/rpc/players_taller?than=1&select=id,teams!inner()&teams.name=like.Row*&order=id").await,
        [1, 2]
    );
    assert_eq!(
        league.rows("/rpc/players_taller?than=1&select=id,...teams(team:name),matches(id)&limit=1&order=teams(name),id").await,
        json!([{ "id": 1, "team": "Row Firsts", "matches": [{ "id": 1 }, { "id": 2 }] }])
    );
    assert_eq!(
        league.rows("/rpc/honoured?select=name,teams(name)&limit=1&order=name").await,
        json!([{ "name": "Ada", "teams": { "name": "Row Firsts" } }])
    );
    assert_eq!(
        league.rows("/rpc/player_named?name=Cyd&select=id,teams(clubs(name))").await,
        json!({ "id": 3, "teams": { "clubs": { "name": "Mill Lane" } } })
    );
    let unrelated = league.get("/rpc/pairs?select=id,clubs(name)").await;
    assert_eq!((unrelated.status, unrelated.code()), (400, "PGRST200".to_owned()));
}

#[tokio::test]
async fn recursion_goes_up_and_down() {
    let league = start().await;
    assert_eq!(
        league.rows("/staff?select=name,staff(name,staff(name),boss:manager_id(name,manager_id(name)))&id=eq.1&staff.order=id&staff.limit=1").await,
        json!([{ "name": "Una", "staff": [
            { "name": "Vic", "staff": [], "boss": { "name": "Una", "manager_id": null } },
        ] }])
    );
    assert_eq!(
        league
            .rows("/staff?select=name,reports:staff!manager_id(name),...manager_id(boss:name)&id=eq.2")
            .await,
        json!([{ "name": "Vic", "reports": [], "boss": "Una" }])
    );
    assert_eq!(
        league.ids("/staff?select=id,manager_id!inner(name)&manager_id.name=eq.Una&order=id").await,
        [2, 3]
    );
    assert_eq!(league.ids("/staff?select=id,staff()&staff=is.null&order=id").await, [2, 3]);
}
