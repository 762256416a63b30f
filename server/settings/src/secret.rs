//! Texts that must not get into logs.

use std::fmt;

use crate::Value;

/// A password or key: its debug form hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the text itself. Not for logs.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Reports whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret()" } else { "Secret(…)" })
    }
}

impl Value for Secret {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }

    fn show(&self) -> Option<String> {
        (!self.is_empty()).then(|| "…".to_owned())
    }
}
