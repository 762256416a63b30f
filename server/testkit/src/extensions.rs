//! Which extensions of Postgres the tests may count on.

use std::env;

use crate::{connect, server};

/// The extensions that the tests' Postgres has, separated by commas. `make test` sets it to what it has installed.
const EXTENSIONS_VARIABLE: &str = "BASALT_TEST_EXTENSIONS";

/// Returns whether a test that needs the extension `name` is to run; says so on stderr when it is skipped.
///
/// The environment decides, not the database, so that no test passes in silence where an extension went missing: only
/// one that `BASALT_TEST_EXTENSIONS` does not name is skipped. Without that variable, each extension is demanded.
///
/// # Panics
///
/// When the extension is demanded and the tests' Postgres does not have it.
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
