//! `basalt postgrest` in place of PostgREST's binary, on a database without the platform's schema.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

#[path = "support/program.rs"]
mod program;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use embedded::Cluster;
use program::{PATIENCE, Program};

const BASALT: &str = env!("CARGO_BIN_EXE_basalt");
const SCHEMA: &str = "
    create role web_anon nologin; create role web_user nologin;
    create role authenticator noinherit login password 'secret' in role web_anon, web_user;
    create schema api; grant usage on schema api to web_anon, web_user;
    create table api.goods (id int primary key, name text not null);
    insert into api.goods values (1, 'lamp'); grant select on api.goods to web_anon, web_user;
    grant insert on api.goods to web_user";

/// Returns the command `basalt postgrest` without any variable.
fn basalt() -> Command {
    command_of(Path::new(BASALT), &["--log-format", "text", "postgrest"])
}

/// Returns a command line outside of a project, without any variable.
fn command_of(path: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(words).env_clear().current_dir(std::env::temp_dir());
    command
}

/// Starts the server on the database at `uri`, with `variables`.
fn start(uri: &str, variables: &[(&str, &str)]) -> Program {
    let mut command = basalt();
    command.env("PGRST_DB_URI", uri).env("PGRST_DB_SCHEMAS", "api").env("PGRST_DB_ANON_ROLE", "web_anon");
    command.env("PGRST_SERVER_HOST", "127.0.0.1").env("PGRST_ADMIN_SERVER_PORT", "0");
    command.envs(variables.iter().copied());
    launch(command)
}

fn launch(command: Command) -> Program {
    Program::start(command, "API server")
}

/// Waits until the server has ended because it lost its database.
fn wait_for_end(mut server: Program) {
    let deadline = std::time::Instant::now() + PATIENCE;
    let ended = loop {
        if let Some(ended) = server.child.try_wait().unwrap() {
            break ended;
        }
        assert!(std::time::Instant::now() < deadline, "the server did not end without its database");
        std::thread::sleep(Duration::from_millis(50));
    };
    let mut printed = String::new();
    std::io::Read::read_to_string(&mut server.log, &mut printed).unwrap();
    assert!(!ended.success() && printed.contains("db-pool-automatic-recovery is off"), "{printed}");
}

/// Sends a request to the service and returns the response.
fn ask(served: &Program, request: &str, headers: &str) -> String {
    served.request("API server", request, headers, "")
}

