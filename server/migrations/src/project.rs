//! Applies and records one file of a project.

use tokio_postgres::{Client, Transaction};

use super::Outcome;
use super::apply::{self, Limits};
use super::error::Error;
use super::file::{File, Step};
use super::ledger;
use super::source::{MigrationFile, checksum};
use super::split::{Statement, line_at};

/// A file of a project, by how it is recorded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    Migration(&'a MigrationFile),
    Seed { path: &'a str, sql: &'a str, hash: &'a str },
}

impl<'a> Target<'a> {
    fn file(self) -> Result<File<'a>, Error> {
        let file = match self {
            Self::Migration(file) => File::parse(&file.file, &file.sql),
            Self::Seed { path, sql, .. } => File::parse(path, sql),
        }?;
        Ok(File { is_project: true, ..file })
    }

    /// Reports whether the file is recorded already, because another process has applied it in the meantime.
    async fn is_recorded(self, transaction: &Transaction<'_>) -> Result<bool, Error> {
        Ok(match self {
            Self::Migration(file) => ledger::project(transaction).await?.contains_key(&file.version),
            Self::Seed { path, .. } => ledger::seeds(transaction).await?.contains_key(path),
        })
    }

    async fn record(self, transaction: &Transaction<'_>, statements: &[Statement<'_>]) -> Result<(), Error> {
        match self {
            Self::Migration(file) => {
                let statements: Vec<_> = statements.iter().map(Statement::source).collect();
                let hash = checksum(&file.sql);
                ledger::record_project(transaction, &file.version, &file.name, &statements, &hash).await
            }
            Self::Seed { path, hash, .. } => ledger::record_seed(transaction, path, hash).await,
        }
    }
}

/// Runs the file and records it, in one transaction unless the file has several steps.
pub(super) async fn apply(
    client: &mut Client,
    limits: &Limits,
    target: Target<'_>,
) -> Result<Outcome, Error> {
    let file = target.file()?;
    let (earlier, last) = file.steps();
    if earlier.is_empty() {
        let transaction = apply::begin(client, limits).await?;
        if target.is_recorded(&transaction).await? {
            return Ok(Outcome::AlreadyApplied);
        }
        return finish(transaction, target, &file, last, Vec::new()).await;
    }
    apply::begin_session(client, limits).await?;
    let outcome = apply_in_steps(client, target, &file, &earlier, last).await;
    apply::end_session(client).await;
    outcome
}

/// Runs a file that declares what there should be, in one transaction, and does not record it.
pub(super) async fn declare(
    client: &mut Client,
    limits: &Limits,
    name: &str,
    sql: &str,
) -> Result<(), Error> {
    let file = File { is_project: true, is_declared: true, ..File::parse(name, sql)? };
    let transaction = apply::begin(client, limits).await?;
    file.run(&transaction, &file.statements, &mut Vec::new()).await?;
    apply::restore_session(&transaction).await?;
    file.commit(transaction, &file.statements).await
}

/// Records the file as applied without running it, unless it is recorded already.
pub(super) async fn record(client: &mut Client, limits: &Limits, target: Target<'_>) -> Result<(), Error> {
    let file = target.file()?;
    let transaction = apply::begin(client, limits).await?;
    if !target.is_recorded(&transaction).await? {
        target.record(&transaction, &file.statements).await?;
    }
    transaction.commit().await.map_err(Error::database("record a migration"))
}

/// Runs the steps of a file one after another. If one fails, the steps before it stay applied, and the file is not
/// recorded.
async fn apply_in_steps(
    client: &mut Client,
    target: Target<'_>,
    file: &File<'_>,
    earlier: &[Step<'_>],
    last: &[Statement<'_>],
) -> Result<Outcome, Error> {
    let transaction = apply::resume(client).await?;
    if target.is_recorded(&transaction).await? {
        return Ok(Outcome::AlreadyApplied);
    }
    transaction.commit().await.map_err(Error::database("read the records of migrations"))?;
    let mut missing_extensions = Vec::new();
    let mut done = None;
    for step in earlier {
        let statements = step.statements();
        let result = match step {
            Step::InTransaction(_) => {
                run_in_transaction(client, file, statements, &mut missing_extensions).await
            }
            Step::WithoutTransaction(_) => file.run(&*client, statements, &mut missing_extensions).await,
        };
        result.map_err(|error| error.after(done))?;
        done = statements.last().map(|statement| line_at(file.sql, statement.first_token));
    }
    let transaction = apply::resume(client).await?;
    finish(transaction, target, file, last, missing_extensions).await.map_err(|error| error.after(done))
}

async fn run_in_transaction(
    client: &mut Client,
    file: &File<'_>,
    statements: &[Statement<'_>],
    missing_extensions: &mut Vec<String>,
) -> Result<(), Error> {
    let transaction = apply::resume(client).await?;
    file.run(&transaction, statements, missing_extensions).await?;
    file.commit(transaction, statements).await
}

/// Runs the last statements of the file and records it, in one transaction.
async fn finish(
    transaction: Transaction<'_>,
    target: Target<'_>,
    file: &File<'_>,
    statements: &[Statement<'_>],
    mut missing_extensions: Vec<String>,
) -> Result<Outcome, Error> {
    file.run(&transaction, statements, &mut missing_extensions).await?;
    apply::restore_session(&transaction).await?;
    target.record(&transaction, &file.statements).await?;
    file.commit(transaction, statements).await?;
    Ok(Outcome::Applied { missing_extensions })
}
