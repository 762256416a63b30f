//! Tests of the rights of `postgres` in the embedded Postgres, and of `basalt db harden`.

use std::fs;
use std::path::Path;

use super::upgrade::{OlderPostgres, ada, query, query_as};
use super::{Server, basalt, project, text, write_file};

/// What a project may have that a superuser has created in a release in which `postgres` was one.
const OWN: &str = "
    create role clerk login password 'counter'; grant anon to clerk;
    create extension if not exists citext with schema extensions;
    create function public.ran() returns text language plpgsql security definer as $$
    begin copy (select 1) to program 'cat >/dev/null'; return 'ran'; end $$;
    create table public.watched (id int primary key, title extensions.citext);
    alter table public.watched enable row level security;
    create policy everybody on public.watched for select using (true);
    create function public.note() returns event_trigger language plpgsql as $$
    begin perform set_config('seen.tag', tg_tag, false); end $$;
    create event trigger note on ddl_command_end when tag in ('CREATE TABLE') execute function public.note();
    create policy mine on storage.objects for select using (owner_id = 'me');
    alter database postgres set app.greeting = 'hello'";

/// Removes what this release adds to a database of the one before.
const WITHOUT_FUNCTIONS: &str = "
    drop event trigger \"~basalt_begin_extension_script\"; drop event trigger basalt_end_extension_script;
    drop event trigger basalt_reserve_schemas;
    do $$ declare f regprocedure; begin
      for f in select oid from pg_proc where pronamespace = 'basalt'::regnamespace and proname in (
        'begin_extension_script', 'end_extension_script', 'create_extension', 'change_extension', 'is_own_function',
        'create_event_trigger', 'change_event_trigger', 'publish_all_tables', 'may_create_in', 'reserve_schemas')
      loop execute format('drop function %s', f); end loop; end $$;
    drop table basalt.privileged_extensions;
    delete from basalt.platform_migrations where version = '0027'";

