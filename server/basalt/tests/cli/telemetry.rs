//! Telemetry for operators: traces, metrics, slow statements.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use super::{PATIENCE, Server, basalt, project, write_file};

/// A value that a client sends and that telemetry must not contain.
const SECRET: &str = "hunter2";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Path and body of a request.
type Post = (String, Vec<u8>);

/// A collector and the requests that it has received.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Post>>>);

impl Collector {
    fn listen() -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let got = collector.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let got = got.clone();
                std::thread::spawn(move || got.take(stream.unwrap()));
            }
        });
        (collector, endpoint)
    }

    /// Handles the requests of one connection.
    fn take(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        loop {
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let path = head.split_whitespace().nth(1).unwrap().to_owned();
            self.0.lock().unwrap().push((path, body));
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    }

    fn bodies(&self, wanted: &str) -> Vec<Vec<u8>> {
        let got = self.0.lock().unwrap();
        got.iter().filter(|(path, _)| path == wanted).map(|(_, body)| body.clone()).collect()
    }

    /// Returns the spans of a trace, outermost first.
    fn trace(&self, id: &str) -> Vec<Span> {
        let bodies = self.bodies("/v1/traces");
        let requests = bodies.iter().map(|body| ExportTraceServiceRequest::decode(&**body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|all| all.scope_spans);
        let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
        spans.retain(|span| hex(&span.trace_id) == id);
        spans.sort_by_key(|span| (span.start_time_unix_nano, std::cmp::Reverse(span.end_time_unix_nano)));
        spans
    }

    /// Waits until the trace has this number of spans.
    fn wait_for(&self, id: &str, count: usize) -> Vec<Span> {
        let begun = Instant::now();
        loop {
            let spans = self.trace(id);
            if spans.len() >= count {
                return spans;
            }
            assert!(begun.elapsed() < PATIENCE, "of {count} spans there are {spans:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let of = |value: &Option<opentelemetry_proto::tonic::common::v1::AnyValue>| {
        value.as_ref().and_then(|value| value.value.as_ref()).map(text).unwrap_or_default()
    };
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), of(&attribute.value))).collect()
}

/// The names of spans, each with the name of its parent.
fn tree(spans: &[Span]) -> Vec<(&str, &str)> {
    let name = |id: &[u8]| {
        let parent = spans.iter().find(|span| span.span_id == id);
        parent.map_or("the client", |parent| parent.name.as_str())
    };
    spans.iter().map(|span| (span.name.as_str(), name(&span.parent_span_id))).collect()
}

/// Returns a project with functions that return what they have received.
fn echoing_project() -> tempfile::TempDir {
    let project = project();
    let write = |name: &str, text: &str| write_file(project.path(), name, text);
    write(
        "functions/hello/index.ts",
        "Deno.serve((request) => new Response(request.headers.get('traceparent') ?? 'none'))",
    );
    write(
        "migrations/20260101000001_slow.sql",
        "create function public.doze(seconds float, secret text) returns text language sql volatile as \
         $$select pg_sleep(seconds)::text || (current_setting('request.headers')::json ->> 'traceparent')$$;",
    );
    project
}

fn admin_url(project: &Path) -> String {
    let file = std::fs::read_to_string(project.join(".basalt/server.json")).unwrap();
    let instance: serde_json::Value = serde_json::from_str(&file).unwrap();
    instance["admin_url"].as_str().unwrap().to_owned()
}

/// Returns the body of a page of the admin port.
fn admin(project: &Path, path: &str) -> String {
    let url = admin_url(project);
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

fn traced(project: &Path, endpoint: &str) -> Server {
    let mut command = basalt(project);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "20");
    command.env("OTEL_METRIC_EXPORT_INTERVAL", "200").env("OTEL_SERVICE_NAME", "shop");
    Server::ready(Server::launch(command))
}

