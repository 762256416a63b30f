//! Everything that the service refuses, as `{"error": …}`.

use http::StatusCode;
use poem::error::ResponseError;
use poem::{Body, Response};
use serde_json::json;

/// A refusal.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// No such route.
    #[error("not found")]
    NotFound,
    /// The route exists, but this release does not serve it.
    #[error("this release of Basalt does not carry realtime channels")]
    NotImplemented,
    /// A header is longer than this many bytes.
    #[error("a request header is longer than {0} bytes (realtime.max_header_length)")]
    HeaderTooLarge(usize),
}

impl Error {
    /// Returns the answer: status, headers and body.
    pub fn into_response(self) -> Response {
        let body = json!({ "error": self.to_string() });
        Response::builder()
            .status(self.status())
            .content_type("application/json; charset=utf-8")
            .body(Body::from_string(body.to_string()))
    }
}

impl ResponseError for Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::HeaderTooLarge(_) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }
}
