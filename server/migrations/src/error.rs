//! Errors of migrations. Messages name the file and the line to correct.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::error::{DbError, ErrorPosition};

use super::newer_dump;
use super::split::{Statement, line_at};
use crate::extensions;

/// The maximum number of characters of a statement that an error shows.
const EXCERPT: usize = 400;

/// Why migrations stopped. The files before the one that failed have been applied; nothing of the failed one has,
/// except as [`StatementError::applied`] says.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Postgres refused a statement of a file.
    #[error("{0}")]
    Statement(Box<StatementError>),
    /// A file contains something that cannot be run as part of a migration.
    #[error("{file}, line {line}: found {problem}. {hint} Nothing of this file was applied")]
    Unsuitable {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is on that line.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// A file of this binary's platform schema differs from the one that was applied to the database.
    #[error(
        "{file} of this program differs from the {file} that this database was created with. Use the release that \
             created the database or a later one; if its content is not needed, create it again with `basalt db reset`"
    )]
    PlatformChanged {
        /// The file's name.
        file: String,
    },
    /// Schemas of Supabase's own services are too old and cannot be updated by Basalt.
    #[error("{0}")]
    OutdatedSchemas(String),
    /// Two files have the same version.
    #[error(
        "{first} and {second} have the same version. Rename one of them: the digits before the first _ must differ"
    )]
    SameVersion {
        /// Name of one file.
        first: String,
        /// Name of the other file.
        second: String,
    },
    /// Another process held the migrations' lock for too long.
    #[error(
        "another process has been migrating this database for {0:?}. Wait for it; if there is none, look for an open \
         transaction that holds an advisory lock in pg_locks"
    )]
    Busy(Duration),
    /// A file took too long. What it had not committed was rolled back.
    #[error(
        "{file} was not done within {limit:?}, and what it had not committed was rolled back. Split it, or allow it more \
         time"
    )]
    TooSlow {
        /// The file's name.
        file: String,
        /// The limit.
        limit: Duration,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A login role that should get a password does not exist.
    #[error("role {0} does not exist: apply the platform's migrations first")]
    NoSuchRole(String),
    /// The connection broke, or a statement of the migrator itself failed.
    #[error("cannot {doing}: {}", describe(source))]
    Database {
        /// The operation.
        doing: &'static str,
        /// The client's or the server's error.
        source: tokio_postgres::Error,
    },
}

impl Error {
    /// Wraps a client error with the operation, for `map_err`.
    pub(super) fn database(doing: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |source| Self::Database { doing, source }
    }

    /// Adds that the file's statements up to the one at `line` have been applied and stay.
    pub(super) fn after(mut self, line: Option<usize>) -> Self {
        if let Self::Statement(error) = &mut self {
            error.applied = line;
        }
        self
    }
}

/// Describes an error on one line, with the server's message, which the client shows only as "db error".
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(server) => {
            let hint = server.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{} {}: {}{hint}", server.severity(), server.code().code(), server.message())
        }
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// A statement that Postgres refused, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementError {
    /// The file's name.
    pub file: String,
    /// The line in the file, from 1: of the position that Postgres reports, else of the statement's beginning.
    pub line: usize,
    /// The statement, shortened; empty if it may contain a password.
    pub statement: String,
    /// The SQLSTATE.
    pub code: String,
    /// The primary message.
    pub message: String,
    /// The secondary message, with more detail.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The call stack inside the server, of functions and `do` blocks.
    pub context: Option<String>,
    /// The line of the last statement of the file that has been applied and stays; `None` if there is none.
    pub applied: Option<usize>,
}

impl std::error::Error for StatementError {}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, line {}: ERROR {}: {}", self.file, self.line, self.code, self.message)?;
        for (label, text) in [("detail", &self.detail), ("hint", &self.hint), ("context", &self.context)] {
            if let Some(text) = text {
                writeln!(f, "  {label}: {}", text.replace('\n', "\n    "))?;
            }
        }
        if !self.statement.is_empty() {
            writeln!(f, "  statement: {}", self.statement.replace('\n', "\n    "))?;
        }
        match self.applied {
            None => write!(f, "  Nothing of this file was applied"),
            Some(line) => write!(
                f,
                "  The statements up to line {line} were applied and committed before that, and will be run again at the \
                 next attempt: undo them, or write them so that they can be run twice (if not exists)"
            ),
        }
    }
}

impl StatementError {
    pub(super) fn new(file: &str, sql: &str, statement: &Statement<'_>, error: &DbError) -> Self {
        let offset = match error.position() {
            Some(ErrorPosition::Original(position)) => {
                statement.offset + byte_offset(statement.text, *position)
            }
            // The position is one in a query that the server has generated, not in the file.
            Some(ErrorPosition::Internal { .. }) | None => statement.first_token,
        };
        Self {
            file: file.to_owned(),
            line: line_at(sql, offset),
            statement: excerpt(sql, statement),
            code: error.code().code().to_owned(),
            message: error.message().to_owned(),
            detail: error.detail().map(str::to_owned),
            hint: hint(error.code().code())
                .map(str::to_owned)
                .or_else(|| newer_dump::hint(statement, error.code().code()))
                .or_else(|| missing_extension(error).map(extensions::remedy))
                .or_else(|| error.hint().map(str::to_owned)),
            context: error.where_().filter(|_| !names_password(statement.text)).map(str::to_owned),
            applied: None,
        }
    }
}

/// Returns hints for errors that are caused by the way migrations are run, which Postgres does not know.
fn hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "25001" => {
            "Statements are run in a transaction as far as Postgres allows, and this one was not recognized as one that \
             cannot run inside one. Run it by hand with psql."
        }
        "55P04" => {
            "A new value of an enum can be used once it is committed: write commit; between the statement that adds it and \
             this one, or split the file in two."
        }
        "55P03" => "Another session held a lock on the table for too long. Try again when it is idle.",
        "57014" => "The statement took longer than a migration may. Split it, or allow more time.",
        _ => return None,
    })
}

/// Returns the name of the extension that the server does not have, if that is the error.
fn missing_extension(error: &DbError) -> Option<&str> {
    error.message().strip_prefix("extension \"")?.strip_suffix("\" is not available")
}

/// Returns the byte offset in `text` of Postgres' `position`, which counts characters from 1.
fn byte_offset(text: &str, position: u32) -> usize {
    let index = usize::try_from(position).unwrap_or(1).saturating_sub(1);
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

/// Reports whether `text` may contain a password.
fn names_password(text: &str) -> bool {
    text.to_ascii_lowercase().contains("password")
}

fn excerpt(sql: &str, statement: &Statement<'_>) -> String {
    let end = statement.offset + statement.text.len();
    let text = sql.get(statement.first_token..end).unwrap_or(statement.text);
    if names_password(text) {
        return String::new();
    }
    match text.char_indices().nth(EXCERPT) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
