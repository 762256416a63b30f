//! Tests of migrations with a real Postgres.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod age;
mod extensions;
mod hosted;
mod jsonschema;
mod kept_extensions;
mod platform;
mod privileges;
mod repair;
mod storage;
mod support;
mod transactions;

use std::path::PathBuf;
use std::time::Duration;

use migrations::{Error, Limits, Migrator, Report, State, set_role_passwords};
use support::{Folder, count, names, statement_error, text};
use testkit::Database;

#[tokio::test]
async fn the_platform_is_applied_once() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let first = Migrator::new(&mut client).platform().await.unwrap();
    assert_eq!(first.applied.first().map(String::as_str), Some("0001_roles.sql"));
    assert!(first.adopted.is_empty() && first.unknown.is_empty(), "{first:?}");

    let second = Migrator::new(&mut client).platform().await.unwrap();
    assert!(second.applied.is_empty() && second.adopted.is_empty(), "{second:?}");
    let status = Migrator::new(&mut client).status(&PathBuf::from("nowhere")).await.unwrap();
    assert!(status.is_current() && status.project.is_empty());
    assert_eq!(status.platform.len(), first.applied.len());
}

#[tokio::test]
async fn a_database_that_has_the_platform_is_adopted_untouched() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    Migrator::new(&mut client).platform().await.unwrap();
    client
        .batch_execute(
            "drop schema basalt cascade; drop function extensions.publication_watch, extensions.rights_watch cascade; \
             comment on table auth.users is 'theirs'",
        )
        .await
        .unwrap();

    let report = Migrator::new(&mut client).platform().await.unwrap();
    let expected = [
        "0001_roles.sql",
        "0009_rate_limits.sql",
        "0013_auth_rows.sql",
        "0017_resumable_uploads.sql",
        "0019_public_object_changes.sql",
        "0020_multipart_uploads.sql",
        "0021_vectors.sql",
        "0024_scheduled_calls.sql",
        "0027_project_administrator.sql",
        "0029_extension_members.sql",
        "0031_settings.sql",
        "0033_object_versions.sql",
        "0036_visible_rows.sql",
        "0037_management.sql",
        "0038_managed_settings.sql",
        "0039_logs.sql",
        "0040_backups.sql",
        "0041_certificates.sql",
    ];
    assert_eq!(
        report.applied, expected,
        "roles and rows are looked at one by one, and only Basalt has rate limits, schedules, its own of uploads, objects and vectors, and many users judged at once"
    );
    assert_eq!(report.adopted.first().map(String::as_str), Some("0002_schemas.sql"));
    for (file, why) in [
        ("0011_auth_indexes.sql", "its indexes stay its own"),
        ("0012_older_schemas.sql", "it is as new as can be"),
        ("0014_generated_columns.sql", "its publication stays its own"),
        ("0018_storage_migrations.sql", "its list of migrations stays its own"),
        ("0028_auth_recovery_codes.sql", "it is as new as can be"),
    ] {
        assert!(report.adopted.iter().any(|adopted| adopted == file), "{why}: {report:?}");
    }
    assert_eq!(text(&client, "select obj_description('auth.users'::regclass)").await, "theirs");
    let status = Migrator::new(&mut client).status(&PathBuf::from("nowhere")).await.unwrap();
    assert!(status.is_current());
    assert!(status.platform.iter().any(|entry| entry.state == State::Adopted));
}

#[tokio::test]
async fn the_site_of_this_repository_applies_on_the_platform() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let site = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/site");
    let mut seeds: Vec<PathBuf> =
        std::fs::read_dir(site.join("seed")).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    seeds.sort();

    let mut migrator = Migrator::new(&mut client);
    migrator.platform().await.unwrap();
    let migrations = migrator.project(&site.join("migrations")).await.unwrap();
    assert!(!migrations.applied.is_empty() && migrations.ignored.is_empty(), "{migrations:?}");
    assert_eq!(migrator.seed(&site, &seeds).await.unwrap().applied.len(), seeds.len());

    assert!(migrator.project(&site.join("migrations")).await.unwrap().applied.is_empty());
    assert!(migrator.seed(&site, &seeds).await.unwrap().applied.is_empty());
    client.batch_execute("truncate supabase_migrations.seed_files").await.unwrap();
    let repeated = Migrator::new(&mut client).seed(&site, &seeds).await.unwrap();
    assert_eq!(repeated.applied.len(), seeds.len(), "seeding twice harms nothing");
}

