//! Runs one file in one transaction, under the migrations' lock.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::error::{Error, StatementError};
use super::split::{Statement, line_at, split};

/// Key of the advisory lock that every migration holds until its transaction ends: the ASCII codes of "basalt", then 1.
const LOCK: i64 = 0x6261_7361_6c74_0001;

/// Extensions that hosted Supabase makes in every project, so that every schema pulled from there asks for them, and
/// that stock Postgres does not have.
const HOSTED_EXTENSIONS: &[&str] = &["pg_graphql", "pg_net", "pgjwt", "pgsodium", "supabase_vault"];

/// How long migrations may wait and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For another process that is migrating the same database. Default: two minutes.
    pub turn: Duration,
    /// For a lock on a table that a statement needs; all that comes later waits behind it. Default: 30 seconds.
    pub lock: Duration,
    /// For the statements of one file. Default: ten minutes.
    pub file: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turn: Duration::from_secs(120), lock: Duration::from_secs(30), file: Duration::from_secs(600) }
    }
}

/// A file to be run: its name for messages, its text and its statements.
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) sql: &'a str,
    pub(super) statements: Vec<Statement<'a>>,
}

impl<'a> File<'a> {
    /// Errors: [`Error::Unsuitable`] with the line of what cannot be run.
    pub(super) fn parse(name: &'a str, sql: &'a str) -> Result<Self, Error> {
        let unsuitable = |offset, problem, hint: &str| Error::Unsuitable {
            file: name.to_owned(),
            line: line_at(sql, offset),
            problem,
            hint: hint.to_owned(),
        };
        let statements =
            split(sql).map_err(|refused| unsuitable(refused.offset, refused.problem, refused.hint))?;
        for statement in &statements {
            if transaction_control(statement) == TransactionControl::Foreign {
                return Err(unsuitable(
                    statement.first_token,
                    format!(
                        "{}, which would end or change the transaction that holds the whole file",
                        statement.words[0]
                    ),
                    "Remove it.",
                ));
            }
        }
        Ok(Self { name, sql, statements })
    }

    /// Runs the statements in order, and returns the hosted platform's extensions that they ask for and that this
    /// Postgres lacks.
    pub(super) async fn run(&self, transaction: &Transaction<'_>) -> Result<Vec<String>, Error> {
        let mut missing_extensions = Vec::new();
        for statement in &self.statements {
            if transaction_control(statement) == TransactionControl::Bracket {
                continue;
            }
            if let Some(extension) = hosted_extension(statement)
                && !is_available(transaction, extension).await?
            {
                missing_extensions.push(extension.to_owned());
                continue;
            }
            self.run_one(transaction, statement).await?;
        }
        Ok(missing_extensions)
    }

    async fn run_one(&self, transaction: &Transaction<'_>, statement: &Statement<'_>) -> Result<(), Error> {
        transaction.batch_execute(statement.text).await.map_err(|error| match error.as_db_error() {
            Some(refusal) => {
                Error::Statement(Box::new(StatementError::new(self.name, self.sql, statement, refusal)))
            }
            None => Error::Database { doing: "run a migration's statement", source: error },
        })
    }
}

/// The extension that `create extension if not exists …` asks for, if it is one that every hosted project has.
fn hosted_extension(statement: &Statement<'_>) -> Option<&'static str> {
    let words: Vec<&str> = statement.words.iter().take(5).map(String::as_str).collect();
    if words != ["CREATE", "EXTENSION", "IF", "NOT", "EXISTS"] {
        return None;
    }
    // The name may be quoted, and is then none of the words.
    let name =
        statement.text.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("exists")).nth(1)?;
    let name = name.trim_matches('"');
    HOSTED_EXTENSIONS.iter().copied().find(|hosted| *hosted == name)
}

async fn is_available(transaction: &Transaction<'_>, extension: &str) -> Result<bool, Error> {
    let sql = "select exists (select from pg_catalog.pg_available_extensions where name = $1)";
    let rows = transaction
        .query_typed(sql, &[(&extension, Type::TEXT)])
        .await
        .map_err(Error::database("look for an extension"))?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// Begins a transaction that holds the migrations' lock and whose waits are bounded.
///
/// The lock ends with the transaction, so that it works through a pooler that hands out connections per transaction.
/// Settings that earlier statements left on the connection are undone first.
pub(super) async fn begin<'a>(client: &'a mut Client, limits: &Limits) -> Result<Transaction<'a>, Error> {
    let transaction = client.transaction().await.map_err(Error::database("begin a migration"))?;
    let prepare = format!("reset all; set local lock_timeout = {}", milliseconds(limits.turn));
    transaction.batch_execute(&prepare).await.map_err(Error::database("begin a migration"))?;
    let locked = transaction.batch_execute(&format!("select pg_catalog.pg_advisory_xact_lock({LOCK})")).await;
    locked.map_err(|error| match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => Error::Busy(limits.turn),
        _ => Error::Database { doing: "wait for the migrations' lock", source: error },
    })?;
    let bounds = format!(
        "set local lock_timeout = {}; set local statement_timeout = {}",
        milliseconds(limits.lock),
        milliseconds(limits.file),
    );
    transaction.batch_execute(&bounds).await.map_err(Error::database("begin a migration"))?;
    Ok(transaction)
}

/// Undoes what a file's `set` statements left, so that what is recorded after it is recorded as the administrator,
/// and so that nothing outlives the commit on a connection that somebody else may use next.
pub(super) async fn restore_session(transaction: &Transaction<'_>) -> Result<(), Error> {
    transaction
        .batch_execute("reset session authorization; reset role; reset all")
        .await
        .map_err(Error::database("undo the settings of a migration"))
}

/// Runs `work` within the time that one file may take in all.
pub(super) async fn bounded<T>(
    file: &str,
    limits: &Limits,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let limit = limits.turn + limits.file;
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(Error::TooSlow { file: file.to_owned(), limit }),
    }
}

#[derive(PartialEq, Eq)]
enum TransactionControl {
    /// An ordinary statement.
    None,
    /// A plain `begin` or `commit`: the file is one transaction anyway.
    Bracket,
    /// Anything that would end the file's transaction or change its kind.
    Foreign,
}

fn transaction_control(statement: &Statement<'_>) -> TransactionControl {
    use TransactionControl::{Bracket, Foreign, None};
    let words: Vec<&str> = statement.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["BEGIN" | "COMMIT" | "END"] | ["BEGIN" | "COMMIT" | "END", "WORK" | "TRANSACTION"] => Bracket,
        ["START", "TRANSACTION"] => Bracket,
        ["ROLLBACK", "TO", ..] | ["ROLLBACK", "WORK" | "TRANSACTION", "TO", ..] => None,
        ["BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "ABORT", ..] => Foreign,
        ["START" | "PREPARE", "TRANSACTION", ..] => Foreign,
        _ => None,
    }
}

/// `duration` as Postgres takes time settings: whole milliseconds, at least one, since zero means no limit.
fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_bracket_itself_but_not_leave_its_transaction() {
        for fine in
            ["begin; select 1; commit;", "START TRANSACTION; END", "savepoint a; rollback to a; release a"]
        {
            assert!(File::parse("x.sql", fine).is_ok(), "{fine}");
        }
        for (foreign, line) in [
            ("select 1;\nrollback;", 2),
            ("begin isolation level serializable", 1),
            ("\n\nprepare transaction 'x'", 3),
        ] {
            let error = File::parse("x.sql", foreign).err().unwrap().to_string();
            assert!(error.starts_with(&format!("x.sql, line {line}: found ")), "{error}");
        }
    }
}
