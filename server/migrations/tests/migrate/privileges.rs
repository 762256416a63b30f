//! Tests of the rights of the role `postgres`, which is no superuser, and of what is done for it.

use migrations::Migrator;
use testkit::{Database, ROLE_PASSWORD};
use tokio_postgres::Client;

use crate::support::{Folder, count, statement_error, text};

/// Returns a database with a session of `postgres`; `None` where that is the superuser, as on Postgres 15.
async fn as_postgres() -> Option<(Database, Client)> {
    let database = Database::create().await;
    let superuser = text(&database.client().await, "select current_user::text").await;
    if superuser == "postgres" {
        return None;
    }
    let client = database.client_as("postgres").await;
    Some((database, client))
}

/// Applies `sql` as a migration of a project.
async fn migrate(client: &mut Client, sql: &str) -> Result<migrations::Report, migrations::Error> {
    let folder = Folder::new();
    let version: u64 = rand::random_range(1..1_000_000_000);
    folder.write(&format!("{version}_file.sql"), sql);
    Migrator::new(client).project(folder.path()).await
}

/// Returns the code of the error of `sql`.
async fn code(client: &Client, sql: &str) -> String {
    match client.batch_execute(sql).await {
        Ok(()) => "none".to_owned(),
        Err(refused) => refused.code().map(|code| code.code().to_owned()).unwrap_or_default(),
    }
}

#[tokio::test]
async fn postgres_has_the_rights_of_hosted_supabase_and_no_others() {
    let Some((_database, client)) = as_postgres().await else { return };
    let rights = "select concat_ws(' ', rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication)
                    from pg_roles where rolname = current_user";
    assert_eq!(text(&client, rights).await, "f t t t f");
    for refused in [
        "copy (select 1) to program 'true'",
        "copy (select 1) to '/tmp/basalt-must-not-exist'",
        "create temp table lines (line text); copy lines from '/etc/passwd'",
        "select pg_read_file('/etc/passwd')",
        "select pg_ls_dir('/')",
        "select lo_import('/etc/passwd')",
        "alter system set archive_command = 'true'",
        "alter role postgres superuser",
        "create role other superuser",
        "set role supabase_admin",
        "set session authorization supabase_admin",
        "grant supabase_admin to postgres",
        "create role other replication",
        "select pg_create_logical_replication_slot('s', '../objects/library')",
        "create schema net",
        "create schema mine; alter schema mine rename to cron",
        "set session_replication_role = replica; create schema cron",
        "select basalt.change_extension('pgcrypto', 'schema', 'pg_catalog')",
        "select basalt.create_extension('dblink', 'basalt')",
        "grant pg_execute_server_program to postgres",
        "grant pg_read_server_files to postgres",
        "grant pg_write_server_files to postgres",
        "alter role supabase_admin password 'known'",
        "update pg_authid set rolsuper = true where rolname = 'postgres'",
        "set session_preload_libraries = '/tmp/library.so'",
        "alter role authenticator set session_preload_libraries = '/tmp/library.so'",
        "load '/tmp/library.so'",
        "create function c() returns int language c as '/tmp/library.so', 'f'",
        "create extension file_fdw",
        "create extension pageinspect",
        "create table of_platform (); alter table of_platform owner to supabase_admin",
        "create function basalt.mine() returns int language sql return 1",
        "create or replace function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql
         as 'begin null; end'",
        "alter event trigger pgrst_ddl_watch disable",
        "drop schema basalt cascade",
        "insert into basalt.privileged_extensions values ('file_fdw')",
        "select basalt.create_extension('file_fdw')",
        "alter function basalt.create_extension(text, text, text, boolean) reset session_replication_role",
    ] {
        assert_eq!(code(&client, refused).await, "42501", "{refused}");
        client.batch_execute("rollback").await.unwrap();
    }
    for allowed in [
        "create role report login; grant report to authenticator; drop role report",
        "alter role anon set statement_timeout = '3s'",
        "alter role authenticator set pgrst.db_aggregates_enabled = 'true'",
        "alter role authenticator reset pgrst.db_aggregates_enabled",
        "set session_replication_role = replica; reset session_replication_role",
        "create policy mine on storage.objects for select using (false); drop policy mine on storage.objects",
        "create function on_user() returns trigger language plpgsql security definer as 'begin return new; end';
         create trigger on_user after insert on auth.users for each row execute function on_user();
         drop trigger on_user on auth.users",
        "create table seen (id int); alter publication supabase_realtime add table seen",
        "select count(*) from auth.users; select count(*) from pg_stat_activity where query = ''",
        "set role authenticated; reset role; set role service_role; reset role",
    ] {
        client.batch_execute(allowed).await.unwrap_or_else(|error| panic!("{allowed}: {error:?}"));
    }
}

