//! Transactions of a project's files: `begin`, `commit` and `rollback` in them, and what remains of a file that fails.

use migrations::{Migrator, State};
use testkit::Database;

use super::support::{Folder, count, names, statement_error, text};

/// Returns the number of the tables of schema `public` that have one of `names`, which are quoted.
async fn tables(client: &tokio_postgres::Client, names: &str) -> usize {
    let sql = "select count(*) from pg_class where relnamespace = 'public'::regnamespace and relname in";
    count(client, &format!("{sql} ({names})")).await
}

#[tokio::test]
async fn a_commit_resets_local_settings() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder
        .write("1_role.sql", "begin; set local role authenticated; commit; create table public.y (id int);");
    folder.write("2_types.sql", "create type en as enum ('a'); create table x (v en);");
    folder.write(
        "3_value.sql",
        "do $$begin alter type en add value 'b'; end$$; commit; begin; insert into x values ('b'); commit;",
    );
    folder.write(
        "4_temporary.sql",
        "begin; create temp table t on commit drop as select 1; commit;
         begin; create temp table t on commit drop as select 2; commit;",
    );
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, names(["1_role.sql", "2_types.sql", "3_value.sql", "4_temporary.sql"]));
    assert_eq!(text(&client, "select v::text from x").await, "b");
    let owner = "select tableowner::text from pg_tables where tablename = 'y'";
    assert_eq!(text(&client, owner).await, text(&client, "select current_user::text").await);
}

/// If a file sets a role for its session, that role needs no rights on the records.
#[tokio::test]
async fn a_role_stays_set_after_a_commit_but_not_after_its_file() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "1_role.sql",
        "create table seen (who name); grant insert on seen to authenticated;
         begin; set role authenticated; commit; insert into seen values (current_user);",
    );
    folder.write("2_next.sql", "create table next as select current_user <> 'authenticated' as is_back;");
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(text(&client, "select who::text from seen").await, "authenticated");
    assert_eq!(text(&client, "select is_back::text from next").await, "true");
}

#[tokio::test]
async fn a_file_between_begin_and_commit_is_one_transaction_with_its_record() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("1_usual.sql", "begin;\ncreate table kept (id int);\nselect 1/0;\ncommit;\n-- done\n");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str(), error.applied), (3, "22012", None));
    assert_eq!(tables(&client, "'kept'").await, 0);

    // The row of the table and the record of the file have the same transaction.
    folder.write(
        "1_usual.sql",
        "begin;\ncreate table kept (id int); insert into kept values (1);\ncommit;\n-- done\n",
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    let same = "select count(*) from kept, supabase_migrations.schema_migrations m where kept.xmin = m.xmin";
    assert_eq!(count(&client, same).await, 1);

    folder.write("2_undone.sql", "begin;\ncreate table undone (id int);\nrollback;\n");
    let error = Migrator::new(&mut client).project(folder.path()).await.unwrap_err();
    assert!(error.to_string().starts_with("2_undone.sql, line 3: found ROLLBACK"), "{error}");
}

#[tokio::test]
async fn committed_steps_stay_after_a_failure() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write(
        "1_parts.sql",
        "begin;\ncreate table kept (id int);\ncommit;\nbegin;\ncreate table undone (id int);\nselect 1/0;\ncommit;",
    );
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.line, error.code.as_str(), error.applied), (6, "22012", Some(3)));
    assert!(error.to_string().contains("up to line 3 were applied and committed"), "{error}");
    assert_eq!((tables(&client, "'kept'").await, tables(&client, "'undone'").await), (1, 0));
    assert_eq!(count(&client, "select count(*) from supabase_migrations.schema_migrations").await, 0);
    let status = Migrator::new(&mut client).status(folder.path()).await.unwrap();
    assert_eq!(status.project.last().map(|entry| entry.state), Some(State::Pending));

    folder.write(
        "1_parts.sql",
        "begin; create table if not exists kept (id int); commit; create table undone (id int);",
    );
    let report = Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(report.applied, ["1_parts.sql"]);
    let statements = "select cardinality(statements)::text from supabase_migrations.schema_migrations";
    assert_eq!(text(&client, statements).await, "4", "the record has all steps");
}

#[tokio::test]
async fn a_refused_commit_has_a_line() {
    let database = Database::empty().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    let deferred = "create table a (id int unique deferrable initially deferred);\ncommit;\nbegin;
        insert into a values (1), (1);\ncommit;";
    for after in ["", "\nselect 1;", "\n-- done"] {
        client.batch_execute("drop table if exists a").await.unwrap();
        folder.write("1_deferred.sql", &format!("{deferred}{after}"));
        let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
        assert_eq!((error.line, error.code.as_str(), error.applied), (5, "23505", Some(2)), "{error}");
    }
}
