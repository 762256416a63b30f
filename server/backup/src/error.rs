//! Why a backup or a restore did not work. Each message says what to do.

/// An error of backups.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operator has to do something; the message says what.
    #[error("{0}")]
    Advice(String),
    /// pgBackRest or Postgres failed.
    #[error("{0}")]
    Engine(#[from] embedded::Error),
    /// The target cannot be read or written.
    #[error("the target of backups: {0}")]
    Target(#[from] object_store::Error),
    /// The database cannot be asked.
    #[error("{0}")]
    Database(#[from] postgres::Error),
    /// A file of the backup is not what was written, or the key is not the one that it was written with.
    #[error("{0} in the backup is damaged, or was written with another key")]
    Damaged(String),
    /// The file system or the store of objects refused something.
    #[error("{0}")]
    Io(String),
}

impl Error {
    /// Wraps an error of the file system with what was done, for `map_err`.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io(format!("cannot {doing}: {error}"))
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}