#[tokio::test]
async fn a_migration_of_postgres_creates_what_hosted_supabase_lets_it_create() {
    let Some((database, mut client)) = as_postgres().await else { return };
    let sql = "create extension if not exists dblink with schema extensions;
         comment on extension dblink is 'Other databases';
         comment on extension pgcrypto is 'Of the platform';
         alter extension dblink set schema public;
         create extension postgres_fdw schema extensions;
         create server other foreign data wrapper postgres_fdw;
         create extension if not exists citext with schema extensions;
         create schema \"Watch\";
         create function \"Watch\".tables() returns event_trigger language plpgsql as $$
         begin perform set_config('watch.seen', tg_tag, false); end $$;
         set search_path = \"Watch\", public;
         create event trigger ensure_rls on ddl_command_end when tag in ('CREATE TABLE') execute function tables();
         alter event trigger ensure_rls owner to postgres;
         reset search_path;
         create publication everything for all tables with (publish = 'insert, update');";
    migrate(&mut client, sql).await.unwrap();
    client.batch_execute("create table watched (id int)").await.unwrap();
    assert_eq!(text(&client, "select current_setting('watch.seen')").await, "CREATE TABLE");
    let published = "select concat_ws(' ', puballtables, pubinsert, pubdelete, pubowner::regrole)
                      from pg_publication where pubname = 'everything'";
    assert_eq!(text(&client, published).await, "t t f postgres");
    let rights = "select rolsuper::text from pg_roles where rolname = current_user";
    assert_eq!(text(&client, rights).await, "false");
    client.batch_execute("alter publication everything set (publish = 'insert')").await.unwrap();
    let owner = "select evtowner::regrole::text from pg_event_trigger where evtname = 'ensure_rls'";
    let superuser = text(&database.client().await, "select current_user::text").await;
    assert_eq!(text(&client, owner).await, superuser, "an event trigger can only belong to a superuser");
    // In the Postgres of the npm package, those of the list are trusted.
    let more = "insert into basalt.privileged_extensions values ('pageinspect')";
    database.client().await.batch_execute(more).await.unwrap();
    let sql = "set search_path = extensions; create extension if not exists pageinspect with version '1.12';";
    migrate(&mut client, sql).await.unwrap();
    let schema = "select extnamespace::regnamespace::text from pg_extension where extname = 'pageinspect'";
    assert_eq!(text(&client, schema).await, "extensions");
    let error = statement_error(migrate(&mut client, "select 1;\ncreate extension file_fdw").await);
    assert_eq!((error.code.as_str(), error.line), ("42501", 2), "{error}");
    for refused in ["drop event trigger pgrst_ddl_watch", "drop extension plpgsql cascade"] {
        let error = statement_error(migrate(&mut client, refused).await);
        assert_eq!(error.code, "42501", "{error}");
    }
    for sql in [
        "drop event trigger if exists absent; alter event trigger ensure_rls disable;
         alter event trigger ensure_rls enable; drop event trigger if exists ensure_rls; drop extension dblink cascade;
         drop publication everything",
        "drop server other; drop extension postgres_fdw",
        "drop extension if exists \"uuid-ossp\"; create extension \"uuid-ossp\"",
    ] {
        migrate(&mut client, sql).await.unwrap();
    }
    let left = "select count(*) from pg_event_trigger where evtname = 'ensure_rls'";
    assert_eq!(count(&client, left).await, 0);
}

