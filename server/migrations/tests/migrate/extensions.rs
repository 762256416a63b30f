//! Extensions that projects create.

use migrations::Migrator;
use testkit::Database;

use crate::statement_error;
use crate::support::{Folder, count, text};

/// The extensions of Postgres' own distribution that hosted Supabase offers.
const CONTRIB: &[&str] = &[
    "amcheck",
    "autoinc",
    "bloom",
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "dblink",
    "dict_int",
    "dict_xsyn",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "insert_username",
    "intarray",
    "isn",
    "lo",
    "ltree",
    "moddatetime",
    "pageinspect",
    "pg_buffercache",
    "pg_freespacemap",
    "pg_prewarm",
    "pg_stat_statements",
    "pg_trgm",
    "pg_visibility",
    "pg_walinspect",
    "pgcrypto",
    "pgrowlocks",
    "pgstattuple",
    "postgres_fdw",
    "refint",
    "seg",
    "sslinfo",
    "tablefunc",
    "tcn",
    "tsm_system_rows",
    "tsm_system_time",
    "unaccent",
    "uuid-ossp",
    "xml2",
];

#[tokio::test]
async fn extensions_of_the_distribution_are_created_in_schema_extensions() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    let statements: Vec<String> = CONTRIB
        .iter()
        .map(|name| format!("create extension if not exists \"{name}\" with schema extensions;"))
        .collect();
    folder.write("20250101000000_contrib.sql", &statements.join("\n"));
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    assert_eq!(
        count(&client, "select count(*) from pg_extension where extnamespace = 'extensions'::regnamespace")
            .await,
        CONTRIB.len()
    );
}

/// On hosted Supabase, default privileges that a project sets for its own functions do not apply to those of
/// extensions.
#[tokio::test]
async fn extensions_of_a_project_belong_to_the_platform() {
    let database = Database::create().await;
    let administrator = format!("administrator_of_{}", database.name());
    let create = format!("create role {administrator} superuser login password '{}'", testkit::ROLE_PASSWORD);
    database.client().await.batch_execute(&create).await.unwrap();
    let mut client = database.client_as(&administrator).await;
    let folder = Folder::new();
    folder.write(
        "1_trgm.sql",
        "alter default privileges revoke execute on functions from public;
         create extension pg_trgm schema extensions;
         create function own() returns int language sql return 1;
         set role authenticated;
         create temp table seen on commit drop as select extensions.similarity('a', 'b');",
    );
    folder.write(
        "2_roles.sql",
        "set role supabase_admin; create extension unaccent; create table of_admin ();
         reset role; create extension citext; create table of_session ();
         set local role supabase_admin; create extension hstore; commit; create table after_commit ();
         comment on extension pg_trgm is 'Similar texts';
         grant execute on function extensions.similarity(text, text) to anon;
         alter extension pg_trgm set schema public; drop extension pg_trgm;",
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();
    let session = text(&client, "select session_user::text").await;
    let owners = "select string_agg(distinct extowner::regrole::text, ' ') from pg_extension
                   where extname in ('unaccent', 'citext', 'hstore')";
    assert_eq!(text(&client, owners).await, "supabase_admin");
    for (object, owner) in [
        ("of_admin", "supabase_admin"),
        ("of_session", &*session),
        ("after_commit", &*session),
        ("own", &*session),
    ] {
        let sql = format!(
            "select relowner::regrole::text from pg_class where relname = '{object}'
             union all select proowner::regrole::text from pg_proc where proname = '{object}'"
        );
        assert_eq!(text(&client, &sql).await, owner, "{object}");
    }
    let client = database.client().await;
    let clean = format!(
        "reassign owned by {administrator} to supabase_admin; drop owned by {administrator};
        drop role {administrator}"
    );
    client.batch_execute(&clean).await.unwrap();
}

/// Creating an extension gives nobody additional rights, and a server without the platform's superuser stays unchanged.
#[tokio::test]
async fn extensions_that_are_not_created_by_a_superuser_belong_to_their_creator() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let name = database.name();
    let folder = Folder::new();
    folder.write(
        "1_creator.sql",
        &format!(
            "create role creator_{name}; grant create on database {name} to creator_{name};
             grant create on schema public to creator_{name}; set role creator_{name};
             create extension citext schema public;"
        ),
    );
    let report = Migrator::new(&mut client).project(folder.path()).await;
    let owner =
        text(&client, "select extowner::regrole::text from pg_extension where extname = 'citext'").await;
    folder.write("2_refused.sql", &format!("set role creator_{name}; create extension pageinspect;"));
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    let clean = format!("drop extension citext; drop owned by creator_{name}; drop role creator_{name}");
    client.batch_execute(&clean).await.unwrap();
    assert_eq!(report.unwrap().applied, ["1_creator.sql"]);
    assert_eq!(owner, format!("creator_{name}"));
    assert_eq!(error.code, "42501", "{error}");
}

