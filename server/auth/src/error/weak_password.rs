//! The error of a password that is too weak: which rules it breaks.

use poem_openapi::Object;

/// Why a password should be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Object)]
pub(crate) struct WeakPassword {
    /// A description for people.
    message: String,
    /// `length`, `characters`, `pwned`.
    reasons: Vec<String>,
}

impl WeakPassword {
    pub(crate) fn new(message: String, reasons: Vec<String>) -> Self {
        Self { message, reasons }
    }

    /// Adds a reason.
    pub(crate) fn add(&mut self, reason: &str, message: &str) {
        if !self.message.is_empty() {
            self.message.push(' ');
        }
        self.message.push_str(message);
        self.reasons.push(reason.to_owned());
    }

    /// Returns the requirements that the password does not meet, for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the requirements that the password does not meet, for programs: `length`, `characters`, `pwned`.
    pub(crate) fn reasons(&self) -> &[String] {
        &self.reasons
    }
}
