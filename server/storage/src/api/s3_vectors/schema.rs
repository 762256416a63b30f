//! The schemas of the bodies of the vector interface, and the messages of their refusals: those of upstream's validator
//! (ajv with `allErrors`, without coercion).

use serde_json::{Map, Value};

/// Faults after which a body is not looked at any further.
const MAX_FAULTS: usize = 20;

/// The pattern of indexes' names, as refusals show it.
const INDEX_NAME: &str = "^[a-z0-9](?:[a-z0-9.-]{1,61})?[a-z0-9]$";

/// The schema of a value.
pub(super) enum Rule {
    /// Any text.
    Text,
    /// A text of so many characters.
    Length(usize, usize),
    /// The name of an index.
    IndexName,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Boolean,
    /// Any number.
    Number,
    /// A number within these limits.
    Range(u64, u64),
    /// A whole number within these limits.
    Integer(u64, u64),
    /// A list of at least and at most so many values.
    List(usize, usize, &'static Self),
    /// A list as before whose values differ from each other.
    Set(usize, usize, &'static Self),
    Object(&'static Schema),
    /// Fields that hold a text, a number, a truth value or a list of these.
    Metadata,
    /// Any value: it is checked separately.
    Any,
}

/// The schema of an object.
pub(crate) struct Schema {
    pub(super) fields: &'static [(&'static str, Rule)],
    pub(super) required: &'static [&'static str],
    /// Whether it may not have other fields.
    pub(super) is_closed: bool,
}

impl Schema {
    /// Checks `body`; returns what is wrong with it, if anything is.
    pub(super) fn check(&'static self, body: &Value) -> Result<(), String> {
        let mut faults = Faults { path: "body".to_owned(), texts: Vec::new() };
        faults.check(&Rule::Object(self), body);
        if faults.texts.is_empty() { Ok(()) } else { Err(faults.texts.join(", ")) }
    }
}

/// The faults of a value, collected while it is traversed.
struct Faults {
    /// The path of the current value.
    path: String,
    texts: Vec<String>,
}

impl Faults {
    fn add(&mut self, reason: impl std::fmt::Display) {
        if self.texts.len() < MAX_FAULTS {
            self.texts.push(format!("{} {reason}", self.path));
        }
    }

    fn check_below(&mut self, name: &dyn std::fmt::Display, rule: &Rule, value: &Value) {
        use std::fmt::Write as _;

        if self.texts.len() >= MAX_FAULTS {
            return;
        }
        let length = self.path.len();
        // Writing into a string cannot fail.
        let _ = write!(self.path, "/{name}");
        self.check(rule, value);
        self.path.truncate(length);
    }

