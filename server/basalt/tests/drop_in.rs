//! The binary in the place of `postgrest`, on a database that knows nothing of the platform.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use database::cluster::Cluster;

const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
    create role web_anon nologin; create role web_user nologin;
    create role authenticator noinherit login password 'secret' in role web_anon, web_user;
    create schema api; grant usage on schema api to web_anon, web_user;
    create table api.goods (id int primary key, name text not null);
    insert into api.goods values (1, 'lamp'); grant select on api.goods to web_anon, web_user;
    grant insert on api.goods to web_user";

struct Served {
    child: Child,
    /// Held so that the server can go on writing.
    log: BufReader<ChildStderr>,
    admin: String,
    public: String,
}

/// `basalt serve --only rest`, and nothing of the tests' own settings.
fn basalt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    command.args(["--log-format", "text", "serve", "--only", "rest"]).env_remove("DATABASE_URL");
    command.current_dir(std::env::temp_dir());
    command
}

impl Served {
    fn start(uri: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = basalt();
        command.env("PGRST_DB_URI", uri).env("PGRST_DB_SCHEMAS", "api").env("PGRST_DB_ANON_ROLE", "web_anon");
        command.env("PGRST_SERVER_HOST", "127.0.0.1").env("PGRST_ADMIN_SERVER_PORT", "0");
        command.envs(variables.iter().copied());
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let (mut admin, mut public) = (String::new(), String::new());
        while public.is_empty() {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the server ended before it listened");
            let address = line.trim_end().rsplit(' ').next().unwrap_or_default();
            match line.split(" listening").next() {
                Some("Admin server") => address.clone_into(&mut admin),
                Some("API server") => address.clone_into(&mut public),
                _ => {}
            }
        }
        Self { child, log, admin, public }
    }

