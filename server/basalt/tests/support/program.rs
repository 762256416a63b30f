//! The program as a replacement for another server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use embedded::Cluster;
use rustix::process::{Pid, Signal, kill_process};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running program.
pub(crate) struct Program {
    pub(crate) child: Child,
    /// Kept open so that the program can continue to write.
    pub(crate) log: BufReader<ChildStderr>,
    printed: String,
    /// The addresses on which it listens, by the names in its output.
    addresses: BTreeMap<String, String>,
}

impl Program {
    /// Starts the program and reads its output until it listens as `name`.
    pub(crate) fn start(mut command: Command, name: &str) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let (mut printed, mut addresses) = (String::new(), BTreeMap::new());
        while !addresses.contains_key(name) {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the server ended before it listened: {printed}");
            match line.trim_end().split_once(" listening on ") {
                Some((name, address)) => drop(addresses.insert(name.to_owned(), address.to_owned())),
                None => printed.push_str(&line),
            }
        }
        Self { child, log, printed, addresses }
    }

    /// Returns the address `name`.
    pub(crate) fn address(&self, name: &str) -> &str {
        &self.addresses[name]
    }

    /// Sends a request to the address `name` and returns the response.
    pub(crate) fn request(&self, name: &str, request: &str, headers: &str, body: &str) -> String {
        let stream = TcpStream::connect(self.address(name)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        send(stream, request, headers, body)
    }

    /// Sends SIGTERM, waits for the end and returns the output of the program.
    pub(crate) fn stop(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log.read_to_string(&mut self.printed).unwrap();
        self.printed
    }
}

/// Sends a request and returns the response. `headers` are lines that end in CRLF.
pub(crate) fn send(mut stream: impl Read + Write, request: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("{request} HTTP/1.1\r\nHost: basalt\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Returns a new Postgres, and its database as the superuser.
pub(crate) async fn postgres() -> (Cluster, postgres::Database) {
    let postgres = Cluster::ephemeral(testkit::search(), Some(0)).await.unwrap();
    let superuser = postgres.tcp_login(postgres.superuser(), postgres.password()).unwrap();
    let database = postgres::Database::connect(postgres::Settings::new(superuser)).await.unwrap();
    (postgres, database)
}
