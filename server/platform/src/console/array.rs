//! Arrays of Postgres in their text form. Source: PostgreSQL documentation, section 8.15.6.

use std::io::{self, ErrorKind, Write as _};
use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use super::document::Text;

/// The most dimensions that Postgres has.
const MAX_DEPTH: usize = 6;

/// Writes an element.
type Element<'e> = &'e mut dyn FnMut(&str, &mut Text) -> io::Result<()>;

/// Writes the array `text` as one of JSON whose elements `element` writes. Reports whether it is an array; nothing is
/// written otherwise.
///
/// Errors: `out` has no room for it.
pub(super) fn to_json(text: &str, element: Element<'_>, out: &mut Text) -> io::Result<bool> {
    let start = out.len();
    match whole(text, element, out) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            out.truncate(start);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn whole(text: &str, element: Element<'_>, out: &mut Text) -> io::Result<()> {
    // Bounds other than 1 stand before it: `[2:3]={1,2}`.
    let start = if text.starts_with('[') { text.find('{').ok_or(ErrorKind::InvalidData)? } else { 0 };
    let mut characters = text[start..].chars().peekable();
    list(&mut characters, element, out, 0)?;
    characters.next().map_or(Ok(()), |_| Err(ErrorKind::InvalidData.into()))
}

fn list(
    characters: &mut Peekable<Chars<'_>>,
    element: Element<'_>,
    out: &mut Text,
    depth: usize,
) -> io::Result<()> {
    if next(characters)? != '{' || depth >= MAX_DEPTH {
        return Err(ErrorKind::InvalidData.into());
    }
    out.write_all(b"[")?;
    if characters.next_if_eq(&'}').is_some() {
        return out.write_all(b"]");
    }
    loop {
        match characters.peek() {
            Some('{') => list(characters, element, out, depth + 1)?,
            Some('"') => element(&quoted(characters)?, out)?,
            _ => match plain(characters).as_str() {
                "NULL" => out.write_all(b"null")?,
                text => element(text, out)?,
            },
        }
        match next(characters)? {
            ',' => out.write_all(b",")?,
            '}' => return out.write_all(b"]"),
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn next(characters: &mut Peekable<Chars<'_>>) -> io::Result<char> {
    characters.next().ok_or_else(|| ErrorKind::InvalidData.into())
}

fn plain(characters: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(character) = characters.next_if(|character| !matches!(character, ',' | '}')) {
        text.push(character);
    }
    text
}

fn quoted(characters: &mut Peekable<Chars<'_>>) -> io::Result<String> {
    next(characters)?;
    let mut text = String::new();
    loop {
        match next(characters)? {
            '"' => return Ok(text),
            '\\' => text.push(next(characters)?),
            character => text.push(character),
        }
    }
}

/// Writes an array. Objects within are written as their JSON.
pub(super) fn write(elements: &[Value]) -> String {
    let written: Vec<String> = elements
        .iter()
        .map(|element| match element {
            Value::Null => "NULL".to_owned(),
            Value::Array(inner) => write(inner),
            Value::String(text) => quote(text),
            other => quote(&other.to_string()),
        })
        .collect();
    format!("{{{}}}", written.join(","))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
