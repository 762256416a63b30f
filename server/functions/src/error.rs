//! The refusals of calls, and the failures of functions.
//!
//! The body is `{code, message}`, and the code is in the header `sb-error-code`, too. `x-relay-error: true` makes
//! functions-js raise a `FunctionsRelayError`, which distinguishes a failure of the platform from one of the function.
//!
//! Source: Supabase's guides "Error codes" and "Status codes" of edge functions.

use std::time::Duration;

use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use poem::Response;
use serde_json::json;

use crate::deno::NoDeno;

/// The header with the code of a failure.
pub(crate) const SB_ERROR_CODE: HeaderName = HeaderName::from_static("sb-error-code");
const X_RELAY_ERROR: HeaderName = HeaderName::from_static("x-relay-error");

/// A refusal.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// The project has no such function, or it is disabled, or the path has no function's name.
    #[error("Requested function was not found")]
    NotFound,
    /// Functions cannot be called with this method.
    #[error("Method Not Allowed")]
    Method,
    /// The function needs a token, and the call has none.
    #[error("Missing authorization header")]
    NoAuthorization,
    /// `Authorization` does not contain a token.
    #[error("Invalid JWT format")]
    TokenFormat,
    /// The project has no key for the token's algorithm.
    #[error("Unsupported JWT algorithm {0}")]
    TokenAlgorithm(String),
    /// The token, signed with the shared secret, is not valid.
    #[error("Invalid JWT")]
    LegacyToken,
    /// The token, signed with a signing key, is not valid.
    #[error("Invalid JWT")]
    AsymmetricToken,
    /// The body of the call breaks off, or is not encoded as HTTP has it.
    #[error("Request body is malformed or incomplete")]
    Body,
    /// There is no Deno to run functions with.
    #[error("{0}")]
    NoDeno(#[from] NoDeno),
    /// The function did not become ready. Holds the time until it may be started again.
    #[error("Function failed to start (please check logs)")]
    Boot(Duration),
    /// The function's process ended while it had the call.
    #[error("Function exited due to an error (please check logs)")]
    Worker,
    /// The function was ended because it used too much memory or processor time.
    #[error("Function failed due to not having enough compute resources (please check logs)")]
    Resources,
    /// The queue of waiting calls is full.
    #[error("Function has too many calls at the same time; try again later")]
    Busy,
    /// The function's response did not begin in time.
    #[error("Request idle timeout limit ({}s) reached", .0.as_secs_f64())]
    Idle(Duration),
    /// Another version, or another configuration, has taken the place of the process that the call was for.
    #[error("Function has changed; try again")]
    Replaced,
    /// The server is stopping.
    #[error("The server is shutting down; try again later")]
    Stopping,
}

impl Error {
    /// Returns the code: the hosted platform's, if it has one for this failure.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::Method => "METHOD_NOT_ALLOWED",
            Self::NoAuthorization => "UNAUTHORIZED_NO_AUTH_HEADER",
            Self::TokenFormat => "UNAUTHORIZED_INVALID_JWT_FORMAT",
            Self::TokenAlgorithm(_) => "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM",
            Self::LegacyToken => "UNAUTHORIZED_LEGACY_JWT",
            Self::AsymmetricToken => "UNAUTHORIZED_ASYMMETRIC_JWT",
            Self::Body => "BAD_REQUEST",
            Self::NoDeno(_) | Self::Boot(_) | Self::Replaced | Self::Stopping => "BOOT_ERROR",
            Self::Worker => "WORKER_ERROR",
            Self::Resources => "WORKER_RESOURCE_LIMIT",
            Self::Busy => "WORKER_LIMIT",
            Self::Idle(_) => "IDLE_TIMEOUT",
        }
    }

    /// Returns the HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Body => StatusCode::BAD_REQUEST,
            Self::NoDeno(_) | Self::Boot(_) | Self::Replaced | Self::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Worker => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Idle(_) => StatusCode::GATEWAY_TIMEOUT,
            // A status of the hosted platform, which no standard defines.
            Self::Resources | Self::Busy => {
                StatusCode::from_u16(546).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
            }
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns the response: status, headers and body.
    pub(crate) fn into_response(self) -> Response {
        let status = self.status();
        let message = self.to_string();
        let mut body = json!({ "code": self.code(), "message": message });
        if status == StatusCode::UNAUTHORIZED {
            // Older clients read the message here.
            body["msg"] = json!(message);
        }
        let mut response = Response::builder()
            .status(status)
            .content_type("application/json")
            .header(SB_ERROR_CODE, self.code())
            .header(ACCESS_CONTROL_ALLOW_ORIGIN, "*")
            .header(ACCESS_CONTROL_EXPOSE_HEADERS, "sb-error-code, x-relay-error")
            .header(X_RELAY_ERROR, "true");
        match self {
            Self::Boot(wait) if !wait.is_zero() => {
                response = response.header(RETRY_AFTER, wait.as_secs_f64().ceil().to_string());
            }
            Self::Busy => response = response.header(RETRY_AFTER, "1"),
            _ => {}
        }
        response.body(body.to_string())
    }
}