#[tokio::test]
async fn the_error_about_a_missing_extension_has_its_line_and_a_remedy() {
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    folder.write("20250101000000_a.sql", "select 1;\n\ncreate extension no_such_extension;");
    let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
    assert_eq!((error.file.as_str(), error.line), ("20250101000000_a.sql", 3));
    assert!(error.message.contains("no_such_extension"), "{error}");
    let hint = error.hint.clone().unwrap();
    for part in ["no_such_extension", "basalt extensions", "POSTGRES_BIN", "DATABASE_URL"] {
        assert!(hint.contains(part), "{part:?} is not in: {error}");
    }
    if count(&client, "select count(*) from pg_available_extensions where name = 'pgaudit'").await == 0 {
        folder.write("20250101000000_a.sql", "create extension pgaudit;");
        let error = statement_error(Migrator::new(&mut client).project(folder.path()).await);
        assert!(error.hint.clone().unwrap().contains("postgresql-<version>-pgaudit"), "{error}");
    }
}

/// The Supabase CLI's `inspect` reads it in schema `extensions`.
#[tokio::test]
async fn new_databases_count_statements() {
    if !testkit::has_extension("pg_stat_statements").await {
        return;
    }
    let database = Database::create().await;
    let mut client = database.client().await;
    client.batch_execute("set role postgres").await.unwrap();
    let marker = format!("select 'seen by {}' as marked_statement", database.name());
    for _ in 0..2 {
        client.query(&marker, &[]).await.unwrap();
    }
    client
        .batch_execute("create role r_of_statistics password 'unseen'; drop role r_of_statistics")
        .await
        .unwrap();
    let calls = "select coalesce(max(calls), 0) from extensions.pg_stat_statements s
        join pg_database d on d.oid = s.dbid and d.datname = current_database()
        where query like '%as marked_statement'";
    assert_eq!(count(&client, calls).await, 2);
    let secrets = "select count(*) from extensions.pg_stat_statements where query like '%r_of_statistics%'
        and query not like '%pg_stat_statements%'";
    assert_eq!(count(&client, secrets).await, 0, "statements that may contain passwords are not kept");

    let reset = "select extensions.pg_stat_statements_reset(dbid => oid) from pg_database
        where datname = current_database()";
    client.batch_execute(&format!("set role anon; {reset}")).await.unwrap_err();
    client.batch_execute(&format!("set role postgres; {reset}")).await.unwrap();
    assert_eq!(count(&client, calls).await, 0);

    // As where the library has not been preloaded at the start before.
    client.batch_execute("reset role; drop extension pg_stat_statements").await.unwrap();
    Migrator::new(&mut client).platform().await.unwrap();
    client.batch_execute(&format!("set role postgres; {reset}")).await.unwrap();
}

