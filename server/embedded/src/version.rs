//! Versions of Postgres.

use std::fmt;

/// The oldest supported major version: the first with `MERGE`, `security_invoker` views and row filters in
/// publications.
pub const MINIMUM_MAJOR: u32 = 15;

/// A version as `postgres --version` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The part that decides whether a data folder can be read: 17 in 17.10.
    pub major: u32,
    text: String,
}

impl Version {
    pub(super) fn parse(output: &str) -> Option<Self> {
        // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", and "19beta1" before a release.
        let text = output.split_whitespace().nth(2)?;
        let major = text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some(Self { major, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