/// Sends a request to the admin server and returns the response.
fn ask_admin(served: &Program, request: &str) -> String {
    served.request("Admin server", request, "", "")
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_is_served_at_the_root_of_a_plain_database() {
    let (postgres, database) = program::postgres().await;
    let client = database.client().await.unwrap();
    client.batch_execute(SCHEMA).await.unwrap();
    let relations = "select count(*) from pg_class where relnamespace not in
        (select oid from pg_namespace where nspname like 'pg_%' or nspname in ('information_schema', 'api'))";
    let before: i64 = client.query_one(relations, &[]).await.unwrap().get(0);

    let uri = postgres.tcp_login("authenticator", "secret").unwrap().to_uri();
    let served = start(&uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_DB_MAX_ROWS", "5")]);
    let goods = ask(&served, "GET /goods?select=name", "Origin: http://shop.example\r\n");
    assert!(goods.starts_with("HTTP/1.1 200 OK") && goods.ends_with("[{\"name\":\"lamp\"}]"), "{goods}");
    assert!(
        goods.contains("access-control-allow-origin: *") && goods.contains("\nserver: basalt/"),
        "{goods}"
    );
    assert!(
        ask_admin(&served, "GET /metrics").contains("loads_total{status=\"SUCCESS\"} 1\n"),
        "loaded once"
    );
    let preflight = "Origin: http://shop.example\r\nAccess-Control-Request-Method: PATCH\r\n\
                     Access-Control-Request-Headers: Prefer, X-Client\r\n";
    let preflight = ask(&served, "OPTIONS /goods", preflight);
    assert!(preflight.starts_with("HTTP/1.1 200 OK"), "{preflight}");
    for header in [
        "access-control-allow-origin: *",
        "access-control-allow-methods: GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD",
        "access-control-allow-headers: Authorization, Prefer, X-Client, Accept, Accept-Language, Content-Language",
        "access-control-max-age: 86400",
    ] {
        assert!(preflight.contains(header), "{header}: {preflight}");
    }
    let options = ask(&served, "OPTIONS /goods", "Origin: http://shop.example\r\n");
    assert!(options.contains("allow: OPTIONS,GET,HEAD") && options.contains("access-control-expose-headers"));
    assert!(ask(&served, "GET /", "").contains("\"swagger\":\"2.0\""));
    let token = ask(&served, "GET /goods", "Authorization: Bearer a.b.c\r\n");
    assert!(token.contains("PGRST300"), "{token}");
    assert!(ask_admin(&served, "GET /ready").starts_with("HTTP/1.1 200"));
    assert!(ask_admin(&served, "GET /metrics").contains("pgrst_db_pool_max 10"));
    assert!(ask_admin(&served, "GET /config").contains("db-max-rows = 5"));

    // As with upstream, SIGUSR1 makes the server read the schema cache again without a notification from the database.
    client
        .batch_execute("create table api.shops (id int); grant select on api.shops to web_anon")
        .await
        .unwrap();
    assert!(ask(&served, "GET /shops", "").contains("PGRST205"));
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while !ask(&served, "GET /shops", "").starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < deadline, "the schema cache was not read again");
    }
    served.stop();
    client.batch_execute("drop table api.shops").await.unwrap();
    let after: i64 = client.query_one(relations, &[]).await.unwrap().get(0);
    assert_eq!(before, after, "nothing is created in the database");

    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rest.sock");
    let served = start(&uri, &[("PGRST_SERVER_UNIX_SOCKET", socket.to_str().unwrap())]);
    let goods = program::send(UnixStream::connect(&socket).unwrap(), "GET /goods", "", "");
    assert!(goods.ends_with("[{\"id\":1,\"name\":\"lamp\"}]"), "{goods}");
    // The admin server checks the socket that clients use.
    assert!(ask_admin(&served, "GET /live").starts_with("HTTP/1.1 200"));
    std::fs::rename(&socket, folder.path().join("away")).unwrap();
    assert!(ask_admin(&served, "GET /live").starts_with("HTTP/1.1 500"));
    assert!(ask_admin(&served, "GET /ready").starts_with("HTTP/1.1 500"));
    std::fs::rename(folder.path().join("away"), &socket).unwrap();
    served.stop();
    assert!(!socket.exists(), "the socket is left behind");
    libpqs_variables_are_enough(&postgres);
    a_secret_in_a_file_is_read_again(&uri);
    the_databases_refusal_is_reported(&postgres, &uri);
    a_file_adds_to_the_variables(&uri);
    let unattended =
        start(&uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false")]);
    drop(client);
    database.close().await;
    postgres.stop().await;
    wait_for_end(unattended);
}

/// Runs the command and returns its standard output, its standard error, and whether it succeeded.
fn run(mut command: Command) -> (String, String, bool) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.success())
}

fn a_file_adds_to_the_variables(uri: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("postgrest.conf");
    let write = |rows: &str| {
        let lines = [
            &format!("db-uri = \"{uri}\"  # as the authenticator"),
            "db-schemas = \"api\"",
            "db-anon-role = \"web_anon\"",
            "server-host = \"127.0.0.1\"",
            "server-port = 0",
            &format!("db-max-rows = {rows}"),
            &format!("admin-server-unix-socket = \"{}\"", folder.path().join("admin").display()),
        ];
        std::fs::write(&file, lines.join("\n")).unwrap();
    };
    write("0");
    let with_file = |more: &str| {
        let mut command = basalt();
        command.arg(&file).args(more.split_whitespace());
        command
    };
    let (config, _, succeeded) = run(with_file("--dump-config"));
    assert!(
        succeeded && config.contains("db-schemas = \"api\"\n") && config.contains("db-pool = 10\n"),
        "{config}"
    );
    // The output is for the operator and can be used as a file again. The configuration on the admin server has no
    // secrets.
    let copy = folder.path().join("again.conf");
    std::fs::write(&copy, &config).unwrap();
    let mut command = basalt();
    command.arg(&copy).arg("--dump-config");
    assert_eq!(run(command).0, config);
    let (schema, _, succeeded) = run(with_file("--dump-schema"));
    assert!(succeeded && schema.contains("\"goods\""), "{schema}");
    let (_, errors, succeeded) = run(with_file("--ready"));
    assert!(!succeeded && errors.contains("not ready"), "{errors}");

    let served = launch(with_file(""));
    let (ready, _, succeeded) = run(with_file("--ready"));
    assert!(succeeded && ready.starts_with("OK: "), "{ready}");
    assert!(ask(&served, "GET /goods", "").ends_with("[]"));
    write("1");
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR2).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while !ask(&served, "GET /goods", "").ends_with("}]") {
        assert!(std::time::Instant::now() < deadline, "the file was not read again");
    }
    served.stop();
}