#[tokio::test]
async fn a_project_is_recorded_as_the_supabase_cli_does() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("20250102000000_second.sql", "insert into t values (1, 'a;b');\n");
    folder.write(
        "20250101000000_first_table.sql",
        "-- the table\ncreate table t (id int, name text);\ncreate index on t (id);\n",
    );
    folder.write("notes.sql", "this is no migration");

    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, ["20250101000000_first_table.sql", "20250102000000_second.sql"]);
    assert_eq!(report.ignored, ["notes.sql"]);
    let recorded = "select string_agg(version || '|' || name || '|' || array_to_string(statements, '|'), \
                    E'\n' order by version) from supabase_migrations.schema_migrations";
    assert_eq!(
        text(&client, recorded).await,
        "20250101000000|first_table|-- the table\ncreate table t (id int, name text)|create index on t (id)\n\
         20250102000000|second|insert into t values (1, 'a;b')"
    );
    let repeated = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert!(repeated.applied.is_empty());
    assert_eq!(count(&client, "select count(*) from t").await, 1);
}

#[tokio::test]
async fn migrations_of_the_cli_count_as_applied_and_the_rest_follows() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    // The tables as the CLI creates them, with a migration that it has recorded.
    client
        .batch_execute(
            "create schema supabase_migrations;
             create table supabase_migrations.schema_migrations (version text not null primary key);
             alter table supabase_migrations.schema_migrations add column statements text[];
             alter table supabase_migrations.schema_migrations add column name text;
             insert into supabase_migrations.schema_migrations (version, name, statements)
             values ('20240101000000', 'old', array['create table t (id int)']), ('20230101000000', 'gone', null);
             create table t (id int)",
        )
        .await
        .unwrap();
    let folder = Folder::new();
    folder.write("20240101000000_old.sql", "create table t (id int);");
    folder.write("20240201000000_new.sql", "insert into t values (1);");

    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, ["20240201000000_new.sql"]);
    assert_eq!(report.unknown, ["20230101000000"]);
    let status = Migrator::new(&mut client).status(folder.path()).await.unwrap();
    let states: Vec<State> = status.project.iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::AppliedElsewhere, State::Applied, State::Unknown]);
}

#[tokio::test]
async fn an_error_names_the_line_and_nothing_of_the_file_is_applied() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("1_good.sql", "create table good (id int);");
    folder.write(
        "2_bad.sql",
        "create table half_done (id int);\n\n-- größer\nselect 'é',\n       nonsense\n  from good;\nselect 3;\n",
    );
    folder.write("3_never.sql", "create table never (id int);");

    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.file.as_str(), error.line, error.code.as_str()), ("2_bad.sql", 5, "42703"));
    assert!(error.message.contains("nonsense"), "{error}");
    assert!(error.statement.starts_with("select 'é'"), "{error}");
    let message = error.to_string();
    assert!(
        message.starts_with("2_bad.sql, line 5: ERROR 42703: ") && message.contains("Nothing of this file"),
        "{message}"
    );

    assert_eq!(text(&client, "select to_regclass('good')::text").await, "good");
    assert_eq!(
        count(&client, "select count(*) from pg_class where relname in ('half_done', 'never')").await,
        0
    );
    assert_eq!(count(&client, "select count(*) from supabase_migrations.schema_migrations").await, 1);

    folder.write("2_bad.sql", "create table half_done (id int);");
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, ["2_bad.sql", "3_never.sql"]);
}

#[tokio::test]
async fn an_error_inside_a_block_shows_the_line_and_hides_passwords() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "1_block.sql",
        "select 1;\n\ndo $$\nbegin\n  raise exception 'no good'\n    using detail = 'why', hint = 'try this';\nend $$;\n",
    );
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str()), (3, "P0001"));
    assert_eq!((error.detail.as_deref(), error.hint.as_deref()), (Some("why"), Some("try this")));
    assert!(error.context.as_deref().is_some_and(|context| context.contains("line 3 at RAISE")), "{error}");

    folder.write("1_block.sql", "alter role nobody_at_all password 'hunter2';");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_changed_file_is_reported_and_the_rest_is_applied() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("2_a.sql", "create table a (id int);\n");
    Migrator::new(&mut client).project(folder.path()).await.unwrap();

    folder.write("2_a.sql", "create table a (id int);\r\n");
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report, Report::default(), "line ends are no change");

    folder.write("2_a.sql", "create table a (id bigint);\n");
    folder.write("3_b.sql", "create table b (id int);\n");
    let status = Migrator::new(&mut client).status(folder.path()).await.unwrap();
    let states: Vec<State> = status.project.iter().map(|entry| entry.state).collect();
    assert_eq!(states, [State::Changed, State::Pending]);
    assert!(!status.is_current());
    folder.write("1_late.sql", "create table late (id int);\n");
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!((report.changed, report.applied), (names(["2_a.sql"]), names(["1_late.sql", "3_b.sql"])));
    assert_eq!(report.out_of_order, ["1_late.sql"]);
}

