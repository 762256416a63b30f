//! The outcome of a transaction as an HTTP response.
//!
//! Source: PostgREST's documentation, "Tables and Views", "Pagination and Count", "Transactions".

use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use poem::{Body, Response};

use crate::error::{Error, RangeError};
use crate::plan::{Change, MutatePlan, Plan};
use crate::request::{
    Action, Count, MediaType, Mutation, Preferences, Range, Representation, Request, Resolution,
};
use crate::settings::Settings;
use crate::transaction::Outcome;

/// The characters that are not encoded in a path or value of a URL (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The request headers, beside its URL, that an answer depends on.
const VARY: &str = "Accept, Prefer, Range";

/// An answer under construction.
struct Draft {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// How many headers an answer has room for before its map has to grow: those of this module and the gateway's.
const HEADERS: usize = 12;

/// Returns the answer to `request`, whose canonical query string is `query`.
///
/// Errors: `PGRST103` for a range beyond the last row, `PGRST116` for a read that did not give exactly one row,
/// `PGRST111` and `PGRST112` for headers and a status that functions set badly.
pub fn success(request: &Request, query: &str, plan: &Plan, outcome: Outcome) -> Result<Response, Error> {
    if plan.body().is_some_and(|body| body.explain().is_some()) {
        let mut draft = Draft::new(StatusCode::OK);
        draft.show(request, plan, outcome.body);
        return draft.finish(None, request.headers_only);
    }
    let mut draft = match plan {
        Plan::Read(read) => {
            if read.body.must_be_single() && outcome.rows != 1 {
                return Err(Error::NotSingular(outcome.rows.unsigned_abs()));
            }
            let mut draft = ranged(request, &outcome)?;
            let location = content_location(request, query);
            if location.len() <= LONGEST_CONTENT_LOCATION {
                draft.push(header::CONTENT_LOCATION, location);
            }
            draft.show(request, plan, outcome.body);
            draft
        }
        Plan::Mutate(mutation) => mutated(request, plan, mutation, &outcome),
        Plan::Call(call) => {
            let mut draft = ranged(request, &outcome)?;
            if call.is_void {
                draft.status = StatusCode::NO_CONTENT;
            } else {
                draft.show(request, plan, outcome.body);
            }
            draft
        }
        Plan::Describe(_) => return described(request, outcome.body).finish(None, request.headers_only),
        Plan::Info(allow) => return Ok(info(allow)),
    };
    if request.preferences != Preferences::default()
        && let Some(applied) = applied(request, plan).applied()
    {
        draft.push(HeaderName::from_static("preference-applied"), applied);
    }
    draft.override_status(outcome.status.as_deref())?;
    draft.finish(outcome.headers.as_deref(), request.headers_only)
}

/// Returns the answer that says what went wrong.
pub fn failure(error: &Error, settings: &Settings, retry_after: Option<u64>) -> Response {
    let mut response = Response::builder()
        .status(error.status())
        .content_type("application/json; charset=utf-8")
        .header("Proxy-Status", format!("PostgREST; error={}", printable(&error.code())))
        .header(header::VARY, VARY);
    for (name, value) in error.headers() {
        response = match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => response.header(name, value),
            // A function that raises bad headers is no reason to keep its error from the client.
            _ => response,
        };
    }
    if let Some(seconds) = retry_after {
        response = response.header(header::RETRY_AFTER, seconds.to_string());
    }
    let mut response = response.body(error.body(settings.client_error_verbosity));
    // A text that no status line can hold is in the body as well.
    if let Some(Ok(reason)) = error.reason().map(ReasonPhrase::try_from) {
        response.extensions_mut().insert(reason);
    }
    response
}

/// Returns `code` as a structured field's token, whatever a function raised.
fn printable(code: &str) -> String {
    code.chars().filter(char::is_ascii_graphic).collect()
}

/// Returns the document of a schema. Nothing that functions set and no preference changes it.
fn described(request: &Request, document: Bytes) -> Draft {
    let mut draft = Draft { body: document, ..Draft::new(StatusCode::OK) };
    if let Some(content_type) = MediaType::OpenApi.content_type() {
        draft.push(header::CONTENT_TYPE, content_type);
    }
    if request.is_profile_negotiated {
        draft.push(HeaderName::from_static("content-profile"), request.schema.clone());
    }
    draft
}

fn info(allow: &str) -> Response {
    Response::builder()
        .status(StatusCode::OK)
        .header(header::ALLOW, allow)
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(header::VARY, VARY)
        .body(Body::empty())
}

