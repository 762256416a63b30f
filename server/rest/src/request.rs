//! A request as the client made it: parsed, nothing looked up.
//!
//! Source: PostgREST's documentation, "API", and the order in which it refuses requests.

mod csv;
mod explain;
mod filter;
mod grammar;
mod media;
mod order;
mod payload;
mod preferences;
mod query;
mod range;
mod select;
pub mod syntax;

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use percent_encoding::percent_decode_str;

pub use explain::Explain;
pub use media::MediaType;
pub(crate) use media::OPENAPI;
pub use payload::Payload;
pub(crate) use payload::{Key, first_byte};
pub(crate) use preferences::PREFER;
pub use preferences::{Count, Missing, Preferences, Representation, Resolution, TransactionEnd};
pub use query::Query;
pub(crate) use query::{ENCODED, decode};
pub use range::Range;

use crate::error::Error;
use crate::settings::{OpenApiMode, Settings};

const ACCEPT_PROFILE: HeaderName = HeaderName::from_static("accept-profile");
const CONTENT_PROFILE: HeaderName = HeaderName::from_static("content-profile");

/// What the client wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Rows of a relation.
    Read {
        /// The relation's name.
        relation: String,
    },
    /// A change of a relation's rows.
    Mutate {
        /// The relation's name.
        relation: String,
        /// Which change.
        mutation: Mutation,
    },
    /// A function's result.
    Call {
        /// The function's name.
        function: String,
        /// By GET or HEAD: arguments are in the query string and nothing may be written.
        by_get: bool,
    },
    /// The document that describes the schema.
    Describe,
    /// Which methods the root takes.
    RootInfo,
    /// Which methods a relation takes.
    RelationInfo {
        /// The relation's name.
        relation: String,
    },
    /// Which methods a function takes.
    FunctionInfo {
        /// The function's name.
        function: String,
    },
}

impl Action {
    /// Returns the kind of path that it belongs to, for traces.
    pub(crate) const fn route(&self) -> &'static str {
        match self {
            Self::Describe | Self::RootInfo => "/",
            Self::Read { .. } | Self::Mutate { .. } | Self::RelationInfo { .. } => "/{relation}",
            Self::Call { .. } | Self::FunctionInfo { .. } => "/rpc/{function}",
        }
    }
}

/// A change of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// POST.
    Insert,
    /// PUT: one row under the primary key that the filters name.
    Put,
    /// PATCH.
    Update,
    /// DELETE.
    Delete,
}

/// A parsed request.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is wanted.
    pub action: Action,
    /// HEAD: everything but the body.
    pub headers_only: bool,
    /// The schema that names are looked up in.
    pub schema: String,
    /// Whether the response names the schema, because there are several.
    pub is_profile_negotiated: bool,
    /// The query string.
    pub query: Query,
    /// The rows wanted of the request's own relation.
    pub range: Range,
    /// The `Prefer` header.
    pub preferences: Preferences,
    /// The body, of requests that have one.
    pub payload: Option<Payload>,
    /// The media types wanted, best first.
    pub accept: Vec<MediaType>,
    /// The body's media type.
    pub content_type: MediaType,
    /// The method, for `request.method`.
    pub method: Method,
    /// The path, for `request.path`.
    pub path: String,
}

/// The headers of a request as values of settings, for the database's own code. No plan depends on them.
#[derive(Debug, Clone)]
pub struct HeaderSettings {
    /// The headers but the cookies, as a JSON object, for `request.headers`.
    pub headers: String,
    /// The cookies, as a JSON object, for `request.cookies`.
    pub cookies: Cow<'static, str>,
}

impl HeaderSettings {
    /// Reads it from the headers of a request.
    pub fn new(headers: &HeaderMap) -> Self {
        Self { headers: headers_json(headers), cookies: cookies_json(headers) }
    }
}

/// A request as it was received over HTTP.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path below the service's mount point, still encoded.
    pub path: &'a str,
    /// The query string, still encoded.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

enum Resource {
    Root,
    Relation(String),
    Function(String),
}

