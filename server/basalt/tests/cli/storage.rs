//! The server is killed in the middle of writing, moving, copying and removing objects.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

use super::{PATIENCE, Server, basalt, project};

const SECRET: &str = "a secret of at least thirty-two characters";
/// How many times the server is killed.
const KILLS: u32 = 6;
/// The number of clients. Each uses two names that no other client uses.
const CLIENTS: usize = 4;

/// The content of the two names of one client; `None` if there is no object.
type Pair = [Option<String>; 2];

/// The states that one client expects: one state after a response, two possible states while a request is running.
#[derive(Default)]
struct Knowledge {
    possible: Vec<Pair>,
    acknowledged: u32,
}

struct Client {
    host: String,
    token: String,
    number: usize,
    knowledge: Arc<Mutex<Knowledge>>,
}

impl Client {
    /// Sends a request and returns status code and body; `None` when the server has ended.
    fn ask(&self, target: &str, body: &str) -> Option<(u16, String)> {
        let kind = if target.contains("/object/pictures/") { "text/plain" } else { "application/json" };
        let headers = format!("Content-Type: {kind}\r\nx-upsert: true\r\n");
        let response = read(self.begin(target, &headers, body.len(), body)?)?;
        Some((response.status, response.body))
    }

    /// Sends a request whose body has `length` bytes and begins with `body`.
    fn begin(&self, target: &str, headers: &str, length: usize, body: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(&self.host).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let (token, host) = (&self.token, &self.host);
        write!(
            stream,
            "{target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .ok()?;
        Some(stream)
    }

    /// Sends a request about a resumable upload.
    fn resumable(&self, target: &str, headers: &str, body: &str) -> Response {
        let headers = format!("Tus-Resumable: 1.0.0\r\n{headers}");
        read(self.begin(target, &headers, body.len(), body).unwrap()).unwrap()
    }

    fn name(&self, index: usize) -> String {
        format!("crash/{}-{index}", self.number)
    }

    /// Returns the current content of the two names, according to the server.
    fn look(&self) -> Pair {
        [0, 1].map(|index| {
            let (status, body) =
                self.ask(&format!("GET /storage/v1/object/pictures/{}", self.name(index)), "").unwrap();
            assert!(status == 200 || body.contains("NoSuchKey"), "{}: {status} {body}", self.name(index));
            (status == 200).then_some(body)
        })
    }

    /// Changes its objects until the server has ended.
    fn work(&self) {
        for step in 0.. {
            let current = self.knowledge.lock().unwrap().possible[0].clone();
            let (source, target) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
            let bytes = format!("{}-{step} ", self.number).repeat(1 + step * 997 % 20_000);
            let mut next = current.clone();
            let (request, body) = match (step % 5, &current[source], &current[target]) {
                (1, Some(_), None) => {
                    next[target] = next[source].take();
                    ("POST /storage/v1/object/move".to_owned(), self.names(source, target))
                }
                (2, Some(_), _) => {
                    next[target].clone_from(&current[source]);
                    ("POST /storage/v1/object/copy".to_owned(), self.names(source, target))
                }
                (3, Some(_), _) => {
                    next[source] = None;
                    (format!("DELETE /storage/v1/object/pictures/{}", self.name(source)), String::new())
                }
                _ => {
                    next[source] = Some(bytes.clone());
                    (format!("POST /storage/v1/object/pictures/{}", self.name(source)), bytes)
                }
            };
            self.knowledge.lock().unwrap().possible.push(next.clone());
            let Some((status, response)) = self.ask(&request, &body) else { return };
            if status == 503 {
                return; // it is ending
            }
            assert_eq!(status, 200, "{request}: {response}");
            let mut knowledge = self.knowledge.lock().unwrap();
            knowledge.possible = vec![next];
            knowledge.acknowledged += 1;
        }
    }

    fn names(&self, source: usize, target: usize) -> String {
        let (source, target) = (self.name(source), self.name(target));
        json!({ "bucketId": "pictures", "sourceKey": source, "destinationKey": target }).to_string()
    }
}

/// A response of the server.
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Reads a complete response; `None` if the server ends before that.
fn read(mut stream: TcpStream) -> Option<Response> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.get(9..12)?.parse().ok()?;
    let response = Response { status, head: head.to_owned(), body: body.to_owned() };
    let length = response.header("content-length").and_then(|length| length.parse().ok());
    let is_whole = length.is_none_or(|length: usize| response.body.len() == length);
    is_whole.then_some(response)
}

