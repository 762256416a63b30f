//! Why a command failed. Every message says what was expected, what was found and what to do.

use std::io;

use database::{cluster, migrate};

/// A command's failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(#[from] settings::Invalid),
    /// The embedded Postgres does not run.
    #[error("{0}")]
    Cluster(#[from] cluster::Error),
    /// Migrations or the seed stopped.
    #[error("{0}")]
    Migrate(#[from] migrate::Error),
    /// The database did not do as asked.
    #[error("{0}")]
    Database(#[from] database::Error),
    /// The keys cannot be used.
    #[error("{0}")]
    Keys(#[from] tokens::KeyError),
    /// The site cannot be served.
    #[error("{0}")]
    Site(#[from] site::Error),
    /// A bucket of `config.toml` cannot be filled.
    #[error("bucket {bucket} cannot be set up: {source}")]
    Bucket {
        /// Its name.
        bucket: String,
        /// Why.
        source: storage::Error,
    },
    /// A service cannot be started.
    #[error("{service} cannot be started: {reason}")]
    Service {
        /// Its name.
        service: &'static str,
        /// Why.
        reason: String,
    },
    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// Its reason.
        source: io::Error,
    },
    /// Something that a person has to mend; the message says how.
    #[error("{0}")]
    Advice(String),
}

impl Error {
    /// Wraps an I/O error with what was being done, for `map_err`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}