/// The logins of the Supabase CLI inherit nothing.
#[tokio::test]
async fn a_login_that_has_become_postgres_may_do_the_same() {
    let Some((database, _)) = as_postgres().await else { return };
    let create = "select basalt.create_event_trigger('watch', 'ddl_command_end', null, 'public.see()')";
    let sql = format!(
        "create role becoming login noinherit password '{ROLE_PASSWORD}' in role postgres;
         grant usage on schema basalt to becoming;
         grant execute on function basalt.create_event_trigger(text, text, text[], regprocedure) to becoming"
    );
    database.client().await.batch_execute(&sql).await.unwrap();
    let client = database.client_as("becoming").await;
    client.batch_execute("set role postgres").await.unwrap();
    let function = "create function public.see() returns event_trigger language plpgsql as 'begin end'";
    client.batch_execute(function).await.unwrap();
    client.batch_execute(create).await.unwrap();
    client.batch_execute("select basalt.change_event_trigger('watch', 'drop')").await.unwrap();
    client
        .batch_execute("select basalt.publish_all_tables('everything'); drop publication everything")
        .await
        .unwrap();
    client.batch_execute("select basalt.change_extension('pgcrypto', 'schema', 'public')").await.unwrap();
    client.batch_execute("reset role").await.unwrap();
    assert_eq!(code(&client, create).await, "42501", "it has no rights of its own");
    drop(client);
    database.client().await.batch_execute("drop owned by becoming; drop role becoming").await.unwrap();
}

/// Guides for hosted projects have the login of REST preload `safeupdate`, which not every Postgres has.
#[tokio::test]
async fn a_role_preloads_libraries_that_are_there() {
    let Some((_database, mut client)) = as_postgres().await else { return };
    let sql = "create role preloading; alter role preloading set session_preload_libraries = 'safeupdate', 'auto_explain';
         alter role preloading set session_preload_libraries to 'auto_explain';
         create role bare; alter role bare set session_preload_libraries = 'safeupdate';
         alter role bare set statement_timeout = '3s'";
    migrate(&mut client, sql).await.unwrap();
    let set = "select string_agg(rolname || ' ' || setting, ', ' order by rolname) from pg_roles r
                 join pg_db_role_setting s on s.setrole = r.oid, unnest(setconfig) setting
                where rolname in ('preloading', 'bare')";
    assert_eq!(
        text(&client, set).await,
        "bare statement_timeout=3s, preloading session_preload_libraries=auto_explain"
    );
    for refused in [
        "alter role preloading set session_preload_libraries = '../uploaded'",
        "alter role supabase_admin set session_preload_libraries = 'auto_explain'",
    ] {
        assert_eq!(statement_error(migrate(&mut client, refused).await).code, "42501", "{refused}");
    }
    client.batch_execute("drop role preloading, bare").await.unwrap();
}

/// Otherwise the default privileges of "public" would give the roles of the API what extensions give to superuser
/// alone.
#[tokio::test]
async fn what_an_extension_withholds_is_not_for_the_roles_of_the_api() {
    let Some((_database, mut client)) = as_postgres().await else { return };
    let sql = "create extension dblink schema public;
         select basalt.create_extension('pg_walinspect', 'public');
         create extension citext schema public;
         create extension postgres_fdw schema extensions; alter extension postgres_fdw set schema public;";
    migrate(&mut client, sql).await.unwrap();
    for (role, function, expected) in [
        ("anon", "public.dblink_connect_u(text)", "f"),
        ("service_role", "public.dblink_connect_u(text)", "f"),
        ("postgres", "public.dblink_connect_u(text)", "f"),
        ("authenticated", "public.dblink_connect(text)", "f"),
        ("postgres", "public.dblink_connect(text)", "t"),
        ("anon", "public.pg_get_wal_record_info(pg_lsn)", "f"),
        ("authenticated", "public.pg_get_wal_block_info(pg_lsn, pg_lsn, boolean)", "f"),
        ("anon", "public.citext_eq(public.citext, public.citext)", "t"),
    ] {
        let sql = format!("select left(has_function_privilege('{role}', '{function}', 'execute')::text, 1)");
        assert_eq!(text(&client, &sql).await, expected, "{role}, {function}");
    }
    let error = code(&client, "select dblink_connect_u('host=127.0.0.1')").await;
    assert_eq!(error, "42501");
}