impl Request {
    /// Parses `incoming`.
    ///
    /// Errors, in this order: `PGRST125` and `PGRST126` for the path, `PGRST106` for the schema, `PGRST101` and
    /// `PGRST117` for the method, `PGRST100` for the query string, `PGRST103` and `PGRST114` for ranges,
    /// `PGRST102` for the body.
    pub fn parse(incoming: &Incoming<'_>, settings: &Settings) -> Result<Self, Error> {
        let resource = resource(incoming.path, settings)?;
        let (schema, is_profile_negotiated) = schema(incoming, settings)?;
        let action = action(resource, incoming.method)?;
        // Here, so that requests that are refused for their query string have it, too.
        telemetry::name_route(action.route());
        let is_call_by_get = matches!(action, Action::Call { by_get: true, .. });
        let query = Query::parse(incoming.query, is_call_by_get)?;
        let range = top_level_range(incoming, &query)?;
        let content_type = text_header(incoming.headers, header::CONTENT_TYPE)
            .map_or(MediaType::Json, |text| MediaType::parse(&text));
        let payload = payload(incoming, &content_type, &query, &action)?;
        let accept = media::parse_accept(&joined_header(incoming.headers, header::ACCEPT));
        Ok(Self {
            action,
            headers_only: incoming.method == Method::HEAD,
            schema,
            is_profile_negotiated,
            query,
            range,
            preferences: Preferences::from_headers(incoming.headers, settings.db_tx_end.may_override()),
            payload,
            accept,
            content_type,
            method: incoming.method.clone(),
            path: incoming.path.to_owned(),
        })
    }
}

fn resource(path: &str, settings: &Settings) -> Result<Resource, Error> {
    let decode = |segment: &str| match percent_decode_str(segment).decode_utf8() {
        Ok(name) if !name.contains('\0') => Ok(name.into_owned()),
        _ => Err(Error::InvalidPath),
    };
    let path = path.strip_prefix('/').unwrap_or(path);
    match path.split_once('/') {
        None if path.is_empty() => match &settings.db_root_spec {
            _ if settings.openapi_mode == OpenApiMode::Disabled => Err(Error::RootDisabled),
            Some(function) => Ok(Resource::Function(function.clone())),
            None => Ok(Resource::Root),
        },
        None => Ok(Resource::Relation(decode(path)?)),
        Some(("rpc", function)) if !function.is_empty() && !function.contains('/') => {
            Ok(Resource::Function(decode(function)?))
        }
        _ => Err(Error::InvalidPath),
    }
}

/// Returns the header that names the schema of a request with this method.
pub(crate) fn profile_header(method: &Method) -> HeaderName {
    match *method {
        Method::POST | Method::PATCH | Method::PUT | Method::DELETE => CONTENT_PROFILE,
        _ => ACCEPT_PROFILE,
    }
}

/// Returns the schema by `Accept-Profile` or, for methods with a body, `Content-Profile`; else the first that is
/// exposed.
fn schema(incoming: &Incoming<'_>, settings: &Settings) -> Result<(String, bool), Error> {
    match text_header(incoming.headers, profile_header(incoming.method)).map(Cow::into_owned) {
        Some(schema) if settings.db_schemas.contains(&schema) => Ok((schema, true)),
        Some(schema) => Err(Error::UnacceptableSchema { schema, exposed: settings.db_schemas.clone() }),
        None => {
            let schema = settings.db_schemas.first().cloned().unwrap_or_default();
            Ok((schema, settings.db_schemas.len() != 1))
        }
    }
}

fn action(resource: Resource, method: &Method) -> Result<Action, Error> {
    match (resource, method.as_str()) {
        (Resource::Root, "GET" | "HEAD") => Ok(Action::Describe),
        (Resource::Root, "OPTIONS") => Ok(Action::RootInfo),
        (Resource::Root, other) => Err(Error::UnsupportedMethod(other.to_owned())),
        (Resource::Function(function), "GET" | "HEAD") => Ok(Action::Call { function, by_get: true }),
        (Resource::Function(function), "POST") => Ok(Action::Call { function, by_get: false }),
        (Resource::Function(function), "OPTIONS") => Ok(Action::FunctionInfo { function }),
        (Resource::Function(_), other) => Err(Error::InvalidRpcMethod(other.to_owned())),
        (Resource::Relation(relation), "GET" | "HEAD") => Ok(Action::Read { relation }),
        (Resource::Relation(relation), "OPTIONS") => Ok(Action::RelationInfo { relation }),
        (Resource::Relation(relation), other) => {
            let mutation = match other {
                "POST" => Mutation::Insert,
                "PUT" => Mutation::Put,
                "PATCH" => Mutation::Update,
                "DELETE" => Mutation::Delete,
                _ => return Err(Error::UnsupportedMethod(other.to_owned())),
            };
            Ok(Action::Mutate { relation, mutation })
        }
    }
}

