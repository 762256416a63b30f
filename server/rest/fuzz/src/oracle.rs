//! What must hold for every request, whatever its bytes: shared by the fuzz target and the tests of its seeds.
#![allow(clippy::panic, reason = "this is how a finding is told")]

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use rest::plan::Plan;
use rest::plan_cache::{RequestShape, Template};
use rest::request::{Incoming, Request};
use rest::schema_cache::{Catalog, SchemaCache};
use rest::statement::{Statement, Statements};
use rest::{Error, Settings};

#[path = "lexer.rs"]
mod lexer;

use lexer::{Token, tokens};

/// No statement may be longer than this and this many times its request: what is short to ask for must not be
/// long to write, nor for Postgres to read.
const LARGEST: (usize, usize) = (1 << 20, 1 << 10);

/// Takes `input` for a request, in the form of HTTP/1.1 without a version, and follows it to its SQL. Input that is
/// no such request is passed over.
///
/// Panics if the request is refused as anything but the client's mistake, or becomes SQL that it should not.
pub(crate) fn check(input: &[u8]) {
    let Some(message) = Message::parse(input) else { return };
    let settings = settings(&message.headers);
    let incoming = Incoming {
        method: &message.method,
        path: message.path,
        query: message.query,
        headers: &message.headers,
        body: message.body,
    };
    let request = match Request::parse(&incoming, &settings) {
        Ok(request) => request,
        Err(error) => return check_refusal(&error, &settings),
    };
    let plan = match Plan::new(&request, cache(), &settings) {
        Ok(plan) => plan,
        Err(error) => return check_refusal(&error, &settings),
    };
    match Statements::new(&plan, &request, &settings) {
        Ok(Some(statements)) => {
            check_statement(&statements.main, input.len());
            for other in [&statements.response, &statements.estimate].into_iter().flatten() {
                check_statement(other, input.len());
            }
            check_template(&incoming, &request, &statements, &settings);
        }
        Ok(None) => {}
        Err(error) => check_refusal(&error, &settings),
    }
}

/// Panics unless the template of the request's shape makes of the request what planning it did.
fn check_template(incoming: &Incoming<'_>, request: &Request, planned: &Statements<'_>, settings: &Settings) {
    let Some(shape) = RequestShape::of(incoming) else { return };
    let Some(template) = Template::new(incoming, &shape, request, cache(), settings) else { return };
    let Some(values) = template.values(&shape) else { return };
    assert_eq!(template.statements(&values).as_ref(), Some(planned));
    assert_eq!(template.canonical(&shape), request.query.canonical);
    assert_eq!(template.request().action, request.action);
    assert_eq!(template.request().range, request.range);
    assert_eq!(template.request().preferences, request.preferences);
}

/// Panics unless a refusal is the client's mistake, has a code of the interface or the one for two embeds of one name,
/// and can be sent over HTTP.
fn check_refusal(error: &Error, settings: &Settings) {
    let (status, code) = (error.status(), error.code());
    assert!(status.is_client_error() || status == http::StatusCode::MULTIPLE_CHOICES, "{status}: {error:?}");
    assert!(code.starts_with("PGRST") || code == "42712", "{code}: {error:?}");
    let response = rest::response::failure(error, settings, None);
    assert_eq!(response.status(), status);
}

/// Panics unless outside of quotes there are only words that the statements are made of, and every parameter is used
/// once.
fn check_statement(statement: &Statement<'_>, request_size: usize) {
    let sql = &*statement.sql;
    let (least, times) = LARGEST;
    assert!(sql.len() <= least.max(times * request_size), "{} bytes of SQL", sql.len());
    let mut placeholders = vec![0; statement.parameters.len()];
    let mut depth = 0_usize;
    for token in tokens(sql) {
        match token.unwrap_or_else(|rest| panic!("no token at {rest:?} of {sql}")) {
            Token::Word(word) => {
                assert!(words().binary_search(&word).is_ok(), "{word:?} is no word of ours in {sql}");
            }
            Token::Placeholder(number) => {
                let place = number.checked_sub(1).and_then(|index| placeholders.get_mut(index));
                *place.unwrap_or_else(|| panic!("${number} has no value in {sql}")) += 1;
            }
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => {
                depth = depth.checked_sub(1).unwrap_or_else(|| panic!("a parenthesis too many in {sql}"));
            }
            Token::Symbol(_) | Token::Identifier(_) | Token::Text | Token::Number => {}
        }
    }
    assert_eq!(depth, 0, "a parenthesis is not closed in {sql}");
    assert!(placeholders.iter().all(|uses| *uses == 1), "{placeholders:?} uses of the values in {sql}");
}

/// Returns every word that may stand outside of quotes, in the order of bytes: those of our own SQL, and the names of
/// types in the catalog.
fn words() -> &'static [&'static str] {
    static WORDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: Vec<&str> = include_str!("words.txt").split_whitespace().collect();
        words.sort_unstable();
        words
    })
}

/// Returns the catalog that requests are planned against. Some of its names are hostile.
fn cache() -> &'static SchemaCache {
    static CACHE: OnceLock<SchemaCache> = OnceLock::new();
    CACHE.get_or_init(|| {
        let catalog: Result<Catalog, _> = serde_json::from_str(include_str!("catalog.json"));
        let catalog = catalog.unwrap_or_else(|error| panic!("catalog.json: {error}"));
        SchemaCache::new(catalog, &["public".to_owned(), "archive".to_owned()])
    })
}

/// Settings other than the defaults are chosen by a header of the request, so that the fuzzer finds them too.
fn settings(headers: &HeaderMap) -> Settings {
    let chosen = headers.get("x-settings").map_or("", |value| value.to_str().unwrap_or_default());
    Settings {
        db_schemas: vec!["public".to_owned(), "archive".to_owned()],
        db_anon_role: Some("anon".to_owned()),
        db_max_rows: chosen.contains("rows").then_some(10),
        db_plan_enabled: chosen.contains("plan"),
        db_aggregates_enabled: chosen.contains("aggregates"),
        url_use_legacy_target_names: !chosen.contains("alias"),
        ..Settings::default()
    }
}

/// A request as text: `METHOD path?query`, lines of headers, an empty line, the body.
struct Message<'i> {
    method: Method,
    path: &'i str,
    query: &'i str,
    headers: HeaderMap,
    body: Bytes,
}

impl<'i> Message<'i> {
    fn parse(input: &'i [u8]) -> Option<Self> {
        let (head, body) = match input.windows(2).position(|pair| pair == b"\n\n") {
            Some(end) => (&input[..end], &input[end + 2..]),
            None => (input, &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let target = std::str::from_utf8(lines.next()?).ok()?;
        let (method, url) = target.split_once(' ')?;
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let mut headers = HeaderMap::new();
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..colon]).ok()?;
            headers.append(name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?);
        }
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        Some(Self { method, path, query, headers, body: Bytes::copy_from_slice(body) })
    }
}