#[tokio::test]
async fn pgjwt_signs_and_verifies() {
    if !testkit::has_extension("pgjwt").await {
        return;
    }
    let database = Database::create().await;
    let client = database.client().await;
    client.batch_execute("create extension pgjwt with schema extensions").await.unwrap();
    // The example of jwt.io, which another implementation has signed.
    let example = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
                   eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydWV9.\
                   TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ";
    let valid = |token: &str, secret: &str| {
        format!("select coalesce(valid::text, 'null') from verify({token}, '{secret}')")
    };
    assert_eq!(text(&client, &valid(&format!("'{example}'"), "secret")).await, "true");
    assert_eq!(text(&client, &valid(&format!("'{example}'"), "other")).await, "false");
    for (payload, expected) in [
        (r#"{"sub":"ada"}"#, "true"),
        (r#"{"exp":99999999999}"#, "true"),
        (r#"{"exp":1}"#, "false"),
        (r#"{"nbf":99999999999}"#, "false"),
    ] {
        let signed = format!("sign('{payload}', 'secret')");
        assert_eq!(text(&client, &valid(&signed, "secret")).await, expected, "{payload}");
    }
    let unsigned = "regexp_replace(sign('{}', 'secret'), '[^.]*$', '')";
    assert_eq!(text(&client, &valid(unsigned, "secret")).await, "false");
    let cut = "regexp_replace(sign('{}', 'secret'), '[.][^.]*$', '')";
    assert_eq!(text(&client, &valid(cut, "secret")).await, "false");
    for (algorithm, length) in [("HS256", 43), ("HS384", 64), ("HS512", 86)] {
        let sql = format!("select algorithm_sign('a.b', 'secret', '{algorithm}')");
        assert_eq!(text(&client, &sql).await.len(), length, "{algorithm}");
    }
}

#[tokio::test]
async fn the_vault_has_secrets_that_only_some_roles_may_read() {
    if !testkit::has_extension("supabase_vault").await {
        return;
    }
    let database = Database::create().await;
    let client = database.client().await;
    // It exists from the beginning, as on hosted Supabase, and migrations may create it nevertheless.
    client.batch_execute("create extension if not exists supabase_vault with schema vault").await.unwrap();
    client.batch_execute("set role service_role").await.unwrap();
    let id = text(&client, "select vault.create_secret('s3cret é', 'stripe', 'key of the shop')::text").await;
    let secrets = "select name || '|' || description || '|' || decrypted_secret from vault.decrypted_secrets";
    assert_eq!(text(&client, secrets).await, "stripe|key of the shop|s3cret é");
    assert!(!text(&client, "select secret from vault.secrets").await.contains("s3cret"));

    client.batch_execute(&format!("select vault.update_secret('{id}', 'other')")).await.unwrap();
    assert_eq!(text(&client, secrets).await, "stripe|key of the shop|other");
    let twice = client.batch_execute("select vault.create_secret('x', 'stripe')").await.unwrap_err();
    assert_eq!(twice.code().unwrap().code(), "23505");
    let around =
        client.batch_execute("insert into vault.secrets (secret) values ('clear')").await.unwrap_err();
    assert_eq!(around.code().unwrap().code(), "42501");

    for role in ["anon", "authenticated"] {
        client.batch_execute(&format!("reset role; set role {role}")).await.unwrap();
        for sql in ["select * from vault.decrypted_secrets", "select vault._decrypt('')"] {
            let refused = client.batch_execute(sql).await.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "42501", "{role}: {sql}");
        }
    }
}

#[tokio::test]
async fn queues_hand_out_each_message_once() {
    if !testkit::has_extension("pgmq").await {
        return;
    }
    let database = Database::create().await;
    let mut client = database.client().await;
    let folder = Folder::new();
    // The CLI pulls the first two statements from a hosted project.
    folder.write(
        "20250101000000_queues.sql",
        "create schema if not exists \"pgmq\";
         create extension if not exists \"pgmq\" with schema \"pgmq\";
         select pgmq.create('mails');
         create function public.take_mail() returns jsonb language sql security definer set search_path = ''
         return (select message from pgmq.pop('mails'));",
    );
    Migrator::new(&mut client).project(folder.path()).await.unwrap();

    for name in ["ada", "bob"] {
        let send = format!("select send::text from pgmq.send('mails', '{{\"to\":\"{name}\"}}')");
        text(&client, &send).await;
    }
    let read = "select coalesce(string_agg(msg_id || ' ' || (message ->> 'to'), ', '), 'none')
                from pgmq.read('mails', 60, 5)";
    assert_eq!(text(&client, read).await, "1 ada, 2 bob");
    assert_eq!(text(&client, read).await, "none", "they are out of sight for a minute");
    assert_eq!(text(&client, "select pgmq.archive('mails', 1::bigint)::text").await, "true");
    assert_eq!(text(&client, "select message ->> 'to' from pgmq.a_mails").await, "ada");
    text(&client, "select msg_id::text from pgmq.set_vt('mails', 2, -1)").await;

    client.batch_execute("set role service_role").await.unwrap();
    assert_eq!(text(&client, "select public.take_mail() ->> 'to'").await, "bob");
    assert_eq!(text(&client, "select coalesce(public.take_mail()::text, 'none')").await, "none");
    let refused = client.batch_execute("select pgmq.pop('mails')").await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501", "queues are open to whom the project grants them");
}

#[tokio::test]
async fn pgtap_tests_a_table() {
    if !testkit::has_extension("pgtap").await {
        return;
    }
    let database = Database::create().await;
    let client = database.client().await;
    client.batch_execute("create extension pgtap with schema extensions; select plan(1)").await.unwrap();
    let row = text(&client, "select col_is_pk('auth', 'users', 'id', 'users have ids')").await;
    assert_eq!(row, "ok 1 - users have ids");
    assert_eq!(count(&client, "select count(*) from finish()").await, 0, "it has nothing to add");
}
