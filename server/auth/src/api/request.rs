//! Headers, parameters and the caller of a request.

use gateway::Caller;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName};
use poem::Request;
use url::form_urlencoded;

use crate::Error;
use crate::store::model::client::{Client, RequestedHost};

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Returns what the gateway knows of who has sent the request.
///
/// Errors: 500 if there is no gateway.
pub(super) fn caller(request: &Request) -> Result<&Caller, Error> {
    request
        .extensions()
        .get()
        .ok_or_else(|| Error::Internal("there is no gateway in front of auth".to_owned()))
}

/// Returns the client that has sent the request.
pub(super) fn client(request: &Request) -> Result<Client<'_>, Error> {
    let headers = request.headers();
    let user_agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let requested_host = RequestedHost {
        host: gateway::requested_host(request),
        is_plain: header(headers, &FORWARDED_PROTO) == Some("http"),
    };
    Ok(Client { user_agent, address: caller(request)?.address, requested_host })
}

/// Returns the parameters of the query.
pub(super) fn query(request: &Request) -> impl Iterator<Item = (String, String)> {
    let query = request.uri().query().unwrap_or_default().as_bytes();
    form_urlencoded::parse(query).map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Returns the first value of a parameter of the query; empty if there is none.
pub(super) fn parameter(request: &Request, name: &str) -> String {
    query(request).find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
}

/// Returns the value of a header, unless it is missing, empty or not text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}
