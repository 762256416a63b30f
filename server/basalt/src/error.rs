//! Errors of commands. Every message says what was expected, what was found and what to do.

use std::fmt::Display;
use std::io;

/// A command's failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A setting is invalid.
    #[error("{0}")]
    Setting(#[from] settings::Invalid),
    /// The embedded Postgres does not run.
    #[error("{0}")]
    Cluster(#[from] embedded::Error),
    /// Migrations or the seed failed.
    #[error("{0}")]
    Migrate(#[from] migrations::Error),
    /// A statement or a connection failed.
    #[error("{0}")]
    Database(#[from] postgres::Error),
    /// The keys cannot be used.
    #[error("{0}")]
    Keys(#[from] tokens::KeyError),
    /// The site cannot be served.
    #[error("{0}")]
    Site(#[from] site::Error),
    /// A bucket of `config.toml` cannot be filled.
    #[error("bucket {bucket} cannot be set up: {source}")]
    Bucket {
        /// The bucket's name.
        bucket: String,
        /// The reason.
        source: storage::Error,
    },
    /// A service cannot be started.
    #[error("{service} cannot be started: {reason}")]
    Service {
        /// The service's name.
        service: &'static str,
        /// The reason.
        reason: String,
    },
    /// An operation of the system failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// The operation.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// A backup or a restore failed.
    #[error("{0}")]
    Backup(#[from] backup::Error),
    /// The operator has to do something; the message says what.
    #[error("{0}")]
    Advice(String),
}

impl Error {
    /// Wraps the reason why `service` cannot be started, for `map_err`.
    pub(crate) fn service<E: Display>(service: &'static str) -> impl FnOnce(E) -> Self {
        move |reason| Self::Service { service, reason: reason.to_string() }
    }

    /// Wraps an I/O error with the operation, for `map_err`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
