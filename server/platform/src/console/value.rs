//! Values of Postgres as JSON, in the form that postgres-meta gives them, and values of JSON as parameters.
//!
//! Source: what `@supabase/postgres-meta` 0.99 answers to each type. OIDs: `pg_type.dat` of Postgres.

use std::io::{self, Write as _};

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Number, Value, json};

use super::array;
use super::document::Text;

/// The largest whole number that readers of JSON which compute with doubles keep: 2^53 - 1.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// How the text of a type becomes JSON.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Bool,
    /// A whole number of up to 32 bits.
    Integer,
    /// A number of 64 bits: text, if readers could not keep it.
    Bigint,
    Float,
    Json,
    Bytes,
    Circle,
}

/// Returns the form of the type `oid`, and the form of its elements if it is an array.
const fn form(oid: u32) -> (Form, bool) {
    match oid {
        16 => (Form::Bool, false),
        17 => (Form::Bytes, false),
        20 => (Form::Bigint, false),
        21 | 23 | 26 => (Form::Integer, false),
        114 | 3802 => (Form::Json, false),
        700 | 701 => (Form::Float, false),
        718 => (Form::Circle, false),
        199 | 3807 => (Form::Json, true),
        1000 => (Form::Bool, true),
        1001 => (Form::Bytes, true),
        1005 | 1007 | 1028 => (Form::Integer, true),
        1021 | 1022 | 1231 => (Form::Float, true),
        // int8[], text[], varchar[], char[], uuid[], inet[], cidr[], macaddr[], money[], dates and times, numrange[]
        1016 | 1009 | 1015 | 1014 | 1002 | 2951 | 1041 | 651 | 1040 | 791 | 1182 | 1115 | 1185 | 1183
        | 1270 | 3907 => (Form::Text, true),
        _ => (Form::Text, false),
    }
}

/// Writes the value `text` of the type `oid` as JSON.
///
/// Errors: `out` has no room for it.
pub(super) fn write(oid: u32, text: Option<&[u8]>, out: &mut Text) -> io::Result<()> {
    let Some(text) = text else { return out.write_all(b"null") };
    let text = String::from_utf8_lossy(text);
    match form(oid) {
        (form, false) => scalar(form, &text, out),
        (form, true) => match array::to_json(&text, &mut |element, out| scalar(form, element, out), out)? {
            true => Ok(()),
            false => put(out, &text),
        },
    }
}

/// Writes `value` as JSON.
fn put(out: &mut Text, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    serde_json::to_writer(out, value).map_err(io::Error::from)
}

fn scalar(form: Form, text: &str, out: &mut Text) -> io::Result<()> {
    match form {
        Form::Text => put(out, text),
        Form::Bool => put(out, &(text == "t")),
        Form::Integer => match text.parse::<i64>() {
            Ok(number) => put(out, &number),
            Err(_) => put(out, text),
        },
        Form::Bigint => match text.parse::<i64>() {
            Ok(number) if (-MAX_SAFE..=MAX_SAFE).contains(&number) => put(out, &number),
            _ => put(out, text),
        },
        Form::Float => put(out, &text.parse().ok().map(number)),
        Form::Json => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => out.write_all(text.as_bytes()),
            Err(_) => put(out, text),
        },
        Form::Bytes => bytes(text, out),
        Form::Circle => match circle(text) {
            Some(circle) => put(out, &circle),
            None => put(out, text),
        },
    }
}

/// Writes bytes, which Postgres has as `\x` and hexadecimal digits, as a `Buffer` of Node.js.
fn bytes(text: &str, out: &mut Text) -> io::Result<()> {
    let digits = text.strip_prefix("\\x").unwrap_or_default();
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap_or_default();
    out.write_all(b"{\"type\":\"Buffer\",\"data\":")?;
    put(out, &bytes)?;
    out.write_all(b"}")
}

