//! Everything that the relay in front of functions refuses.
//!
//! A body is `{code, message}`; `x-relay-error: true` makes functions-js raise a `FunctionsRelayError`, which tells
//! a failure of the platform from one of the function.

use http::StatusCode;
use poem::error::ResponseError;
use poem::{Body, Response};
use serde_json::json;

/// A refusal.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The path does not name a function.
    #[error("Missing function name in request: call /functions/v1/<name>")]
    MissingName,
    /// The project has no such function, or it is switched off.
    #[error("Requested function was not found")]
    NotFound,
    /// The function exists, but this release does not run functions; holds its name.
    #[error("Function \"{0}\" exists, but this release of Basalt does not run edge functions")]
    NotImplemented(String),
}

impl Error {
    const fn code(&self) -> &'static str {
        match self {
            Self::MissingName => "BAD_REQUEST",
            Self::NotFound => "NOT_FOUND",
            Self::NotImplemented(_) => "NOT_IMPLEMENTED",
        }
    }

    /// The answer.
    pub fn into_response(self) -> Response {
        let body = json!({ "code": self.code(), "message": self.to_string() });
        Response::builder()
            .status(self.status())
            .content_type("application/json")
            .header("x-relay-error", "true")
            .body(Body::from_string(body.to_string()))
    }
}

impl ResponseError for Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::MissingName => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NotImplemented(_) => StatusCode::NOT_IMPLEMENTED,
        }
    }
}