    fn check(&mut self, rule: &Rule, value: &Value) {
        match (rule, value) {
            (Rule::Any | Rule::Text, Value::String(_)) | (Rule::Any, _) | (Rule::Boolean, Value::Bool(_)) => {
            }
            (Rule::Length(min, max), Value::String(text)) => self.check_length(text, *min, *max),
            (Rule::IndexName, Value::String(text)) => {
                self.check_length(text, 3, 45);
                if !is_index_name(text) {
                    self.add(format_args!("must match pattern \"{INDEX_NAME}\""));
                }
            }
            (Rule::OneOf(allowed), Value::String(text)) => {
                if !allowed.contains(&&**text) {
                    self.add("must be equal to one of the allowed values");
                }
            }
            (Rule::Text | Rule::Length(..) | Rule::IndexName | Rule::OneOf(_), _) => {
                self.add("must be string")
            }
            (Rule::Boolean, _) => self.add("must be boolean"),
            (Rule::Number, Value::Number(_)) => {}
            (Rule::Integer(min, max), Value::Number(number)) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                if number.fract() != 0.0 {
                    self.add("must be integer");
                }
                self.check_range(number, *min, *max);
            }
            (Rule::Range(min, max), Value::Number(number)) => {
                self.check_range(number.as_f64().unwrap_or(f64::NAN), *min, *max);
            }
            (Rule::Number | Rule::Range(..), _) => self.add("must be number"),
            (Rule::Integer(..), _) => self.add("must be integer"),
            (Rule::List(min, max, entry), Value::Array(values)) => self.check_list(values, *min, *max, entry),
            (Rule::Set(min, max, entry), Value::Array(values)) => {
                self.check_list(values, *min, *max, entry);
                self.check_difference(values);
            }
            (Rule::List(..) | Rule::Set(..), _) => self.add("must be array"),
            (Rule::Object(schema), Value::Object(fields)) => self.check_fields(schema, fields),
            (Rule::Metadata, Value::Object(fields)) => self.check_metadata(fields),
            (Rule::Object(_) | Rule::Metadata, _) => self.add("must be object"),
        }
    }

    fn check_length(&mut self, text: &str, min: usize, max: usize) {
        let length = text.chars().count();
        if length > max {
            self.add(format_args!("must NOT have more than {max} characters"));
        }
        if length < min {
            self.add(format_args!("must NOT have fewer than {min} characters"));
        }
    }

    fn check_range(&mut self, number: f64, min: u64, max: u64) {
        if number > max as f64 {
            self.add(format_args!("must be <= {max}"));
        }
        if number < min as f64 {
            self.add(format_args!("must be >= {min}"));
        }
    }

    fn check_list(&mut self, values: &[Value], min: usize, max: usize, entry: &Rule) {
        if values.len() > max {
            return self.add(format_args!("must NOT have more than {max} items"));
        }
        if values.len() < min {
            self.add(format_args!("must NOT have fewer than {min} items"));
        }
        for (index, value) in values.iter().enumerate() {
            self.check_below(&index, entry, value);
        }
    }

    fn check_difference(&mut self, values: &[Value]) {
        for (later, value) in values.iter().enumerate() {
            if let Some(earlier) = values[..later].iter().position(|other| other == value) {
                let items = format_args!("(items ## {later} and {earlier} are identical)");
                return self.add(format_args!("must NOT have duplicate items {items}"));
            }
        }
    }

    fn check_fields(&mut self, schema: &Schema, fields: &Map<String, Value>) {
        for name in schema.required.iter().filter(|name| !fields.contains_key(**name)) {
            self.add(format_args!("must have required property '{name}'"));
        }
        let is_known = |name: &String| schema.fields.iter().any(|(known, _)| known == name);
        if schema.is_closed && !fields.keys().all(is_known) {
            self.add("must NOT have additional properties");
        }
        for (name, rule) in schema.fields {
            if let Some(value) = fields.get(*name) {
                self.check_below(name, rule, value);
            }
        }
    }

    fn check_metadata(&mut self, fields: &Map<String, Value>) {
        let is_primitive =
            |value: &Value| matches!(value, Value::String(_) | Value::Bool(_) | Value::Number(_));
        for (name, value) in fields {
            let is_list = value.as_array().is_some_and(|values| values.iter().all(is_primitive));
            if !is_primitive(value) && !is_list {
                let length = self.path.len();
                self.path.push('/');
                self.path.push_str(name);
                self.add("must match a schema in anyOf");
                self.path.truncate(length);
            }
        }
    }
}

/// Reports whether `text` matches [`INDEX_NAME`], apart from its length.
fn is_index_name(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match text.as_bytes() {
        [first, middle @ .., last] => {
            is_end(first)
                && is_end(last)
                && middle.iter().all(|byte| is_end(byte) || matches!(byte, b'.' | b'-'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    static SCHEMA: Schema = Schema {
        fields: &[
            ("name", Rule::IndexName),
            ("count", Rule::Integer(1, 16)),
            ("limit", Rule::Range(1, 500)),
            ("kind", Rule::OneOf(&["a", "b"])),
            ("keys", Rule::Set(1, 2, &Rule::Length(1, 3))),
            ("metadata", Rule::Metadata),
        ],
        required: &["name"],
        is_closed: true,
    };

    #[test]
    fn all_faults_are_named() {
        let body = json!({
            "count": 1.5, "limit": 0, "kind": "c", "keys": ["", ""], "metadata": { "a": null, "b": [1, {}] }, "x": 1,
        });
        let faults = SCHEMA.check(&body).unwrap_err();
        let expected = [
            "body must have required property 'name'",
            "body must NOT have additional properties",
            "body/count must be integer",
            "body/limit must be >= 1",
            "body/kind must be equal to one of the allowed values",
            "body/keys/0 must NOT have fewer than 1 characters",
            "body/keys/1 must NOT have fewer than 1 characters",
            "body/keys must NOT have duplicate items (items ## 1 and 0 are identical)",
            "body/metadata/a must match a schema in anyOf",
            "body/metadata/b must match a schema in anyOf",
        ];
        assert_eq!(faults, expected.join(", "));
        assert_eq!(SCHEMA.check(&json!(null)).unwrap_err(), "body must be object");
        let good =
            json!({ "name": "a.b-c", "count": 16, "keys": ["ü"], "metadata": { "a": [1, "x", true] } });
        assert_eq!(SCHEMA.check(&good), Ok(()));
    }

    #[test]
    fn names_of_indexes_have_their_pattern() {
        for name in ["A23", "a_b", "-ab", "ab.", "ab"] {
            assert!(SCHEMA.check(&json!({ "name": name })).is_err(), "{name}");
        }
        let long = "a".repeat(46);
        let fault = SCHEMA.check(&json!({ "name": long })).unwrap_err();
        assert_eq!(fault, "body/name must NOT have more than 45 characters");
    }
}
