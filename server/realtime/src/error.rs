//! Errors of the HTTP interface.

use http::StatusCode;
use poem::error::ResponseError;
use poem::{Body, Response};
use serde_json::{Value, json};

use crate::token::TokenError;

/// An error of the HTTP interface. The texts are upstream's.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(crate) enum Error {
    /// No such route.
    #[error("not found")]
    NotFound,
    /// A header is longer than this many bytes.
    #[error("a request header is longer than {0} bytes (realtime.max_header_length)")]
    HeaderTooLarge(usize),
    /// The request is malformed: not a WebSocket handshake, an unknown version of the protocol, or not JSON.
    #[error("{0}")]
    BadRequest(&'static str),
    /// A handshake without an API key.
    #[error("API key is missing")]
    KeyMissing,
    /// A handshake with an invalid token.
    #[error("{0}")]
    Token(String),
    /// The limit of sockets is reached.
    #[error("Too many connected users")]
    TooManyUsers,
    /// The limit of joins per second is reached.
    #[error("Too many joins per second")]
    TooManyJoins,
    /// A request without a valid token.
    #[error("Unauthorized")]
    Unauthorized,
    /// A token that does not allow what a request asks for.
    #[error("Unauthorized")]
    Forbidden,
    /// The body has a type that is not supported.
    #[error("Unsupported Media Type. Use application/json or application/octet-stream")]
    UnsupportedMediaType,
    /// The body cannot be read or is too large.
    #[error("{0}")]
    Unprocessable(&'static str),
    /// The request to store a message is invalid.
    #[error("{0}")]
    InvalidPersist(String),
    /// The messages of a batch are invalid; the value says why, for each message.
    #[error("invalid messages")]
    InvalidMessages(Value),
    /// Too many messages.
    #[error("{0}")]
    TooManyRequests(&'static str),
}

impl Error {
    /// Returns the error of a handshake whose token is refused.
    pub(crate) fn of_handshake(error: &TokenError) -> Self {
        Self::Token(match error {
            TokenError::Expired(_) => "Token has expired".to_owned(),
            other => other.to_string(),
        })
    }

    fn body(&self) -> Value {
        match self {
            Self::InvalidMessages(errors) => json!({ "errors": { "messages": errors } }),
            Self::InvalidPersist(error) => json!({ "errors": { "persist": [error] } }),
            Self::Unauthorized | Self::Forbidden | Self::Unprocessable(_) | Self::TooManyRequests(_) => {
                json!({ "message": self.to_string() })
            }
            _ => json!({ "error": self.to_string() }),
        }
    }
}

impl ResponseError for Error {
    fn as_response(&self) -> Response {
        Response::builder()
            .status(self.status())
            .content_type("application/json; charset=utf-8")
            .body(Body::from_string(self.body().to_string()))
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::HeaderTooLarge(_) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::KeyMissing | Self::Token(_) | Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unprocessable(_) | Self::InvalidMessages(_) | Self::InvalidPersist(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::TooManyUsers | Self::TooManyJoins | Self::TooManyRequests(_) => {
                StatusCode::TOO_MANY_REQUESTS
            }
        }
    }
}
