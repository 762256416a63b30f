//! Responses to errors, in their two formats.

use std::time::Duration;

use gateway::Caller;
use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue, StatusCode};
use poem::error::ResponseError;
use poem::{Endpoint, PathPattern, Request, Response};
use postgres::ServerError;
use serde_json::json;

use crate::error::refusals;
use crate::{Code, Error};

const API_VERSION: HeaderName = HeaderName::from_static("x-supabase-api-version");
const ERROR_CODE: HeaderName = HeaderName::from_static("x-sb-error-code");

/// The version of the interface that a client requests in header `X-Supabase-Api-Version`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApiVersion {
    Initial,
    V20240101,
}

impl ApiVersion {
    /// Returns the newest version that is not newer than the requested date; the initial one for anything else.
    fn of(request: &Request) -> Self {
        let date = request.headers().get(API_VERSION).map_or(&b""[..], HeaderValue::as_bytes);
        let shape = b"dddd-dd-dd";
        let is_date = date.len() == shape.len()
            && date
                .iter()
                .zip(shape)
                .all(|(byte, kind)| if *kind == b'd' { byte.is_ascii_digit() } else { byte == kind });
        // Dates of this form sort as text.
        if is_date && date >= &b"2024-01-01"[..] { Self::V20240101 } else { Self::Initial }
    }
}

/// Wraps the routes: limits the time of a request and turns errors into responses.
pub(super) struct ErrorResponses<E> {
    timeout: Duration,
    routes: E,
}

impl<E> ErrorResponses<E> {
    pub(super) fn new(timeout: Duration, routes: E) -> Self {
        Self { timeout, routes }
    }
}

impl<E: Endpoint<Output = Response>> Endpoint for ErrorResponses<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let version = ApiVersion::of(&request);
        let id = request.extensions().get::<Caller>().map(|caller| caller.request_id.to_string());
        let outcome = tokio::time::timeout(self.timeout, self.routes.call(request)).await;
        let mut route = None;
        let error = match outcome {
            Err(_) => refusals::request_timeout(),
            Ok(Ok(response)) => return Ok(response),
            // Other errors are poem's, for an unknown route or method. Upstream responds to these without JSON, too.
            Ok(Err(other)) => {
                route = other.data::<PathPattern>().cloned();
                other.downcast::<Error>()?
            }
        };
        let mut response = render(&error, version, id.as_deref());
        if let Some(route) = route {
            // For traces.
            response.set_data(route);
        }
        Ok(response)
    }
}

/// Logs an error of the server, for responses that [`ErrorResponses`] does not create.
pub(super) fn log(error: &Error, request: &Request) {
    let id = request.extensions().get::<Caller>().map(|caller| caller.request_id.to_string());
    log_as(error, id.as_deref());
}

fn log_as(error: &Error, request_id: Option<&str>) {
    if !error.status().is_server_error() {
        return;
    }
    let cause = match error {
        Error::Database { error, .. } => error.to_string(),
        Error::Internal(cause) => cause.clone(),
        _ => String::new(),
    };
    let code = error.code().map(Code::name).unwrap_or_default();
    tracing::error!(request_id, code, %cause, "{error}");
}

fn render(error: &Error, version: ApiVersion, request_id: Option<&str>) -> Response {
    let (status, message) = (error.status(), error.to_string());
    let code = error.code().map(Code::name).unwrap_or_default();
    log_as(error, request_id);
    if let (Some((status, raised)), ApiVersion::Initial) = (error.raised(), version) {
        return render_raised(status, raised);
    }
    let mut body = match (error, version) {
        (Error::OAuth { error, description }, _) if description.is_empty() => json!({ "error": error }),
        (Error::OAuth { error, description }, _) => {
            json!({ "error": error, "error_description": description })
        }
        (_, ApiVersion::V20240101) => json!({ "code": code, "message": message }),
        (_, ApiVersion::Initial) => json!({ "code": status.as_u16(), "error_code": code, "msg": message }),
    };
    if let Error::WeakPassword(weakness) = error {
        body["weak_password"] = json!({ "reasons": weakness.reasons() });
    }
    if version == ApiVersion::Initial && status.is_server_error() {
        body["error_id"] = json!(request_id);
    }
    let mut response =
        Response::builder().status(status).content_type("application/json").body(body.to_string());
    let headers = response.headers_mut();
    if !code.is_empty() {
        headers.insert(ERROR_CODE, HeaderValue::from_static(code));
    }
    if version == ApiVersion::V20240101 {
        headers.insert(API_VERSION, HeaderValue::from_static("2024-01-01"));
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Returns the response for an error that the project's own SQL has raised, with Postgres' fields.
fn render_raised(status: StatusCode, raised: &ServerError) -> Response {
    let mut body = json!({ "code": raised.code, "message": raised.message });
    for (member, text) in [("hint", &raised.hint), ("detail", &raised.detail)] {
        if let Some(text) = text {
            body[member] = json!(text);
        }
    }
    Response::builder().status(status).content_type("application/json").body(body.to_string())
}

impl ResponseError for Error {
    fn status(&self) -> StatusCode {
        Self::status(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_away_is_worth_another_attempt() {
        let away = Error::from(postgres::Error::Unavailable("no server".to_owned()));
        for version in [ApiVersion::Initial, ApiVersion::V20240101] {
            let response = render(&away, version, None);
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[RETRY_AFTER], "1");
            let refused = render(&refusals::conflict(), version, None);
            assert!(!refused.headers().contains_key(RETRY_AFTER));
        }
    }
}
