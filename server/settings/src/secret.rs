//! Values that must not get into logs.

use std::fmt;
use std::ops::Deref;

use crate::Value;

/// A password or key, as text or as bytes. Its debug form hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T = String>(T);

impl<T: Deref> Secret<T> {
    /// Returns the text or the bytes, which must not be logged.
    pub fn expose(&self) -> &T::Target {
        &self.0
    }
}

impl<T: AsRef<[u8]>> Secret<T> {
    /// Reports whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<Vec<u8>> for Secret<Vec<u8>> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl<T: for<'t> From<&'t str>> From<&str> for Secret<T> {
    fn from(text: &str) -> Self {
        Self(T::from(text))
    }
}

impl<T: AsRef<[u8]>> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret()" } else { "Secret(…)" })
    }
}

impl<T: AsRef<[u8]> + for<'t> From<&'t str>> Value for Secret<T> {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }

    fn show(&self) -> Option<String> {
        (!self.is_empty()).then(|| "…".to_owned())
    }
}