/// They reach the operator's machine, and the functions of an exposed schema are part of the API.
#[tokio::test]
async fn calls_of_http_are_not_for_the_roles_of_the_api_unless_granted() {
    let Some((_database, mut client)) = as_postgres().await else { return };
    if !testkit::has_extension("http").await {
        return;
    }
    for (schema, of_api) in [("public", "f"), ("own", "f"), ("extensions", "t")] {
        let sql = format!(
            "drop extension if exists http; create schema if not exists {schema}; create extension http schema {schema};"
        );
        migrate(&mut client, &sql).await.unwrap();
        for function in ["http_get(varchar)", "http_post(varchar, jsonb)"] {
            for (role, expected) in
                [("anon", of_api), ("authenticated", of_api), ("service_role", "t"), ("postgres", "t")]
            {
                let sql = format!(
                    "select left(has_function_privilege('{role}', '{schema}.{function}', 'execute')::text, 1)"
                );
                assert_eq!(text(&client, &sql).await, expected, "{role}, {schema}.{function}");
            }
        }
    }
    let granted = "drop extension http; create extension http schema public;
        grant execute on function public.http_get(varchar) to authenticated; create extension citext schema public;";
    migrate(&mut client, granted).await.unwrap();
    let may = "select has_function_privilege('authenticated', 'public.http_get(varchar)', 'execute')::text";
    assert_eq!(text(&client, may).await, "true");
}

