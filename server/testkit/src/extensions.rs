//! The extensions of Postgres that the tests need.

use std::env;

use crate::{connect, server};

/// The extensions that the tests' Postgres has, separated by commas. `make test` sets it to those that it has
/// installed.
const EXTENSIONS_VARIABLE: &str = "BASALT_TEST_EXTENSIONS";

/// Returns whether a test that needs the extension `name` should run; prints on stderr if it is skipped.
///
/// The environment decides, not the database, so that a missing extension is always noticed: a test is only skipped if
/// `BASALT_TEST_EXTENSIONS` does not list its extension. Without that variable, every extension is required.
///
/// # Panics
///
/// When the extension is required and the tests' Postgres does not have it.
#[expect(clippy::print_stderr, reason = "who runs the tests should know that one was skipped")]
pub async fn has_extension(name: &str) -> bool {
    let installed = env::var(EXTENSIONS_VARIABLE).ok();
    let demanded =
        installed.as_ref().is_none_or(|list| list.split(',').any(|extension| extension.trim() == name));
    if !demanded {
        eprintln!("skipped: {EXTENSIONS_VARIABLE} does not name {name}");
        return false;
    }
    let client = connect(&server::shared().await.uri("postgres")).await;
    let row = client.query_opt("select from pg_available_extensions where name = $1", &[&name]).await;
    assert!(
        row.expect("the extensions can be listed").is_some(),
        "the tests' Postgres does not have the extension {name}. Either `make extensions` installs it, or \
         {EXTENSIONS_VARIABLE} lists the extensions that are there (separated by commas), and its tests are skipped"
    );
    true
}