/// Returns the range of the request's own relation. The `Range` header counts for GET only (RFC 9110, section 14.2).
fn top_level_range(incoming: &Incoming<'_>, query: &Query) -> Result<Range, Error> {
    let header =
        if incoming.method == Method::GET { text_header(incoming.headers, header::RANGE) } else { None };
    let range = range::combine(query.top_level_range(), header.as_deref())?;
    if incoming.method == Method::PUT && range != Range::ALL {
        return Err(Error::PutLimitNotAllowed);
    }
    Ok(range)
}

fn payload(
    incoming: &Incoming<'_>,
    content_type: &MediaType,
    query: &Query,
    action: &Action,
) -> Result<Option<Payload>, Error> {
    let is_call = match action {
        Action::Call { by_get: false, .. } => true,
        Action::Mutate { mutation: Mutation::Insert | Mutation::Update | Mutation::Put, .. } => false,
        _ => return Ok(None),
    };
    let columns = match action {
        Action::Mutate { mutation: Mutation::Put, .. } => None,
        _ => query.columns.as_deref(),
    };
    let body = incoming.body.clone();
    let payload = match content_type {
        MediaType::Json if is_call && body.is_empty() => Payload::json(Bytes::from_static(b"{}"), None)?,
        MediaType::Json => Payload::json(body, columns)?,
        MediaType::Csv => Payload::json(csv::to_json(&body)?, None)?,
        MediaType::UrlEncoded if is_call => Payload::Form(form(&body)?),
        MediaType::UrlEncoded => {
            let fields: serde_json::Map<_, _> =
                form(&body)?.into_iter().map(|(name, value)| (name, value.into())).collect();
            Payload::json(Bytes::from(serde_json::Value::from(fields).to_string()), None)?
        }
        MediaType::Text | MediaType::Xml | MediaType::OctetStream if is_call => Payload::Raw(body),
        other => return Err(Error::InvalidBody(format!("Content-Type not acceptable: {}", other.name()))),
    };
    Ok(Some(payload))
}

/// Parses a form into names and values.
///
/// Errors: `PGRST102` for a form that is not UTF-8.
fn form(body: &[u8]) -> Result<Vec<(String, String)>, Error> {
    let refused = || Error::InvalidBody("Form is not valid UTF-8".to_owned());
    let text = std::str::from_utf8(body).map_err(|_| refused())?;
    let pairs = query::split(text).map_err(|_| refused())?;
    let owned = |(name, value): (Cow<'_, str>, Option<Cow<'_, str>>)| {
        (name.into_owned(), value.unwrap_or_default().into_owned())
    };
    Ok(pairs.into_iter().map(owned).collect())
}

fn text_header(headers: &HeaderMap, name: impl header::AsHeaderName) -> Option<Cow<'_, str>> {
    headers.get(name).map(text)
}

/// Returns a header's value as text. What is not UTF-8 in it becomes U+FFFD.
fn text(value: &HeaderValue) -> Cow<'_, str> {
    // Nearly every header is valid UTF-8, which is checked several bytes at a time.
    let bytes = value.as_bytes();
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns all values of a header that is a list (RFC 9110, section 5.3); empty when it is absent.
fn joined_header(headers: &HeaderMap, name: impl header::AsHeaderName) -> Cow<'_, str> {
    let mut values = headers.get_all(name).into_iter().map(text);
    let first = values.next().unwrap_or_default();
    values.fold(first, |joined, value| Cow::Owned(format!("{joined},{value}")))
}

/// Returns all headers but the cookies; of a repeated one the last counts, as upstream has it.
fn headers_json(headers: &HeaderMap) -> String {
    let length: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 6).sum();
    let mut json = Vec::with_capacity(length + 2);
    let mut fields = headers.iter().filter(|(name, _)| *name != header::COOKIE).peekable();
    while let Some((name, value)) = fields.next() {
        // The values of one name stand together.
        if fields.peek().is_some_and(|(next, _)| *next == name) {
            continue;
        }
        json.push(if json.is_empty() { b'{' } else { b',' });
        push_json(&mut json, name.as_str().as_bytes());
        json.push(b':');
        push_json(&mut json, value.as_bytes());
    }
    json.extend_from_slice(if json.is_empty() { b"{}" } else { b"}" });
    // What was not UTF-8 has been replaced.
    String::from_utf8(json).unwrap_or_default()
}

