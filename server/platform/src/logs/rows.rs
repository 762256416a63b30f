//! Events as rows of the table `logs`, with the sources and attributes that tools of hosted Supabase know.
//!
//! Source: the queries of `@supabase/mcp-server-supabase` 0.16 and of the Supabase CLI 3.1.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use events::{Event, Level, Message, Request, Source, What};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::Window;
use super::masked::masked;
use super::postgres_log::Line;

/// The path below which functions are called.
const FUNCTIONS: &str = "/functions/v1/";
/// The path below which auth is.
const AUTH: &str = "/auth/v1";

/// Names that events do not have themselves.
pub(super) struct Names {
    /// The reference of the project.
    pub(super) project: String,
    /// The ids of deployed functions by their names.
    pub(super) functions: HashMap<String, String>,
}

impl Names {
    /// Returns the id of a function. One that was not deployed has none; its name says which it is.
    fn id_of(&self, function: &str) -> String {
        self.functions.get(function).map_or(function, String::as_str).to_owned()
    }
}

type Attributes = BTreeMap<&'static str, String>;

/// A row.
#[derive(Debug, Serialize)]
struct Row {
    id: Uuid,
    timestamp: String,
    event_message: String,
    source: &'static str,
    severity_text: &'static str,
    log_attributes: Attributes,
}

/// What an id distinguishes beside the time and the number of the event.
#[derive(Clone, Copy)]
enum Kind {
    Event,
    /// A second row of the same event.
    OfService,
    Postgres,
}

/// Returns the rows as a document of JSON: of `events`, and of those `lines` that are in `window`.
pub(super) fn document(events: Vec<Event>, lines: &[Line], window: Window, names: &Names) -> Vec<u8> {
    let mut rows: Vec<Row> = events.into_iter().flat_map(|event| of_event(&event, names)).collect();
    let is_wanted = |line: &&Line| line.time >= window.begin && line.time <= window.end;
    rows.extend(lines.iter().filter(is_wanted).map(|line| of_line(line, names)));
    rows.iter_mut().for_each(Row::clean);
    // Texts and numbers have a form in JSON.
    serde_json::to_vec(&rows).unwrap_or_default()
}

impl Row {
    fn new(
        (time, kind, number): (SystemTime, Kind, u64),
        source: &'static str,
        severity_text: &'static str,
        event_message: String,
        log_attributes: Attributes,
    ) -> Self {
        let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut rest = [0; 10];
        rest[1] = kind as u8;
        rest[3..].copy_from_slice(&number.to_be_bytes()[1..]);
        let id = uuid::Builder::from_unix_timestamp_millis(millis as u64, &rest).into_uuid();
        let timestamp = OffsetDateTime::from(time).format(&Rfc3339).unwrap_or_default();
        Self { id, timestamp, event_message, source, severity_text, log_attributes }
    }

    /// Removes credentials, and the character that texts of Postgres cannot have.
    fn clean(&mut self) {
        for text in self.log_attributes.values_mut().chain([&mut self.event_message]) {
            *text = masked(text);
            text.retain(|symbol| symbol != '\0');
        }
    }
}

fn of_event(event: &Event, names: &Names) -> Vec<Row> {
    let of = |kind| (event.time, kind, event.number);
    match &event.what {
        What::Message(message) => vec![of_message(of(Kind::Event), message, names)],
        What::Request(request) if request.service == "functions" => {
            vec![of_call(of(Kind::Event), request, names)]
        }
        What::Request(request) => {
            let line = line_of(request);
            let mut rows = vec![Row::new(
                of(Kind::Event),
                "edge_logs",
                severity(request),
                line.clone(),
                attributes(request, names),
            )];
            // Hosted Supabase has the requests in the logs of these services, too.
            let source = match request.service {
                "auth" => "auth_logs",
                "storage" => "storage_logs",
                "realtime" => "realtime_logs",
                _ => return rows,
            };
            let own = if source == "auth_logs" { of_auth(request) } else { attributes(request, names) };
            rows.push(Row::new(of(Kind::OfService), source, severity(request), line, own));
            rows
        }
    }
}

fn severity(request: &Request) -> &'static str {
    match request.status {
        500.. => Level::Error,
        400..=499 => Level::Warning,
        _ => Level::Info,
    }
    .name()
}

fn line_of(request: &Request) -> String {
    let Request { method, status, address, texts, .. } = request;
    format!("{method} | {status} | {address} | {} | {} | {}", texts.id(), texts.path(), texts.agent())
}

fn milliseconds(request: &Request) -> String {
    request.took.as_millis().to_string()
}

fn attributes(request: &Request, names: &Names) -> Attributes {
    Attributes::from([
        ("identifier", names.project.clone()),
        ("service", request.service.to_owned()),
        ("request.method", request.method.to_string()),
        ("request.path", request.texts.path().to_owned()),
        ("request.headers.user_agent", request.texts.agent().to_owned()),
        ("request.headers.x_real_ip", request.address.to_string()),
        ("request.id", request.texts.id().to_owned()),
        ("response.status_code", request.status.to_string()),
        ("response.origin_time", milliseconds(request)),
    ])
}

fn of_call(key: (SystemTime, Kind, u64), request: &Request, names: &Names) -> Row {
    let path = request.texts.path();
    let function = path.strip_prefix(FUNCTIONS).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let mut all = attributes(request, names);
    all.extend([
        ("request.pathname", path.to_owned()),
        ("function_name", function.to_owned()),
        ("function_id", names.id_of(function)),
        ("execution_id", request.texts.id().to_owned()),
        ("execution_time_ms", milliseconds(request)),
    ]);
    let line = format!("{} | {} | {path}", request.method, request.status);
    Row::new(key, "function_edge_logs", severity(request), line, all)
}

