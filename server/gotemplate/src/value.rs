//! The values of templates, and their text form in Go.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A value in a template.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing: a missing key, `null`, `nil`.
    #[default]
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number from the template itself or from `len`.
    Int(i64),
    /// A number; all of JSON's are of this kind, as in Go.
    Float(f64),
    /// A text.
    String(String),
    /// An array.
    List(Vec<Self>),
    /// An object.
    Map(BTreeMap<String, Self>),
}

impl Value {
    /// Returns a map of these fields.
    pub fn map<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns whether `if` considers it true: all values except nothing, `false`, zero and empty ones.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(fields) => !fields.is_empty(),
        }
    }

    /// Returns the field `name`; nothing if the key is missing. Errors: the kind of a value that has no fields.
    pub(super) fn field(&self, name: &str) -> Result<Self, &'static str> {
        match self {
            Self::Map(fields) => Ok(fields.get(name).cloned().unwrap_or_default()),
            Self::Nil => Ok(Self::Nil),
            other => Err(other.kind()),
        }
    }

    /// Returns the name of the type, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Float(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// Returns the order of two values of one basic kind; `None` if they cannot be compared.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    /// Returns whether two values are equal; `None` if they cannot be compared.
    pub(super) fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a == b),
            (Self::Nil, _) | (_, Self::Nil) => Some(self == other),
            _ => self.order(other).map(Ordering::is_eq),
        }
    }

    /// Returns the value as a number, whole or not.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            // Beyond 2^53, adjacent integers become equal, as in JSON.
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => number.as_f64().map_or(Self::Nil, Value::Float),
            serde_json::Value::String(text) => Self::String(text.clone()),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(fields) => {
                Self::Map(fields.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// The text that Go's `fmt.Sprint` prints.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("<nil>"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => f.write_str(&shortest(*number)),
            Self::String(text) => f.write_str(text),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { " " } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Map(fields) => {
                f.write_str("map[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}:{value}", if index > 0 { " " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Writes a floating-point number as Go's `%v` does: the fewest digits that identify it, with an exponent below 1e-4
/// and from 1e6 on.
fn shortest(number: f64) -> String {
    if !number.is_finite() {
        let sign = if number < 0.0 { "-" } else { "+" };
        return if number.is_nan() { "NaN".to_owned() } else { format!("{sign}Inf") };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
