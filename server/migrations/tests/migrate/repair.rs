//! A platform of which parts have been dropped.

use std::path::PathBuf;

use migrations::Migrator;
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

/// Returns the objects of the platform with their owners, rights, columns, constraints, indexes, policies and
/// functions' text.
async fn description(client: &Client) -> Vec<String> {
    let rows = client.query_typed(include_str!("description.sql"), &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Drops schemas of the platform of a new database with `sql`, and checks that the next start creates them again, and
/// that the one after it has nothing to do.
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
async fn each_schema_of_the_platform_is_created_again() {
    for schema in [
        "auth",
        "storage",
        "realtime",
        "basalt",
        "graphql_public",
        "supabase_functions",
        "storage_vectors",
        "basalt_platform",
    ] {
        check_repair(&format!("drop schema {schema} cascade")).await;
    }
}

#[tokio::test]
async fn all_schemas_of_the_platform_are_created_again() {
    // The schemas that older releases of the Supabase CLI drop, where they belong to `postgres`.
    let of_cli = "drop schema auth, storage, realtime, basalt, storage_vectors, graphql_public, supabase_functions cascade";
    check_repair(of_cli).await;
    check_repair(&format!("{of_cli}; drop schema supabase_migrations, graphql cascade")).await;
}

#[tokio::test]
async fn what_is_there_keeps_its_rows_and_rights() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute(
            "insert into auth.users (id, email) values (gen_random_uuid(), 'a@example.com'); \
             insert into storage.buckets (id, name) values ('b', 'b'); \
             create table public.secrets (id int); revoke all on public.secrets from anon; \
             revoke insert on storage.objects from anon; drop schema realtime cascade",
        )
        .await
        .unwrap();
    let missing = Migrator::new(&mut client).missing_schemas().await.unwrap();
    assert_eq!(missing, ["realtime"]);
    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert_eq!(report.repaired, missing);
    let kept = "select (select email from auth.users) || (select id from storage.buckets) \
                || has_table_privilege('anon', 'public.secrets', 'select') || has_table_privilege('anon', 'storage.objects', 'insert')";
    assert_eq!(text(&client, kept).await, "a@example.combfalsefalse");
}

#[tokio::test]
async fn nobody_but_a_superuser_causes_a_repair() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute("drop table auth.saml_relay_states, realtime.messages cascade; drop function auth.email(), storage.foldername(text)")
        .await
        .unwrap();
    let report = Migrator::new(&mut client).platform().await.unwrap();
    assert!(report.repaired.is_empty(), "an owner of single objects could make the superuser run them again");
}

#[tokio::test]
async fn dumps_of_others_after_a_drop_are_adopted() {
    let (_database, mut client) = platform().await;
    client
        .batch_execute(
            "drop schema basalt, auth cascade; create schema auth; create table auth.users (id uuid primary key, email text); \
             create table auth.sessions (id uuid primary key); create table auth.mfa_factors (id uuid primary key)",
        )
        .await
        .unwrap();
    let result = Migrator::new(&mut client).platform().await;
    let leftovers = "select (to_regproc('extensions.rights_watch') is null)::text";
    match result {
        Ok(report) => assert!(report.adopted.contains(&"0003_auth.sql".to_owned()), "{report:?}"),
        // What they have is too old, or not whole: it is said as for any other database.
        Err(error) => {
            assert!(!error.to_string().contains("already exists"), "{error}");
            assert_eq!(text(&client, leftovers).await, "true", "{error}");
        }
    }
}
