//! Tests with the complete module for a schema that contains every kind of object.

use database::{Database, Settings};

use super::{Options, generate};

const SCHEMA: &str = "
    create type public.mood as enum ('happy', 'sad \"but\" fine');
    create type public.length as enum ('an enum with labels that are so long', 'that they do not fit', 'into one line');
    create type public.point3 as (x int, y float8, label text);
    create domain public.email as text check (value like '%@%');
    create table public.teams (id bigint generated always as identity primary key, \"home town\" text);
    create table public.players (
        id uuid primary key default gen_random_uuid(),
        team_id bigint not null references public.teams,
        captain_of bigint unique references public.teams,
        mail public.email,
        moods public.mood[] not null default '{}',
        mood public.mood,
        spot public.point3,
        stats jsonb not null,
        num1 int, num_2 int,
        sum int generated always as (num1 + num_2) stored
    );
    create view public.clubs as select id, \"home town\" as town from public.teams;
    create view public.captains as select id, team_id from public.players where captain_of is not null;
    create function public.add(a int, b int default 1) returns int language sql as 'select a + b';
    create function public.nothing() returns void language sql as '';
    create function public.pairs() returns table (key text, value jsonb) language sql as 'select null::text, null::jsonb';
    create function public.team_players(team public.teams) returns setof public.players language sql
        as 'select * from public.players where team_id = team.id';
    create function public.caption(public.teams) returns text language sql as 'select ''x''::text';
    create function public.over(a int) returns text language sql as 'select ''''::text';
    create function public.over(a int, b int) returns text language sql as 'select ''''::text';
    create function public.clash(a int) returns text language sql as 'select ''''::text';
    create function public.clash(a text) returns text language sql as 'select ''''::text';
    create function public.words(text) returns text language sql as 'select $1';
    create function public.raw(bytea) returns int language sql as 'select length($1)';
    create function public.document(xml) returns jsonb language sql as 'select ''{}''::jsonb';
    create function public.out_of_reach(int, int) returns int language sql as 'select 1';
    create function public.on_change() returns trigger language plpgsql as 'begin return new; end';
";

fn of(schemas: &[&str]) -> Options {
    Options { schemas: schemas.iter().map(|schema| (*schema).to_owned()).collect(), one_to_one: true }
}

#[tokio::test]
async fn everything_is_described_as_the_supabase_cli_describes_it() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute(SCHEMA).await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let module = generate(&pool, &of(&["public"])).await.unwrap();
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/expected.txt"), &module).unwrap();
    }
    let expected = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/expected.txt"));
    assert_eq!(module, expected.unwrap());
}

#[tokio::test]
async fn an_empty_schema_has_empty_types() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute("create schema hollow").await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let module = generate(&pool, &of(&["hollow"])).await.unwrap();
    assert!(module.contains("  hollow: {\n    Tables: {\n      [_ in never]: never\n    }\n"), "{module}");
    assert!(module.contains("    Enums: {},\n"), "{module}");
}

/// Schemas that do not exist are left out, as by the CLI, and references have their older form if that is requested.
#[tokio::test]
async fn schemas_and_references_are_the_requested_ones() {
    let database = testkit::Database::create().await;
    database.client().await.batch_execute(SCHEMA).await.unwrap();
    let pool = Database::connect(Settings::new(database.uri().parse().unwrap())).await.unwrap();
    let options = Options { one_to_one: false, ..of(&["public", "public", "nowhere"]) };
    let module = generate(&pool, &options).await.unwrap();
    assert!(!module.contains("nowhere") && module.matches("  public: {\n").count() == 2, "{module}");
    // Functions have this property, too, with another indentation.
    assert!(module.contains("foreignKeyName") && !module.contains("\n            isOneToOne"), "{module}");
}
