//! JSON bodies and their fields. Types are coerced and refusals worded as by upstream's validator (ajv with
//! `coerceTypes`).

use std::ops::RangeInclusive;

use fairness::HeldMemory;
use futures_util::StreamExt as _;
use gateway::BodyMemory;
use poem::Request;
use poem::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::error::Error;

/// Bytes of a JSON body: a thousand names of 1,024 bytes have room.
const MAX_LENGTH: usize = 2 << 20;

/// Reads the body of `request` as JSON. An empty one is null where no content type says that it is JSON, or where
/// `may_be_empty`.
///
/// Errors: [`Error::InvalidJson`], [`Error::EntityTooLarge`], [`Error::InvalidContent`] when the sender breaks off,
/// [`Error::SlowDown`] when too many bodies are read at the same time.
pub(super) async fn json(request: &mut Request, may_be_empty: bool) -> Result<Value, Error> {
    json_up_to(request, may_be_empty, MAX_LENGTH).await
}

/// Does what [`json`] does for a body of at most `max_length` bytes.
///
/// Errors: as [`json`].
pub(super) async fn json_up_to(
    request: &mut Request,
    may_be_empty: bool,
    max_length: usize,
) -> Result<Value, Error> {
    let mut chunks = request.take_body().into_bytes_stream();
    let mut body = Vec::new();
    let memory = request.extensions().get::<BodyMemory>();
    let mut held = HeldMemory::default();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Error::InvalidContent(error.to_string()))?;
        if body.len() + chunk.len() > max_length {
            return Err(Error::EntityTooLarge);
        }
        body.extend_from_slice(&chunk);
        if memory.is_some_and(|memory| !memory.hold(body.len() as u64, &mut held)) {
            return Err(Error::SlowDown);
        }
    }
    let says_json = request.header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if body.is_empty() {
        return match says_json && !may_be_empty {
            true => {
                Err(Error::InvalidJson("Body cannot be empty when content-type is set to 'application/json'"))
            }
            false => Ok(Value::Null),
        };
    }
    serde_json::from_slice(&body).map_err(|_| {
        Error::InvalidJson("Body is not valid JSON but content-type is set to 'application/json'")
    })
}