/// Scripts of extensions and the functions that do for `postgres` what it may not do run as the superuser.
#[tokio::test]
async fn no_event_trigger_of_a_project_runs_as_the_superuser() {
    let Some((_database, mut client)) = as_postgres().await else { return };
    let spy = "create table seen (role name, super boolean, tag text);
         grant all on seen to public;
         create function public.spy() returns event_trigger language plpgsql as $$
         begin
           perform set_config('session_replication_role', 'origin', true);
           insert into public.seen
             select current_user, rolsuper, tg_tag from pg_catalog.pg_roles where rolname = current_user;
         end $$;
         create event trigger \"zzz\" on ddl_command_start execute function public.spy();
         create event trigger \"}}}\" on ddl_command_start execute function public.spy();
         create event trigger \"a\" on ddl_command_end execute function public.spy();
         create event trigger \"b\" on sql_drop execute function public.spy();";
    migrate(&mut client, spy).await.unwrap();
    for sql in [
        "create extension citext schema extensions",
        "create extension if not exists pg_trgm schema extensions",
        "select basalt.change_extension('citext', 'schema', 'public')",
        "select basalt.create_extension('dblink', 'public')",
        "select basalt.publish_all_tables('everything')",
        "select basalt.create_event_trigger('late', 'ddl_command_end', null, 'public.spy()')",
        "drop publication supabase_realtime; create publication supabase_realtime",
        "create table after_all ()",
    ] {
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    assert_eq!(text(&client, "select coalesce(string_agg(tag, ', '), '') from seen where super").await, "");
    assert!(count(&client, "select count(*) from seen where tag = 'CREATE TABLE'").await > 0);
    for refused in [
        "select basalt.create_event_trigger('~', 'ddl_command_start', null, 'public.spy()')",
        "select basalt.create_event_trigger('é', 'ddl_command_start', null, 'public.spy()')",
        "select basalt.create_event_trigger('login', 'login', null, 'public.spy()')",
        "select basalt.create_event_trigger('theirs', 'sql_drop', null, 'extensions.pgrst_drop_watch()')",
        "select basalt.change_event_trigger('pgrst_drop_watch', 'drop')",
    ] {
        assert_eq!(code(&client, refused).await, "42501", "{refused}");
    }
}

/// Without `pg_temp` at its end, the search path of a function begins with it, for types at least.
#[tokio::test]
async fn no_temporary_type_of_a_caller_runs_as_the_superuser() {
    let Some((_database, mut client)) = as_postgres().await else { return };
    if testkit::has_extension("pg_net").await {
        migrate(&mut client, "create extension pg_net").await.unwrap();
    }
    let shadow =
        |kind: &str| format!("create domain pg_temp.{kind} as pg_catalog.{kind} check (pg_temp.spy());");
    let spy = "create temp table seen (role pg_catalog.name);
        create function pg_temp.spy() returns pg_catalog.bool language plpgsql as $$
        begin
          if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
            raise exception 'as the superuser';
          end if;
          return true;
        end $$;";
    let kinds = ["text", "name", "regprocedure", "oid", "int4", "bool", "jsonb"].map(shadow).concat();
    client.batch_execute(&format!("{spy}{kinds}")).await.unwrap();
    for sql in [
        "select basalt.publish_all_tables('everything')",
        "create extension postgres_fdw",
        "select basalt.change_extension('postgres_fdw', 'drop')",
        "create schema another",
        "drop publication supabase_realtime; create publication supabase_realtime",
        "update storage.buckets set public = true",
    ] {
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    if testkit::has_extension("pg_net").await {
        client.batch_execute("select net.http_post('http://127.0.0.1:9/', '{}')").await.unwrap();
    }
}

/// Whoever may make a trigger on a table that the superuser writes, or a function in a schema that it searches, has its
/// rights.
#[tokio::test]
async fn nothing_of_a_project_runs_inside_of_what_the_superuser_owns() {
    let Some((database, mut client)) = as_postgres().await else { return };
    let mut extensions = String::new();
    for name in ["http", "pg_cron", "pg_net"] {
        if testkit::has_extension(name).await {
            extensions.push_str(&format!("create extension {name};"));
        }
    }
    migrate(&mut client, &extensions).await.unwrap();
    let tables = "select coalesce(string_agg(c.oid::regclass::text, ', '), '')
        from pg_class c join pg_roles o on o.oid = c.relowner join pg_namespace n on n.oid = c.relnamespace
        where o.rolsuper and c.relkind in ('r', 'p', 'v') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
          and exists (select from pg_roles r where not r.rolsuper and has_table_privilege(r.oid, c.oid, 'trigger'))";
    assert_eq!(text(&client, tables).await, "", "tables of the superuser on which others may make triggers");
    let searched = "select coalesce(string_agg(p.oid::regprocedure::text, ', '), '')
        from pg_proc p join pg_roles o on o.oid = p.proowner
        where o.rolsuper and p.prosecdef and p.pronamespace <> 'pg_catalog'::regnamespace
          -- Names in the body of SQL's own form are resolved when the function is made.
          and p.prosqlbody is null
          and not coalesce((select setting ~ '^search_path=pg_catalog, (supabase_functions, )?pg_temp$'
            from unnest(p.proconfig) as setting where starts_with(setting, 'search_path=')), false)
          and not exists (select from pg_depend d join pg_extension e on e.oid = d.refobjid
            where d.objid = p.oid and d.deptype = 'e' and e.extname not in ('http', 'pg_cron', 'pg_net', 'supabase_vault'))";
    assert_eq!(
        text(&client, searched).await,
        "",
        "functions with the superuser's rights that search schemas"
    );
    // Their owners can rename them.
    let of_others = "select coalesce(string_agg(p.oid::regprocedure::text, ', '), '')
        from pg_proc p join pg_roles o on o.oid = p.proowner join pg_namespace n on n.oid = p.pronamespace
        join pg_roles s on s.oid = n.nspowner
        where o.rolsuper and p.prosecdef and p.prosqlbody is null and not s.rolsuper";
    assert_eq!(
        text(&client, of_others).await,
        "",
        "functions with the superuser's rights in schemas of others"
    );
    let schemas = "select coalesce(string_agg(nspname, ', '), '') from pg_namespace
        where nspname in ('basalt', 'basalt_http', 'cron', 'net', 'vault') and has_schema_privilege('postgres', oid, 'create')";
    assert_eq!(text(&client, schemas).await, "");
    let platform = "select coalesce(string_agg(nspname, ', '), '') from pg_namespace
        where nspname in ('auth', 'storage', 'realtime', 'basalt', 'extensions', 'storage_vectors', 'graphql_public')
          and nspowner <> 'supabase_admin'::regrole";
    assert_eq!(text(&client, platform).await, "", "tools drop schemas of the platform that belong to others");
    if extensions.contains("pg_cron") {
        let as_superuser = "values ('* * * * *', 'alter role postgres superuser', 'supabase_admin')";
        let insert = format!("insert into cron.job (schedule, command, username) {as_superuser}");
        assert_eq!(code(&client, &insert).await, "42501");
        assert_eq!(
            code(&client, &format!("set session_replication_role = replica; {insert}")).await,
            "42501"
        );
        client.batch_execute("reset session_replication_role").await.unwrap();
        database.client().await.batch_execute(&insert).await.unwrap();
        let change = "update cron.job set command = 'alter role postgres superuser'";
        assert_eq!(code(&client, change).await, "42501");
        let own = "select cron.schedule('own', '* * * * *', 'select 1'); update cron.job set active = false
            where jobname = 'own'; select cron.unschedule('own')";
        client.batch_execute(own).await.unwrap();
    }
}
