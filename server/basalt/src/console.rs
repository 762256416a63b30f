//! What a person is told. Results go to standard output, everything else to standard error, so that
//! `basalt gen types typescript > file` holds the types alone. Where the log is JSON, nobody reads: all but results are
//! lines of the log then.

use std::fmt::Display;
use std::io::Write as _;

use crate::error::Error;
use crate::logging;

/// Prints a result.
pub(crate) fn print(text: impl Display) {
    // Nobody reads any more: there is nothing left to do about it.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Says what happens.
pub(crate) fn note(text: impl Display) {
    if logging::is_json() {
        tracing::info!("{text}");
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Says that a step that may take long begins.
pub(crate) fn step(text: impl Display) {
    if logging::is_json() {
        tracing::info!("{text}");
    } else {
        note(format_args!("  · {text}"));
    }
}

/// Says why the command failed.
pub(crate) fn complain(error: &Error) {
    if logging::is_json() {
        tracing::error!("{error}");
    } else {
        note(format_args!("basalt: {error}"));
    }
}