/// The fields of an object in a request; `path` names it in refusals: `body`, `body/sortBy`, `querystring`.
pub(super) struct Fields<'a> {
    path: &'static str,
    values: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Returns the fields of `value`.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything but an object.
    pub(super) fn of(value: &'a Value, path: &'static str) -> Result<Self, Error> {
        let values =
            value.as_object().ok_or_else(|| Error::InvalidRequest(format!("{path} must be object")))?;
        Ok(Self { path, values })
    }

    /// Returns what the object is called in refusals.
    pub(super) const fn path(&self) -> &'static str {
        self.path
    }

    /// Returns the value of a field, `None` if it is not there.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name)
    }

    /// Returns the value of a required field.
    ///
    /// Errors: [`Error::InvalidRequest`].
    pub(super) fn required(&self, name: &str) -> Result<&'a Value, Error> {
        self.value(name).ok_or_else(|| {
            Error::InvalidRequest(format!("{} must have required property '{name}'", self.path))
        })
    }

    /// Returns a field as text; numbers and truth values become their text.
    ///
    /// Errors: [`Error::InvalidRequest`] for an array or an object.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        self.value(name).map(|value| self.as_text(name, value)).transpose()
    }

    /// Does what [`Self::text`] does for a required field.
    ///
    /// Errors: [`Error::InvalidRequest`].
    pub(super) fn required_text(&self, name: &str) -> Result<String, Error> {
        self.as_text(name, self.required(name)?)
    }

    fn as_text(&self, name: &str, value: &Value) -> Result<String, Error> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Null => Ok(String::new()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            _ => Err(self.refusal(name, "must be string")),
        }
    }

    /// Returns a field as a truth value, which may also be spelled as text or as 0 and 1.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything else.
    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Error> {
        self.value(name)
            .map(|value| match value {
                Value::Bool(value) => Ok(*value),
                Value::Null => Ok(false),
                Value::String(text) if text == "true" => Ok(true),
                Value::String(text) if text == "false" => Ok(false),
                Value::Number(number) if number.as_f64() == Some(1.0) => Ok(true),
                Value::Number(number) if number.as_f64() == Some(0.0) => Ok(false),
                _ => Err(self.refusal(name, "must be boolean")),
            })
            .transpose()
    }

    /// Returns a field as a whole number of at least `minimum`; text that is a number is taken for it.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything else.
    pub(super) fn integer(&self, name: &str, minimum: u64) -> Result<Option<u64>, Error> {
        self.value(name).map(|value| self.as_integer(name, value, minimum)).transpose()
    }

    /// Does what [`Self::integer`] does for a required field.
    ///
    /// Errors: [`Error::InvalidRequest`].
    pub(super) fn required_integer(&self, name: &str, minimum: u64) -> Result<u64, Error> {
        self.as_integer(name, self.required(name)?, minimum)
    }

    fn as_integer(&self, name: &str, value: &Value, minimum: u64) -> Result<u64, Error> {
        match as_number(value).filter(|number| number.fract() == 0.0) {
            Some(number) if number >= minimum as f64 => Ok(number as u64),
            Some(_) => Err(self.refusal(name, &format!("must be >= {minimum}"))),
            None => Err(self.refusal(name, "must be integer")),
        }
    }

    /// Returns a field as a whole number of `range`.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything else.
    pub(super) fn integer_within(
        &self,
        name: &str,
        range: &RangeInclusive<u64>,
    ) -> Result<Option<u64>, Error> {
        match self.integer(name, *range.start())? {
            Some(number) if number > *range.end() => {
                Err(self.refusal(name, &format!("must be <= {}", range.end())))
            }
            number => Ok(number),
        }
    }

    /// Returns a field as a number, of `range` if there is one; text that is a number is taken for it.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything else.
    pub(super) fn number(
        &self,
        name: &str,
        range: Option<RangeInclusive<f64>>,
    ) -> Result<Option<f64>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = as_number(value).ok_or_else(|| self.refusal(name, "must be number"))?;
        match range {
            Some(range) if number < *range.start() => {
                Err(self.refusal(name, &format!("must be >= {}", range.start())))
            }
            Some(range) if number > *range.end() => {
                Err(self.refusal(name, &format!("must be <= {}", range.end())))
            }
            _ => Ok(Some(number)),
        }
    }

    /// Returns a field that is one of `allowed`.
    ///
    /// Errors: [`Error::InvalidRequest`] for anything else.
    pub(super) fn one_of(&self, name: &str, allowed: &[&'static str]) -> Result<Option<&'static str>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let found = allowed.iter().find(|candidate| **candidate == text).copied();
        found.map(Some).ok_or_else(|| self.refusal(name, "must be equal to one of the allowed values"))
    }

    /// Returns a required field as a list of texts, with as many entries as `sizes` allows.
    ///
    /// Errors: [`Error::InvalidRequest`].
    pub(super) fn texts(&self, name: &str, sizes: RangeInclusive<usize>) -> Result<Vec<String>, Error> {
        let value = self.required(name)?;
        let single = [value.clone()];
        let values = match value {
            Value::Array(values) => values.as_slice(),
            Value::Object(_) => return Err(self.refusal(name, "must be array")),
            _ => &single,
        };
        let (least, most) = sizes.into_inner();
        if values.len() < least {
            return Err(self.refusal(name, &format!("must NOT have fewer than {least} items")));
        }
        if values.len() > most {
            return Err(self.refusal(name, &format!("must NOT have more than {most} items")));
        }
        values
            .iter()
            .enumerate()
            .map(|(index, value)| self.as_text(&format!("{name}/{index}"), value))
            .collect()
    }

    fn refusal(&self, name: &str, reason: &str) -> Error {
        Error::InvalidRequest(format!("{}/{name} {reason}", self.path))
    }
}

/// Returns a value as a number, where it can be taken for one.
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Null => Some(0.0),
        _ => None,
    }
}

/// Returns the parameters of the request's query as an object, for [`Fields::of`] with path `querystring`.
pub(super) fn query(request: &Request) -> Value {
    let query = request.uri().query().unwrap_or_default();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    Value::Object(pairs.map(|(name, value)| (name.into_owned(), Value::from(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_coerced_and_refusals_name_their_field() {
        let value = json!({"a": "60", "b": "true", "c": 7, "d": [], "e": {}, "f": 0, "g": "one", "h": 1.5});
        let fields = Fields::of(&value, "body").unwrap();
        assert_eq!(fields.integer("a", 1).unwrap(), Some(60));
        assert_eq!(fields.boolean("b").unwrap(), Some(true));
        assert_eq!(fields.text("c").unwrap().as_deref(), Some("7"));
        assert_eq!(fields.one_of("g", &["one", "two"]).unwrap(), Some("one"));
        let message = |error: Error| error.to_string();
        assert_eq!(message(fields.integer("f", 1).unwrap_err()), "body/f must be >= 1");
        assert_eq!(message(fields.integer("h", 0).unwrap_err()), "body/h must be integer");
        assert_eq!(message(fields.texts("d", 1..=9).unwrap_err()), "body/d must NOT have fewer than 1 items");
        assert_eq!(message(fields.text("e").unwrap_err()), "body/e must be string");
        assert_eq!(message(fields.required("z").unwrap_err()), "body must have required property 'z'");
        assert_eq!(
            message(fields.one_of("c", &["8"]).unwrap_err()),
            "body/c must be equal to one of the allowed values"
        );
        assert_eq!(message(Fields::of(&json!([]), "body").err().unwrap()), "body must be object");
    }
}
