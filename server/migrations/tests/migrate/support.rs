//! Helpers of the migrations' tests: folders of files, and short queries.

use std::path::Path;

use migrations::{Error, StatementError};
use tempfile::TempDir;
use tokio_postgres::Client;

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, replacing an existing one.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Returns the single text of the result of `sql`.
pub(crate) async fn text(client: &Client, sql: &str) -> String {
    client.query_typed(sql, &[]).await.unwrap()[0].get(0)
}

/// Returns the single number of the result of `sql`.
pub(crate) async fn count(client: &Client, sql: &str) -> usize {
    let number: i64 = client.query_typed(&format!("select ({sql})::bigint"), &[]).await.unwrap()[0].get(0);
    usize::try_from(number).unwrap()
}

/// Returns the statement error of `result`; panics for any other result.
pub(crate) fn statement_error<T: std::fmt::Debug>(result: Result<T, Error>) -> StatementError {
    match result {
        Err(Error::Statement(error)) => *error,
        other => panic!("expected a statement error, got {other:?}"),
    }
}

/// Returns names of files as reports have them.
pub(crate) fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}
