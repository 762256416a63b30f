//! Projects and databases that Basalt did not create, and resets.

use std::path::Path;

use embedded::Cluster;
use postgres::{Client, Database};

use super::{Server, basalt, text};

/// Returns a typical project, which uses objects of schema `extensions` without naming the schema.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "config.toml",
        "project_id = 'todo'\n[db.seed]\nsql_paths = ['./seeds/*.sql']\n\
         [storage.buckets.pictures]\npublic = true\nobjects_path = './pictures'",
    );
    write(folder.path(), "roles.sql", "create role reporter nologin;");
    write(
        folder.path(),
        "migrations/20260101000000_todos.sql",
        "create table public.todos (id uuid primary key default uuid_generate_v4(), task text, secret text);
         grant select on public.todos to reporter;
         create function public.on_user() returns trigger language plpgsql security definer as $$
         begin insert into public.todos (task) values ('greet ' || new.email); return new; end $$;
         create trigger on_user after insert on auth.users for each row execute function public.on_user();
         insert into storage.buckets (id, name, public) values ('notes', 'notes', true);
         create policy \"Everybody\" on storage.objects for all using (bucket_id = 'notes');",
    );
    write(
        folder.path(),
        "seeds/1_users.sql",
        "insert into auth.users (id, email, encrypted_password) values (gen_random_uuid(), 'ada@example.com',
           crypt('password', gen_salt('bf', 4)));",
    );
    write(folder.path(), "pictures/lamp.txt", "a lamp");
    folder
}

