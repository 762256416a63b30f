//! Errors of the service: codes, statuses and messages.
//!
//! A refusal is made from the table of codes where it is due: `Code::EmailExists.because("…")`. Refusals that
//! several flows share are functions in [`refusals`].

pub(crate) mod refusals;
mod table;
mod weak_password;

use std::borrow::Cow;

use http::StatusCode;
use postgres::ServerError;

pub(crate) use table::Code;
pub(crate) use weak_password::WeakPassword;

/// An error of this service. Clients compare the messages, so they must not change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A refusal that has one of upstream's error codes.
    #[error("{message}")]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The error code, for programs.
        code: Code,
        /// What went wrong, for people.
        message: Cow<'static, str>,
    },
    /// A password that is easily guessed (422 `weak_password`).
    #[error("{}", .0.message())]
    WeakPassword(WeakPassword),
    /// An OAuth-style refusal (RFC 6749, section 5.2), always 400.
    #[error("{description}")]
    OAuth {
        /// The standard's error code.
        error: &'static str,
        /// What a developer should know.
        description: Cow<'static, str>,
    },
    /// The database cannot be reached, or has refused a statement of this service. It is logged; the caller gets no
    /// details.
    #[error("{}", database_message(.error, .purpose))]
    Database {
        /// The reason.
        #[source]
        error: postgres::Error,
        /// What the statement was for, in upstream's words after "Database error".
        purpose: &'static str,
    },
    /// An internal error of this service, or of something that it depends on. It is logged; the caller gets no details.
    #[error("Unexpected failure, please check server logs for more information")]
    Internal(String),
}

impl Error {
    /// Returns an OAuth-style refusal.
    pub(crate) fn oauth(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self::OAuth { error, description: description.into() }
    }

    /// Returns the error with what the statement was for, if it is the database's.
    pub(crate) fn with_purpose(self, purpose: &'static str) -> Self {
        match self {
            Self::Database { error, .. } => Self::Database { error, purpose },
            other => other,
        }
    }

    /// Returns a 400 `validation_failed` with this message.
    pub(crate) fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Code::ValidationFailed.because(message)
    }

    /// Returns the error code for clients; `None` for OAuth-style errors, which have their own.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::WeakPassword(_) => Some(Code::WeakPassword),
            Self::OAuth { .. } => None,
            Self::Database { .. } | Self::Internal(_) => Some(Code::UnexpectedFailure),
        }
    }

    /// Returns the HTTP status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused { status, .. } => *status,
            Self::WeakPassword(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::OAuth { .. } => StatusCode::BAD_REQUEST,
            Self::Database { error, .. } if error.is_unavailable() => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database { .. } | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns what a trigger or a constraint of the project said, which is meant for the client, and with which
    /// status: 500, or nnn if it was raised with SQLSTATE `PTnnn`.
    pub(crate) fn raised(&self) -> Option<(StatusCode, &ServerError)> {
        let Self::Database { error, .. } = self else { return None };
        let server = error.server()?;
        let status = match server.code.as_str() {
            // raise_exception and the integrity constraint violations
            "P0001" | "23000" | "23001" | "23502" | "23503" | "23505" | "23514" | "23P01" => 500,
            other => other.strip_prefix("PT")?.parse().ok()?,
        };
        Some((StatusCode::from_u16(status).ok()?, server))
    }

    /// Returns whether a row was refused because the unique value `constraint` guards is taken.
    pub(crate) fn violates(&self, constraint: &str) -> bool {
        let Self::Database { error, .. } = self else { return false };
        error
            .server()
            .is_some_and(|server| server.code == "23505" && server.constraint.as_deref() == Some(constraint))
    }
}

/// A time-out of a lock becomes a conflict, a time-out of the database a time-out of the request.
impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        let state = error.server().map(|server| server.code.as_str());
        match (&error, state) {
            // lock_not_available, deadlock_detected, serialization_failure
            (_, Some("55P03" | "40P01" | "40001")) => refusals::conflict(),
            (postgres::Error::AcquireTimeout(_) | postgres::Error::Timeout(_), _) => {
                refusals::request_timeout()
            }
            _ => Self::Database { error, purpose: "querying schema" },
        }
    }
}

/// Settings that the service cannot work with here.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSettings(pub(crate) String);

fn database_message(error: &postgres::Error, purpose: &str) -> Cow<'static, str> {
    if error.is_unavailable() {
        "Database is not available, please retry".into()
    } else {
        format!("Database error {purpose}").into()
    }
}