/// Returns a number; whole ones without a fraction, as JavaScript writes them. `null` for what JSON does not have.
fn number(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and within the range")]
    match number {
        whole if whole.fract() == 0.0 && whole.abs() <= MAX_SAFE as f64 => Value::from(whole as i64),
        other => Number::from_f64(other).map_or(Value::Null, Value::Number),
    }
}

/// Reads `<(x,y),radius>`.
fn circle(text: &str) -> Option<Value> {
    let inner = text.strip_prefix("<(")?.strip_suffix('>')?;
    let (center, radius) = inner.split_once("),")?;
    let (x, y) = center.split_once(',')?;
    let read = |part: &str| part.parse().ok().map(number);
    Some(json!({ "x": read(x)?, "y": read(y)?, "radius": read(radius)? }))
}

/// Returns a value of JSON as the text of a parameter, whose type Postgres infers; `None` for NULL. An array becomes an
/// array of Postgres.
pub(super) fn parameter(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(elements) => Some(array::write(elements)),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_form_of_postgres_meta() {
        let cases = [
            (16, "t", json!(true)),
            (20, "3", json!(3)),
            (20, "9007199254740991", json!(9_007_199_254_740_991_i64)),
            (20, "9007199254740992", json!("9007199254740992")),
            (23, "-42", json!(-42)),
            (1700, "1.50", json!("1.50")),
            (701, "1.5", json!(1.5)),
            (701, "NaN", json!(null)),
            (701, "-0", json!(0)),
            (3802, r#"{"b":1,"a":[1,2.5]}"#, json!({ "b": 1, "a": [1, 2.5] })),
            (17, "\\xdeadbeef", json!({ "type": "Buffer", "data": [222, 173, 190, 239] })),
            (718, "<(1,2),3>", json!({ "x": 1, "y": 2, "radius": 3 })),
            (1184, "2024-02-29 10:34:56+00", json!("2024-02-29 10:34:56+00")),
            (1007, "{1,2,NULL}", json!([1, 2, null])),
            (1016, "{1,9007199254740993}", json!(["1", "9007199254740993"])),
            (1231, "{1.5}", json!([1.5])),
            (1009, r#"{a,"b \"c\"",NULL,"NULL"}"#, json!(["a", "b \"c\"", null, "NULL"])),
            (1007, "{{1,2},{3,4}}", json!([[1, 2], [3, 4]])),
            (1007, "[2:3]={1,2}", json!([1, 2])),
            (1007, "{}", json!([])),
            (3807, r#"{"{\"a\": 1}"}"#, json!([{ "a": 1 }])),
            // An array of an enum, whose OID is the database's own.
            (16_400, "{a}", json!("{a}")),
        ];
        let read = |oid, text| {
            let mut out = Text::new(1000);
            write(oid, text, &mut out).unwrap();
            serde_json::from_str::<Value>(&out.into_string().unwrap()).unwrap()
        };
        for (oid, text, expected) in cases {
            assert_eq!(read(oid, Some(text.as_bytes())), expected, "{oid} {text}");
        }
        assert_eq!(read(23, None), Value::Null);
        for (oid, text) in [(25, "12345678"), (1007, "{1234,5678}"), (17, "\\x00")] {
            assert!(write(oid, Some(text.as_bytes()), &mut Text::new(9)).is_err(), "{oid} {text}");
        }
    }

    #[test]
    fn parameters_are_texts() {
        let cases = [
            (json!(1), Some("1")),
            (json!(true), Some("true")),
            (json!("x"), Some("x")),
            (json!(null), None),
            (json!({ "a": [1] }), Some(r#"{"a":[1]}"#)),
            (json!([1, [2, null]]), Some(r#"{"1",{"2",NULL}}"#)),
            (json!(["a\"b"]), Some(r#"{"a\"b"}"#)),
        ];
        for (value, text) in cases {
            assert_eq!(parameter(&value).as_deref(), text, "{value}");
        }
    }
}
