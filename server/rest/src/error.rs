//! Every error of the service. What each of them says is in one table, the module `table`.
//!
//! Source: PostgREST's documentation, "Errors".

mod server_error;
mod similarity;
mod table;

use std::borrow::Cow;

use http::StatusCode;
use serde_json::{Value, json};

pub(crate) use similarity::{closest, closest_inexact};

use crate::schema_cache::{Function, Relationship};
use crate::settings::Verbosity;

/// Why a request was refused or failed.
#[derive(Debug)]
pub enum Error {
    /// `PGRST000`: no connection to the database.
    Unreachable(String),
    /// `PGRST001`: the database replied with something that makes no sense.
    Client(String),
    /// `PGRST002`: the schema cache was never loaded.
    NoSchemaCache,
    /// `PGRST003`: no connection became free in time.
    AcquireTimeout,
    /// `21000`: a change or deletion, as SQL calls it, of all rows of a relation.
    NoFilter(&'static str),
    /// `57014`: the transaction took too long and was cancelled from here.
    Timeout(std::time::Duration),
    /// `PGRST100`: a parameter's value does not follow the grammar.
    Syntax {
        /// What could not be parsed, and where.
        message: String,
        /// What stood there, and what was expected.
        details: String,
    },
    /// `PGRST101`: the method cannot call functions.
    InvalidRpcMethod(String),
    /// `PGRST102`: the body cannot be read.
    InvalidBody(String),
    /// `PGRST102` with status 413: the body is larger than this many bytes.
    BodyTooLarge(usize),
    /// `PGRST103`: there is no such range of rows.
    InvalidRange(RangeError),
    /// `PGRST105`: PUT needs exactly the primary key's columns as filters.
    InvalidPutFilters,
    /// `PGRST106`: the schema is not exposed.
    UnacceptableSchema {
        /// The requested schema.
        schema: String,
        /// Those that are exposed.
        exposed: Vec<String>,
    },
    /// `PGRST107`: no media type that the client accepts can be given.
    NotAcceptable(Vec<String>),
    /// `PGRST108`: a filter, order or limit is meant for something that is not embedded.
    NotEmbedded {
        /// The name used.
        name: String,
        /// The alias that has to be used instead, if it is embedded under one.
        alias: Option<String>,
    },
    /// `PGRST111`: a function set bad response headers.
    BadResponseHeaders,
    /// `PGRST112`: a function set a bad response status.
    BadResponseStatus,
    /// `PGRST114`: PUT takes no limit or offset.
    PutLimitNotAllowed,
    /// `PGRST115`: PUT's payload has another primary key than its filters.
    PutKeyMismatch,
    /// `PGRST116`: not exactly one row where one was requested.
    NotSingular(u64),
    /// `PGRST117`: the method is not known here.
    UnsupportedMethod(String),
    /// `PGRST118`: ordering by an embed that may have several rows.
    RelatedOrderNotToOne {
        /// The relation ordered.
        origin: String,
        /// The embed.
        target: String,
    },
    /// `PGRST122`: unknown preferences with `handling=strict`.
    InvalidPreferences(Vec<String>),
    /// `PGRST123`: aggregates are disabled.
    AggregatesNotAllowed,
    /// `PGRST124`: more rows would change than `max-affected` allows.
    MaxAffectedExceeded(u64),
    /// `PGRST125`: the path leads nowhere.
    InvalidPath,
    /// `PGRST126`: the root has no document.
    RootDisabled,
    /// `PGRST127`: the request is for something that PostgREST does not support; holds what.
    NotImplemented(&'static str),
    /// `PGRST128`: `max-affected` on a function that gives one row.
    MaxAffectedOnSingle,
    /// `PGRST200`: no relationship between two relations.
    NoRelationship {
        /// The relation embedded into.
        parent: String,
        /// The relation to embed.
        child: String,
        /// The hint given.
        hint: Option<String>,
        /// The schema searched.
        schema: String,
        /// A name that is near.
        suggestion: Option<String>,
    },
    /// `PGRST201`: several relationships between two relations.
    AmbiguousRelationship {
        /// The relation embedded into.
        parent: String,
        /// The relation to embed.
        child: String,
        /// Those that were found.
        candidates: Vec<std::sync::Arc<Relationship>>,
    },
    /// `42712`: two embeds go by one name.
    DuplicateEmbed {
        /// The relation embedded into.
        parent: String,
        /// The name.
        name: String,
        /// How deep the embeds are.
        depth: usize,
    },
    /// `PGRST202`: no function of that name with those parameters.
    NoFunction(Box<NoFunction>),
    /// `PGRST203`: several functions of that name with those parameters.
    AmbiguousFunction(Vec<Function>),
    /// `PGRST204`: no such column.
    NoColumn {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
    },
    /// `PGRST205`: no such relation.
    NoTable {
        /// The schema.
        schema: String,
        /// The relation.
        name: String,
        /// A name that is near.
        suggestion: Option<String>,
    },
    /// `PGRST300` to `PGRST303`: the caller is not known.
    Jwt(JwtError),
    /// An error of Postgres itself, under its SQLSTATE.
    Postgres {
        /// What Postgres said.
        error: Box<postgres::ServerError>,
        /// Whether the caller is more than the anonymous role: then the status is 403, else 401.
        is_authenticated: bool,
    },
}

/// How a schema cache that is not fresh may have led to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// A name, or the type of a value, is not as the cache has it.
    NotKnown,
    /// Postgres refused names or types that came from the cache.
    Refused,
}

/// What is wrong with a range.
#[derive(Debug)]
pub enum RangeError {
    /// `limit` is negative, or the query's and the header's ranges have no row in common.
    NegativeLimit,
    /// The `Range` header ends before it begins.
    LowerAboveUpper,
    /// The first requested row is beyond the last.
    OutOfBounds {
        /// The first requested row.
        offset: i64,
        /// How many there are.
        total: i64,
    },
}

/// A function that was not found.
#[derive(Debug)]
pub struct NoFunction {
    /// The schema searched.
    pub schema: String,
    /// The function's name.
    pub name: String,
    /// The names of the arguments given.
    pub arguments: Vec<String>,
    /// The type of the single unnamed parameter that the body could have been meant for.
    pub unnamed: Option<&'static str>,
    /// A call that is near.
    pub suggestion: Option<String>,
}

/// Why the caller is not known.
#[derive(Debug)]
pub enum JwtError {
    /// `PGRST301`: the token cannot be verified.
    Undecodable {
        /// What is wrong with it.
        message: String,
        /// More about it.
        details: Option<String>,
    },
    /// `PGRST300`: there is a token, but no key to verify it with.
    NoKey,
    /// `PGRST302`: there is no token, and no anonymous role.
    Required,
    /// `PGRST303`: its claims refuse it.
    Claims(String),
}

impl Error {
    /// Returns its code: `PGRSTxxx`, an SQLSTATE, or what the database raised.
    pub fn code(&self) -> Cow<'static, str> {
        self.entry().code
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.entry().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns what went wrong.
    pub fn message(&self) -> Cow<'static, str> {
        self.entry().message
    }

