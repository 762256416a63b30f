//! Extensions that the database keeps as text, by Basalt's own pg_tle.

use migrations::Migrator;
use testkit::Database;

use crate::statement_error;
use crate::support::{Folder, count, text};

/// A script as those of database.dev: helpers for tests in a schema of their own.
const HELPERS: &str = r#"
\echo Use "create extension" to load this file. \quit
create schema if not exists tests;
grant usage on schema tests to anon, authenticated;
create type mood as enum ('glad', 'sad');
create table @extschema@.seen (id serial primary key, mood mood);
create view all_seen as select * from seen;
create function tests.see(mood mood) returns bigint language sql as
  'insert into seen (mood) values (see.mood); select count(*) from all_seen';
create function note() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger note before insert on seen for each row execute function note();
"#;

/// Returns the statement that installs the helpers, and a newer version.
fn install() -> String {
    format!(
        "select pgtle.install_extension('shop-test_helpers', '0.0.1', 'Helpers', $_pgtle_${HELPERS}$_pgtle_$, array['hstore']);
         select pgtle.install_update_path('shop-test_helpers', '0.0.1', '0.0.2',
           'create function tests.newer() returns int language sql return 2');"
    )
}

#[tokio::test]
async fn migrations_create_update_and_drop_extensions_that_they_have_installed() {
    if !testkit::has_extension("pg_tle").await {
        return;
    }
    let database = Database::create().await;
    let mut client = database.client_as("postgres").await;
    let folder = Folder::new();
    folder.write(
        "1_install.sql",
        &format!(
            "create extension if not exists pg_tle;
             drop extension if exists \"shop-test_helpers\";
             select pgtle.uninstall_extension_if_exists('shop-test_helpers');
             {}
             create extension \"shop-test_helpers\" cascade;
             create extension if not exists \"shop-test_helpers\" version '0.0.1';",
            install()
        ),
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(count(&client, "select tests.see('glad')").await, 1);
    let available =
        "select name || ' ' || default_version || ' ' || comment from pgtle.available_extensions()";
    assert_eq!(text(&client, available).await, "shop-test_helpers 0.0.1 Helpers");
    let paths =
        "select source || ' ' || target || ' ' || path from pgtle.extension_update_paths('shop-test_helpers')
        where path is not null";
    assert_eq!(text(&client, paths).await, "0.0.1 0.0.2 0.0.1--0.0.2");
    let found = "select count(*) from pg_extension where extname = 'hstore'";
    assert_eq!(count(&client, found).await, 1, "what it requires is created with it");

    folder.write("2_again.sql", "select 1;\ncreate extension \"shop-test_helpers\";");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str()), (2, "42710"), "{error}");

    folder.write(
        "2_again.sql",
        "alter extension \"shop-test_helpers\" update to '0.0.2'; create table own (mood mood);",
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(text(&client, "select tests.newer() || ' ' || version from pgtle.created").await, "2 0.0.2");

    folder.write("3_drop.sql", "drop extension \"shop-test_helpers\";");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!(error.code, "2BP01", "a table of the project depends on it: {error}");
    folder.write(
        "3_drop.sql",
        "alter table own drop column mood; drop extension \"shop-test_helpers\";
         select pgtle.set_default_version('shop-test_helpers', '0.0.2');
         create schema elsewhere; create extension \"shop-test_helpers\" with schema elsewhere;",
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(
        text(&client, "select to_regclass('public.seen') is null || ' ' || 'elsewhere.seen'::regclass").await,
        "true elsewhere.seen"
    );
    assert_eq!(count(&client, "select tests.newer()::bigint").await, 2);
}

#[tokio::test]
async fn scripts_have_the_rights_of_whoever_creates_the_extension() {
    if !testkit::has_extension("pg_tle").await {
        return;
    }
    let database = Database::create().await;
    let mut client = database.client_as("postgres").await;
    let folder = Folder::new();
    folder.write(
        "1_install.sql",
        &format!(
            "create extension pg_tle; {}
             select pgtle.install_extension('reader', '1', '', 'create table read as select pg_read_file(''PG_VERSION'')');",
            install()
        ),
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    for (statement, code) in [
        ("create extension reader", "42501"),
        ("create extension \"shop-test_helpers\"", "42704"),
        ("create extension \"shop-test_helpers\" version '9' cascade", "22023"),
        ("create extension \"shop-test_helpers\" schema nowhere cascade", "3F000"),
        ("drop extension reader", "42704"),
    ] {
        folder.write("2_use.sql", &format!("{statement};"));
        let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
        assert_eq!(error.code, code, "{statement}: {error}");
    }
    for (statement, code) in [
        ("select pgtle.install_extension('plpgsql', '1', '', '')", "58P02"),
        ("select pgtle.install_extension('../a', '1', '', '')", "22023"),
        ("select pgtle.install_extension('reader', '2', '', '')", "42710"),
        ("select pgtle.uninstall_extension('nothing')", "P0002"),
        ("set role anon; select pgtle.install_extension('a', '1', '', '')", "42501"),
        ("set role anon; insert into pgtle.controls values ('a', '1', '', '{}')", "42501"),
        ("set role anon; select pgtle.create_extension('reader')", "42501"),
    ] {
        let refused = client.batch_execute(&format!("begin; {statement}")).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), code, "{statement}: {refused:?}");
        client.batch_execute("rollback").await.unwrap();
    }
    // With any program.
    client
        .batch_execute("select pgtle.create_extension('shop-test_helpers', with_dependencies => true)")
        .await
        .unwrap();
    assert_eq!(count(&client, "select tests.see('sad')").await, 1);
    client.batch_execute("select pgtle.drop_extension('shop-test_helpers')").await.unwrap();
    assert_eq!(text(&client, "select (to_regclass('public.seen') is null)::text").await, "true");
}
