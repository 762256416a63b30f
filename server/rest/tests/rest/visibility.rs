//! What the database's own code sees of a request: everything that it reads, though what nothing reads is not sent.

use serde_json::{Value, json};

use crate::harness::{League, send};

const TABLES: &str = "
create function league.asks_method() returns boolean language plpgsql stable as
  $$ begin return current_setting('request.method', true) = 'GET'; end $$;
create function league.tells_path() returns trigger language plpgsql as $$ begin
    perform set_config('response.headers',
      format('[{\"x-path\": \"%s\"}]', current_setting('request.path', true)), true);
    return new;
  end $$;
create function league.doubles(n integer) returns integer language sql immutable as 'select n * 2';
create type league.mood as enum ('sad', 'happy');
create domain league.short as text check (length(value) < 10);

create table league.bare (id integer primary key, mood league.mood default 'sad', made timestamptz default now(),
  check (id > 0));
create table league.numbered (id serial primary key, twice integer default league.doubles(4));
create table league.owned (owner uuid default auth.uid());
alter table league.owned enable row level security;
create policy own on league.owned using (owner = auth.uid()) with check ((select auth.role()) = 'authenticated');
create table league.guarded (id integer);
alter table league.guarded enable row level security;
create policy by_method on league.guarded using (league.asks_method());
create table league.noted (id integer,
  app text default (current_setting('request.headers', true)::json ->> 'x-app'));
create table league.watched (id integer);
create trigger tell before insert on league.watched for each row execute function league.tells_path();
create table league.parent (id integer primary key);
create table league.child (parent_id integer references league.parent on delete cascade);
create table league.checked (id integer check (league.asks_method() is not null));
create table league.shortened (name league.short);
create table league.parted (id integer) partition by list (id);
create view league.seen as select id from league.bare;
grant all on all tables in schema league to anon, authenticated;
grant all on all sequences in schema league to anon, authenticated;
";

#[tokio::test]
async fn code_that_looks_at_requests_is_known_by_what_it_is_made_of() {
    let league = League::extended(TABLES, |_| {}).await;
    let cache: Value = serde_json::from_str(&league.rest.schema_cache().unwrap()).unwrap();
    for (table, reads, writes) in [
        ("bare", false, false),
        ("numbered", false, false),
        ("owned", false, false),
        ("guarded", true, true),
        ("noted", false, true),
        ("watched", false, true),
        ("parent", false, true),
        ("child", false, false),
        ("checked", false, true),
        ("shortened", true, true),
        ("parted", true, true),
        ("seen", true, true),
    ] {
        let table_of = &cache["league"]["tables"][table];
        let seen = (&table_of["reads_see_request"], &table_of["writes_see_request"]);
        assert_eq!(seen, (&json!(reads), &json!(writes)), "{table}");
    }
    for (function, sees) in [("doubles", false), ("asks_method", true)] {
        assert_eq!(cache["league"]["functions"][function][0]["sees_request"], sees, "{function}");
    }
}

#[tokio::test]
async fn defaults_policies_and_triggers_see_the_request() {
    let league = League::extended(TABLES, |_| {}).await;
    let superuser = league.database.client().await;
    superuser.batch_execute("insert into league.guarded values (1)").await.unwrap();

    let representation = ("prefer", "return=representation");
    let noted = league.change("POST", "/noted", &[("x-app", "stadium"), representation], r#"{"id":1}"#).await;
    assert_eq!(noted.json(), json!([{ "id": 1, "app": "stadium" }]));
    assert_eq!(league.rows("/guarded").await, json!([{ "id": 1 }]));
    let watched = league.change("POST", "/watched", &[], r#"{"id":1}"#).await;
    assert_eq!((watched.status, watched.header("x-path")), (201, "/watched"));

    let owned = league.change("POST", "/owned", &[representation], "{}").await;
    assert_eq!(owned.json(), json!([{ "owner": "11111111-1111-1111-1111-111111111111" }]));
    assert_eq!(league.rows("/owned").await, json!([]), "nobody is a stranger's owner");
    assert_eq!(league.call("doubles", &json!({ "n": 21 })).await.json(), 42);
}

#[tokio::test]
async fn code_that_is_created_later_sees_the_request_too() {
    let league = League::extended(TABLES, |_| {}).await;
    let insert = |id: u32| {
        let league = &league;
        async move { league.change("POST", "/bare", &[], &json!({ "id": id }).to_string()).await }
    };
    for id in 1..4 {
        assert_eq!(insert(id).await.header("x-path"), "");
    }
    let trigger =
        "create trigger tell before insert on league.bare for each row execute function league.tells_path()";
    let superuser = league.database.client().await;
    superuser.batch_execute(trigger).await.unwrap();
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut id = 4;
    while insert(id).await.header("x-path") != "/bare" {
        assert!(tokio::time::Instant::now() < deadline, "the trigger is not told of the path");
        id += 1;
    }
    superuser
        .batch_execute(
            "alter table league.bare enable row level security;
             create policy by_method on league.bare for select using (league.asks_method())",
        )
        .await
        .unwrap();
    while league.rows("/bare?id=eq.1&select=id").await != json!([{ "id": 1 }]) {
        assert!(tokio::time::Instant::now() < deadline, "the policy is not told of the method");
    }
}

#[tokio::test]
async fn without_the_event_trigger_every_read_sees_the_request() {
    let sql = "drop event trigger pgrst_ddl_watch; create table league.plain (id integer)";
    let league = League::extended(sql, |_| {}).await;
    let cache: Value = serde_json::from_str(&league.rest.schema_cache().unwrap()).unwrap();
    assert_eq!(cache["league"]["tables"]["plain"]["reads_see_request"], true);
    let trigger = "create function league.tells_path() returns trigger language plpgsql as $$ begin
          perform set_config('response.headers',
            format('[{\"x-path\": \"%s\"}]', current_setting('request.path', true)), true);
          return new;
        end $$;
        grant all on league.plain to authenticated;
        create trigger tell before insert on league.plain for each row execute function league.tells_path()";
    league.database.client().await.batch_execute(trigger).await.unwrap();
    let response = league.change("POST", "/plain", &[], r#"{"id":1}"#).await;
    assert_eq!((response.status, response.header("x-path")), (201, "/plain"));
}

#[tokio::test]
async fn a_function_before_each_request_sees_it_whatever_is_read() {
    let sql = "create table league.plain (id integer); grant select on league.plain to anon;
        create function league.greet() returns void language plpgsql as $$ begin
          perform set_config('response.headers',
            format('[{\"x-path\": \"%s\"}]', current_setting('request.path', true)), true);
        end $$";
    let league =
        League::extended(sql, |settings| settings.db_pre_request = Some("league.greet".to_owned())).await;
    let response = send(league.request("GET", "/plain")).await;
    assert_eq!((response.status, response.header("x-path")), (200, "/plain"));
}

#[tokio::test]
async fn who_hears_no_news_tells_everything() {
    let database = testkit::Database::create().await;
    let deaf = |connection: &mut postgres::Settings| connection.channel = None;
    let league = League::on(database, TABLES, |_| {}, deaf).await;
    let trigger =
        "create trigger tell before insert on league.bare for each row execute function league.tells_path()";
    league.database.client().await.batch_execute(trigger).await.unwrap();
    let response = league.change("POST", "/bare", &[], r#"{"id":1}"#).await;
    assert_eq!((response.status, response.header("x-path")), (201, "/bare"));
}