#[test]
fn one_trace_leads_from_the_client_to_the_statement_and_the_function() {
    let project = echoing_project();
    let (collector, endpoint) = Collector::listen();
    let served = traced(project.path(), &endpoint);
    let trace = |number: u32| format!("{number:08x}{}", &TRACE[8..]);
    let parent =
        |number: u32, flags: &str| format!("traceparent: 00-{}-b7ad6b7169203331-{flags}\r\n", trace(number));
    let key = format!("apikey: {}\r\n", served.key);
    let ask =
        |target: &str, headers: &str, body: &str| served.request(target, &format!("{key}{headers}"), body);

    // A read: gateway, service, statement.
    let target = format!("GET /rest/v1/goods?select=name&name=eq.{SECRET}");
    assert!(ask(&target, &parent(1, "01"), "").0.starts_with("HTTP/1.1 200"));
    let spans = collector.wait_for(&trace(1), 3);
    let expected = [
        ("GET /rest/v1/{relation}", "the client"),
        ("rest", "GET /rest/v1/{relation}"),
        ("SELECT public.goods", "rest"),
    ];
    assert_eq!(tree(&spans), expected);
    assert_eq!((spans[0].kind, spans[1].kind, spans[2].kind), (2, 1, 3), "server, internal, client");
    let request = attributes(&spans[0]);
    for (name, value) in [
        ("http.request.method", "GET"),
        ("http.route", "/rest/v1/{relation}"),
        ("http.response.status_code", "200"),
        ("url.path", "/rest/v1/goods"),
        ("url.scheme", "http"),
        ("server.address", "127.0.0.1"),
        ("client.address", "127.0.0.1"),
        ("network.protocol.version", "1.1"),
    ] {
        assert_eq!(request.get(name).map(String::as_str), Some(value), "{name} in {request:?}");
    }
    let statement = attributes(&spans[2]);
    assert_eq!(statement["db.system.name"], "postgresql");
    assert_eq!(
        (statement["db.namespace"].as_str(), statement["db.query.summary"].as_str()),
        ("postgres", "SELECT public.goods")
    );
    assert!(statement["db.query.text"].contains("\"name\" = $1"), "{statement:?}");
    assert!(
        statement.contains_key("server.address") && statement.contains_key("server.port"),
        "{statement:?}"
    );

    // An error of the database.
    assert!(ask("GET /rest/v1/goods?id=eq.hunter2", &parent(2, "01"), "").0.starts_with("HTTP/1.1 400"));
    let spans = collector.wait_for(&trace(2), 3);
    assert_eq!(attributes(&spans[2])["db.response.status_code"], "22P02");
    assert_eq!((spans[0].status.as_ref().unwrap().code, spans[2].status.as_ref().unwrap().code), (0, 2));

    // A call of a function, which gets the context of its own span.
    let (head, received) = ask("POST /functions/v1/hello", &parent(3, "01"), SECRET);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let spans = collector.wait_for(&trace(3), 3);
    let expected = [
        ("POST /functions/v1/{function}", "the client"),
        ("functions", "POST /functions/v1/{function}"),
        ("POST /hello", "functions"),
    ];
    assert_eq!(tree(&spans), expected);
    assert_eq!(received, format!("00-{}-{}-01", trace(3), hex(&spans[2].span_id)));
    assert_eq!(attributes(&spans[2])["faas.invoked_name"], "hello");

    // A sign-in: several statements, and the route of the service.
    let body = format!("{{\"email\":\"{SECRET}@example.com\",\"password\":\"{SECRET}\"}}");
    let json = format!("{}content-type: application/json\r\n", parent(4, "01"));
    let target = format!("POST /auth/v1/token?grant_type=password&note={SECRET}");
    assert!(ask(&target, &json, &body).0.starts_with("HTTP/1.1 400"));
    let spans = collector.wait_for(&trace(4), 3);
    assert_eq!(spans[0].name, "POST /auth/v1/token");
    assert!(spans.iter().any(|span| span.name.starts_with("SELECT auth.")), "{:?}", tree(&spans));
    let transactions = format!("{{\"email\":\"someone@example.com\",\"password\":\"{SECRET}-long-enough\"}}");
    assert!(
        ask("POST /auth/v1/signup", &json.replace("b7ad6b71", "b7ad6b72"), &transactions).0.contains("200")
    );
    let spans = collector.wait_for(&trace(4), spans.len() + 3);
    assert!(spans.iter().any(|span| span.name == "INSERT auth.users"), "{:?}", tree(&spans));

    // Storage.
    assert!(
        ask("GET /storage/v1/object/public/pictures/lamp.txt", &parent(5, "01"), "").0.contains("200 OK")
    );
    let spans = collector.wait_for(&trace(5), 2);
    assert_eq!(spans[0].name, "GET /storage/v1/object/public/{path}");

    // If the client does not record its trace, the trace is not recorded here either, but all calls get its context.
    let (_, received) = ask("GET /functions/v1/hello", &parent(6, "00"), "");
    assert!(received.starts_with(&format!("00-{}-", trace(6))) && received.ends_with("-00"), "{received}");

    // Code in the database gets the context, too.
    let (_, received) = ask(
        "POST /rest/v1/rpc/doze",
        &format!("{}content-type: application/json\r\n", parent(7, "01")),
        &format!("{{\"seconds\":0,\"secret\":\"{SECRET}\"}}"),
    );
    let spans = collector.wait_for(&trace(7), 3);
    assert_eq!(received, format!("\"00-{}-{}-01\"", trace(7), hex(&spans[1].span_id)));
    assert!(collector.trace(&trace(6)).is_empty());

    let metrics = || collector.bodies("/v1/metrics");
    let begun = Instant::now();
    while metrics().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no metrics came");
        std::thread::sleep(Duration::from_millis(20));
    }
    served.stop();
    let last = ExportMetricsServiceRequest::decode(&**metrics().last().unwrap()).unwrap();
    let names: Vec<String> =
        last.resource_metrics[0].scope_metrics[0].metrics.iter().map(|one| one.name.clone()).collect();
    for name in ["basalt_http_requests", "basalt_http_request_duration_seconds", "process_open_fds"] {
        assert!(names.iter().any(|known| known == name), "{name} is missing: {names:?}");
    }
    for body in collector.bodies("/v1/traces").iter().chain(&metrics()) {
        let text = String::from_utf8_lossy(body);
        assert!(!text.contains(SECRET) && !text.contains(&served_key(&key)), "{text}");
    }
}