#[tokio::test]
async fn two_files_of_one_version_are_refused() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("1_a.sql", "select 1");
    folder.write("1_b.sql", "select 1");
    let error = Migrator::new(&mut client).project(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::SameVersion { .. }), "{error}");
}

#[tokio::test]
async fn nodes_that_start_together_apply_each_file_once() {
    let database = Database::empty().await;
    let folder = Folder::new();
    for number in 1..=6 {
        folder.write(
            &format!("{number}_table.sql"),
            &format!("create table t{number} (id int); select pg_sleep(0.02);"),
        );
    }
    let mut nodes = Vec::new();
    for _ in 0..4 {
        let mut client = database.client().await;
        let path = folder.path().to_owned();
        nodes.push(tokio::spawn(async move {
            let mut migrator = Migrator::new(&mut client);
            let platform = migrator.platform().await.unwrap();
            let project = migrator.project(&path).await.unwrap();
            (platform.applied.len(), project.applied.len())
        }));
    }
    let mut applied = (0, 0);
    for node in nodes {
        let (platform, project) = node.await.unwrap();
        applied = (applied.0 + platform, applied.1 + project);
    }
    let client = database.client().await;
    assert_eq!(count(&client, "select count(*) from basalt.platform_migrations").await, applied.0);
    assert_eq!(applied.1, 6);
}

#[tokio::test]
async fn the_wait_for_another_migrator_is_limited() {
    let database = Database::empty().await;
    let (mut waiting, mut holding) = (database.client().await, database.client().await);
    Migrator::new(&mut holding).platform().await.unwrap();
    let folder = Folder::new();
    folder.write("1_a.sql", "create table a (id int);");
    let holder = holding.transaction().await.unwrap();
    holder.batch_execute("select pg_advisory_xact_lock(x'626173616c740001'::bigint)").await.unwrap();

    let limits = Limits { migration_lock: Duration::from_millis(50), ..Limits::default() };
    let error = Migrator::new(&mut waiting).with_limits(limits).project(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    holder.rollback().await.unwrap();
    Migrator::new(&mut waiting).with_limits(limits).project(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_file_that_takes_too_long_is_rolled_back() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("1_slow.sql", "create table slow (id int);\nselect pg_sleep(30);");
    let limits = Limits { file: Duration::from_millis(100), ..Limits::default() };
    let error = statement_error(Migrator::new(&mut client).with_limits(limits).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str()), (2, "57014"));
    assert_eq!(count(&client, "select count(*) from pg_class where relname = 'slow'").await, 0);
}

#[tokio::test]
async fn settings_of_one_file_do_not_affect_the_next() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "1_dump.sql",
        "select pg_catalog.set_config('search_path', '', false); set session statement_timeout = 1;
         set role pg_monitor;",
    );
    folder.write("2_next.sql", "create table next (id int); select pg_sleep(0.01);");
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(text(&client, "select to_regclass('public.next')::text").await, "next");
    assert_eq!(text(&client, "show statement_timeout").await, "0");
}

/// A file in the form that `supabase db pull` writes.
#[tokio::test]
async fn a_schema_pulled_from_a_hosted_project_applies() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "20250101000000_remote_schema.sql",
        r#"
SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
CREATE EXTENSION IF NOT EXISTS "pg_graphql" WITH SCHEMA "graphql";
CREATE EXTENSION IF NOT EXISTS "pg_stat_statements" WITH SCHEMA "extensions";
CREATE EXTENSION IF NOT EXISTS "supabase_vault" WITH SCHEMA "vault";
CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA "extensions";
COMMENT ON SCHEMA "public" IS 'standard public schema';
CREATE TABLE IF NOT EXISTS "public"."notes" ("id" "uuid" DEFAULT "extensions"."uuid_generate_v4"() NOT NULL);
ALTER TABLE "public"."notes" OWNER TO "postgres";
ALTER TABLE "public"."notes" ENABLE ROW LEVEL SECURITY;
ALTER PUBLICATION "supabase_realtime" OWNER TO "postgres";
ALTER PUBLICATION "supabase_realtime" ADD TABLE ONLY "public"."notes";
GRANT USAGE ON SCHEMA "public" TO "postgres";
GRANT ALL ON TABLE "public"."notes" TO "anon";
ALTER DEFAULT PRIVILEGES FOR ROLE "postgres" IN SCHEMA "public" GRANT ALL ON TABLES TO "service_role";
RESET ALL;
"#,
    );
    folder.write("20250102000000_next.sql", "create extension if not exists no_such_extension;");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert!(error.message.contains("no_such_extension"), "{error}");
    folder.write(
        "20250102000000_next.sql",
        "insert into notes default values; CREATE EXTENSION IF NOT EXISTS pgsodium;",
    );
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, ["20250102000000_next.sql"]);
    assert_eq!(report.missing_extensions, ["pgsodium"]);
}

#[tokio::test]
async fn a_database_of_another_release_is_refused() {
    let database = Database::create().await;
    let mut client = database.client().await;
    client
        .batch_execute("update basalt.platform_migrations set checksum = 'other' where version = '0003'")
        .await
        .unwrap();
    let error = Migrator::new(&mut client).platform().await.unwrap_err();
    assert!(matches!(&error, Error::PlatformChanged { file } if file == "0003_auth.sql"), "{error}");
}

#[tokio::test]
async fn seed_files_run_once() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    client.batch_execute("create table t (id int primary key, n int)").await.unwrap();
    let root = Folder::new();
    root.write(
        "supabase/seed.sql",
        "insert into t values (1, 1) on conflict (id) do update set n = t.n + 1;",
    );
    let files = [PathBuf::from("supabase/seed.sql")];

    let first = Migrator::new(&mut client).seed(root.path(), &files).await.unwrap();
    assert_eq!(first.applied, ["supabase/seed.sql"]);
    let absolute = [root.path().join("supabase/seed.sql")];
    let second = Migrator::new(&mut client).seed(root.path(), &absolute).await.unwrap();
    assert!(second.applied.is_empty(), "the same file, however its path is given");
    assert_eq!(count(&client, "select n from t").await, 1);

    root.write("supabase/seed.sql", "update t set n = 10; insert into nowhere values (1);");
    let edited = Migrator::new(&mut client).seed(root.path(), &files).await.unwrap();
    assert_eq!((edited.changed, edited.applied), (names(["supabase/seed.sql"]), Vec::new()));
    assert_eq!(count(&client, "select n from t").await, 1, "an edited seed is told of and not run again");

    let files = ["supabase/more.sql", "supabase/seed.sql"].map(PathBuf::from);
    root.write("supabase/more.sql", "insert into t values (2, 2);\ninsert into nowhere values (1);");
    let error = statement_error(Migrator::new(&mut client).seed(root.path(), &files).await);
    assert_eq!((error.file.as_str(), error.line), ("supabase/more.sql", 2));
    assert_eq!(count(&client, "select count(*) from t").await, 1);
}

#[tokio::test]
async fn role_passwords_are_set_when_they_differ() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    // Roles belong to the whole cluster, so the test uses a role of its own.
    let role = format!("login_{}", database.name());
    client.batch_execute(&format!("create role {role} login")).await.unwrap();
    let first = set_role_passwords(&mut client, &[(&role, "0123456789abcdef")]).await.unwrap();
    assert_eq!(first, [role.as_str()]);
    let stored = format!("select rolpassword from pg_authid where rolname = '{role}'");
    let verifier = text(&client, &stored).await;
    assert!(verifier.starts_with("SCRAM-SHA-256$"), "{verifier}");

    let second = set_role_passwords(&mut client, &[(&role, "0123456789abcdef")]).await.unwrap();
    assert!(second.is_empty());
    assert_eq!(text(&client, &stored).await, verifier);
    let third = set_role_passwords(&mut client, &[(&role, "another")]).await.unwrap();
    assert_eq!(third, [role.as_str()]);

    let missing = set_role_passwords(&mut client, &[("no_such_role", "x")]).await.unwrap_err();
    assert!(matches!(missing, Error::NoSuchRole(_)), "{missing}");
    client.batch_execute(&format!("drop role {role}")).await.unwrap();
}