fn write(project: &Path, name: &str, content: &str) {
    let path = project.join("supabase").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn run(project: &Path, arguments: &[&str]) -> (bool, String) {
    let output = basalt(project).args(arguments).output().unwrap();
    (output.status.success(), text(&output))
}

const TASKS: &str = "/rest/v1/todos?select=task&order=task";
const SEEDED: &str = "[{\"task\":\"greet ada@example.com\"}, \n {\"task\":\"seeded\"}]";

fn tasks(served: &Server) -> String {
    served.get(TASKS).1
}

#[test]
fn a_reset_recreates_the_database_of_a_running_server_and_keeps_the_keys() {
    let project = project();
    let served = Server::start(project.path());
    assert_eq!(tasks(&served), r#"[{"task":"greet ada@example.com"}]"#);
    let keys = std::fs::read_to_string(project.path().join(".basalt/keys.json")).unwrap();
    let psql = |sql: &str| run(project.path(), &["psql", "-Atc", sql]);
    assert!(psql("alter role anon set statement_timeout = '9s'; insert into todos (task) values ('mine')").0);
    assert!(psql("create role leftover").0);
    let upload = project.path().join(".basalt/objects/left");
    std::fs::create_dir_all(&upload).unwrap();

    let (done, output) = run(project.path(), &["db", "reset"]);
    assert!(!done && output.contains("embedded database") && output.contains("--yes"), "{output}");
    assert!(tasks(&served).contains("mine"), "there was no consent");

    write(project.path(), "seeds/2_more.sql", "insert into todos (task) values ('seeded');");
    let (done, output) = run(project.path(), &["db", "reset", "--yes"]);
    assert!(done && output.contains("has been reset"), "{output}");
    served.wait_until(TASKS, SEEDED);
    assert_eq!(served.get("/storage/v1/object/public/pictures/lamp.txt").1, "a lamp");
    assert!(!upload.exists(), "files of deleted rows are removed");
    let left = "select string_agg(rolname, ',') from pg_roles where rolname in ('leftover', 'reporter')";
    assert_eq!(psql(left).1, "reporter\n", "roles of the project are created again");
    assert_eq!(std::fs::read_to_string(project.path().join(".basalt/keys.json")).unwrap(), keys);
    assert_eq!(served.get("/health/ready").0, "HTTP/1.1 200 OK");
    served.stop();

    let (done, output) = run(project.path(), &["db", "reset", "-y", "--no-seed"]);
    assert!(done && !output.contains("1_users"), "{output}");
    let served = Server::start(project.path());
    served.wait_until(TASKS, SEEDED);
    served.stop();
}

#[test]
fn changed_files_are_reported_and_do_not_prevent_a_start() {
    let project = project();
    let (done, output) = run(project.path(), &["migrate"]);
    assert!(done && output.contains("roles: supabase/roles.sql"), "{output}");
    write(project.path(), "seeds/1_users.sql", "this is not SQL");
    write(project.path(), "migrations/20260101000000_todos.sql", "create table public.others (id int);");
    write(project.path(), "migrations/20251231000000_older.sql", "create table public.older (id int);");
    let (done, output) = run(project.path(), &["migrate"]);
    assert!(done, "{output}");
    for part in [
        "20260101000000_todos.sql",
        "supabase/seeds/1_users.sql",
        "basalt db reset",
        "20251231000000_older.sql",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let (_, status) = run(project.path(), &["migrate", "--status"]);
    assert!(status.contains("changed since                20260101000000 todos"), "{status}");
    Server::start(project.path()).stop();
}

#[test]
fn new_tables_are_open_to_the_api_as_the_settings_say() {
    let project = tempfile::tempdir().unwrap();
    let privileges = "select has_table_privilege('anon', '%', 'select'), has_sequence_privilege('service_role', '%_id_seq',
        'usage'), has_table_privilege('authenticated', '%', 'insert')";
    for (number, (setting, expected)) in [
        ("", "t|t|t"),
        ("auto_expose_new_tables = false", "f|f|f"),
        ("", "f|f|f"),
        ("auto_expose_new_tables = true", "t|t|t"),
        // The migration of the table before has changed it.
        ("auto_expose_new_tables = true", "f|t|t"),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("things{number}");
        write(project.path(), "config.toml", &format!("project_id = 'exposure'\n[api]\n{setting}"));
        let mut migration = format!("create table public.{table} (id serial primary key);");
        if number == 3 {
            migration += "alter default privileges in schema public revoke select on tables from anon;";
        }
        write(project.path(), &format!("migrations/2026010100000{number}_things.sql"), &migration);
        let (done, output) = run(project.path(), &["migrate"]);
        let said =
            if expected.ends_with('t') { "open to the API at once" } else { "closed to the API until" };
        assert!(done && output.contains(said), "{output}");
        let served = Server::start(project.path());
        // The first table keeps its rights.
        for (name, expected) in [(&*table, expected), ("things0", "t|t|t")] {
            let sql = privileges.replace('%', name);
            let (_, response) = run(project.path(), &["psql", "-Atc", &sql]);
            assert_eq!(response.trim(), expected, "{name}, {number}: {setting}");
        }
        served.stop();
    }
}

#[test]
fn psql_creates_the_extension_of_every_hosted_dump_which_says_what_is_missing() {
    let project = tempfile::tempdir().unwrap();
    write(project.path(), "config.toml", "project_id = 'graphql'");
    let served = Server::start(project.path());
    let psql = |sql: &str| run(project.path(), &["psql", "-v", "ON_ERROR_STOP=1", "-Atc", sql]);
    let (done, output) = psql(
        "create extension if not exists \"pg_graphql\" with schema \"graphql\";
        grant all on function graphql.resolve(text, jsonb, text, jsonb) to anon",
    );
    assert!(done, "{output}");
    let (done, output) = psql("select graphql.resolve('{ __typename }')");
    assert!(!done && output.contains("does not answer GraphQL"), "{output}");
    assert!(psql("drop extension pg_graphql").0);
    served.stop();
}

/// Returns a session of the administrator of another Postgres.
async fn client(postgres: &Cluster) -> (Database, Client) {
    let uri = postgres.tcp_login(postgres.superuser(), postgres.password()).unwrap().to_uri();
    let database = Database::connect(postgres::Settings::new(uri.parse().unwrap())).await.unwrap();
    let client = database.client().await.unwrap();
    (database, client)
}

async fn one(client: &Client, sql: &str) -> i64 {
    client.query_one(&format!("select ({sql})::bigint"), &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_database_is_set_up_only_with_consent() {
    let project = project();
    let postgres = Cluster::ephemeral(testkit::search(), Some(0)).await.unwrap();
    let (pool, theirs) = client(&postgres).await;
    theirs.batch_execute("create table public.theirs (id int)").await.unwrap();
    let port = postgres.tcp_port().unwrap();
    let url = format!(
        "{}?schema=public",
        postgres.tcp_login(postgres.superuser(), postgres.password()).unwrap().to_uri()
    );
    std::fs::write(project.path().join(".env"), format!("DATABASE_URL=\"{url}\"\n")).unwrap();

    let schemas =
        "select count(*) from pg_namespace where nspname in ('auth', 'basalt', 'supabase_migrations')";
    for command in [&["migrate"][..], &["serve", "--port", "0"], &["db", "reset", "--yes"]] {
        let (done, output) = run(project.path(), command);
        assert!(!done && output.contains(&format!("the database postgres on 127.0.0.1:{port}")), "{output}");
        assert!(!output.contains(postgres.password()), "{output}");
        assert_eq!(one(&theirs, schemas).await, 0, "{command:?} changed something");
    }
    let (_, output) = run(project.path(), &["migrate"]);
    for part in [".env)", "--yes", "BASALT_ADOPT_DATABASE=1", "postgresql://postgres:postgres@127.0.0.1:"] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let (_, output) = run(project.path(), &["doctor"]);
    assert!(output.contains("was not set up by Basalt"), "{output}");

    let agreed = basalt(project.path()).arg("migrate").env("BASALT_ADOPT_DATABASE", "1").output().unwrap();
    assert!(agreed.status.success(), "{}", text(&agreed));
    let (done, output) = run(project.path(), &["migrate"]);
    assert!(done, "a database is asked about once: {output}");
    assert_eq!(one(&theirs, "select count(*) from public.todos").await, 1);
    let (done, output) = run(project.path(), &["db", "reset", "--yes"]);
    assert!(done, "{output}");
    let served = Server::start(project.path());
    let port = served.origin.rsplit(':').next().unwrap();
    let doctor = basalt(project.path()).arg("doctor").env("BASALT_PORT", port).output().unwrap();
    assert!(text(&doctor).contains("is in use, and Basalt is running"), "{}", text(&doctor));
    served.stop();
    drop(theirs);
    let theirs = pool.client().await.unwrap();
    assert_eq!(one(&theirs, "select count(*) from pg_class where relname in ('theirs', 'todos')").await, 1);
    postgres.stop().await;
}

/// Returns the port of the embedded Postgres.
fn port(project: &Path) -> String {
    let lock = std::fs::read_to_string(project.join(".basalt/postgres/postmaster.pid")).unwrap();
    lock.lines().nth(3).unwrap().trim().to_owned()
}

async fn logs_in(uri: String) -> bool {
    let database = Database::connect(postgres::Settings::new(uri.parse().unwrap())).await.unwrap();
    let reply = database.ping().await;
    database.close().await;
    reply.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_supabase_clis_url_is_the_embedded_database() {
    let project = project();
    std::fs::write(
        project.path().join(".env"),
        "DATABASE_URL=postgresql://postgres:postgres@127.0.0.1:54322/postgres?schema=public\n",
    )
    .unwrap();
    let uri =
        |password: &str, port: &str| format!("postgresql://postgres:{password}@127.0.0.1:{port}/postgres");
    // As if an earlier release had created it, with its own password.
    for (open, works) in [("false", false), ("true", true), ("false", false)] {
        let mut command = basalt(project.path());
        command.env("BASALT_DEFAULT_DATABASE_PASSWORD", open);
        let served = Server::ready(Server::launch(command));
        let port = port(project.path());
        assert_eq!(logs_in(uri("postgres", &port)).await, works, "{open}");
        assert!(!logs_in(uri("another", &port)).await);
        let (done, output) = run(project.path(), &["psql", "-Atc", "select count(*) from todos"]);
        assert_eq!((done, output.as_str()), (true, "1\n"));
        served.stop();
    }
}

#[test]
fn secrets_of_the_settings_are_in_the_vault_before_migrations_run() {
    let project = project();
    let config = project.path().join("supabase/config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    let with_secret = |secret: &str| {
        let vault = format!("{settings}\n[db.vault]\nkey = '{secret}'\nother = 'env(BASALT_TEST_UNSET)'\n");
        std::fs::write(&config, vault).unwrap();
    };
    let has_vault = testkit::search().folder.is_none();
    with_secret("a s3cret");
    if has_vault {
        write(
            project.path(),
            "migrations/20260201000000_key.sql",
            "create table public.found as select decrypted_secret from vault.decrypted_secrets where name = 'key';",
        );
    }
    let (done, output) = run(project.path(), &["migrate"]);
    assert!(done && !output.contains("s3cret"), "{output}");
    if !has_vault {
        assert!(output.contains("db.vault has no effect"), "{output}");
        return;
    }
    assert!(
        output.contains("vault: 1 secrets") && output.contains("BASALT_TEST_UNSET, which is not set"),
        "{output}"
    );
    with_secret("another");
    assert!(run(project.path(), &["migrate"]).1.contains("vault: 1 secrets"));
    assert!(!run(project.path(), &["migrate"]).1.contains("vault:"), "nothing has changed");
    let served = Server::start(project.path());
    let (_, found) = run(
        project.path(),
        &[
            "psql",
            "-Atc",
            "select * from public.found, (select name, decrypted_secret from vault.decrypted_secrets) s",
        ],
    );
    served.stop();
    assert!(found.contains("a s3cret|key|another\n"), "{found}");
}
