//! Tests with requirements that not every machine meets, such as root.

use std::env;

/// Prints on stderr that a test is skipped, and why.
///
/// # Panics
///
/// Panics in CI (`CI=true`), where every test has to run.
#[expect(clippy::print_stderr, reason = "who runs the tests should know that one was skipped")]
pub fn skip(reason: &str) {
    assert!(
        env::var("CI").as_deref() != Ok("true"),
        "a test cannot run here, but in CI all have to: {reason}"
    );
    eprintln!("skipped: {reason}");
}
