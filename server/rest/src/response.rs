//! The outcome of a transaction as an HTTP response.
//!
//! Source: PostgREST's documentation, "Tables and Views", "Pagination and Count", "Transactions".

use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use percent_encoding::utf8_percent_encode;
use poem::http::{HeaderName, HeaderValue, StatusCode, header};
use poem::{Body, Response};

use crate::error::{Error, RangeError};
use crate::plan::{Change, MutatePlan, Plan};
use crate::request::{
    Action, Count, ENCODED, MediaType, Mutation, Preferences, Representation, Request, Resolution,
};
use crate::settings::Settings;
use crate::transaction::Outcome;

/// The request headers that a response depends on.
const VARY: &str = "Accept, Prefer, Range";

/// How many headers a response has room for before its map has to grow: those of this module and the gateway's.
const HEADERS: usize = 12;

/// Returns the response to `request`, whose canonical query string is `query`.
///
/// Errors: `PGRST103` for a range beyond the last row, `PGRST116` for a read that did not give exactly one row,
/// `PGRST111` and `PGRST112` for headers and a status that functions set badly.
pub(crate) fn success(
    request: &Request,
    query: &str,
    plan: &Plan,
    outcome: Outcome,
) -> Result<Response, Error> {
    if let Some(body) = plan.body().filter(|body| body.explain().is_some()) {
        return Ok(with_body(empty(StatusCode::OK), request, &body.media, outcome.body));
    }
    let mut response = match plan {
        Plan::Read(read) => {
            if read.body.must_be_single() && outcome.rows != 1 {
                return Err(Error::NotSingular(outcome.rows.unsigned_abs()));
            }
            let mut response = of_rows(request, &outcome)?;
            let location = content_location(request, query);
            if location.len() <= LONGEST_CONTENT_LOCATION {
                push(&mut response, header::CONTENT_LOCATION, location);
            }
            with_body(response, request, &read.body.media, outcome.body)
        }
        Plan::Mutate(mutation) => of_change(request, mutation, &outcome),
        Plan::Call(call) => {
            let mut response = of_rows(request, &outcome)?;
            if call.is_void {
                response.set_status(StatusCode::NO_CONTENT);
                response
            } else {
                with_body(response, request, &call.body.media, outcome.body)
            }
        }
        Plan::Describe(_) => {
            // Nothing that functions set and no preference changes the document.
            return Ok(with_body(empty(StatusCode::OK), request, &MediaType::OpenApi, outcome.body));
        }
        Plan::Info(allow) => return Ok(info(allow)),
    };
    if request.preferences != Preferences::default()
        && let Some(applied) = applicable_preferences(request, plan).applied()
    {
        push(&mut response, HeaderName::from_static("preference-applied"), applied);
    }
    override_status(&mut response, outcome.status.as_deref())?;
    override_headers(&mut response, outcome.headers.as_deref())?;
    Ok(response)
}

/// Returns the response that says what went wrong.
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

/// Returns `code` as a structured field's token. A function may have raised any text.
fn printable(code: &str) -> String {
    code.chars().filter(char::is_ascii_graphic).collect()
}

fn info(allow: &str) -> Response {
    Response::builder()
        .status(StatusCode::OK)
        .header(header::ALLOW, allow)
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(header::VARY, VARY)
        .body(Body::empty())
}

