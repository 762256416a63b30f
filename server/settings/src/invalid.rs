//! The refusal of a setting.

use std::fmt;

/// An invalid setting.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{name}: expected {expected}, found {found}")]
pub struct Invalid {
    /// The setting's name, as the operator wrote it.
    pub name: String,
    /// A description of the valid values.
    pub expected: String,
    /// What was found; never a secret.
    pub found: String,
}

impl Invalid {
    /// Returns the error that `name` has the value `found` instead of what is `expected`.
    pub fn new(name: &str, expected: &str, found: &dyn fmt::Display) -> Self {
        Self { name: name.to_owned(), expected: expected.to_owned(), found: found.to_string() }
    }
}