/// Sets only libpq's environment and upstream's own variables. The first of two hosts does not respond, and the
/// password is in a file.
fn libpqs_variables_are_enough(postgres: &Cluster) {
    let uri = postgres.tcp_login("authenticator", "secret").unwrap().to_uri();
    let port = uri.rsplit_once(':').unwrap().1.split('/').next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("passwords");
    std::fs::write(&passwords, "*:*:*:authenticator:secret\n").unwrap();
    std::fs::set_permissions(&passwords, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = basalt();
    command.env("PGHOST", "/nonexistent,127.0.0.1").env("PGPORT", format!("1,{port}"));
    command.env("PGUSER", "authenticator").env("PGDATABASE", "postgres").env("PGPASSFILE", &passwords);
    command.env("PGAPPNAME", "shop").env("PGGSSENCMODE", "prefer").env("PGTARGETSESSIONATTRS", "read-write");
    command.env("PGRST_DB_SCHEMAS", "api").env("PGRST_DB_ANON_ROLE", "web_anon");
    command.env("PGRST_SERVER_PORT", "0").env("PGRST_SERVER_HOST", "127.0.0.1");
    let served = launch(command);
    let goods = ask(&served, "GET /goods?select=name", "");
    assert!(goods.ends_with("[{\"name\":\"lamp\"}]"), "{goods}");
    served.stop();
}

/// Changes the file of a secret that a variable names, without a configuration file.
fn a_secret_in_a_file_is_read_again(uri: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    let secrets: [Vec<u8>; 2] = [(0..40).map(|byte| byte * 6).collect(), vec![0xff; 32]];
    let token = |secret: &[u8]| {
        let claims = serde_json::json!({ "role": "web_user" });
        let key = jsonwebtoken::EncodingKey::from_secret(secret);
        let token = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap();
        format!("Authorization: Bearer {token}\r\n")
    };
    std::fs::write(&file, [secrets[0].as_slice(), b"\n"].concat()).unwrap();
    let path = format!("@{}", file.display());
    let served = start(uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_JWT_SECRET", &path)]);
    assert!(ask(&served, "GET /goods", &token(&secrets[0])).starts_with("HTTP/1.1 200"));
    assert!(ask(&served, "GET /goods", &token(&secrets[1])).starts_with("HTTP/1.1 401"));
    std::fs::write(&file, &secrets[1]).unwrap();
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR2).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while !ask(&served, "GET /goods", &token(&secrets[1])).starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < deadline, "the secret was not read again");
    }
    served.stop();
}