fn served_key(header: &str) -> String {
    header.trim().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn without_a_collector_requests_get_a_response_and_the_server_stops_in_time() {
    let project = echoing_project();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let served = traced(project.path(), &endpoint);
    for _ in 0..200 {
        assert_eq!(served.get("/rest/v1/goods?select=name").1, "[{\"name\":\"lamp\"}]");
    }
    let begun = Instant::now();
    served.stop();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn slow_statements_are_logged_and_listed_without_values() {
    let project = echoing_project();
    let log = project.path().join("log");
    let mut command = basalt(project.path());
    command
        .args(["serve", "--port", "0"])
        .env("BASALT_SLOW_STATEMENT", "100ms")
        .env("BASALT_LOG", "slow=warn,access=info");
    command
        .env("BASALT_LOG_FORMAT", "json")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let instance = project.path().join(".basalt/server.json");
    while !instance.exists() {
        assert!(begun.elapsed() < PATIENCE, "{}", std::fs::read_to_string(&log).unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(&instance).unwrap();
    let instance: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (origin, key) =
        (instance["api_url"].as_str().unwrap(), instance["publishable_key"].as_str().unwrap());
    let ask = |target: &str, body: &str| {
        let host = origin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{target} HTTP/1.1\r\nHost: {host}\r\napikey: {key}\r\nx-request-id: r-1\r\ncontent-type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    for seconds in ["0.15", "0.2"] {
        let body = format!("{{\"seconds\":{seconds},\"secret\":\"{SECRET}\"}}");
        assert!(ask("POST /rest/v1/rpc/doze?select=*", &body).contains("200 OK"));
    }
    assert!(ask(&format!("GET /rest/v1/goods?name=eq.{SECRET}&limit=3"), "").contains("200 OK"));
    let page = admin(project.path(), "/slow");
    let table: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(table["threshold_seconds"], 0.1);
    // A busy machine may have more slow statements.
    let count = table["count"].as_u64().unwrap();
    assert!(count >= 2, "{table}");
    let shape = "/rest/v1/rpc/doze?select=*";
    let row = table["statements"].as_array().unwrap().iter().find(|row| row["shape"] == shape).unwrap();
    assert_eq!((row["service"].as_str(), row["method"].as_str()), (Some("rest"), Some("POST")));
    assert_eq!((&row["count"], &row["last_request_id"]), (&2.into(), &"r-1".into()));
    assert!(
        row["longest_seconds"].as_f64().unwrap() >= 0.2 && row["sql"].as_str().unwrap().contains("\"doze\""),
        "{row}"
    );
    assert!(admin(project.path(), "/metrics").contains(&format!("\nbasalt_slow_statements_total {count}\n")));
    assert!(basalt(project.path()).arg("stop").status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&log).unwrap();
    let lines = text.lines().filter(|line| line.contains("\"slow\"") && line.contains("doze"));
    let lines: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!((&lines[0]["request_id"], &lines[0]["shape"]), (&"r-1".into(), &shape.into()));
    assert!(lines[0]["milliseconds"].as_u64().unwrap() >= 150, "{text}");
    assert!(!text.contains(SECRET) && !page.contains(SECRET), "{text}{page}");
}

/// Every metric that the dashboard uses exists on a server with all services.
#[test]
fn the_metrics_of_the_dashboard_exist() {
    let project = echoing_project();
    let served = Server::start(project.path());
    // Functions have metrics only after a call.
    assert_eq!(served.get("/functions/v1/hello").1, "none");
    assert_eq!(served.get("/rest/v1/goods?select=name").0, "HTTP/1.1 200 OK");
    let text = admin(project.path(), "/metrics");
    served.stop();
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let is_there = |name: &str| {
        samples.iter().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])))
            || text.contains(&format!("# TYPE {name} "))
    };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana/basalt.json");
    let dashboard: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut queries = Vec::new();
    collect_queries(&dashboard, &mut queries);
    assert!(queries.len() > 30, "{queries:?}");
    for query in &queries {
        let names = query.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        let names = names.filter(|word| word.starts_with("basalt_") || word.starts_with("process_"));
        let names: Vec<&str> = names.collect();
        assert!(!names.is_empty(), "no metric in {query}");
        for name in names {
            assert!(is_there(name), "{name}, of {query}, is not in\n{text}");
        }
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let count = types.len();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), count, "a metric is declared twice: {types:#?}");
}

/// Collects all queries, including those of variables.
fn collect_queries(value: &serde_json::Value, queries: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member.as_str()) {
                    ("expr", Some(query)) => queries.push(query.to_owned()),
                    _ => collect_queries(member, queries),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_queries(item, queries)),
        _ => {}
    }
}
