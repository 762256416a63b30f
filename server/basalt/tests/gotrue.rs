//! `basalt gotrue` in place of Supabase Auth's binary, configured only by upstream's environment, with a role that has
//! rights only on its schema.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

#[path = "support/program.rs"]
mod program;

use std::path::Path;
use std::process::Command;

use program::Program;
use serde_json::json;
use tokens::{KeyOverrides, Keys};

const BASALT: &str = env!("CARGO_BIN_EXE_basalt");
const SECRET: &str = "a secret of more than thirty-two bytes";
const EXTERNAL_URL: &str = "https://project.example/auth/v1";
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/auth-client.mjs");

const ROLE: &str = "create role supabase_auth_admin noinherit login password 'secret';
    alter role supabase_auth_admin set search_path = auth;
    create schema auth authorization supabase_auth_admin;
    revoke all on schema public from public;
    revoke create, temporary on database postgres from public";

/// Returns everything that a database and its cluster contain outside of schema `auth`.
const OUTSIDE: &str = "select
    (select count(*) from pg_class c join pg_namespace n on n.oid = relnamespace
      where nspname not in ('auth', 'pg_toast') and nspname !~ '^pg_temp')
    + (select count(*) from pg_proc where pronamespace <> 'auth'::regnamespace)
    + (select count(*) from pg_namespace) + (select count(*) from pg_roles)
    + (select count(*) from pg_event_trigger) + (select count(*) from pg_extension)";

/// Returns the command `basalt gotrue` in `folder`, without this process's environment.
fn basalt(folder: &Path) -> Command {
    command_of(Path::new(BASALT), &["--log-format", "text", "gotrue"], folder)
}

/// Returns a command line in `folder`, without this process's environment.
fn command_of(path: &Path, words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(path);
    command.args(words).current_dir(folder).env_clear();
    command
}

