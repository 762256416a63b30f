//! Values in the JSON of a script, which mail programs read (`application/ld+json`).
//!
//! Source: Go's `html/template`, file `js.go`, and `encoding/json`.

use std::fmt::Write as _;

use super::Value;

/// The place that has been reached in the JSON of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside of strings.
    Value,
    /// In a string that this quote ends.
    String(char),
    /// After the backslash in such a string.
    Escape(char),
    /// After what is not JSON, but may be another language.
    Unknown,
}

impl Place {
    /// Returns the place after `character` of the template's own text.
    pub(super) const fn after(self, character: char) -> Self {
        match (self, character) {
            (Self::Value, '"' | '\'') => Self::String(character),
            // Comments, regular expressions and template literals.
            (Self::Value, '/' | '`') | (Self::Unknown, _) => Self::Unknown,
            (Self::Value, _) => Self::Value,
            (Self::String(quote), '\\') => Self::Escape(quote),
            (Self::String(quote), _) if quote as u32 == character as u32 => Self::Value,
            (Self::String(quote) | Self::Escape(quote), _) => Self::String(quote),
        }
    }
}

/// Returns `value` as JSON in which nothing has a meaning in HTML. Words and numbers have blanks around them, so that
/// they do not run into others.
pub(super) fn value(value: &Value) -> String {
    let mut json = String::new();
    write_value(&mut json, value);
    let is_word = |c: char| c.is_ascii_alphanumeric();
    if json.starts_with(is_word) || json.ends_with(is_word) { format!(" {json} ") } else { json }
}

fn write_value(json: &mut String, value: &Value) {
    match value {
        Value::Nil => json.push_str("null"),
        Value::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
        Value::Int(number) => json.push_str(&number.to_string()),
        Value::Float(number) => json.push_str(&float(*number)),
        Value::String(text) => write_string(json, text),
        Value::List(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                json.push_str(if index > 0 { "," } else { "" });
                write_value(json, item);
            }
            json.push(']');
        }
        Value::Map(fields) => {
            json.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                json.push_str(if index > 0 { "," } else { "" });
                write_string(json, name);
                json.push(':');
                write_value(json, field);
            }
            json.push('}');
        }
    }
}

/// Writes a number as Go's `encoding/json` does: with an exponent below 1e-6 and from 1e21 on.
fn float(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 || (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => scientific,
    }
}

fn write_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => write_code(json, character),
            control if control < ' ' => write_code(json, control),
            other => json.push(other),
        }
    }
    json.push('"');
}

/// Returns `text` as a part of a string: nothing in it ends the string, or has a meaning in HTML.
pub(super) fn in_string(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\u{c}' => escaped.push_str("\\f"),
            '\r' => escaped.push_str("\\r"),
            '/' => escaped.push_str("\\/"),
            '\\' => escaped.push_str("\\\\"),
            '"' | '`' | '&' | '\'' | '+' | '<' | '>' | '\u{2028}' | '\u{2029}' => {
                write_code(&mut escaped, character);
            }
            control if control < ' ' => write_code(&mut escaped, control),
            other => escaped.push(other),
        }
    }
    escaped
}

fn write_code(json: &mut String, character: char) {
    // Writing to a string does not fail.
    let _ = write!(json, "\\u{:04x}", u32::from(character));
}