    fn ends_by_itself(mut self) {
        let deadline = std::time::Instant::now() + PATIENCE;
        let ended = loop {
            match self.child.try_wait().unwrap() {
                Some(ended) => break ended,
                None => {
                    assert!(std::time::Instant::now() < deadline, "the server goes on without its database")
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.log, &mut said).unwrap();
        assert!(!ended.success() && said.contains("db-pool-automatic-recovery is off"), "{said}");
    }

    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

fn ask(stream: impl std::io::Read + std::io::Write, request: &str, headers: &str) -> String {
    let mut stream = stream;
    write!(stream, "{request} HTTP/1.1\r\nHost: rest\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn over_tcp(address: &str, request: &str, headers: &str) -> String {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    ask(stream, request, headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn rest_is_served_at_the_root_of_a_plain_database() {
    let postgres = Cluster::ephemeral(testkit::search(), Some(0)).await.unwrap();
    let superuser = postgres.tcp_uri(postgres.superuser(), postgres.password()).unwrap();
    let database = database::Database::connect(database::Settings::new(&superuser)).await.unwrap();
    let client = database.client().await.unwrap();
    client.batch_execute(SCHEMA).await.unwrap();
    let relations = "select count(*) from pg_class where relnamespace not in
        (select oid from pg_namespace where nspname like 'pg_%' or nspname in ('information_schema', 'api'))";
    let before: i64 = client.query_one(relations, &[]).await.unwrap().get(0);

    let uri = postgres.tcp_uri("authenticator", "secret").unwrap();
    let served = Served::start(&uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_DB_MAX_ROWS", "5")]);
    let goods = over_tcp(&served.public, "GET /goods?select=name", "Origin: http://shop.example\r\n");
    assert!(goods.starts_with("HTTP/1.1 200 OK") && goods.ends_with("[{\"name\":\"lamp\"}]"), "{goods}");
    assert!(goods.contains("access-control-allow-origin: *"), "{goods}");
    let preflight = "Origin: http://shop.example\r\nAccess-Control-Request-Method: PATCH\r\n\
                     Access-Control-Request-Headers: Prefer, X-Client\r\n";
    let preflight = over_tcp(&served.public, "OPTIONS /goods", preflight);
    assert!(preflight.starts_with("HTTP/1.1 200 OK"), "{preflight}");
    for header in [
        "access-control-allow-origin: *",
        "access-control-allow-methods: GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD",
        "access-control-allow-headers: Authorization, Prefer, X-Client, Accept, Accept-Language, Content-Language",
        "access-control-max-age: 86400",
    ] {
        assert!(preflight.contains(header), "{header}: {preflight}");
    }
    let options = over_tcp(&served.public, "OPTIONS /goods", "Origin: http://shop.example\r\n");
    assert!(options.contains("allow: OPTIONS,GET,HEAD") && options.contains("access-control-expose-headers"));
    assert!(over_tcp(&served.public, "GET /", "").contains("\"swagger\":\"2.0\""));
    let token = over_tcp(&served.public, "GET /goods", "Authorization: Bearer a.b.c\r\n");
    assert!(token.contains("PGRST300"), "{token}");
    assert!(over_tcp(&served.admin, "GET /ready", "").starts_with("HTTP/1.1 200"));
    assert!(over_tcp(&served.admin, "GET /metrics", "").contains("pgrst_db_pool_max 10"));
    assert!(over_tcp(&served.admin, "GET /config", "").contains("db-max-rows = 5"));

    // What upstream does on SIGUSR1: the schema cache is read again without a notice from the database.
    client
        .batch_execute("create table api.shops (id int); grant select on api.shops to web_anon")
        .await
        .unwrap();
    assert!(over_tcp(&served.public, "GET /shops", "").contains("PGRST205"));
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while !over_tcp(&served.public, "GET /shops", "").starts_with("HTTP/1.1 200") {
        assert!(std::time::Instant::now() < deadline, "the schema cache was not read again");
    }
    served.stop();
    client.batch_execute("drop table api.shops").await.unwrap();
    let after: i64 = client.query_one(relations, &[]).await.unwrap().get(0);
    assert_eq!(before, after, "nothing is created in the database");

    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rest.sock");
    let served = Served::start(&uri, &[("PGRST_SERVER_UNIX_SOCKET", socket.to_str().unwrap())]);
    let goods = ask(UnixStream::connect(&socket).unwrap(), "GET /goods", "");
    assert!(goods.ends_with("[{\"id\":1,\"name\":\"lamp\"}]"), "{goods}");
    served.stop();
    a_file_says_what_variables_do_not(&uri);
    let unattended =
        Served::start(&uri, &[("PGRST_SERVER_PORT", "0"), ("PGRST_DB_POOL_AUTOMATIC_RECOVERY", "false")]);
    drop(client);
    database.close().await;
    postgres.stop().await;
    unattended.ends_by_itself();
}

/// What the command says on its standard output and on its standard error, and whether it succeeded.
fn said(mut command: Command) -> (String, String, bool) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.success())
}

fn a_file_says_what_variables_do_not(uri: &str) {
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
    let (config, _, succeeded) = said(with_file("--dump-config"));
    assert!(
        succeeded && config.contains("db-schemas = \"api\"\n") && config.contains("db-pool = 10\n"),
        "{config}"
    );
    assert!(config.contains("db-uri = \"…\"\n") && !config.contains("secret@"), "{config}");
    let (schema, _, succeeded) = said(with_file("--dump-schema"));
    assert!(succeeded && schema.contains("\"goods\""), "{schema}");
    let (_, complaint, succeeded) = said(with_file("--ready"));
    assert!(!succeeded && complaint.contains("not ready"), "{complaint}");

    let served = Served::of(with_file(""));
    let (ready, _, succeeded) = said(with_file("--ready"));
    assert!(succeeded && ready.starts_with("OK: "), "{ready}");
    assert!(over_tcp(&served.public, "GET /goods", "").ends_with("[]"));
    write("1");
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR2).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while !over_tcp(&served.public, "GET /goods", "").ends_with("}]") {
        assert!(std::time::Instant::now() < deadline, "the file was not read again");
    }
    served.stop();
    let mut example = Command::new(env!("CARGO_BIN_EXE_basalt"));
    example.args(["serve", "--example"]);
    let (example, _, succeeded) = said(example);
    assert!(succeeded && example.contains("\ndb-pool = 10\n"), "{example}");
    let mut without = Command::new(env!("CARGO_BIN_EXE_basalt"));
    without.args(["serve", "--only", "rest", "--ready"]).env_remove("PGRST_DB_URI");
    let (_, complaint, succeeded) = said(without);
    assert!(!succeeded && complaint.contains("PGRST_DB_URI"), "{complaint}");
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    for (name, value) in [("PGRST_DB_POOL", "many"), ("PGRST_JWT_SECRET", "short")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
        command.args(["serve", "--only", "rest"]).env("PGRST_DB_URI", "postgres://nobody@127.0.0.1:1/x");
        let output = command.env(name, value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = if name == "PGRST_DB_POOL" { "PGRST_DB_POOL: expected" } else { "jwt-secret: holds" };
        assert!(!output.status.success() && said.contains(expected) && !said.contains("short"), "{said}");
    }
}
