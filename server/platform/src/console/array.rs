//! Arrays of Postgres in their text form. Source: PostgreSQL documentation, section 8.15.6.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// The most dimensions that Postgres has.
const MAX_DEPTH: usize = 6;

/// Reads an array whose elements `element` reads; `None` if it is none.
pub(super) fn parse(text: &str, element: &dyn Fn(&str) -> Value) -> Option<Value> {
    // Bounds other than 1 stand before it: `[2:3]={1,2}`.
    let start = if text.starts_with('[') { text.find('{')? } else { 0 };
    let mut characters = text[start..].chars().peekable();
    let parsed = list(&mut characters, element, 0)?;
    characters.next().is_none().then_some(parsed)
}

fn list(
    characters: &mut Peekable<Chars<'_>>,
    element: &dyn Fn(&str) -> Value,
    depth: usize,
) -> Option<Value> {
    if characters.next()? != '{' || depth >= MAX_DEPTH {
        return None;
    }
    let mut elements = Vec::new();
    if characters.next_if_eq(&'}').is_some() {
        return Some(Value::Array(elements));
    }
    loop {
        elements.push(match characters.peek()? {
            '{' => list(characters, element, depth + 1)?,
            '"' => element(&quoted(characters)?),
            _ => plain(characters, element),
        });
        match characters.next()? {
            ',' => {}
            '}' => return Some(Value::Array(elements)),
            _ => return None,
        }
    }
}

fn plain(characters: &mut Peekable<Chars<'_>>, element: &dyn Fn(&str) -> Value) -> Value {
    let mut text = String::new();
    while let Some(character) = characters.next_if(|character| !matches!(character, ',' | '}')) {
        text.push(character);
    }
    if text == "NULL" { Value::Null } else { element(&text) }
}

fn quoted(characters: &mut Peekable<Chars<'_>>) -> Option<String> {
    characters.next()?;
    let mut text = String::new();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
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
