//! The schema cache follows the database.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use crate::harness::{League, probe};

/// How long anything may take.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(30);

#[tokio::test]
async fn new_tables_are_seen_after_a_notice() {
    let league = League::start().await;
    assert_eq!(league.get("/seasons").await.code(), "PGRST205");
    let superuser = league.database.client().await;
    let sql = "create table league.seasons (id int primary key, club_id int references league.clubs);
               grant select on league.seasons to anon; notify pgrst, 'reload schema'";
    superuser.batch_execute(sql).await.unwrap();
    league.until("/seasons", 200).await;
    league.until("/clubs?select=*,seasons(*)", 200).await;
    superuser.batch_execute("drop table league.seasons; notify pgrst").await.unwrap();
    league.until("/seasons", 404).await;
}

#[tokio::test]
async fn changes_are_seen_by_the_event_trigger() {
    let league = League::start().await;
    let superuser = league.database.client().await;
    let table = "create table league.seasons (id int); grant select on league.seasons to anon";
    superuser.batch_execute(table).await.unwrap();
    league.until("/seasons", 200).await;
    superuser.batch_execute("drop table league.seasons").await.unwrap();
    league.until("/seasons", 404).await;
}

/// Returns the time of the fastest of some loads.
async fn fastest_load(league: &League) -> std::time::Duration {
    let mut times = Vec::new();
    for _ in 0..3 {
        let begun = std::time::Instant::now();
        league.rest.load().await.unwrap();
        times.push(begun.elapsed());
    }
    times.into_iter().min().unwrap_or(LIMIT)
}

#[tokio::test]
async fn the_catalog_is_read_without_compiling_its_query() {
    let with_settings = async |settings: &[(&str, &str)]| {
        let set = settings.iter().map(|(name, value)| {
            format!("execute format('alter database %I set {name} = {value}', current_database());")
        });
        let sql = format!("do $$ begin {} end $$", set.collect::<String>());
        fastest_load(&League::extended(&sql, |_| {}).await).await
    };
    let plain = with_settings(&[("jit", "off")]).await;
    // More than the small statements around it cost, each of which would be compiled, too.
    let costs =
        ["jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost"].map(|cost| (cost, "100"));
    let eager = with_settings(&[&[("jit", "on")][..], &costs].concat()).await;
    // Postgres without LLVM never compiles anything; with it this took ten times as long.
    assert!(eager < 4 * plain + std::time::Duration::from_millis(100), "{eager:?} beside {plain:?}");
}

#[tokio::test]
async fn requests_get_a_response_from_the_old_cache_until_there_is_a_new_one() {
    let league = League::start().await;
    let (locker, superuser) = (league.database.client().await, league.database.client().await);
    // The catalog's query reads comments; requests do not.
    locker
        .batch_execute("begin; lock table pg_catalog.pg_description in access exclusive mode")
        .await
        .unwrap();
    let table = "create table league.seasons (id int); grant select on league.seasons to anon; notify pgrst";
    superuser.batch_execute(table).await.unwrap();
    let waiting =
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
                     and usename = 'authenticator'";
    let blocked = async || {
        let deadline = tokio::time::Instant::now() + LIMIT;
        loop {
            if let Some(row) = superuser.query_opt(waiting, &[]).await.unwrap() {
                return row.get::<_, i32>(0);
            }
            assert!(tokio::time::Instant::now() < deadline, "the catalog is not read");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let reload = blocked().await;
    assert_eq!(league.ids("/clubs?select=id&order=id").await, [1, 2, 3]);
    assert_eq!(league.get("/seasons").await.code(), "PGRST205");

    // A reload that fails is tried again, and until then, too, the old cache is good enough.
    superuser.execute("select pg_cancel_backend($1)", &[&reload]).await.unwrap();
    let figures = async || {
        let request = poem::Request::builder().uri_str("/metrics").finish();
        let response = poem::Endpoint::call(&league.rest.admin(probe(true)), request).await.unwrap();
        response.into_body().into_string().await.unwrap()
    };
    let deadline = tokio::time::Instant::now() + LIMIT;
    while figures().await.contains("loads_total{status=\"FAIL\"} 0\n") {
        assert!(tokio::time::Instant::now() < deadline, "the failure is not counted");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(league.ids("/clubs?select=id&order=id").await, [1, 2, 3]);
    locker.batch_execute("rollback").await.unwrap();
    league.until("/seasons", 200).await;
}

#[tokio::test]
async fn without_a_database_the_service_says_when_to_come_back() {
    let nowhere = postgres::Settings::new("postgres://authenticator@127.0.0.1:1/postgres".parse().unwrap());
    let database = postgres::Database::connect(nowhere).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let keys =
        tokens::Keys::load_or_create(&folder.path().join("keys.json"), tokens::KeyOverrides::default());
    let settings = rest::Settings { db_anon_role: Some("anon".into()), ..rest::Settings::default() };
    let rest = rest::service(settings, database, keys.unwrap().verifier());
    let stop = tokio_util::sync::CancellationToken::new();
    let (keeper, ending) = (rest.clone(), stop.clone());
    let task = tokio::spawn(async move { keeper.keep_fresh(ending).await });
    let request = poem::Request::builder().uri_str("/clubs").finish();
    let response = poem::Endpoint::call(&rest, request).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.header("proxy-status"), Some("PostgREST; error=PGRST002"));
    assert!(response.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert!(!rest.is_ready());
    stop.cancel();
    task.await.unwrap();
}
