//! The response that carries an object: its headers, its bytes or a part of them.

use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED,
    X_CONTENT_TYPE_OPTIONS,
};
use poem::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use poem::{Body, Request, Response};
use time::OffsetDateTime;
use tokens::Verified;

use crate::backend::Backend;
use crate::error::Error;
use crate::mime::DEFAULT_TYPE;
use crate::object_row::Object;
use crate::objects::Access;
use crate::range;
use crate::upload::DEFAULT_CACHE_CONTROL;
use crate::version_id::VersionId;
use crate::{coding, mime};

pub(crate) const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What `encodeURIComponent` leaves as it is.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Responds to `request` with `object`: all of it, the requested part, or 304 if the client's copy is still current.
///
/// HEAD has the headers of the whole, and ranges and conditions do not apply to it; but of a signed URL they are those
/// that GET would have, as upstream has it.
pub(crate) async fn object(
    backend: &Backend,
    request: &Request,
    object: &Object,
    access: Access,
) -> Result<Response, Error> {
    let mut response = Response::default();
    describe(response.headers_mut(), request, object);
    if let Some(codings) = coding::served(object.metadata.content_encoding.as_deref()) {
        insert(response.headers_mut(), CONTENT_ENCODING, codings);
    }
    if *request.method() == Method::HEAD && access != Access::Signature {
        response.headers_mut().insert(CONTENT_LENGTH, object.size.into());
        return Ok(response);
    }
    let etag = object.metadata.etag.as_deref().unwrap_or_default();
    if range::is_fresh(request.headers(), etag, object.metadata.last_modified) {
        response.set_status(StatusCode::NOT_MODIFIED);
        return Ok(response);
    }
    let (status, part) = select(response.headers_mut(), request.headers(), object)?;
    let body: Body = backend.read(object.version, part, object.size).await?;
    response.set_status(status);
    response.set_body(body);
    Ok(response)
}

/// Returns the status and the bytes of a response to a request with the headers `request`: all of `object` or a part.
/// Writes the headers that say which bytes they are.
///
/// Errors: [`Error::InvalidRange`].
pub(crate) fn select(
    response: &mut HeaderMap,
    request: &HeaderMap,
    object: &Object,
) -> Result<(StatusCode, Range<u64>), Error> {
    let (status, part) = match range::requested(request, object)? {
        Some(part) => {
            let content_range = format!("bytes {}-{}/{}", part.start, part.end - 1, object.size);
            insert(response, CONTENT_RANGE, &content_range);
            (StatusCode::PARTIAL_CONTENT, part)
        }
        None => (StatusCode::OK, 0..object.size),
    };
    response.insert(CONTENT_LENGTH, (part.end - part.start).into());
    Ok((status, part))
}

/// Returns the version that the query of `request` asks for, if it does.
///
/// Errors: [`Error::NoSuchKey`].
pub(crate) fn version(request: &Request) -> Result<Option<VersionId>, Error> {
    let query = request.uri().query().unwrap_or_default();
    let version = url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, version)| name == "versionId" && !version.is_empty());
    version.map(|(_, version)| VersionId::parse(&version)).transpose()
}

/// Writes the headers that all responses about `object` have.
pub(crate) fn describe(headers: &mut HeaderMap, request: &Request, object: &Object) {
    let metadata = &object.metadata;
    insert(headers, CONTENT_TYPE, served_type(metadata.mimetype.as_deref()));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    insert(headers, X_ROBOTS_TAG, metadata.x_robots_tag.as_deref().unwrap_or("none"));
    if let Some(etag) = &metadata.etag {
        insert(headers, ETAG, etag);
    }
    if let Some(date) = metadata.last_modified.and_then(range::http_date) {
        insert(headers, LAST_MODIFIED, &date);
    }
    insert(headers, CACHE_CONTROL, &cache_control(request, object));
    if let Some(disposition) = disposition(request.uri().query().unwrap_or_default()) {
        insert(headers, CONTENT_DISPOSITION, &disposition);
    }
}

/// Keeps browsers from running scripts in a response under the service's origin: every response of the service passes
/// here. Responses of inert types are left without a policy, unless `is_strict`, so that browsers show films and PDF.
///
/// Any page may embed objects: access depends on keys and tokens and never on cookies, so that a page that names an
/// object could also read it (decision 66).
pub(crate) fn confine(headers: &mut HeaderMap, is_strict: bool) {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if is_strict || !content_type.is_some_and(mime::is_inert) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
}

/// Inserts a header. A value that none can carry (a line break that users' SQL wrote, say) is left out.
pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Returns the type that an object is served as. Pages are served as plain text, as upstream has it.
fn served_type(stored: Option<&str>) -> &str {
    match stored.map_or(DEFAULT_TYPE, mime::served) {
        page if mime::is_page(page) => "text/plain",
        served => served,
    }
}

/// Returns `Cache-Control`. A cached copy that turns out to be outdated may be shown while the new one loads.
fn cache_control(request: &Request, object: &Object) -> String {
    let stored = object.metadata.cache_control.as_deref().unwrap_or(DEFAULT_CACHE_CONTROL);
    match request.headers().get(IF_NONE_MATCH).map(HeaderValue::as_bytes) {
        Some(known) if Some(known) != object.metadata.etag.as_deref().map(str::as_bytes) => {
            format!("{stored}, stale-while-revalidate=30")
        }
        _ => stored.to_owned(),
    }
}

/// Returns `Content-Disposition` for `?download` and `?download=name`.
fn disposition(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == "download").then_some(value)
    })?;
    let plus_as_space = value.replace('+', " ");
    let name = percent_encoding::percent_decode_str(&plus_as_space).decode_utf8_lossy();
    if name.is_empty() {
        return Some("attachment;".to_owned());
    }
    let encoded = utf8_percent_encode(&name, COMPONENT);
    Some(format!("attachment; filename={encoded}; filename*=UTF-8''{encoded}"))
}

/// Replaces the object's `Cache-Control` by `Expires`, so that caches do not keep the response beyond the life of the
/// token.
pub(crate) fn expire(response: &mut Response, token: &Verified) {
    let expires = token.expires_at().and_then(|time| OffsetDateTime::from_unix_timestamp(time).ok());
    if let Some(expires) = expires.and_then(range::http_date) {
        response.headers_mut().remove(CACHE_CONTROL);
        insert(response.headers_mut(), EXPIRES, &expires);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_have_the_requested_name() {
        assert_eq!(disposition("v=1"), None);
        assert_eq!(disposition("download").as_deref(), Some("attachment;"));
        assert_eq!(disposition("download=&v=1").as_deref(), Some("attachment;"));
        assert_eq!(
            disposition("v=1&download=a%20b.png").as_deref(),
            Some("attachment; filename=a%20b.png; filename*=UTF-8''a%20b.png")
        );
        let injected = disposition("download=a%0D%0AX:%201").unwrap();
        assert!(!injected.contains('\n'), "{injected}");
    }

    #[test]
    fn pages_are_served_as_text() {
        assert_eq!(served_type(Some("Text/HTML; charset=utf-8")), "text/plain");
        assert_eq!(served_type(Some("image/png")), "image/png");
        assert_eq!(served_type(None), DEFAULT_TYPE);
    }
}