/// Appends `text` as a JSON string. What is no UTF-8 in it becomes U+FFFD.
fn push_json(json: &mut Vec<u8>, text: &[u8]) {
    // Without an early end many bytes are compared at a time: most texts have nothing to escape.
    let is_odd = |byte: &u8| !matches!(byte, 0x20..0x7F) | (*byte == b'"') | (*byte == b'\\');
    if text.iter().fold(false, |found, byte| found | is_odd(byte)) {
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(json, &String::from_utf8_lossy(text));
    } else {
        json.push(b'"');
        json.extend_from_slice(text);
        json.push(b'"');
    }
}

/// Returns all cookies; of a repeated one the last counts.
fn cookies_json(headers: &HeaderMap) -> Cow<'static, str> {
    if !headers.contains_key(header::COOKIE) {
        return Cow::Borrowed("{}");
    }
    let mut fields = serde_json::Map::new();
    for value in headers.get_all(header::COOKIE) {
        for cookie in text(value).split(';') {
            if let Some((name, value)) = cookie.trim().split_once('=') {
                fields.insert(name.to_owned(), value.into());
            }
        }
    }
    Cow::Owned(serde_json::Value::Object(fields).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        headers.iter().map(pair).collect()
    }

    fn parse(method: &str, path: &str, headers: &[(&'static str, &'static str)]) -> Result<Request, Error> {
        let headers = header_map(headers);
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let settings = Settings { db_schemas: vec!["public".into(), "other".into()], ..Settings::default() };
        let body = Bytes::from_static(b"{}");
        Request::parse(&Incoming { method: &method, path, query, headers: &headers, body }, &settings)
    }

    fn code(method: &str, path: &str, headers: &[(&'static str, &'static str)]) -> String {
        parse(method, path, headers).unwrap_err().code().into_owned()
    }

    #[test]
    fn paths_and_methods_make_actions() {
        let action = |method, path| parse(method, path, &[]).unwrap().action;
        assert_eq!(action("GET", "/na%20me"), Action::Read { relation: "na me".into() });
        assert_eq!(action("POST", "/rpc/f"), Action::Call { function: "f".into(), by_get: false });
        assert_eq!(action("OPTIONS", "/t"), Action::RelationInfo { relation: "t".into() });
        assert_eq!(action("HEAD", "/"), Action::Describe);
        assert_eq!(action("OPTIONS", "/"), Action::RootInfo);
        assert_eq!(code("POST", "/", &[]), "PGRST117");
        assert_eq!(code("GET", "/a/b", &[]), "PGRST125");
        assert_eq!(code("GET", "/a%00", &[]), "PGRST125");
        assert_eq!(code("TRACE", "/a", &[]), "PGRST117");
        assert_eq!(code("PUT", "/rpc/a", &[]), "PGRST101");
        assert_eq!(code("PUT", "/a?limit=1", &[]), "PGRST114");
    }

    #[test]
    fn profiles_choose_the_schema() {
        let found = parse("GET", "/t", &[("accept-profile", "other")]).unwrap();
        assert_eq!((found.schema.as_str(), found.is_profile_negotiated), ("other", true));
        assert_eq!(parse("POST", "/t", &[("accept-profile", "other")]).unwrap().schema, "public");
        let error = parse("POST", "/t", &[("content-profile", "secret")]).unwrap_err();
        assert_eq!(error.code(), "PGRST106");
        assert_eq!(error.hint().unwrap(), "Only the following schemas are exposed: public, other");
    }

    #[test]
    fn what_is_no_utf_8_is_replaced() {
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_bytes(b"\xe9\tx").unwrap());
        headers.insert("x-b", HeaderValue::from_bytes("é\\".as_bytes()).unwrap());
        assert_eq!(HeaderSettings::new(&headers).headers, "{\"x-a\":\"\u{fffd}\\tx\",\"x-b\":\"é\\\\\"}");
    }

    #[test]
    fn headers_become_json() {
        let headers = [("x-a", "1\"2"), ("x-b", "1"), ("cookie", "a=1; b=2"), ("x-b", "2")];
        let found = HeaderSettings::new(&header_map(&headers));
        assert_eq!(found.headers, r#"{"x-a":"1\"2","x-b":"2"}"#);
        assert_eq!(HeaderSettings::new(&HeaderMap::new()).headers, "{}");
        assert_eq!(found.cookies, r#"{"a":"1","b":"2"}"#);
    }

    #[test]
    fn bodies_of_other_types_are_refused() {
        let error = parse("POST", "/t", &[("content-type", "image/png")]).unwrap_err();
        assert_eq!(error.message(), "Content-Type not acceptable: image/png");
    }
}
