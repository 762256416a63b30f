//! Shapes and templates: what a template makes of a request is what planning the request makes of it.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;

use super::*;
use crate::plan::Plan;
use crate::request::{Incoming, Request};
use crate::schema_cache::fixture;
use crate::settings::Settings;
use crate::statement::Statements;

/// A request before it is looked at.
struct Message {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Message {
    fn new(method: &str, url: &str, headers: &[(&'static str, &str)], body: &str) -> Self {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        Self {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: headers.iter().map(header).collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    fn get(url: &str) -> Self {
        Self::new("GET", url, &[], "")
    }

    fn incoming(&self) -> Incoming<'_> {
        Incoming {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
            body: self.body.clone(),
        }
    }

    fn key(&self) -> Option<Vec<u8>> {
        RequestShape::of(&self.incoming()).map(|shape| shape.key().to_vec())
    }

    /// Returns what requests like this one have in common.
    fn template(&self) -> Option<Template> {
        let (incoming, settings) = (self.incoming(), settings());
        let request = Request::parse(&incoming, &settings).unwrap();
        Template::new(&incoming, &RequestShape::of(&incoming)?, &request, schema(), &settings)
    }

    /// Reports whether `template`, of whichever request, makes of this one what planning it does; `None` where it is
    /// not for this one.
    fn is_right(&self, template: &Template) -> Option<bool> {
        let (incoming, settings) = (self.incoming(), settings());
        let shape = RequestShape::of(&incoming).unwrap();
        let values = template.values(&shape)?;
        let request = Request::parse(&incoming, &settings).unwrap();
        let plan = Plan::new(&request, schema(), &settings).unwrap();
        let planned = Statements::new(&plan, &request, &settings).unwrap();
        assert_eq!(template.statements(&values), planned);
        assert_eq!(template.canonical(&shape), request.query.canonical);
        assert_eq!(template.plan().body(), plan.body());
        let known = template.request();
        assert_eq!((&known.action, &known.schema), (&request.action, &request.schema));
        Some(known.range == request.range && known.preferences == request.preferences)
    }
}

fn schema() -> &'static SchemaCache {
    static SCHEMA: OnceLock<SchemaCache> = OnceLock::new();
    SCHEMA.get_or_init(fixture::cache)
}

fn settings() -> Settings {
    Settings { db_anon_role: Some("anon".into()), ..Settings::default() }
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[test]
fn requests_that_differ_in_values_have_one_shape() {
    let key = |url: &str| Message::get(url).key().unwrap();
    assert_eq!(key("/players?id=eq.1&select=id"), key("/players?id=eq.2%203&select=id"));
    assert_eq!(key("/players?teams.id=not.gte.1"), key("/players?teams.id=not.gte.x.y"));
    let body = |body: &str| Message::new("POST", "/clubs", &[], body).key().unwrap();
    assert_eq!(body(r#"{"id":1,"name":"x"}"#), body(r#" {"name":null, "id":[]}"#));
}

#[test]
fn everything_else_is_part_of_the_shape() {
    let urls = [
        "/players?id=eq.1",
        "/player?s=eq.1",
        "/players?id=neq.1",
        "/players?id=not.eq.1",
        "/players?name=eq.1",
        "/players?id=eq.1&",
        "/players?id=eq.1&id=eq.1",
        "/players?id=in.(1)",
        "/players?id=in.(2)",
        "/players?id=is.null",
        "/players?id=eq(any).{1}",
        "/players?name=like.a*",
        "/players?name=like.b*",
        "/players?limit=eq.1",
        "/players?limit=eq.2",
        "/players?teams.limit=eq.1",
        "/players?teams.limit=eq.2",
        "/players?%73elect=eq.1",
        "/players?%73elect=eq.2",
        "/players?or=(id.eq.1)",
        "/players?or=(id.eq.2)",
        "/players?columns=eq.1",
        "/players?columns=eq.2",
        "/rpc/add?a=1&b=2",
        "/rpc/add?a=1&b=3",
    ];
    let headers = [
        ("accept", "text/csv"),
        ("accept", "text/csv;q=1"),
        ("accept-profile", "other"),
        ("prefer", "count=exact"),
        ("prefer", "count=planned"),
        ("range", "0-1"),
        ("range", "0-2"),
        ("content-type", "0-2"),
    ];
    let bodies = ["{}", "[{}]", r#"{"ab":1}"#, r#"{"a":1,"b":1}"#, r#"{"a":1}"#, r#"[{"a":1}]"#];
    let mut keys: Vec<Vec<u8>> = urls.iter().map(|url| Message::get(url).key().unwrap()).collect();
    keys.extend(headers.map(|header| Message::new("GET", "/players?id=eq.1", &[header], "").key().unwrap()));
    keys.extend(bodies.map(|body| Message::new("POST", "/players", &[], body).key().unwrap()));
    keys.push(Message::new("HEAD", "/players?id=eq.1", &[], "").key().unwrap());
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn what_cannot_be_right_has_no_shape() {
    for message in [
        Message::get("/players?id=eq.%00"),
        Message::get("/players?id=eq.%ff"),
        Message::new("POST", "/players", &[], "nope"),
        Message::new("POST", "/players", &[("content-type", "text/csv")], "id"),
        Message::new("OPTIONS", "/players", &[], ""),
        Message::get(&format!("/players?{}", "id=eq.1&".repeat(100))),
        Message::get(&format!("/players?select={}", "id,".repeat(5000))),
    ] {
        assert_eq!(message.key(), None, "{} {}", message.method, message.query);
    }
}

#[test]
fn templates_hold_no_value_of_the_request_that_they_were_made_from() {
    for message in [
        Message::get("/players?select=id,teams!inner(id)&name=eq.s3cret&teams.name=neq.s3cret"),
        Message::new("PATCH", "/players?name=eq.s3cret", &[], r#"{"name":"s3cret"}"#),
        Message::new(
            "POST",
            "/players",
            &[("authorization", "s3cret")],
            r#"[{"name":"s3cret","data":["s3cret"]}]"#,
        ),
        Message::new("POST", "/rpc/greet?x=eq.s3cret", &[("cookie", "s3cret")], r#"{"name":"s3cret"}"#),
    ] {
        let template = format!("{:?}", message.template().unwrap());
        assert!(!template.contains("s3cret"), "{template}");
    }
}

#[test]
fn what_is_used_for_more_than_a_parameter_has_no_template() {
    for message in [Message::new("POST", "/players", &[], "[]"), Message::get("/")] {
        assert!(message.template().is_none(), "{} {}", message.path, message.query);
    }
}

#[test]
fn values_of_another_kind_have_another_statement() {
    let template = Message::new("POST", "/players", &[], r#"{"name":"x"}"#).template().unwrap();
    let of = |body: &str| Message::new("POST", "/players", &[], body).is_right(&template);
    assert_eq!(of(r#"{"name":null}"#), Some(true));
    assert_eq!(of(r#"{"name":{"x":1}}"#), None);
    assert_eq!(of(r#"{"name":"\u0041"}"#), None);
}

#[test]
fn the_oldest_make_room() {
    let (configuration, schema) = (Configuration::for_tests(settings()), Arc::new(fixture::cache()));
    let generation = Generation::new(Arc::new(configuration), schema);
    let message = |number: usize| Message::get(&format!("/players?limit={number}"));
    let is_kept = |number| generation.find(&RequestShape::of(&message(number).incoming()).unwrap()).is_some();
    for number in 0..=MAX_TEMPLATES {
        let message = message(number);
        let shape = RequestShape::of(&message.incoming()).unwrap();
        assert!(!generation.expects(&shape));
        assert!(generation.expects(&shape));
        generation.keep(&shape, message.template().unwrap());
        assert!(is_kept(0));
    }
    assert!(!is_kept(1));
    let templates = generation.templates.read();
    assert_eq!(templates.by_shape.len(), MAX_TEMPLATES);
    assert_eq!(templates.bytes, templates.by_shape.values().map(|entry| entry.bytes).sum::<usize>());
}

#[test]
fn new_settings_and_a_new_schema_empty_the_cache() {
    let cache = PlanCache::default();
    let configuration = || Arc::new(Configuration::for_tests(settings()));
    let schema = || Arc::new(fixture::cache());
    let (first_live, first_schema) = (configuration(), schema());
    let first = cache.of(&first_live, &first_schema);
    assert!(Arc::ptr_eq(&first, &cache.of(&first_live, &first_schema)));
    let second = cache.of(&first_live, &schema());
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(!Arc::ptr_eq(&second, &cache.of(&configuration(), &first_schema)));
}

/// Returns JSON of every kind, with texts that need escapes in one form or another.
fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let text = "[^\0]{0,6}".prop_map(Value::from);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.clone(),
        text,
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[a-z]", inner, 0..3).prop_map(Value::from_iter),
        ]
    })
}

/// Returns a comparison of one of a few columns, and another value for it.
fn comparison() -> impl Strategy<Value = [String; 2]> {
    let column = prop::sample::select(vec!["id", "name", "data->>a", "teams.name", "teams.clubs.id"]);
    let operator =
        prop::sample::select(vec!["eq", "not.eq", "neq", "gte", "match", "cs", "adj", "like", "in", "is"]);
    let value = "[^\0]{0,8}";
    (column, operator, value, value).prop_map(|(column, operator, one, other)| match operator {
        "in" => [format!("{column}=in.(1,2)"), format!("{column}=in.(1,2)")],
        "is" => [format!("{column}=is.null"), format!("{column}=is.null")],
        _ => [one, other].map(|value| format!("{column}={operator}.{}", encode(&value))),
    })
}

proptest! {
    #[test]
    fn a_read_is_what_the_template_of_another_makes_of_it(
        comparisons in prop::collection::vec(comparison(), 0..5),
        rest in prop::sample::select(vec![
            "select=*", "select=id,name", "select=id,teams!inner(id,clubs(name))", "select=id,teams(*)&order=name",
            "select=...teams(name)&limit=3", "or=(id.eq.1,name.like.a*)&offset=5", "select=count()",
        ]),
        prefer in prop::sample::select(vec!["count=exact", "count=planned", "tx=rollback", "timezone=UTC"]),
        method in prop::sample::select(vec!["GET", "HEAD"]),
    ) {
        let url = |which: usize| {
            let filters: Vec<&str> = comparisons.iter().map(|both| both[which].as_str()).collect();
            format!("/players?{}&{rest}", filters.join("&"))
        };
        let [one, other] = [0, 1].map(|which| Message::new(method, &url(which), &[("prefer", prefer)], ""));
        let is_planned = |message: &Message| {
            let request = Request::parse(&message.incoming(), &settings());
            request.is_ok_and(|request| Plan::new(&request, schema(), &settings()).is_ok())
        };
        prop_assert_eq!(is_planned(&one), is_planned(&other));
        if is_planned(&one) && one.key() == other.key() {
            let template = one.template().unwrap();
            prop_assert_eq!(other.is_right(&template), Some(true));
            prop_assert_eq!(one.is_right(&template), Some(true));
        }
    }

    #[test]
    fn a_body_is_what_the_template_of_another_makes_of_it(
        rows in prop::collection::vec([json(), json(), json()], 1..3),
        others in prop::collection::vec([json(), json(), json()], 1..3),
        (method, path) in prop::sample::select(vec![
            ("POST", "/players"), ("PATCH", "/players?name=eq.x"), ("PUT", "/players?id=eq.1"),
            ("POST", "/players?columns=id,name"), ("POST", "/kits"), ("POST", "/rpc/greet"), ("POST", "/rpc/near"),
            ("POST", "/rpc/echo"), ("POST", "/rpc/greet?select=x&x=eq.1"), ("POST", "/passports?on_conflict=number"),
        ]),
        prefer in prop::sample::select(vec![
            "return=representation", "missing=default", "resolution=merge-duplicates", "return=headers-only",
        ]),
        is_object in any::<bool>(),
    ) {
        let keys = match path.split('?').next() {
            Some("/rpc/near") => &["points"][..],
            Some("/rpc/greet") => &["name", "greeting"],
            Some("/kits") => &["id", "main"],
            Some("/passports") => &["player_id", "number"],
            _ => &["id", "name", "data"],
        };
        let message = |rows: &[[serde_json::Value; 3]]| {
            let row = |row: &[serde_json::Value; 3]| {
                serde_json::Value::from_iter(keys.iter().zip(row).map(|(key, value)| (*key, value.clone())))
            };
            let rows: Vec<_> = rows.iter().map(row).collect();
            let body = if is_object { rows[0].to_string() } else { serde_json::Value::from(rows).to_string() };
            Message::new(method, path, &[("prefer", prefer)], &body)
        };
        let (one, other) = (message(&rows), message(&others));
        prop_assert_eq!(one.key(), other.key());
        let template = one.template().unwrap();
        for message in [&one, &other] {
            prop_assert_ne!(message.is_right(&template), Some(false));
        }
    }
}