/// Status and `Content-Range` of rows in a range.
///
/// Errors: `PGRST103` when the range begins beyond the last row.
fn ranged(request: &Request, outcome: &Outcome) -> Result<Draft, Error> {
    let offset = request.range.offset;
    let end = offset.saturating_add(outcome.rows);
    let status = match outcome.total {
        Some(total) if offset > total => {
            return Err(Error::InvalidRange(RangeError::OutOfBounds { offset, total }));
        }
        Some(total) if end - offset < total => StatusCode::PARTIAL_CONTENT,
        _ => StatusCode::OK,
    };
    let mut draft = Draft::new(status);
    let range = Range { offset, limit: Some(outcome.rows) };
    draft.push(header::CONTENT_RANGE, content_range(range, outcome.total));
    Ok(draft)
}

/// Returns `first-last/total`, with `*` for no rows and for an unknown total (RFC 9110, section 14.4).
fn content_range(range: Range, total: Option<i64>) -> String {
    let rows = range.limit.unwrap_or(0);
    let mut text = String::with_capacity(32);
    if rows > 0 && total != Some(0) {
        text.push_str(&range.offset.to_string());
        text.push('-');
        text.push_str(&range.offset.saturating_add(rows - 1).to_string());
    } else {
        text.push('*');
    }
    text.push('/');
    match total {
        Some(total) => text.push_str(&total.to_string()),
        None => text.push('*'),
    }
    text
}

/// Longer ones are left out: the header is optional (RFC 9110, section 8.7), and clients and proxies refuse an answer
/// whose headers exceed their buffers, of which 8 KiB is a common size.
const LONGEST_CONTENT_LOCATION: usize = 4 * 1024;

fn content_location(request: &Request, query: &str) -> String {
    let Action::Read { relation } = &request.action else { return String::new() };
    let mut location = String::with_capacity(relation.len() + query.len() + 2);
    location.push('/');
    location.extend(utf8_percent_encode(relation, ENCODED));
    if !query.is_empty() {
        location.push('?');
        location.push_str(query);
    }
    location
}

/// Status and headers of a change.
fn mutated(request: &Request, plan: &Plan, mutation: &MutatePlan, outcome: &Outcome) -> Draft {
    let preferences = &request.preferences;
    let is_full = preferences.representation == Some(Representation::Full);
    let total = matches!(preferences.count, Some(Count::Exact | Count::Estimated)).then_some(outcome.rows);
    let inserted = outcome.inserted.unwrap_or(0) > 0;
    let status = match &mutation.change {
        Change::Insert { conflict: Some((Resolution::MergeDuplicates, _)), .. } if !inserted => {
            StatusCode::OK
        }
        Change::Insert { .. } => StatusCode::CREATED,
        Change::Put { .. } if is_full && inserted => StatusCode::CREATED,
        _ if is_full => StatusCode::OK,
        _ => StatusCode::NO_CONTENT,
    };
    let mut draft = Draft::new(status);
    let nothing = Range { offset: 0, limit: Some(0) };
    match &mutation.change {
        Change::Insert { .. } => {
            if let Some(location) = location(mutation, outcome) {
                draft.push(header::LOCATION, location);
            }
            draft.push(header::CONTENT_RANGE, content_range(nothing, total));
        }
        Change::Update { .. } => {
            let changed = Range { offset: 0, limit: Some(outcome.rows) };
            draft.push(header::CONTENT_RANGE, content_range(changed, total));
        }
        Change::Delete { .. } => draft.push(header::CONTENT_RANGE, content_range(nothing, total)),
        Change::Put { .. } => {}
    }
    if is_full {
        draft.show(request, plan, outcome.body.clone());
    }
    draft
}

/// Returns where the one new row is, by its primary key.
fn location(mutation: &MutatePlan, outcome: &Outcome) -> Option<String> {
    let key = mutation.location.as_ref()?;
    if outcome.location.is_empty() {
        return None;
    }
    let filters = key.iter().zip(&outcome.location).map(|(name, value)| {
        let value = value.as_ref().map_or_else(|| "is.null".to_owned(), |value| format!("eq.{value}"));
        format!("{}={}", utf8_percent_encode(name, ENCODED), utf8_percent_encode(&value, ENCODED))
    });
    let filters: Vec<String> = filters.collect();
    Some(format!("/{}?{}", utf8_percent_encode(&mutation.relation, ENCODED), filters.join("&")))
}

