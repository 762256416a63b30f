//! The service on a port of its own, as the `postgrest` binary is: with CORS and a log line for each request, which are
//! otherwise the gateway's task.
//!
//! Source: PostgREST's documentation, "CORS" and "log-level".

use poem::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use poem::{Endpoint, Request, Response};

use crate::service::Rest;

/// The value of the `Server` header: the program, not the interface.
pub(crate) const NAME: &str = concat!("basalt/", env!("CARGO_PKG_VERSION"));

const METHODS: &str = "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD";
/// The headers that a preflight allows in addition to those that it requests.
const HEADERS: &str = "Accept, Accept-Language, Content-Language";
const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, \
                       Transfer-Encoding, Range-Unit";
const MAX_AGE: &str = "86400";

/// The service on a port of its own.
#[derive(Clone)]
pub struct Standalone(Rest);

impl Rest {
    /// Returns the endpoint for a port that clients reach directly.
    pub fn standalone(&self) -> Standalone {
        Standalone(self.clone())
    }
}

impl Endpoint for Standalone {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let configuration = self.0.current_configuration();
        let allowed_origin =
            AllowedOrigin::of(request.headers(), &configuration.settings.server_cors_allowed_origins);
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let mut response = match preflight(&request).filter(|_| allowed_origin.is_some()) {
            Some(response) => response,
            None => {
                let mut response = self.0.call(request).await?;
                if allowed_origin.is_some() {
                    insert(response.headers_mut(), header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
                }
                response
            }
        };
        if let Some(allowed_origin) = allowed_origin {
            allowed_origin.add_headers(response.headers_mut());
        }
        response.headers_mut().entry(header::SERVER).or_insert(HeaderValue::from_static(NAME));
        log(&method, &path, response.status());
        Ok(response)
    }
}

/// An origin whose scripts may read the response.
enum AllowedOrigin {
    /// Any origin is allowed.
    Any,
    /// This one is listed as allowed; its credentials may be sent.
    Listed(HeaderValue),
}

impl AllowedOrigin {
    /// Returns the origin that `headers` name; `None` if they name none, or one that is not `allowed`.
    fn of(headers: &HeaderMap, allowed: &[String]) -> Option<Self> {
        let origin = headers.get(header::ORIGIN)?;
        if allowed.is_empty() {
            return Some(Self::Any);
        }
        let is_listed = allowed.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
        is_listed.then(|| Self::Listed(origin.clone()))
    }

    /// Adds the headers of CORS that let its scripts read the response.
    fn add_headers(self, headers: &mut HeaderMap) {
        match self {
            Self::Any => insert(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
            Self::Listed(origin) => {
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                insert(headers, header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
            }
        }
    }
}

/// Returns the response to a preflight (Fetch standard, section 3.3.4); `None` for every other request.
fn preflight(request: &Request) -> Option<Response> {
    let requested = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?;
    if request.method() != Method::OPTIONS || !METHODS.split(", ").any(|method| method == requested) {
        return None;
    }
    let wanted = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let wanted = wanted.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let names = std::iter::once("Authorization")
        .chain(wanted.split(',').map(str::trim).filter(|name| !name.is_empty()))
        .chain([HEADERS]);
    let allowed = names.collect::<Vec<_>>().join(", ");
    let mut response = Response::builder().status(StatusCode::OK).finish();
    let headers = response.headers_mut();
    insert(headers, header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    insert(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, &allowed);
    insert(headers, header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(response)
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Logs a request, by its path alone: query strings hold what people search for.
fn log(method: &Method, path: &str, status: StatusCode) {
    let code = status.as_u16();
    match code {
        500.. => tracing::error!(target: "access", %method, path, status = code),
        400..500 => tracing::warn!(target: "access", %method, path, status = code),
        _ => tracing::info!(target: "access", %method, path, status = code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preflights_get_what_they_ask_for() {
        let request = |method: Method, requested: &str| {
            Request::builder()
                .method(method)
                .header("access-control-request-method", requested)
                .header("access-control-request-headers", "X-Client, Content-Type")
                .finish()
        };
        let response = preflight(&request(Method::OPTIONS, "POST")).unwrap();
        assert_eq!(
            response.header("access-control-allow-headers"),
            Some("Authorization, X-Client, Content-Type, Accept, Accept-Language, Content-Language")
        );
        assert_eq!(response.header("access-control-max-age"), Some("86400"));
        assert!(preflight(&request(Method::GET, "POST")).is_none());
        assert!(preflight(&request(Method::OPTIONS, "TRACE")).is_none());
    }

    #[test]
    fn origins_are_admitted_by_the_list() {
        let headers = |allowed: &[&str]| {
            let mut request = HeaderMap::new();
            request.insert(header::ORIGIN, HeaderValue::from_static("http://a.example"));
            let allowed: Vec<String> = allowed.iter().map(|origin| (*origin).to_owned()).collect();
            let mut response = HeaderMap::new();
            AllowedOrigin::of(&request, &allowed)?.add_headers(&mut response);
            Some(response)
        };
        assert_eq!(headers(&[]).unwrap()["access-control-allow-origin"], "*");
        let listed = headers(&["http://b.example", "http://a.example"]).unwrap();
        assert_eq!(listed["access-control-allow-origin"], "http://a.example");
        assert_eq!(listed["access-control-allow-credentials"], "true");
        assert!(headers(&["http://b.example"]).is_none());
    }
}
