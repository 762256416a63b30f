//! What is said to the person at the terminal. Results go to standard output, everything else to standard error, so
//! that `basalt gen types typescript > file` holds the types alone.

use std::fmt::Display;
use std::io::Write as _;

use crate::error::Error;

/// Prints a result.
pub(crate) fn print(text: impl Display) {
    // Nobody reads any more: there is nothing left to do about it.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Says what happens.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Says that a step that may take long begins.
pub(crate) fn step(text: impl Display) {
    note(format_args!("  · {text}"));
}

/// Says why the command failed.
pub(crate) fn complain(error: &Error) {
    note(format_args!("basalt: {error}"));
}
