//! The schema cache follows the database.

use crate::harness::League;

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

#[tokio::test]
async fn without_a_database_the_service_says_when_to_come_back() {
    let nowhere = database::Settings::new("postgres://authenticator@127.0.0.1:1/postgres");
    let database = database::Database::connect(nowhere).await.unwrap();
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
