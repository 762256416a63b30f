//! The body of a request. Only what planning needs is read: the keys of its objects.
//!
//! Values are never parsed here. The bytes are sent unchanged to Postgres, which reads them by its own rules.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use foldhash::HashMap;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use crate::error::Error;

/// A body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// JSON: an object, or an array of objects that all have the same keys.
    Json {
        /// The text.
        raw: Bytes,
        /// Whether it is one object.
        is_object: bool,
        /// The objects' keys, or what `columns=` says, each once.
        keys: Vec<String>,
    },
    /// Names and values of a form.
    Form(Vec<(String, String)>),
    /// Anything else, for a function with a single unnamed parameter.
    Raw(Bytes),
}

impl Payload {
    /// Reads `raw` as JSON. With `columns` the text is not looked into: Postgres will.
    ///
    /// Errors: `PGRST102` for what is no JSON, and for objects whose keys differ.
    pub fn json(raw: Bytes, columns: Option<&[String]>) -> Result<Self, Error> {
        let first = first_byte(&raw);
        let (is_object, keys) = match (first, columns) {
            (_, Some(columns)) => (first == Some(b'{'), columns.to_vec()),
            (Some(b'{'), None) => (true, object_keys(&raw).map_err(|error| json_error(&error))?),
            (Some(b'['), None) => (false, array_keys(&raw).map_err(|error| json_error(&error))?),
            (_, None) => {
                // Upstream takes a lone number, text or null for no rows at all.
                serde_json::from_slice::<Value>(&raw).map_err(|error| json_error(&error))?;
                return Ok(Self::Json { raw: Bytes::from_static(b"[]"), is_object: false, keys: Vec::new() });
            }
        };
        Ok(Self::Json { raw, is_object, keys: distinct(keys) })
    }

    /// Returns the keys that the payload gives values to. Those of a form may repeat.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Json { keys, .. } => keys.iter().map(String::as_str).collect(),
            Self::Form(pairs) => pairs.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Raw(_) => Vec::new(),
        }
    }
}

/// Returns each key once, in alphabetical order, so that the same keys make the same statement.
fn distinct(mut keys: Vec<String>) -> Vec<String> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

const UNIFORM: &str = "All object keys must match";

fn json_error(error: &serde_json::Error) -> Error {
    // Text that is JSON but not of the shape wanted can only be an array whose elements differ.
    let message = if error.is_data() { UNIFORM } else { "Empty or invalid json" };
    Error::InvalidBody(message.to_owned())
}

/// Returns the first byte of a JSON text, which identifies an object or an array.
pub(crate) fn first_byte(json: &[u8]) -> Option<u8> {
    json.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// The keys of an object; its values are skipped.
type ObjectKeys<'a> = HashMap<Key<'a>, IgnoredAny>;

fn object_keys(json: &[u8]) -> serde_json::Result<Vec<String>> {
    let keys: ObjectKeys<'_> = serde_json::from_slice(json)?;
    Ok(owned(keys))
}

/// Returns the keys that all objects of an array have.
///
/// Errors: also for an array of anything else, and of objects whose keys differ.
fn array_keys(json: &[u8]) -> serde_json::Result<Vec<String>> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let keys = deserializer.deserialize_seq(RowsVisitor)?;
    deserializer.end()?;
    Ok(owned(keys))
}

fn owned(keys: ObjectKeys<'_>) -> Vec<String> {
    keys.into_keys().map(|key| key.0.into_owned()).collect()
}

/// Reads an array of objects whose keys are the same.
struct RowsVisitor;

impl<'de> Visitor<'de> for RowsVisitor {
    type Value = ObjectKeys<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<ObjectKeys<'de>, A::Error> {
        let Some(first) = rows.next_element::<ObjectKeys<'de>>()? else { return Ok(ObjectKeys::default()) };
        while let Some(keys) = rows.next_element::<ObjectKeys<'de>>()? {
            if keys.len() != first.len() || !keys.keys().all(|key| first.contains_key(key)) {
                return Err(A::Error::custom(UNIFORM));
            }
        }
        Ok(first)
    }
}

/// A key, borrowed from the text unless it has escapes.
#[derive(PartialEq, Eq, Hash, serde::Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<String>, Error> {
        Payload::json(Bytes::copy_from_slice(text.as_bytes()), None).map(|payload| match payload {
            Payload::Json { keys, .. } => keys,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn keys_are_found_once_and_sorted() {
        assert_eq!(keys(r#"{"b":1,"a":{"x":[1,2]},"b":2}"#).unwrap(), ["a", "b"]);
        assert_eq!(keys(r#"[{"b":1,"a":2},{"a":null,"b":[]}]"#).unwrap(), ["a", "b"]);
        assert_eq!(keys(r#"{"\u0061":1}"#).unwrap(), ["a"]);
        assert_eq!(keys("[]").unwrap(), [""; 0]);
        assert_eq!(keys("null").unwrap(), [""; 0]);
    }

    #[test]
    fn objects_must_have_the_same_keys() {
        for text in [r#"[{"a":1},{"b":1}]"#, r#"[{"a":1},{"a":1,"b":2}]"#, r#"[{"a":1},5]"#, "[[]]"] {
            assert_eq!(keys(text).unwrap_err().code(), "PGRST102", "{text}");
        }
        assert_eq!(keys(r#"[{"a":1},{"b":1}]"#).unwrap_err().message(), UNIFORM);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{\"a\":}", "nope", "{\"a\":1}}"] {
            assert_eq!(keys(text).unwrap_err().message(), "Empty or invalid json", "{text}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(keys(&deep).unwrap(), ["a"]);
    }
}
