//! Output for people. Results are written to standard output, everything else to standard error, so that `basalt gen
//! types typescript > file` writes only the types. If the log's format is JSON, everything except results is logged.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write as _;

use crate::error::Error;
use crate::logging;

/// Prints a result.
pub(crate) fn print(text: impl Display) {
    // It fails if nothing reads the output any more; there is no one left to report that to.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a note.
pub(crate) fn note(text: impl Display) {
    if logging::is_json() {
        tracing::info!("{text}");
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Prints that a step begins, which may take long.
pub(crate) fn step(text: impl Display) {
    let mark = if logging::is_json() { "" } else { "  · " };
    note(format_args!("{mark}{text}"));
}

/// Prints why the command failed.
pub(crate) fn print_error(error: &Error) {
    if logging::is_json() {
        tracing::error!("{error}");
    } else {
        note(format_args!("basalt: {error}"));
    }
}

/// Quotes `text` as one word of a shell's command line; plain words stay unchanged.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_one_word_of_a_shell() {
        assert_eq!(shell_word("postgresql://me@h:5432/d"), "postgresql://me@h:5432/d");
        assert_eq!(
            shell_word("postgres://h/d?sslmode=verify-full&sslrootcert=a"),
            "'postgres://h/d?sslmode=verify-full&sslrootcert=a'"
        );
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
