//! The body of a request, looked at no more than planning needs: which keys its objects have.
//!
//! Values are never parsed here. The bytes go to Postgres as they came, which reads them by its own rules.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use indexmap::IndexSet;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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
        if let Some(columns) = columns {
            let is_object = raw.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
            return Ok(Self::Json { raw, is_object, keys: distinct(columns.to_vec()) });
        }
        let shape: JsonOutline = serde_json::from_slice(&raw).map_err(|error| refused(&error))?;
        Ok(match shape {
            JsonOutline::Object(keys) => Self::Json { raw, is_object: true, keys: distinct(keys) },
            JsonOutline::Array(keys) => Self::Json { raw, is_object: false, keys: distinct(keys) },
            // Upstream takes a lone number, text or null for no rows at all.
            JsonOutline::Scalar => {
                Self::Json { raw: Bytes::from_static(b"[]"), is_object: false, keys: Vec::new() }
            }
        })
    }

    /// Returns the keys that the payload gives values to.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Json { keys, .. } => keys.iter().map(String::as_str).collect(),
            Self::Form(pairs) => {
                let keys: IndexSet<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                keys.into_iter().collect()
            }
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

fn refused(error: &serde_json::Error) -> Error {
    // Text that is JSON but not of the shape wanted can only be an array whose elements differ.
    let message = if error.is_data() { UNIFORM } else { "Empty or invalid json" };
    Error::InvalidBody(message.to_owned())
}

/// What a JSON text is on its first two levels.
enum JsonOutline {
    Object(Vec<String>),
    Array(Vec<String>),
    Scalar,
}

impl<'de> Deserialize<'de> for JsonOutline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = JsonOutline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonOutline, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
            keys.push(key);
        }
        Ok(JsonOutline::Object(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<JsonOutline, A::Error> {
        let mut first: Option<IndexSet<String>> = None;
        while let Some(KeysOf(keys)) = elements.next_element()? {
            match &first {
                None => first = Some(keys.into_iter().map(Cow::into_owned).collect()),
                Some(first) => {
                    let keys: IndexSet<Cow<'_, str>> = keys.into_iter().collect();
                    if keys.len() != first.len() || !keys.iter().all(|key| first.contains(&**key)) {
                        return Err(serde::de::Error::custom(UNIFORM));
                    }
                }
            }
        }
        Ok(JsonOutline::Array(first.unwrap_or_default().into_iter().collect()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }

    fn visit_unit<E>(self) -> Result<JsonOutline, E> {
        Ok(JsonOutline::Scalar)
    }
}

/// The keys of an array's element, which must be an object.
struct KeysOf<'de>(Vec<Cow<'de, str>>);

impl<'de> Deserialize<'de> for KeysOf<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeysVisitor;

        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = KeysOf<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KeysOf<'de>, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, _)) = map.next_entry::<Key<'de>, IgnoredAny>()? {
                    keys.push(key.0);
                }
                Ok(KeysOf(keys))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<KeysOf<'de>, A::Error> {
                Err(serde::de::Error::custom(UNIFORM))
            }
        }
        deserializer.deserialize_any(KeysVisitor)
    }
}

/// A key, borrowed from the text unless it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

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
