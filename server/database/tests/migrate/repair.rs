//! A platform of which parts have been dropped.

use std::path::PathBuf;

use database::migrate::Migrator;
use testkit::Database;
use tokio_postgres::Client;

use crate::support::text;

/// Returns a new database with the platform.
async fn platform() -> (Database, Client) {
    let database = Database::empty().await;
    let mut client = database.client().await;
    Migrator::new(&mut client).platform().await.unwrap();
    (database, client)
}

/// Returns the objects of the platform with their owners, rights, columns, constraints, indexes, policies and functions' text.
async fn description(client: &Client) -> Vec<String> {
    let rows = client.query_typed(include_str!("description.sql"), &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Drops with `sql` a part of the platform of a new database, and checks that the next start creates it again, and that
/// the one after it has nothing to do.
async fn check_repair(sql: &str) {
    let (_database, mut client) = platform().await;
    let complete = description(&client).await;
    client.batch_execute(sql).await.unwrap();
    let report = Migrator::new(&mut client).platform().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let repaired = description(&client).await;
    let lost: Vec<&String> = complete.iter().filter(|line| !repaired.contains(line)).collect();
    let new: Vec<&String> = repaired.iter().filter(|line| !complete.contains(line)).collect();
    assert!(lost.is_empty() && new.is_empty(), "{sql}\nlost: {lost:#?}\nnew: {new:#?}\n{report:?}");
    let again = Migrator::new(&mut client).platform().await.unwrap();
    assert!(
        again.applied.is_empty() && again.adopted.is_empty() && again.repaired.is_empty(),
        "{sql}: {again:?}"
    );
    let status = Migrator::new(&mut client).status(&PathBuf::from("nowhere")).await.unwrap();
    assert!(status.is_current(), "{sql}");
}

#[tokio::test]
async fn the_list_of_objects_is_that_of_a_complete_platform() {
    let (_database, mut client) = platform().await;
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/platform/objects.txt");
    let mut objects = Migrator::new(&mut client).objects().await.unwrap();
    objects.sort();
    let text = objects.iter().map(|line| format!("{line}\n")).collect::<String>();
    if std::env::var_os("BASALT_TEST_UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(file).unwrap(), "run this test with BASALT_TEST_UPDATE=1");
}

#[tokio::test]
async fn each_schema_of_the_platform_is_created_again() {
    for schema in
        ["auth", "storage", "realtime", "basalt", "graphql_public", "supabase_functions", "storage_vectors"]
    {
        check_repair(&format!("drop schema {schema} cascade")).await;
    }
}

#[tokio::test]
async fn all_schemas_of_the_platform_are_created_again() {
    // The schemas that older releases of the Supabase CLI drop, where they belong to `postgres`.
    let of_cli = "drop schema auth, storage, realtime, basalt, storage_vectors, graphql_public, supabase_functions cascade";
    check_repair(of_cli).await;
    check_repair(&format!("{of_cli}; drop schema supabase_migrations, graphql cascade")).await;
    check_repair("drop schema extensions cascade").await;
    check_repair("drop schema public cascade; create schema public; drop publication supabase_realtime")
        .await;
}

#[tokio::test]
async fn single_objects_are_created_again_and_what_is_there_keeps_its_rows() {
    check_repair("drop table auth.saml_relay_states; drop function storage.foldername(text), auth.uid()")
        .await;
    let (_database, mut client) = platform().await;
    client
        .batch_execute(
            "insert into auth.users (id, email) values (gen_random_uuid(), 'a@example.com'); \
             insert into storage.buckets (id, name) values ('b', 'b'); \
             drop schema realtime cascade",
        )
        .await
        .unwrap();
    let missing = Migrator::new(&mut client).missing_parts().await.unwrap();
    assert!(missing.contains(&"table realtime.messages"), "{missing:?}");
    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert_eq!(report.repaired, missing);
    assert!(Migrator::new(&mut client).missing_parts().await.unwrap().is_empty());
    assert_eq!(
        text(&client, "select (select email from auth.users) || (select id from storage.buckets)").await,
        "a@example.comb"
    );
}

#[tokio::test]
async fn what_cannot_be_created_again_is_reported() {
    let (_database, mut client) = platform().await;
    client.batch_execute("drop table auth.users cascade").await.unwrap();
    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert!(report.repaired.contains(&"table auth.users".to_owned()), "{report:?}");
    let missing = Migrator::new(&mut client).missing_parts().await.unwrap();
    assert!(missing.contains(&"constraint sessions_user_id_fkey on auth.sessions"), "{missing:?}");
    assert!(missing.iter().all(|object| object.starts_with("constraint ")), "{missing:?}");
}
