//! Errors, and their responses: a status and `{"message": …}`, as the Management API has them.

use std::borrow::Cow;

use http::StatusCode;
use poem::Response;
use poem::error::ResponseError;
use poem_openapi::payload::{Json, Payload};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, Object};
use serde_json::json;

/// What is said of a text that Postgres cannot have.
const UNWRITABLE: &str = "The character NUL cannot be part of a text";

/// Why a request is refused, or has failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The request cannot be answered as it is.
    Refused(StatusCode, Cow<'static, str>),
    /// SQL of the caller has failed.
    Sql(Box<postgres::ServerError>, String),
    /// The database cannot be reached, or has refused SQL of the server.
    Database(postgres::Error),
    /// Something else failed. The cause is for the log only.
    Internal(String),
}

impl Error {
    /// Returns the refusal (400) of a request that is not valid.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(StatusCode::BAD_REQUEST, message.into())
    }

    /// Returns the refusal (404) of a request for something that is not there.
    pub(crate) fn missing(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(StatusCode::NOT_FOUND, message.into())
    }

    /// Returns the refusal of a request without an access token that is valid.
    pub(crate) fn unauthorized() -> Self {
        Self::Refused(StatusCode::UNAUTHORIZED, "Unauthorized".into())
    }

    /// Returns the refusal (400) of a text with the character NUL, which texts of Postgres cannot have.
    pub(crate) fn unwritable() -> Self {
        Self::invalid(UNWRITABLE)
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Database(error) if is_unwritable(error) => StatusCode::BAD_REQUEST,
            Self::Refused(status, _) => *status,
            Self::Sql(error, _) if error.code == "57014" => StatusCode::REQUEST_TIMEOUT,
            Self::Sql(..) => StatusCode::BAD_REQUEST,
            Self::Database(postgres::Error::Timeout(_)) => StatusCode::REQUEST_TIMEOUT,
            Self::Database(postgres::Error::TooLarge(_)) => StatusCode::BAD_REQUEST,
            Self::Database(error) if error.is_unavailable() => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(postgres::Error::AcquireTimeout(_)) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(_) | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the message for the caller.
    pub(crate) fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Refused(_, message) => Cow::Borrowed(message),
            Self::Database(error) if is_unwritable(error) => UNWRITABLE.into(),
            Self::Sql(error, sql) => format!("Failed to run sql query: {}", described(error, sql)).into(),
            Self::Database(error @ (postgres::Error::Timeout(_) | postgres::Error::TooLarge(_))) => {
                format!("Failed to run sql query: {error}").into()
            }
            Self::Database(error) if error.is_unavailable() => "The database cannot be reached".into(),
            Self::Database(_) | Self::Internal(_) => "Internal Server Error".into(),
        }
    }

    /// Returns the sentence for an operator at the server itself.
    pub(crate) fn described(self) -> String {
        match self {
            Self::Database(error) => error.to_string(),
            other => other.message().into_owned(),
        }
    }

    /// Logs what the caller is not told.
    fn log(&self) {
        match self {
            Self::Database(error) if self.status().is_server_error() => {
                tracing::error!(%error, "the platform interface cannot use the database");
            }
            Self::Internal(cause) => tracing::error!(cause, "a request to the platform interface failed"),
            _ => {}
        }
    }

    /// Returns the response.
    pub(crate) fn into_response(self) -> Response {
        self.log();
        response(self.status(), &self.message())
    }
}

/// Returns the response of an error.
pub(crate) fn response(status: StatusCode, message: &str) -> Response {
    let builder = Response::builder().status(status).content_type("application/json; charset=utf-8");
    builder.body(json!({ "message": message }).to_string())
}

/// Returns an error of Postgres as psql shows it in its verbose mode, with the line of `sql` and a mark below the
/// position.
pub(crate) fn described(error: &postgres::ServerError, sql: &str) -> String {
    let mut text = format!("{}:  {}: {}\n", error.severity, error.code, error.message);
    if let Some((number, line, column)) = error.position.and_then(|position| located(sql, position)) {
        let head = format!("LINE {number}: ");
        let blanks = " ".repeat(head.chars().count() + column);
        text.push_str(&format!("{head}{line}\n{blanks}^\n"));
    }
    let more = [("DETAIL", &error.detail), ("HINT", &error.hint), ("CONTEXT", &error.context)];
    for (name, value) in more {
        if let Some(value) = value {
            text.push_str(&format!("{name}:  {value}\n"));
        }
    }
    text
}

/// Returns the number of the line with the character at `position` (from 1), the line, and the number of characters
/// before it in the line.
fn located(sql: &str, position: u32) -> Option<(usize, &str, usize)> {
    let position = usize::try_from(position).ok()?.checked_sub(1)?;
    let mut before = 0;
    for (index, line) in sql.split('\n').enumerate() {
        let length = line.chars().count();
        if position <= before + length {
            return Some((index + 1, line, position - before));
        }
        before += length + 1;
    }
    None
}

/// Reports whether Postgres refuses a value since it has the character NUL, which only a request can have brought:
/// `character_not_in_repertoire` and, in JSON, `untranslatable_character`.
fn is_unwritable(error: &postgres::Error) -> bool {
    error.server().is_some_and(|refusal| matches!(&*refusal.code, "22021" | "22P05"))
}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Error {}

impl ResponseError for Error {
    fn status(&self) -> StatusCode {
        Self::status(self)
    }

    fn as_response(&self) -> Response {
        self.log();
        response(self.status(), &self.message())
    }
}

/// An error.
#[derive(Object)]
struct ErrorBody {
    /// What is wrong, for people.
    message: String,
}

impl ApiResponse for Error {
    fn meta() -> MetaResponses {
        let described = |range: &str, description| MetaResponse {
            description,
            status: None,
            status_range: Some(range.to_owned()),
            content: vec![MetaMediaType {
                content_type: <Json<ErrorBody> as Payload>::CONTENT_TYPE,
                schema: ErrorBody::schema_ref(),
            }],
            headers: Vec::new(),
        };
        let client = "The request cannot be answered as it is";
        let server = "The server failed; the same request may succeed later";
        MetaResponses { responses: vec![described("4XX", client), described("5XX", server)] }
    }

    fn register(registry: &mut Registry) {
        ErrorBody::register(registry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_sql_shows_its_place() {
        let error = postgres::ServerError {
            severity: "ERROR".to_owned(),
            code: "42703".to_owned(),
            message: "column \"nope\" does not exist".to_owned(),
            position: Some(13),
            ..Default::default()
        };
        assert_eq!(
            described(&error, "select 1,\n  nope\nfrom pg_class"),
            "ERROR:  42703: column \"nope\" does not exist\nLINE 2:   nope\n          ^\n"
        );
    }
}