/// Returns the attributes as the Supabase Auth service names them in its log.
fn of_auth(request: &Request) -> Attributes {
    let path = request.texts.path();
    Attributes::from([
        ("level", Level::Info.name().to_owned()),
        ("msg", "request completed".to_owned()),
        ("method", request.method.to_string()),
        ("path", path.strip_prefix(AUTH).unwrap_or(path).to_owned()),
        ("status", request.status.to_string()),
        ("duration", request.took.as_nanos().to_string()),
        ("remote_addr", request.address.to_string()),
        ("request_id", request.texts.id().to_owned()),
    ])
}

fn of_message(key: (SystemTime, Kind, u64), message: &Message, names: &Names) -> Row {
    let source = match message.source {
        Source::Requests => "edge_logs",
        Source::Calls => "function_edge_logs",
        Source::Functions => "function_logs",
        Source::Auth => "auth_logs",
        Source::Storage => "storage_logs",
        Source::Realtime => "realtime_logs",
        Source::Rest => "postgrest_logs",
        Source::Server => "server_logs",
    };
    let level = message.level.name();
    let mut all = Attributes::from([("level", level.to_owned())]);
    if message.source == Source::Functions {
        all.insert("event_type", "Log".to_owned());
        for (name, value) in &*message.fields {
            match *name {
                "function" => {
                    all.insert("function_id", names.id_of(value));
                    all.insert("function_name", value.clone());
                }
                "request_id" => drop(all.insert("execution_id", value.clone())),
                other => drop(all.insert(other, value.clone())),
            }
        }
        return Row::new(key, source, level, message.text.to_string(), all);
    }
    all.insert("msg", message.text.to_string());
    let mut line = message.text.to_string();
    for (name, value) in &*message.fields {
        line.push_str(&format!(" {name}={value}"));
        all.insert(name, value.clone());
    }
    Row::new(key, source, level, line, all)
}

fn of_line(line: &Line, names: &Names) -> Row {
    let severity = match line.severity.as_str() {
        "ERROR" | "FATAL" | "PANIC" => Level::Error,
        "WARNING" => Level::Warning,
        other if other.starts_with("DEBUG") => Level::Debug,
        _ => Level::Info,
    };
    let parsed = [
        ("parsed.error_severity", Some(&line.severity)),
        ("parsed.process_id", Some(&line.process)),
        ("parsed.user_name", line.user.as_ref()),
        ("parsed.database_name", line.database.as_ref()),
        ("parsed.application_name", line.application.as_ref()),
        ("parsed.hint", line.hint.as_ref()),
        ("parsed.query", line.query.as_ref()),
    ];
    let parsed = parsed.into_iter().filter_map(|(name, value)| Some((name, value?.clone())));
    let all = [("identifier", names.project.clone())].into_iter().chain(parsed).collect();
    let key = (line.time, Kind::Postgres, line.offset);
    Row::new(key, "postgres_logs", severity.name(), line.message.clone(), all)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use events::RequestTexts;
    use http::Method;

    use super::*;

    fn event(number: u64, what: What) -> Event {
        Event { number, time: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123), what }
    }

    fn request(service: &'static str, path: &str) -> What {
        What::Request(Request {
            service,
            method: Method::GET,
            status: 404,
            took: Duration::from_millis(7),
            address: Ipv4Addr::LOCALHOST.into(),
            texts: RequestTexts::new(path, "id-1", "curl/8"),
        })
    }

    fn names() -> Names {
        Names { project: "p".repeat(20), functions: [("hello".to_owned(), "an id".to_owned())].into() }
    }

    #[test]
    fn a_request_to_a_service_is_in_its_log_too() {
        let rows = of_event(&event(1, request("auth", "/auth/v1/token")), &names());
        let sources: Vec<_> = rows.iter().map(|row| row.source).collect();
        assert_eq!(sources, ["edge_logs", "auth_logs"]);
        assert_ne!(rows[0].id, rows[1].id);
        assert_eq!(
            (rows[0].timestamp.as_str(), rows[0].severity_text),
            ("2023-11-14T22:13:20.123Z", "warning")
        );
        assert_eq!(rows[0].event_message, "GET | 404 | 127.0.0.1 | id-1 | /auth/v1/token | curl/8");
        assert_eq!(rows[1].log_attributes["path"], "/token");
    }

    #[test]
    fn calls_and_output_name_the_function() {
        let text = Message::new(
            Source::Functions,
            Level::Info,
            "a\0b",
            vec![("function", "hello".to_owned()), ("request_id", "id-1".to_owned())],
        );
        let events =
            vec![event(1, request("functions", "/functions/v1/hello/x")), event(2, What::Message(text))];
        let window = Window { begin: UNIX_EPOCH, end: SystemTime::now() };
        let document = document(events, &[], window, &names());
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&document).unwrap();
        for row in &rows {
            assert_eq!(row["log_attributes"]["function_id"], "an id", "{row}");
            assert_eq!(row["log_attributes"]["execution_id"], "id-1", "{row}");
        }
        assert_eq!(rows[1]["event_message"], "ab");
        assert!(rows[0]["id"].as_str() < rows[1]["id"].as_str());
    }
}
