//! References: what a client calls its joins and messages.

use serde_json::value::RawValue;

/// A reference as JSON text, which replies repeat unchanged: a string, a number, or null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference(Option<Box<str>>);

impl Reference {
    /// No reference.
    pub(crate) const NULL: Self = Self(None);

    /// Returns the reference of a JSON value; null unless it is a string or a number.
    pub(crate) fn of_json(value: &RawValue) -> Self {
        match value.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9') => Self(Some(value.get().into())),
            _ => Self::NULL,
        }
    }

    /// Returns the reference of the string `text`; null if it is empty.
    pub(crate) fn of_text(text: &str) -> Self {
        if text.is_empty() { Self::NULL } else { Self(serde_json::to_string(text).ok().map(Into::into)) }
    }

    /// Returns the reference as JSON text.
    pub(crate) fn as_json(&self) -> &str {
        self.0.as_deref().unwrap_or("null")
    }
}