    /// Returns more about what went wrong.
    pub fn details(&self) -> Option<Value> {
        self.entry().details
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        self.entry().hint
    }

    /// Returns what the status line says behind the status, where a function has raised that. HTTP/2 has no such thing.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Postgres { error, .. } => server_error::reason(error),
            _ => None,
        }
    }

    /// Returns the body: `{code, message, details, hint}`.
    pub fn body(&self, verbosity: Verbosity) -> String {
        let line = self.entry();
        let body = match verbosity {
            Verbosity::Verbose => json!({
                "code": line.code, "message": line.message, "details": line.details, "hint": line.hint
            }),
            Verbosity::Minimal => json!({ "code": line.code, "message": line.message }),
        };
        body.to_string()
    }

    /// Returns the headers that belong to this error alone. Source: RFC 6750, section 3, for `WWW-Authenticate`.
    pub fn headers(&self) -> Vec<(String, String)> {
        let challenge = |value: String| vec![("www-authenticate".to_owned(), value)];
        match self {
            Self::Jwt(JwtError::Required) => challenge("Bearer".to_owned()),
            // No other token would do.
            Self::Jwt(JwtError::NoKey) => Vec::new(),
            Self::Jwt(_) => challenge(format!(
                "Bearer error=\"invalid_token\", error_description={}",
                Value::from(self.message().into_owned())
            )),
            // RFC 9110, section 15.5.17, asks for the number of rows.
            Self::InvalidRange(RangeError::OutOfBounds { total, .. }) => {
                vec![("content-range".to_owned(), format!("*/{total}"))]
            }
            Self::Postgres { error, .. } => match server_error::raised_headers(error) {
                Some(headers) => headers,
                None if self.status() == StatusCode::UNAUTHORIZED => challenge("Bearer".to_owned()),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Reports whether Postgres refused a value: data exceptions, and values beyond its limits (SQLSTATE classes 22 and
    /// 54).
    pub(crate) fn is_about_values(&self) -> bool {
        matches!(self, Self::Postgres { error, .. } if error.code.starts_with("22") || error.code.starts_with("54"))
    }

    /// Reports whether a schema cache that is not fresh would explain it, and how.
    pub(crate) fn suspects_catalog(&self) -> Option<Suspicion> {
        match self {
            Self::NoFunction(_)
            | Self::NoTable { .. }
            | Self::NoColumn { .. }
            | Self::NoRelationship { .. }
            | Self::AmbiguousFunction(_)
            | Self::AmbiguousRelationship { .. } => Some(Suspicion::NotKnown),
            Self::Postgres { error, .. } => match error.code.get(..2)? {
                // Privileges are not in the cache.
                "42" if error.code != "42501" => Some(Suspicion::Refused),
                // An error with a context was raised inside a function.
                "22" if error.context.is_none() => Some(Suspicion::NotKnown),
                // An object was dropped between binding and executing the statement. This message is never translated.
                "XX" if error.message.starts_with("cache lookup failed for") => Some(Suspicion::Refused),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reports whether Postgres did not know which function a statement calls, as opposed to one that a function
    /// calls: only the former has a place in the statement's own text.
    pub(crate) fn is_ambiguous_call(&self) -> bool {
        matches!(self, Self::Postgres { error, .. } if error.code == "42725" && error.position.is_some())
    }

    /// Turns a failure of the database into an error, as seen by a caller that is authenticated or anonymous.
    pub(crate) fn from_database(error: postgres::Error, is_authenticated: bool) -> Self {
        match error {
            postgres::Error::Postgres(error) => {
                server_error::guard(&error).unwrap_or(Self::Postgres { error, is_authenticated })
            }
            postgres::Error::AcquireTimeout(_) => Self::AcquireTimeout,
            postgres::Error::Timeout(after) => Self::Timeout(after),
            postgres::Error::Protocol(why) => Self::Client(why),
            error => Self::Unreachable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use postgres::ServerError;

    use super::*;

    #[test]
    fn errors_of_dropped_objects_are_recognized() {
        let suspicion = |code: &str, message: &str| {
            let error =
                ServerError { code: code.to_owned(), message: message.to_owned(), ..Default::default() };
            Error::Postgres { error: Box::new(error), is_authenticated: true }.suspects_catalog()
        };
        assert!(matches!(
            suspicion("XX000", "cache lookup failed for function 41143"),
            Some(Suspicion::Refused)
        ));
        assert!(suspicion("XX000", "invalid memory alloc request size").is_none());
        assert!(suspicion("42501", "permission denied for table t").is_none());
    }
}