fn the_databases_refusal_is_reported(postgres: &Cluster, uri: &str) {
    // Not the shared cluster of the tests, which may accept logins without checking the password.
    let mut refused = basalt();
    refused
        .env("PGRST_DB_URI", postgres.tcp_login("authenticator", "wrong").unwrap().to_uri())
        .env("PGRST_SERVER_PORT", "0");
    let (_, errors, succeeded) = run(refused);
    assert!(!succeeded && errors.contains("refuses the login"), "{errors}");
    let served = start(uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_DB_SCHEMAS", "api,attic")]);
    let response = ask(&served, "GET /goods", "");
    assert!(response.starts_with("HTTP/1.1 503") && response.contains("PGRST002"), "{response}");
    let log = served.stop();
    assert!(log.contains("what does not exist: schema \"attic\""), "{log}");
}

#[test]
fn the_settings_are_dumped_without_a_database() {
    let mut command = basalt();
    command
        .env("PGRST_DB_URI", "postgres://nobody@127.0.0.1:1/x")
        .env("PGRST_DB_POOL", "3")
        .arg("--dump-config");
    let (config, _, succeeded) = run(command);
    assert!(
        succeeded && config.contains("db-pool = 3\n") && config.contains("db-uri = \"postgres://nobody@"),
        "{config}"
    );
    for name in ["admin-server-port", "db-channel", "log-level", "server-unix-socket-mode", "jwt-secret"] {
        assert!(config.contains(&format!("{name} = ")), "{name}: {config}");
    }
}

#[test]
fn what_needs_no_settings_is_printed_without_any() {
    let printed = |argument: &str| {
        let mut command = basalt();
        command.arg(argument);
        let (printed, errors, succeeded) = run(command);
        assert!(succeeded, "{errors}");
        printed
    };
    assert!(printed("-v").starts_with("basalt "), "{}", printed("-v"));
    assert!(printed("--example").contains("\ndb-pool = 10\n"), "{}", printed("--example"));
    assert!(printed("-h").contains("--dump-schema"), "{}", printed("-h"));
    let mut without_admin = basalt();
    without_admin.arg("--ready");
    let (_, errors, succeeded) = run(without_admin);
    assert!(!succeeded && errors.contains("admin-server-port"), "{errors}");
}

#[test]
fn a_link_with_the_name_of_postgrest_takes_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("postgrest"), folder.path().join("postgrest.conf"));
    std::os::unix::fs::symlink(BASALT, &link).unwrap();
    std::fs::write(&file, "db-uri = \"postgres://nobody@127.0.0.1:1/x\"\ndb-pool = 3\n").unwrap();
    let mut command = command_of(&link, &["--dump-config"]);
    command.arg(&file);
    let (config, errors, succeeded) = run(command);
    assert!(succeeded && config.contains("db-pool = 3\n"), "{config}{errors}");
}

#[test]
fn serve_refuses_what_is_meant_for_postgrest() {
    let uri = ("PGRST_DB_URI", "postgres://nobody@127.0.0.1:1/x");
    for (words, variable, named) in [
        ("--only rest", uri, uri.0),
        ("--only rest", ("PGHOST", "127.0.0.1"), "PGHOST"),
        ("--only rest postgrest.conf", uri, "postgrest.conf"),
        ("postgrest.conf --only rest", uri, "postgrest.conf"),
        ("--only rest --dump-config", uri, "--dump-config"),
        ("--example", uri, "--example"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = basalt_serve(words);
        command.current_dir(folder.path()).env(variable.0, variable.1);
        let (_, errors, succeeded) = run(command);
        assert!(!succeeded && errors.contains("`basalt postgrest`"), "{words}: {errors}");
        assert!(errors.contains(named), "{words}: {errors}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{words}: nothing was started");
    }
    let mut of_project = basalt();
    of_project.args(["--project", "."]);
    let (_, errors, succeeded) = run(of_project);
    assert!(!succeeded && errors.contains("serve no project"), "{errors}");
}

/// Returns the command `basalt serve` with these words, without any variable.
fn basalt_serve(words: &str) -> Command {
    let mut command = command_of(Path::new(BASALT), &["--log-format", "text", "serve"]);
    command.args(words.split(' '));
    command
}

#[test]
fn settings_that_cannot_be_used_are_named_by_every_command() {
    for (name, value) in [
        ("PGRST_DB_POOL", "many"),
        ("PGRST_JWT_SECRET", "short"),
        ("PGRST_JWT_AUD", "not a: uri"),
        ("PGRST_LOG_LEVEL", "loud"),
        ("PGRST_ADMIN_SERVER_PORT", "3000"),
    ] {
        for instead in ["", "--dump-config", "--dump-schema", "--ready"] {
            let mut command = basalt();
            command.env("PGRST_DB_URI", "postgres://nobody@127.0.0.1:1/x").env(name, value);
            command.args(instead.split_whitespace());
            let (_, errors, succeeded) = run(command);
            assert!(!succeeded && errors.contains(&format!("{name}: expected")), "{instead}: {errors}");
            assert!(!errors.contains("short"), "{errors}");
        }
    }
}
