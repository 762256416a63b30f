//! The functions that are available in every template.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Value;
use super::escape::html;

const NAMES: [&str; 18] = [
    "and", "or", "not", "len", "index", "slice", "eq", "ne", "lt", "le", "gt", "ge", "print", "println",
    "printf", "html", "js", "urlquery",
];

/// The characters, in addition to letters and digits, that Go's `url.QueryEscape` does not escape.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns whether there is a function `name`.
pub(super) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Calls function `name`. Errors: the reason.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let text = || sprint(arguments);
    Ok(match name {
        // The caller returns the first argument that decides. If none does, the last argument is the result.
        "and" | "or" => arguments.last().cloned().ok_or("expected at least one argument")?,
        "not" => Value::Bool(!one(arguments)?.is_true()),
        "len" => length(one(arguments)?)?,
        "index" => index(arguments)?,
        "slice" => slice(arguments)?,
        "eq" => Value::Bool(equal(arguments)?),
        "ne" => {
            let [a, b] = two(arguments)?;
            Value::Bool(!a.equals(b).ok_or("incompatible types for comparison")?)
        }
        "lt" | "le" | "gt" | "ge" => Value::Bool(compare(name, arguments)?),
        "print" => Value::String(text()),
        "println" => {
            let words: Vec<String> = arguments.iter().map(Value::to_string).collect();
            Value::String(format!("{}\n", words.join(" ")))
        }
        "printf" => Value::String(super::printf::printf(arguments)?),
        "html" => Value::String(html(&text())),
        "js" => Value::String(javascript(&text())),
        "urlquery" => Value::String(utf8_percent_encode(&text(), QUERY).to_string().replace("%20", "+")),
        other => return Err(format!("{other} is not a function")),
    })
}

/// Does the same as Go's `fmt.Sprint`: blanks only between two arguments neither of which is a text.
pub(super) fn sprint(arguments: &[Value]) -> String {
    let mut text = String::new();
    for (position, argument) in arguments.iter().enumerate() {
        let is_text = |value: &Value| matches!(value, Value::String(_));
        if position > 0 && !is_text(argument) && !is_text(&arguments[position - 1]) {
            text.push(' ');
        }
        text.push_str(&argument.to_string());
    }
    text
}

fn one(arguments: &[Value]) -> Result<&Value, String> {
    match arguments {
        [argument] => Ok(argument),
        _ => Err(format!("expected 1 argument, found {}", arguments.len())),
    }
}

fn two(arguments: &[Value]) -> Result<&[Value; 2], String> {
    arguments.try_into().map_err(|_| format!("expected 2 arguments, found {}", arguments.len()))
}

fn length(value: &Value) -> Result<Value, String> {
    let length = match value {
        Value::String(text) => text.len(),
        Value::List(items) => items.len(),
        Value::Map(fields) => fields.len(),
        other => return Err(format!("a {} has no length", other.kind())),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn index(arguments: &[Value]) -> Result<Value, String> {
    let (value, keys) = arguments.split_first().ok_or("expected at least one argument")?;
    let mut value = value.clone();
    for key in keys {
        value = match (&value, key) {
            (Value::Map(fields), Value::String(name)) => fields.get(name).cloned().unwrap_or_default(),
            (Value::List(items), key) => {
                let item = position(key).and_then(|position| items.get(position));
                item.cloned().ok_or_else(|| format!("index out of range: {key}"))?
            }
            (Value::Nil, _) => return Err("index of untyped nil".to_owned()),
            (other, _) => return Err(format!("can't index a {} with a {}", other.kind(), key.kind())),
        };
    }
    Ok(value)
}

fn position(value: &Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

fn slice(arguments: &[Value]) -> Result<Value, String> {
    let (value, bounds) = arguments.split_first().ok_or("expected at least one argument")?;
    let bound = |index: usize, default: usize| match bounds.get(index) {
        Some(bound) => position(bound).ok_or_else(|| format!("{bound} is no position")),
        None => Ok(default),
    };
    let out_of_range = || "slice out of range".to_owned();
    match value {
        Value::String(text) => {
            let part = text.get(bound(0, 0)?..bound(1, text.len())?).ok_or_else(out_of_range)?;
            Ok(Value::String(part.to_owned()))
        }
        Value::List(items) => {
            let part = items.get(bound(0, 0)?..bound(1, items.len())?).ok_or_else(out_of_range)?;
            Ok(Value::List(part.to_vec()))
        }
        other => Err(format!("can't slice a {}", other.kind())),
    }
}

fn equal(arguments: &[Value]) -> Result<bool, String> {
    let (first, others) = arguments.split_first().ok_or("expected at least two arguments")?;
    if others.is_empty() {
        return Err("expected at least two arguments".to_owned());
    }
    for other in others {
        if first.equals(other).ok_or("incompatible types for comparison")? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn compare(name: &str, arguments: &[Value]) -> Result<bool, String> {
    let [a, b] = two(arguments)?;
    let order = a.order(b).ok_or("incompatible types for comparison")?;
    Ok(match name {
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// Does the same as Go's `template.JSEscapeString`.
fn javascript(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\'' => escaped.push_str("\\'"),
            '"' => escaped.push_str("\\\""),
            '<' => escaped.push_str("\\u003C"),
            '>' => escaped.push_str("\\u003E"),
            '&' => escaped.push_str("\\u0026"),
            '=' => escaped.push_str("\\u003D"),
            control if control < ' ' => escaped.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => escaped.push(other),
        }
    }
    escaped
}