/// Returns the preferences that count for this kind of request.
fn applied(request: &Request, plan: &Plan) -> Preferences {
    let mut applied = Preferences { invalid: Vec::new(), ..request.preferences.clone() };
    let mutation = match &request.action {
        Action::Mutate { mutation, .. } => Some(*mutation),
        _ => None,
    };
    let may_conflict = matches!(plan, Plan::Mutate(plan) if matches!(
        plan.change, Change::Insert { conflict: Some(_), .. }
    ));
    if !may_conflict {
        applied.resolution = None;
    }
    if mutation.is_none() {
        applied.representation = None;
    }
    if !matches!(mutation, Some(Mutation::Insert | Mutation::Update)) {
        applied.missing = None;
    }
    let heeds_limit =
        matches!(mutation, Some(Mutation::Update | Mutation::Delete)) || matches!(plan, Plan::Call(_));
    if !heeds_limit {
        applied.max_affected = None;
    }
    applied
}

impl Draft {
    fn new(status: StatusCode) -> Self {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(header::VARY, HeaderValue::from_static(VARY));
        Self { status, headers, body: Bytes::new() }
    }

    /// Adds a header, unless it has a value that none can have: names of relations and schemas may hold anything.
    fn push(&mut self, name: HeaderName, value: impl TryInto<HeaderValue>) {
        if let Ok(value) = value.try_into() {
            self.headers.insert(name, value);
        }
    }

    /// Adds the body and what describes it.
    fn show(&mut self, request: &Request, plan: &Plan, body: Bytes) {
        if let Some(content_type) = plan.body().and_then(|made| made.media.content_type()) {
            self.push(header::CONTENT_TYPE, content_type);
        }
        if request.is_profile_negotiated {
            self.push(HeaderName::from_static("content-profile"), request.schema.clone());
        }
        self.body = body;
    }

    /// Applies `response.status`.
    fn override_status(&mut self, status: Option<&str>) -> Result<(), Error> {
        if let Some(status) = status {
            let code = status.parse().ok().and_then(|code| StatusCode::from_u16(code).ok());
            self.status = code.ok_or(Error::BadResponseStatus)?;
        }
        Ok(())
    }

    /// Applies `response.headers`, which replace headers of the same name, and makes the response.
    fn finish(self, overriding: Option<&str>, headers_only: bool) -> Result<Response, Error> {
        let mut response = Response::default();
        response.set_status(self.status);
        let headers = response.headers_mut();
        *headers = self.headers;
        let overriding = overriding.map(guc_headers).transpose()?.unwrap_or_default();
        for (name, _) in &overriding {
            headers.remove(name);
        }
        for (name, value) in overriding {
            headers.append(name, value);
        }
        if !headers_only {
            response.set_body(self.body);
        }
        Ok(response)
    }
}

/// Returns `response.headers`: a JSON array of objects, each with one key and a text.
///
/// Errors: `PGRST111` for anything else.
fn guc_headers(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
    type Items = Vec<std::collections::BTreeMap<String, String>>;
    let items: Items = serde_json::from_str(text).map_err(|_| Error::BadResponseHeaders)?;
    let mut headers = Vec::with_capacity(items.len());
    for item in items {
        if item.len() != 1 {
            return Err(Error::BadResponseHeaders);
        }
        for (name, value) in item {
            let name = HeaderName::try_from(name).map_err(|_| Error::BadResponseHeaders)?;
            let value = HeaderValue::try_from(value).map_err(|_| Error::BadResponseHeaders)?;
            headers.push((name, value));
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_as_rfc_9110_has_them() {
        let range = |offset, rows| Range { offset, limit: Some(rows) };
        assert_eq!(content_range(range(0, 10), None), "0-9/*");
        assert_eq!(content_range(range(20, 5), Some(25)), "20-24/25");
        assert_eq!(content_range(range(0, 0), None), "*/*");
        assert_eq!(content_range(range(0, 0), Some(0)), "*/0");
    }

    #[test]
    fn headers_of_functions_are_checked() {
        let found = guc_headers(r#"[{"Set-Cookie":"a=1"},{"Set-Cookie":"b=2"}]"#).unwrap();
        assert_eq!(found.len(), 2);
        for bad in [r#"{"a":"b"}"#, r#"[{"a":1}]"#, r#"[{"a":"b","c":"d"}]"#, r#"[{"a b":"c"}]"#, "x"] {
            assert_eq!(guc_headers(bad).unwrap_err().code(), "PGRST111", "{bad}");
        }
    }
}
