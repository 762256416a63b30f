//! Errors of the communication with Postgres.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use postgres_protocol::message::backend::ErrorResponseBody;

/// A failure of the database. The variants differ in what the caller can do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A setting is invalid: a connection URI or a certificate. The message says what was expected.
    #[error("{0}")]
    Configuration(String),
    /// Postgres cannot be reached, is starting or is shutting down. Trying again later may help.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Postgres accepts no more connections (53300). Trying again later may help.
    #[error("the database is not available: {0}")]
    TooManyConnections(String),
    /// No connection became free in this time.
    #[error("no database connection became free within {0:?}")]
    AcquireTimeout(Duration),
    /// The transaction took longer than this and was cancelled.
    #[error("the transaction was cancelled after {0:?}")]
    Timeout(Duration),
    /// The rows that a text returned are more than this many bytes; its statement was cancelled.
    #[error("the result has more than {0} bytes")]
    TooLarge(usize),
    /// Postgres refused the transaction, which is rolled back.
    #[error("{0}")]
    Postgres(Box<ServerError>),
    /// Postgres sent something that the protocol does not allow here.
    #[error("unexpected answer from the database: {0}")]
    Protocol(String),
}

impl Error {
    /// Returns the error that Postgres reported, if it is [`Self::Postgres`].
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Postgres(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the SQLSTATE, or one word for an error that is not from Postgres, for counting errors by kind.
    pub fn kind(&self) -> &str {
        match self {
            Self::Configuration(_) => "configuration",
            Self::Unavailable(_) => "unavailable",
            Self::TooManyConnections(_) => "too_many_connections",
            Self::AcquireTimeout(_) => "pool_timeout",
            Self::Timeout(_) => "timeout",
            Self::TooLarge(_) => "too_large",
            Self::Postgres(error) => &error.code,
            Self::Protocol(_) => "protocol",
        }
    }

    /// Reports whether Postgres has not begun to work on the request, so that the same request may succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::TooManyConnections(_))
    }

    /// Reports whether the reason is a replication slot that another connection uses (SQLSTATE 55006). It is free when
    /// that connection ends.
    pub fn is_slot_active(&self) -> bool {
        self.server().is_some_and(|error| error.code == "55006")
    }

    /// Returns the error for what the wire protocol does not allow.
    pub fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol(what.into())
    }
}

/// An `ErrorResponse` of Postgres. Source: PostgreSQL documentation, section 55.8.
#[derive(Debug, Clone, Default, thiserror::Error)]
#[error("{severity} {code}: {message}")]
pub struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    pub severity: String,
    /// The SQLSTATE: five characters.
    pub code: String,
    /// The primary message.
    pub message: String,
    /// The secondary message, with more detail.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Character position (from 1) in the statement's text.
    pub position: Option<u32>,
    /// The call stack of PL/pgSQL functions.
    pub context: Option<String>,
    /// Schema of the object concerned.
    pub schema: Option<String>,
    /// Table concerned.
    pub table: Option<String>,
    /// Column concerned.
    pub column: Option<String>,
    /// Constraint violated.
    pub constraint: Option<String>,
}

impl ServerError {
    /// Returns the error that the server has sent.
    pub fn from_body(body: &ErrorResponseBody) -> Self {
        use fallible_iterator::FallibleIterator as _;
        let mut error = Self::default();
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'S' if error.severity.is_empty() => error.severity = value,
                b'V' => error.severity = value,
                b'C' => error.code = value,
                b'M' => error.message = value,
                b'D' => error.detail = Some(value),
                b'H' => error.hint = Some(value),
                b'P' => error.position = value.parse().ok(),
                b'W' => error.context = Some(value),
                b's' => error.schema = Some(value),
                b't' => error.table = Some(value),
                b'c' => error.column = Some(value),
                b'n' => error.constraint = Some(value),
                _ => {}
            }
        }
        error
    }

    /// Reports whether the server does not accept work now: connection exceptions (class 08), too many connections
    /// (53300), shutdown and start-up (57P01, 57P02, 57P03). These end the connection. The same codes with severity
    /// `ERROR` come from a server behind Postgres (that of a foreign table, for example) or are raised by a function.
    pub fn is_unavailable(&self) -> bool {
        let is_about_connections =
            self.code.starts_with("08") || matches!(&*self.code, "53300" | "57P01" | "57P02" | "57P03");
        is_about_connections && self.severity != "ERROR"
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        match error.is_unavailable() {
            true if error.code == "53300" => Self::TooManyConnections(error.to_string()),
            true => Self::Unavailable(error.to_string()),
            false => Self::Postgres(Box::new(error)),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Self::Protocol(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(db) = error.as_db_error() {
            let position = match db.position() {
                Some(tokio_postgres::error::ErrorPosition::Original(position)) => Some(*position),
                _ => None,
            };
            return ServerError {
                severity: db.severity().to_owned(),
                code: db.code().code().to_owned(),
                message: db.message().to_owned(),
                detail: db.detail().map(str::to_owned),
                hint: db.hint().map(str::to_owned),
                position,
                context: db.where_().map(str::to_owned),
                schema: db.schema().map(str::to_owned),
                table: db.table().map(str::to_owned),
                column: db.column().map(str::to_owned),
                constraint: db.constraint().map(str::to_owned),
            }
            .into();
        }
        let cause = error.source().map(ToString::to_string);
        let text = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
        if error.is_closed() || error.source().is_some_and(|s| s.is::<io::Error>()) {
            Self::Unavailable(text)
        } else {
            Self::Protocol(text)
        }
    }
}