/// Returns `first-last/total`, with `*` for no rows and for an unknown total (RFC 9110, section 14.4).
fn content_range(offset: i64, rows: i64, total: Option<i64>) -> String {
    let mut text = String::with_capacity(32);
    if rows > 0 && total != Some(0) {
        text.push_str(&offset.to_string());
        text.push('-');
        text.push_str(&offset.saturating_add(rows - 1).to_string());
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

/// Longer ones are left out: the header is optional (RFC 9110, section 8.7), and clients and proxies refuse a response
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
fn applicable_preferences(request: &Request, plan: &Plan) -> Preferences {
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

/// Returns a response without a body.
fn empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    response.set_status(status);
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// Returns a response with the status and the `Content-Range` of rows in a range.
///
/// Errors: `PGRST103` when the range begins beyond the last row.
fn of_rows(request: &Request, outcome: &Outcome) -> Result<Response, Error> {
    let offset = request.range.offset;
    let end = offset.saturating_add(outcome.rows);
    let status = match outcome.total {
        Some(total) if offset > total => {
            return Err(Error::InvalidRange(RangeError::OutOfBounds { offset, total }));
        }
        Some(total) if end - offset < total => StatusCode::PARTIAL_CONTENT,
        _ => StatusCode::OK,
    };
    let mut response = empty(status);
    push(&mut response, header::CONTENT_RANGE, content_range(offset, outcome.rows, outcome.total));
    Ok(response)
}

/// Returns the response to a change of rows.
fn of_change(request: &Request, mutation: &MutatePlan, outcome: &Outcome) -> Response {
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
    let mut response = empty(status);
    let range = match &mutation.change {
        Change::Insert { .. } => {
            if let Some(location) = location(mutation, outcome) {
                push(&mut response, header::LOCATION, location);
            }
            Some(content_range(0, 0, total))
        }
        Change::Update { .. } => Some(content_range(0, outcome.rows, total)),
        Change::Delete { .. } => Some(content_range(0, 0, total)),
        Change::Put { .. } => None,
    };
    if let Some(range) = range {
        push(&mut response, header::CONTENT_RANGE, range);
    }
    if is_full {
        return with_body(response, request, &mutation.body.media, outcome.body.clone());
    }
    response
}

/// Adds a header, unless it has a value that none can have: names of relations and schemas may hold anything.
fn push(response: &mut Response, name: HeaderName, value: impl TryInto<HeaderValue>) {
    if let Ok(value) = value.try_into() {
        response.headers_mut().insert(name, value);
    }
}

/// Returns `response` with a body of type `media` and the headers that describe it; without the body if only headers
/// are requested.
fn with_body(mut response: Response, request: &Request, media: &MediaType, body: Bytes) -> Response {
    if let Some(content_type) = media.content_type() {
        push(&mut response, header::CONTENT_TYPE, content_type);
    }
    if request.is_profile_negotiated {
        push(&mut response, HeaderName::from_static("content-profile"), request.schema.clone());
    }
    if !request.headers_only {
        response.set_body(body);
    }
    response
}

/// Applies `response.status`.
///
/// Errors: `PGRST112` for what is no status.
fn override_status(response: &mut Response, status: Option<&str>) -> Result<(), Error> {
    if let Some(status) = status {
        let code = status.parse().ok().and_then(|code| StatusCode::from_u16(code).ok());
        response.set_status(code.ok_or(Error::BadResponseStatus)?);
    }
    Ok(())
}

/// Applies `response.headers`, which replace headers of the same name.
///
/// Errors: `PGRST111`.
fn override_headers(response: &mut Response, overriding: Option<&str>) -> Result<(), Error> {
    let overriding = overriding.map(parse_headers).transpose()?.unwrap_or_default();
    let headers = response.headers_mut();
    for (name, _) in &overriding {
        headers.remove(name);
    }
    for (name, value) in overriding {
        headers.append(name, value);
    }
    Ok(())
}

/// Returns `response.headers`: a JSON array of objects, each with one key and a text.
///
/// Errors: `PGRST111` for anything else.
fn parse_headers(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
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
        assert_eq!(content_range(0, 10, None), "0-9/*");
        assert_eq!(content_range(20, 5, Some(25)), "20-24/25");
        assert_eq!(content_range(0, 0, None), "*/*");
        assert_eq!(content_range(0, 0, Some(0)), "*/0");
    }

    #[test]
    fn headers_of_functions_are_checked() {
        let found = parse_headers(r#"[{"Set-Cookie":"a=1"},{"Set-Cookie":"b=2"}]"#).unwrap();
        assert_eq!(found.len(), 2);
        for bad in [r#"{"a":"b"}"#, r#"[{"a":1}]"#, r#"[{"a":"b","c":"d"}]"#, r#"[{"a b":"c"}]"#, "x"] {
            assert_eq!(parse_headers(bad).unwrap_err().code(), "PGRST111", "{bad}");
        }
    }
}