/// Gives the names of a release in which `initdb` made the role `postgres` to the roles of a new cluster.
fn make_old(project: &Path) {
    let mut command = basalt(project);
    command.env("BASALT_POSTGRES_SUPERUSER", "true");
    let served = Server::ready(Server::launch(command));
    let data = project.join(".basalt");
    let passwords = fs::read_to_string(data.join("pgpass")).unwrap();
    let password = passwords.lines().next().unwrap().rsplit(':').next().unwrap().to_owned();
    query_as(project, "postgres", WITHOUT_FUNCTIONS);
    query_as(project, "postgres", "reassign owned by postgres to supabase_admin");
    query_as(project, "postgres", "alter role supabase_admin rename to of_initdb");
    // Each of them logs in with the password that it had under its other name.
    for (role, password, statement) in [
        ("of_initdb", &*password, "alter role postgres rename to supabase_admin"),
        (
            "supabase_admin",
            "postgres",
            "alter role of_initdb rename to postgres; alter role postgres reset all;
             alter role postgres set search_path = \"$user\", public, extensions",
        ),
    ] {
        let mut command = basalt(project);
        command.env("PGPASSWORD", password).args(["psql", "-U", role, "-Atqc", statement]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{statement}: {}", text(&output));
    }
    served.stop();
    fs::write(data.join("pgpass"), format!("*:*:*:postgres:{password}\n")).unwrap();
    fs::remove_file(data.join("postgres/basalt.superuser")).unwrap();
}

fn doctor(project: &Path) -> String {
    text(&basalt(project).arg("doctor").output().unwrap())
}

/// Returns the error of `statement`, which is run as `postgres`.
fn refusal(project: &Path, statement: &str) -> String {
    let output = basalt(project).args(["psql", "-Atqc", statement]).output().unwrap();
    assert!(!output.status.success(), "{statement}");
    text(&output)
}

#[test]
fn a_database_of_an_older_release_is_hardened_completely() {
    let Some(tools) = OlderPostgres::find() else {
        return testkit::skip("there are no programs that dump a database");
    };
    let project = project();
    let (project, data) = (project.path(), project.path().join(".basalt"));
    let harden = || {
        let mut command = basalt(project);
        command.args(["db", "harden"]).env("PATH", tools.path());
        text(&command.output().unwrap())
    };
    assert!(harden().contains("has no database yet"));
    make_old(project);

    let served = Server::start(project);
    let rights = "select rolsuper from pg_roles where rolname = 'postgres'";
    assert_eq!(query_as(project, "postgres", rights), "t", "an existing folder keeps its rights");
    assert!(doctor(project).contains("`basalt db harden`"), "{}", doctor(project));
    assert!(ada(&served, "signup").ends_with(" 200 OK"));
    query_as(project, "postgres", OWN);
    assert_eq!(query_as(project, "postgres", "select ran()"), "ran");
    assert!(harden().contains("is in use by process"));
    served.stop();

    let kept = data.join("postgres.17");
    let hardened = harden();
    assert!(hardened.contains("supabase_admin now") && kept.is_dir(), "{hardened}");
    assert!(harden().contains("Nothing to do"));
    let served = Server::start(project);
    assert!(doctor(project).contains("has the rights that it has on hosted Supabase"));
    assert_eq!(query_as(project, "postgres", rights), "f");
    assert!(refusal(project, "select ran()").contains("permission denied"), "42501");
    assert!(refusal(project, "alter system set work_mem = '1MB'").contains("permission denied"));
    assert!(ada(&served, "token?grant_type=password").ends_with(" 200 OK"));
    assert_eq!(served.get("/rest/v1/goods?select=name&id=eq.1").1, "[{\"name\":\"lamp\"}]");
    let owners = "select string_agg(distinct relowner::regrole::text, ' ') from pg_class
                   where relnamespace = 'public'::regnamespace";
    assert_eq!(query(project, owners), "postgres");
    let platform = "select string_agg(distinct nspowner::regrole::text, ' ') from pg_namespace
                     where nspname in ('auth', 'storage', 'realtime', 'basalt', 'extensions')";
    assert_eq!(query(project, platform), "supabase_admin");
    let seen =
        "create table public.later (); select current_setting('seen.tag') || current_setting('app.greeting')";
    assert_eq!(query_as(project, "postgres", seen), "CREATE TABLEhello");
    let change = "alter table public.watched add column more text; drop policy mine on storage.objects;
        create role other; drop role other; alter role anon set statement_timeout = '3s'";
    query_as(project, "postgres", change);
    served.stop();

    write_file(
        project,
        "migrations/20260102000000_later.sql",
        "create extension hstore; create table public.more ();",
    );
    let served = Server::start(project);
    assert_eq!(query_as(project, "postgres", "select count(*) from public.more"), "0");
    served.stop();
}

/// A function's login, and what a migration has defined, run no programs of the machine.
#[test]
fn neither_functions_nor_definers_of_a_new_project_run_programs() {
    let project = project();
    let project = project.path();
    write_file(
        project,
        "migrations/20260103000000_definer.sql",
        "create function public.run() returns void language plpgsql security definer as $$
         begin copy (select 1) to program 'true'; end $$;
         create function public.read() returns text language sql security definer return pg_read_file('/etc/passwd');",
    );
    let served = Server::start(project);
    for function in ["run", "read"] {
        let headers = format!("apikey: {}\r\n", served.key);
        let (head, body) = served.request(&format!("POST /rest/v1/rpc/{function}"), &headers, "");
        assert!(head.starts_with("HTTP/1.1 401") && body.contains("42501"), "{head}{body}");
    }
    let status = text(&basalt(project).args(["status", "-o", "env"]).output().unwrap());
    assert!(status.contains("DB_URL=\"postgresql://postgres:postgres@127.0.0.1:"), "{status}");
    assert!(refusal(project, "copy (select 1) to program 'true'").contains("permission denied"));
    served.stop();
    write_file(
        project,
        "migrations/20260104000000_system.sql",
        "select 1;\nalter system set work_mem = '1MB';",
    );
    let output = basalt(project).args(["migrate"]).output().unwrap();
    let printed = text(&output);
    assert!(!output.status.success() && printed.contains("line 2") && printed.contains("42501"), "{printed}");
}