/// Returns the variables of upstream's examples.
fn upstream_variables(uri: &str) -> [(&'static str, String); 9] {
    [
        ("GOTRUE_DB_DRIVER", "postgres".to_owned()),
        ("DATABASE_URL", format!("{uri}?search_path=auth")),
        ("API_EXTERNAL_URL", EXTERNAL_URL.to_owned()),
        ("GOTRUE_API_HOST", "127.0.0.1".to_owned()),
        ("PORT", "0".to_owned()),
        ("GOTRUE_SITE_URL", "https://project.example".to_owned()),
        ("GOTRUE_JWT_SECRET", SECRET.to_owned()),
        ("GOTRUE_JWT_AUD", "authenticated".to_owned()),
        ("GOTRUE_MAILER_AUTOCONFIRM", "true".to_owned()),
    ]
}

fn start(command: Command) -> Program {
    Program::start(command, "Auth API")
}

/// Sends a request to the service and returns the response.
fn ask(served: &Program, request: &str, headers: &str, body: &str) -> String {
    served.request("Auth API", request, headers, body)
}

fn service_token() -> String {
    let settings = KeyOverrides { jwt_secret: Some(SECRET.to_owned()), ..KeyOverrides::default() };
    Keys::from_settings(settings).unwrap().sign_with_secret(&json!({ "role": "service_role" })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn auth_is_served_at_the_root_by_a_role_that_owns_only_its_schema() {
    let (postgres, database) = program::postgres().await;
    let client = database.client().await.unwrap();
    client.batch_execute(ROLE).await.unwrap();
    let outside = async || client.query_one(OUTSIDE, &[]).await.unwrap().get::<_, i64>(0);
    let before = outside().await;

    let folder = tempfile::tempdir().unwrap();
    let uri = postgres.tcp_login("supabase_auth_admin", "secret").unwrap().to_uri();
    let mut command = basalt(folder.path());
    command.envs(upstream_variables(&uri));
    let served = start(command);
    let health = ask(&served, "GET /health", "Origin: https://project.example\r\n", "");
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("\"name\":\"GoTrue\""), "{health}");
    assert!(health.contains("access-control-expose-headers: X-Total-Count, Link, X-Supabase-Api-Version"));
    assert!(ask(&served, "GET /settings", "", "").contains("\"mailer_autoconfirm\":true"));
    assert!(ask(&served, "GET /.well-known/jwks.json", "", "").ends_with("{\"keys\":[]}"));
    let issuer = format!("\"issuer\":\"{EXTERNAL_URL}\"");
    assert!(ask(&served, "GET /.well-known/openid-configuration", "", "").contains(&issuer));
    assert!(ask(&served, "GET /auth/v1/health", "", "").starts_with("HTTP/1.1 404"));
    let token = service_token();
    // A token needs only the secret; API keys are checked by the gateway in front of the service.
    let keyed = ask(&served, "GET /admin/users", &format!("apikey: {token}\r\n"), "");
    assert!(keyed.starts_with("HTTP/1.1 401") && keyed.contains("no_authorization"), "{keyed}");

    let node = Command::new("node")
        .args([CLIENT, &format!("http://{}", served.address("Auth API")), &token])
        .output()
        .unwrap();
    let (printed, failed) =
        (String::from_utf8(node.stdout).unwrap(), String::from_utf8(node.stderr).unwrap());
    assert!(node.status.success(), "{failed}");
    assert!(printed.starts_with(&format!("{EXTERNAL_URL}/verify?token=")), "{printed}");
    served.stop();

    assert_eq!(before, outside().await, "nothing is made outside of its schema");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is kept on disk");
    let versions = "select count(*) from auth.schema_migrations";
    assert!(
        client.query_one(versions, &[]).await.unwrap().get::<_, i64>(0) > 60,
        "upstream can go on from here"
    );

    files_override_the_environment(&uri);
    the_tables_of_the_image_are_replaced(&client, &uri).await;
    drop(client);
    database.close().await;
    postgres.stop().await;
}

fn files_override_the_environment(uri: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auth.env");
    std::fs::write(&file, "GOTRUE_DISABLE_SIGNUP=true\n").unwrap();
    let link = folder.path().join("auth");
    std::os::unix::fs::symlink(BASALT, &link).unwrap();
    // Under upstream's name, with upstream's words.
    let mut command = command_of(&link, &["serve", "-c"], folder.path());
    command.arg(&file).envs(upstream_variables(uri));
    command.env("GOTRUE_DISABLE_SIGNUP", "false").env("BASALT_LOG_FORMAT", "text");
    let served = start(command);
    assert!(ask(&served, "GET /settings", "", "").contains("\"disable_signup\":true"));
    served.stop();

    let mut command = basalt(folder.path());
    command.envs(upstream_variables(uri)).env("API_EXTERNAL_URL", "");
    let refused = command.output().unwrap();
    let printed = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && printed.contains("API_EXTERNAL_URL: expected"), "{printed}");
}

/// Supabase's database image contains empty tables with the columns of 2019.
async fn the_tables_of_the_image_are_replaced(client: &postgres::Client, uri: &str) {
    let first_form = "drop schema auth cascade; create schema auth authorization supabase_auth_admin;
        set role supabase_auth_admin;
        create table auth.users (instance_id uuid, id uuid primary key, email varchar(255) unique);
        create table auth.refresh_tokens (id bigserial primary key, token varchar(255));
        create table auth.schema_migrations (version varchar(255) primary key);
        create function auth.role() returns text language sql stable as $$ select 'old' $$;
        reset role;
        create function auth.uid() returns uuid language sql stable as $$ select null::uuid $$";
    client.batch_execute(first_form).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let command = || {
        let mut command = basalt(folder.path());
        command.envs(upstream_variables(uri));
        command
    };
    let served = start(command());
    let body = json!({ "email": "eve@example.com", "password": "correct horse battery" }).to_string();
    let signed_up = ask(&served, "POST /signup", "", &body);
    assert!(signed_up.starts_with("HTTP/1.1 200") && signed_up.contains("access_token"), "{signed_up}");
    served.stop();
    let role = client.query_one("select auth.role() is null", &[]).await.unwrap();
    assert!(role.get::<_, bool>(0), "its own functions are replaced");

    let with_accounts = "drop table auth.sessions cascade";
    client.batch_execute(with_accounts).await.unwrap();
    let refused = command().output().unwrap();
    let printed = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && printed.contains("older than October 2022"), "{printed}");
    let users = client.query_one("select count(*) from auth.users", &[]).await.unwrap();
    assert_eq!(users.get::<_, i64>(0), 1, "accounts stay");
}

#[test]
fn serve_refuses_what_is_meant_for_supabase_auth() {
    let serve = |words: &[&str], variables: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<_> =
            ["--log-format", "text", "serve", "--only", "auth"].iter().chain(words).copied().collect();
        let mut command = command_of(Path::new(BASALT), &words, folder.path());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(!output.status.success());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was started");
        String::from_utf8(output.stderr).unwrap()
    };
    let uri = "postgres://nobody@127.0.0.1:1/x";
    for (refused, named) in [
        (serve(&[], &[("GOTRUE_DB_DATABASE_URL", uri)]), "GOTRUE_DB_DATABASE_URL"),
        (serve(&[], &[("DATABASE_URL", uri), ("GOTRUE_DB_DRIVER", "postgres")]), "GOTRUE_DB_DRIVER"),
        (serve(&["--config", "auth.env"], &[]), "--config"),
    ] {
        assert!(refused.contains(named) && refused.contains("`basalt gotrue`"), "{refused}");
    }
}
