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
    _log: BufReader<ChildStderr>,
    admin: String,
    public: String,
}

impl Served {
    fn start(uri: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
        command.args(["--log-format", "text", "serve", "--only", "rest"]).env_remove("DATABASE_URL");
        command.env("PGRST_DB_URI", uri).env("PGRST_DB_SCHEMAS", "api").env("PGRST_DB_ANON_ROLE", "web_anon");
        command.env("PGRST_SERVER_HOST", "127.0.0.1").env("PGRST_ADMIN_SERVER_PORT", "0");
        command.envs(variables.iter().copied()).current_dir(std::env::temp_dir());
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
        Self { child, _log: log, admin, public }
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
    drop(client);
    database.close().await;
    postgres.stop().await;
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
