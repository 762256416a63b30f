//! Comma-separated values as a body (RFC 4180): a line of column names, then a line for each row. Lines may end as
//! on any system; empty ones mean nothing, nor does a byte order mark.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::Error;

/// The word that stands for null. Source: PostgREST's documentation, "Bulk Insert".
const NULL: &str = "NULL";

/// Returns `body` as a JSON array of objects whose values are texts or null.
///
/// Errors: `PGRST102` for text that is not UTF-8, an unclosed quote, and lines of differing numbers of fields.
pub(super) fn to_json(body: &[u8]) -> Result<Bytes, Error> {
    let refused = |message: &str| Error::InvalidBody(message.to_owned());
    let text = std::str::from_utf8(body).map_err(|_| refused("CSV is not valid UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = lines(text).ok_or_else(|| refused("CSV has an unclosed quote"))?;
    let mut lines = lines.into_iter().filter(|fields| *fields != [""]);
    let names = lines.next().ok_or_else(|| refused("CSV has no line of column names"))?;
    let rows = lines.map(|fields| {
        if fields.len() != names.len() {
            return Err(refused("All lines must have same number of fields"));
        }
        let value = |field: String| if field == NULL { Value::Null } else { Value::String(field) };
        Ok(Value::Object(names.iter().cloned().zip(fields.into_iter().map(value)).collect::<Map<_, _>>()))
    });
    let rows = rows.collect::<Result<Vec<_>, Error>>()?;
    Ok(Bytes::from(Value::Array(rows).to_string()))
}

/// Returns the fields of each line; `None` when a quote is not closed. A line end at the very end begins no line.
fn lines(text: &str) -> Option<Vec<Vec<String>>> {
    let mut lines = Vec::new();
    let mut fields: Vec<String> = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if is_quoted || field.is_empty() => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            '\r' | '\n' if !is_quoted => {
                if character == '\r' {
                    characters.next_if_eq(&'\n');
                }
                fields.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut fields));
            }
            other => field.push(other),
        }
    }
    if is_quoted {
        return None;
    }
    if !field.is_empty() || !fields.is_empty() {
        fields.push(field);
        lines.push(fields);
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<String, Error> {
        to_json(text.as_bytes()).map(|json| String::from_utf8_lossy(&json).into_owned())
    }

    #[test]
    fn lines_become_objects() {
        assert_eq!(
            json("a,b\r\n1,\"x, \"\"y\"\"\nz\"\nNULL,\n").unwrap(),
            r#"[{"a":"1","b":"x, \"y\"\nz"},{"a":null,"b":""}]"#
        );
        assert_eq!(json("a,b").unwrap(), "[]");
        assert_eq!(json("\u{feff}\na\r1\r\r\n\n2").unwrap(), r#"[{"a":"1"},{"a":"2"}]"#);
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for text in ["", "a,b\n1", "a\n\"x"] {
            assert_eq!(json(text).unwrap_err().code(), "PGRST102", "{text}");
        }
        assert_eq!(json("a,b\n1").unwrap_err().message(), "All lines must have same number of fields");
    }
}
