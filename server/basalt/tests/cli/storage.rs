//! Objects whose server is killed in the middle of writing, moving, copying and removing them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

use super::{PATIENCE, Server, basalt, project};

const SECRET: &str = "a secret of at least thirty-two characters";
/// How often the server is killed.
const KILLS: u32 = 6;
/// Clients, each with two names of its own.
const CLIENTS: usize = 4;

/// What two names of one client hold; `None` is nothing.
type Pair = [Option<String>; 2];

/// One client's knowledge: after an answer there is one possible state, while a request is under way there are two.
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
    /// Sends a request and returns status code and body; `None` when the server is gone.
    fn ask(&self, target: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.host).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let (token, host, length) = (&self.token, &self.host, body.len());
        let kind = if target.contains("/object/pictures/") { "text/plain" } else { "application/json" };
        write!(
            stream,
            "{target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\n\
             x-upsert: true\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8(answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let is_whole = length.is_none_or(|length: usize| body.len() == length);
        Some((head.get(9..12)?.parse().ok()?, body.to_owned())).filter(|_| is_whole)
    }

    fn name(&self, index: usize) -> String {
        format!("crash/{}-{index}", self.number)
    }

    /// What the two names hold now, according to the server.
    fn look(&self) -> Pair {
        [0, 1].map(|index| {
            let (status, body) =
                self.ask(&format!("GET /storage/v1/object/pictures/{}", self.name(index)), "").unwrap();
            assert!(status == 200 || body.contains("NoSuchKey"), "{}: {status} {body}", self.name(index));
            (status == 200).then_some(body)
        })
    }

    /// Changes its objects until the server is gone.
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
            let Some((status, answer)) = self.ask(&request, &body) else { return };
            if status == 503 {
                return; // it is ending
            }
            assert_eq!(status, 200, "{request}: {answer}");
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

fn start(folder: &std::path::Path) -> Server {
    let mut command = basalt(folder);
    command.env("JWT_SECRET", SECRET);
    Server::ready(Server::launch(command))
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_nothing_is_half_there() {
    let project = project();
    let claims = json!({ "role": "service_role", "exp": 4_102_444_800_u64 });
    let token = encode(&Header::default(), &claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
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
        // Another moment each time.
        std::thread::sleep(Duration::from_millis(300 + u64::from(round) * 137));
        served.child.kill().unwrap();
        served.child.wait().unwrap();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert!(begun.elapsed() < PATIENCE);
    }
    let acknowledged: u32 = states.iter().map(|state| state.lock().unwrap().acknowledged).sum();
    assert!(acknowledged > 20, "only {acknowledged} requests were answered before the kills");
}
