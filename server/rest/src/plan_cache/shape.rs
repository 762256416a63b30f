//! The parts of a request that its plan depends on, and the values that it does not depend on.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, header};

use crate::request::{Incoming, MediaType, PREFER, Payload, decode, profile_header};

/// Requests with more filters than this that have values are too rare to be kept.
const MOST_VALUES: usize = 64;
/// The longest key that is looked up, in bytes.
const LONGEST_KEY: usize = 8 * 1024;

/// Operators whose value is everything behind their dot and goes to Postgres as it is. That of `like` does not, since
/// its `*` means `%`; a list's is an array.
const OPERATORS: &[&str] = &[
    "eq", "neq", "gt", "gte", "lt", "lte", "match", "imatch", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl",
    "adj",
];
/// The last part of the names of parameters that are not filters.
const NO_FILTERS: &[&str] = &["select", "columns", "on_conflict", "order", "and", "or", "limit", "offset"];

/// Stands for a value in a key. No URI has it (RFC 3986, section 2).
const VALUE: u8 = 1;
/// Ends a part of a key. No URI and no header has it (RFC 9110, section 5.5).
const END: u8 = 0;

/// The shape of a request, and its values.
#[derive(Debug)]
pub struct RequestShape<'r> {
    key: Vec<u8>,
    values: Vec<Cow<'r, str>>,
    payload: Option<Payload>,
}

impl<'r> RequestShape<'r> {
    /// Finds the shape of a request without parsing it. `None` for a request that is not worth a template or that
    /// cannot be right.
    pub fn of(incoming: &Incoming<'r>) -> Option<Self> {
        let payload = payload(incoming)?;
        let mut key = Vec::with_capacity(256);
        for part in [incoming.method.as_str(), incoming.path] {
            key.extend_from_slice(part.as_bytes());
            key.push(END);
        }
        let mut values = Vec::new();
        for parameter in incoming.query.split('&') {
            match Parameter::of(parameter) {
                Parameter::Comparison { before, value } => {
                    key.extend_from_slice(before.as_bytes());
                    key.push(VALUE);
                    values.push(decode(value).ok()?);
                }
                Parameter::Other(text) => key.extend_from_slice(text.as_bytes()),
            }
            key.push(b'&');
        }
        key.push(END);
        let profile = profile_header(incoming.method);
        for name in [profile, PREFER, header::ACCEPT, header::CONTENT_TYPE, header::RANGE] {
            push_header(&mut key, incoming.headers, &name);
        }
        if let Some(Payload::Json { is_object, keys, .. }) = &payload {
            key.push(u8::from(*is_object));
            for name in keys {
                key.extend_from_slice(&name.len().to_le_bytes());
                key.extend_from_slice(name.as_bytes());
            }
        }
        (values.len() <= MOST_VALUES && key.len() <= LONGEST_KEY).then_some(Self { key, values, payload })
    }

    /// Returns a text that is the same for all requests of this shape, and for no other.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the values of its filters, decoded, in the order of the query string.
    pub fn values(&self) -> &[Cow<'r, str>] {
        &self.values
    }

    /// Returns its body, for methods that have one. What `columns=` says is not in its keys.
    pub const fn payload(&self) -> Option<&Payload> {
        self.payload.as_ref()
    }
}

/// A parameter of a query string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parameter<'r> {
    /// A filter whose value the plan does not depend on.
    Comparison {
        /// `name=operator.`
        before: &'r str,
        /// The value, still encoded.
        value: &'r str,
    },
    /// Any other parameter, whole.
    Other(&'r str),
}

impl<'r> Parameter<'r> {
    pub(crate) fn of(text: &'r str) -> Self {
        Self::comparison(text).unwrap_or(Self::Other(text))
    }

    fn comparison(text: &'r str) -> Option<Self> {
        let (name, comparison) = text.split_once('=')?;
        let plain = comparison.strip_prefix("not.").unwrap_or(comparison);
        let (operator, value) = plain.split_once('.')?;
        let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
        // An encoded name may stand for any other.
        let is_encoded = name.bytes().any(|byte| matches!(byte, b'%' | b'+'));
        let is_comparison = OPERATORS.contains(&operator) && !NO_FILTERS.contains(&last) && !is_encoded;
        let before = text.get(..text.len() - value.len())?;
        is_comparison.then_some(Self::Comparison { before, value })
    }
}

/// Returns the body of a method that has one: JSON, since anything else is rare. The outer `None` is for what is not
/// looked at.
fn payload(incoming: &Incoming<'_>) -> Option<Option<Payload>> {
    match *incoming.method {
        Method::GET | Method::HEAD | Method::DELETE => return Some(None),
        Method::POST | Method::PATCH | Method::PUT => {}
        _ => return None,
    }
    let is_json = match incoming.headers.get(header::CONTENT_TYPE) {
        None => true,
        Some(value) => value.to_str().is_ok_and(|text| MediaType::parse(text) == MediaType::Json),
    };
    let mut names = incoming.query.split('&').map(|text| text.split_once('=').map_or(text, |(name, _)| name));
    let names_columns = names.any(|name| name == "columns" || name.contains(['%', '+']));
    let columns = (names_columns && *incoming.method != Method::PUT).then_some(&[][..]);
    let is_call = incoming.path.trim_start_matches('/').starts_with("rpc/");
    let body = match incoming.body.is_empty() && is_call {
        true => Bytes::from_static(b"{}"),
        false => incoming.body.clone(),
    };
    is_json.then(|| Payload::json(body, columns).ok()).flatten().map(Some)
}

fn push_header(key: &mut Vec<u8>, headers: &HeaderMap, name: &HeaderName) {
    for value in headers.get_all(name) {
        key.extend_from_slice(value.as_bytes());
        key.push(VALUE);
    }
    key.push(END);
}
