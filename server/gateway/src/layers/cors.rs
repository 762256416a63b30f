//! Cross-origin requests, which are allowed from every origin, as by Supabase's gateway: access depends on keys and
//! tokens, never on cookies, so no origin has to be excluded.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_LENGTH, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use poem::{Request, Response};

const METHODS: HeaderValue = HeaderValue::from_static("GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT");
const ANY: HeaderValue = HeaderValue::from_static("*");
/// Seconds that a browser may cache the response: the same number as PostgREST's.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// Returns the response to a preflight (Fetch standard, section 3.3.4), which allows everything that it requests;
/// `None` for every other request.
pub fn preflight(request: &Request) -> Option<Response> {
    if request.method() != Method::OPTIONS {
        return None;
    }
    let headers = request.headers();
    if !headers.contains_key(ORIGIN) || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::builder().status(StatusCode::OK).finish();
    let response_headers = response.headers_mut();
    response_headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    response_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    response_headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response_headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    if let Some(requested) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        // Repeated from the request rather than listed: future clients may send headers that are not known today.
        response_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
        response_headers.insert(VARY, HeaderValue::from(ACCESS_CONTROL_REQUEST_HEADERS));
    }
    Some(response)
}

/// Who responds to cross-origin requests to a service.
pub(super) enum Cors {
    /// The gateway. Scripts of any origin may read the response, and those of its headers that this value names.
    Exposing(HeaderValue),
    /// The service itself: it responds to preflights, and sets the headers of its responses.
    Service,
}

impl Default for Cors {
    fn default() -> Self {
        Self::Exposing(ANY)
    }
}

impl Cors {
    /// Returns the response to `request` if it is a preflight that the gateway handles.
    pub(super) fn preflight(&self, request: &Request) -> Option<Response> {
        match self {
            Self::Exposing(_) => preflight(request),
            Self::Service => None,
        }
    }

    /// Lets scripts of other origins read a response with these `headers`.
    pub(super) fn admit(&self, headers: &mut HeaderMap) {
        if let Self::Exposing(exposed) = self {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone());
        }
    }
}