/// Returns a token of the service role.
fn service_token() -> String {
    let claims = json!({ "role": "service_role", "exp": 4_102_444_800_u64 });
    encode(&Header::default(), &claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}

fn start(folder: &std::path::Path) -> Server {
    let mut command = basalt(folder);
    command.env("JWT_SECRET", SECRET);
    Server::ready(Server::launch(command))
}

#[test]
fn acknowledged_changes_survive_a_kill_and_no_object_is_incomplete() {
    let project = project();
    let token = service_token();
    let states: Vec<_> = (0..CLIENTS)
        .map(|_| Arc::new(Mutex::new(Knowledge { possible: vec![Pair::default()], acknowledged: 0 })))
        .collect();
    for round in 0..=KILLS {
        let mut served = start(project.path());
        let clients: Vec<Client> = states
            .iter()
            .enumerate()
            .map(|(number, knowledge)| Client {
                host: served.origin.strip_prefix("http://").unwrap().to_owned(),
                token: token.clone(),
                number,
                knowledge: Arc::clone(knowledge),
            })
            .collect();
        for client in &clients {
            let found = client.look();
            let mut knowledge = client.knowledge.lock().unwrap();
            assert!(knowledge.possible.contains(&found), "client {} after kill {round}", client.number);
            knowledge.possible = vec![found];
        }
        if round == KILLS {
            served.stop();
            break;
        }
        let begun = Instant::now();
        let workers: Vec<_> =
            clients.into_iter().map(|client| std::thread::spawn(move || client.work())).collect();
        // At a different moment each time.
        std::thread::sleep(Duration::from_millis(300 + u64::from(round) * 137));
        served.child.kill().unwrap();
        served.child.wait().unwrap();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert!(begun.elapsed() < PATIENCE);
    }
    let acknowledged: u32 = states.iter().map(|state| state.lock().unwrap().acknowledged).sum();
    assert!(acknowledged > 20, "only {acknowledged} responses came before the kills");
}

/// The size in bytes of one part of a resumable upload.
const PART: usize = 600_000;

#[test]
fn a_resumable_upload_continues_after_a_kill_in_the_middle_of_a_part() {
    let project = project();
    let client = |served: &Server| Client {
        host: served.origin.strip_prefix("http://").unwrap().to_owned(),
        token: service_token(),
        number: 0,
        knowledge: Arc::default(),
    };
    let whole: String = (0..3 * PART / 10).map(|number| format!("{number:010}")).collect();
    let mut served = start(project.path());
    let first = client(&served);
    // The names are `pictures` and `crash/resumed`.
    let metadata = "bucketName cGljdHVyZXM=,objectName Y3Jhc2gvcmVzdW1lZA==";
    let headers = format!("Upload-Length: {}\r\nUpload-Metadata: {metadata}\r\n", whole.len());
    let created = first.resumable("POST /storage/v1/upload/resumable", &headers, "");
    assert_eq!(created.status, 201, "{}", created.body);
    let location = created.header("location").unwrap();
    let path = location[location.find("/storage/v1/").unwrap()..].to_owned();
    let part = |offset: usize| {
        format!("Upload-Offset: {offset}\r\nContent-Type: application/offset+octet-stream\r\n")
    };
    let patched = first.resumable(&format!("PATCH {path}"), &part(0), &whole[..PART]);
    assert_eq!((patched.status, patched.header("upload-offset")), (204, Some("600000")));
    // The server is killed when it has received half of the second part.
    let headers = format!("Tus-Resumable: 1.0.0\r\n{}", part(PART));
    let broken = first.begin(&format!("PATCH {path}"), &headers, PART, &whole[PART..PART * 3 / 2]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    drop(broken);

    let served = start(project.path());
    let second = client(&served);
    let found = second.resumable(&format!("HEAD {path}"), "", "");
    let offset: usize = found.header("upload-offset").unwrap().parse().unwrap();
    assert!((PART..=PART * 3 / 2).contains(&offset), "{offset} bytes are known");
    let done = second.resumable(&format!("PATCH {path}"), &part(offset), &whole[offset..]);
    assert_eq!(done.status, 204, "{}", done.body);
    let (status, body) = second.ask("GET /storage/v1/object/pictures/crash/resumed", "").unwrap();
    assert_eq!(status, 200, "{body}");
    assert!(body == whole, "the object is not what was sent");
    served.stop();
}
