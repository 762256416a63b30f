//! The guarantees that tests of other crates rely on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use testkit::Database;

async fn count(database: &Database, sql: &str) -> i64 {
    database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn each_test_has_a_separate_database() {
    let (one, other) = tokio::join!(Database::create(), Database::create());
    one.client().await.batch_execute("create table public.mine (id int)").await.unwrap();
    let tables = "select count(*) from pg_tables where tablename = 'mine'";
    assert_eq!(count(&one, tables).await, 1);
    assert_eq!(count(&other, tables).await, 0);
}

#[tokio::test]
async fn the_platforms_schema_exists() {
    let database = Database::create().await;
    let tables = "select count(*) from pg_tables where (schemaname, tablename) in (('auth', 'users'), ('storage', 'objects'))";
    assert_eq!(count(&database, tables).await, 2);
}

#[tokio::test]
async fn the_site_has_its_content() {
    let database = Database::with_site().await;
    assert_eq!(count(&database, "select count(*) from public.faqs").await, 18);
}

#[tokio::test]
async fn an_empty_database_has_no_schema_but_public() {
    let database = Database::empty().await;
    assert_eq!(
        count(&database, "select count(*) from pg_namespace where nspname in ('auth', 'storage')").await,
        0
    );
}

#[tokio::test]
async fn login_roles_sign_in() {
    let database = Database::create().await;
    for role in ["authenticator", "supabase_auth_admin", "supabase_storage_admin"] {
        let row = database.client_as(role).await.query_one("select current_user::text", &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), role);
    }
}
