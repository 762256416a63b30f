//! Tests of the program with a server whose responses the test defines.

#![expect(clippy::unwrap_used, reason = "a test ends where its helpers cannot go on")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// The request lines and bodies that a server has received.
type Requests = Arc<Mutex<Vec<(String, String)>>>;

/// Responds to every request of every connection with `response` until the test ends.
fn serve(response: &'static str) -> (SocketAddr, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Requests::default();
    let seen = Arc::clone(&sent);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || converse(&stream, response, &seen));
        }
    });
    (address, sent)
}

fn converse(mut stream: &TcpStream, response: &str, seen: &Requests) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut request_line = String::new();
        reader.read_line(&mut request_line).ok().filter(|length| *length > 0)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        seen.lock().ok()?.push((request_line.trim_end().to_owned(), String::from_utf8(body).ok()?));
        stream.write_all(response.as_bytes()).ok()?;
    }
}

fn load(url: &str, requests: &str) -> std::process::Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_load"))
        .args(["--connections", "2", "--seconds", "0.2", "--warmup", "0", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn report(output: &std::process::Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_request_is_sent_once_and_gets_a_response() {
    let (address, sent) =
        serve("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n");
    let requests = r#"[{"method":"POST","path":"/rows","body":"{\"number\":{seq}}","status":201}]"#;
    let report = report(&load(&format!("http://{address}/rest/v1"), requests));
    let sent = sent.lock().unwrap();
    assert_eq!(report["asked"], sent.len());
    assert_eq!(report["failures"], 0);
    assert!(report["p50_us"].as_u64().unwrap() <= report["p99_us"].as_u64().unwrap());
    assert!(sent.iter().all(|(line, _)| line == "POST /rest/v1/rows HTTP/1.1"));
    let mut bodies: Vec<_> = sent.iter().map(|(_, body)| body.clone()).collect();
    bodies.sort_unstable();
    let mut expected: Vec<_> = (1..=sent.len()).map(|number| format!(r#"{{"number":{number}}}"#)).collect();
    expected.sort_unstable();
    assert_eq!(bodies, expected);
}

#[test]
fn an_unexpected_status_is_a_failure_that_is_shown() {
    let (address, _) = serve("HTTP/1.1 401 Unauthorized\r\nContent-Length: 7\r\n\r\nno key!");
    let report = report(&load(&format!("http://{address}"), r#"[{"path":"/"}]"#));
    assert_eq!(report["failures"], report["asked"]);
    assert!(report["first_failure"].as_str().unwrap().ends_with("no key!"));
}

#[test]
fn a_server_that_hangs_up_ends_the_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    let output = load(&format!("http://{address}"), r#"[{"path":"/"}]"#);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("load: "));
}
