//! The scope of one page's placeholders.

use std::collections::HashMap;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::Location;
use super::description::{Description, Page, Source, Step};
use super::rows::Row;
use super::template::{self, Placeholder};

/// The characters that are encoded in a URL's path. Source: ECMAScript, `encodeURI`.
const URI: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b';')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b',')
    .remove(b'#')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Results by the names of their queries; a failed query has none.
pub(super) type Results<'a> = HashMap<&'a str, Arc<Vec<Row>>>;

/// The scope in which placeholders are looked up.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) description: &'a Description,
    pub(super) page: Option<&'a Page>,
    pub(super) location: &'a Location<'a>,
    pub(super) results: &'a Results<'a>,
    /// The row of the current item of a list, and its query.
    row: Option<(&'a str, &'a Row)>,
}

impl<'a> Scope<'a> {
    /// Returns the scope of `page`; `None` for documents.
    pub(super) fn new(
        description: &'a Description,
        page: Option<&'a Page>,
        location: &'a Location<'a>,
        results: &'a Results<'a>,
    ) -> Self {
        Self { description, page, location, results, row: None }
    }

    /// Replaces the placeholders in `text`.
    pub(super) fn fill(&self, text: &str) -> String {
        template::fill(text, |placeholder| self.look_up(placeholder))
    }

    /// Replaces the placeholders in the HTML `html`.
    pub(super) fn fill_html(&self, html: &str) -> String {
        template::fill(html, |placeholder| gateway::escape_html(&self.look_up(placeholder)))
    }

    /// Returns the value `name`, or an empty string.
    pub(super) fn value(&self, name: &str) -> String {
        self.look_up(Placeholder::Value(name))
    }

    /// Replaces the placeholders in `template` and repeats its lists' items for their rows; `None` if a list has no
    /// rows.
    pub(super) fn render(&self, template: &'a Value) -> Option<Value> {
        match template {
            Value::String(text) => Some(Value::String(self.fill(text))),
            Value::Array(items) => {
                let items: Vec<Value> = items.iter().flat_map(|item| self.repeat(item)).collect();
                (!items.is_empty()).then_some(Value::Array(items))
            }
            Value::Object(members) => {
                let member =
                    |(name, member): (&String, &'a Value)| Some((name.clone(), self.render(member)?));
                members.iter().map(member).collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(template.clone()),
        }
    }

    fn repeat(&self, item: &'a Value) -> Vec<Value> {
        let Some(query) = template::repeated(item) else { return self.render(item).into_iter().collect() };
        let rows = self.results.get(query).into_iter().flat_map(|rows| rows.iter());
        rows.filter_map(|row| Scope { row: Some((query, row)), ..*self }.render(item)).collect()
    }

    fn look_up(&self, placeholder: Placeholder<'_>) -> String {
        match placeholder {
            Placeholder::Column { query, column } => {
                let row = self.row.filter(|(current, _)| *current == query);
                row.and_then(|(_, row)| text(row, column)).unwrap_or_default()
            }
            Placeholder::Value("origin") => self.location.origin.to_owned(),
            Placeholder::Value("path") => self.location.path.to_owned(),
            Placeholder::Value("storage") => self.location.storage.to_owned(),
            Placeholder::Value("images") => self.location.images.to_owned(),
            Placeholder::Value(name) => {
                let source = self.description.source(name, self.page);
                source.map_or_else(String::new, |source| self.read(source))
            }
        }
    }

    fn read(&self, source: &Source) -> String {
        let stored = self.results.get(source.query.as_str()).and_then(|rows| {
            let wanted = |row: &&Row| {
                let mut conditions = source.conditions.iter();
                conditions.all(|(column, value)| text(row, column).as_deref() == Some(value))
            };
            text(rows.iter().find(wanted)?, &source.column)
        });
        let value = stored.and_then(|text| self.apply_steps(source, text));
        let value = value.or_else(|| self.apply_steps(source, source.default.clone()?));
        value.unwrap_or_else(|| self.fill(source.otherwise.as_deref().unwrap_or_default()))
    }

    /// Applies the steps of `source`.
    fn apply_steps(&self, source: &Source, text: String) -> Option<String> {
        source.steps.iter().try_fold(text, |text, step| self.step(step, text))
    }

    fn step(&self, step: &Step, text: String) -> Option<String> {
        match step {
            Step::Unquote => Some(unquote(&text).to_owned()),
            Step::Member(name) => {
                let object: Value = serde_json::from_str(&text).ok()?;
                object.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
            }
            Step::Excerpt(length) => Some(excerpt(&text, *length)).filter(|text| !text.is_empty()),
            Step::File { own: true, .. } if text.starts_with('/') => Some(text),
            Step::File { bucket, .. } => Some(self.file(&text, bucket)),
        }
    }

    fn file(&self, stored: &str, bucket: &str) -> String {
        if stored.starts_with("https://") || stored.starts_with("http://") {
            return stored.to_owned();
        }
        let path = unquote(stored).trim_start_matches('/');
        let path = if path.contains('/') { path.to_owned() } else { format!("{bucket}/{path}") };
        format!("{}/{}", self.location.storage, utf8_percent_encode(&path, URI))
    }
}

/// Returns the column's text; `None` for NULL and missing columns.
fn text(row: &Row, column: &str) -> Option<String> {
    match row.get(column)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn unquote(text: &str) -> &str {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Returns the first paragraph, cut after the last whole word that fits into `length` characters.
fn excerpt(text: &str, length: usize) -> String {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    match paragraph.char_indices().nth(length) {
        None => paragraph,
        Some((end, _)) => {
            let cut = &paragraph[..end];
            let words = cut.rfind(char::is_whitespace).map_or(cut, |end| cut[..end].trim_end());
            format!("{words}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_removed_in_pairs() {
        assert_eq!(unquote(" \"Terrace\" "), "Terrace");
        assert_eq!(unquote("'a'"), "a");
        assert_eq!(unquote("\""), "\"");
        assert_eq!(unquote("say \"hi\""), "say \"hi\"");
    }

    #[test]
    fn an_excerpt_ends_with_a_whole_word_of_the_first_paragraph() {
        assert_eq!(excerpt("\n\n Short. \r\n\r\nSecond", 20), "Short.");
        assert_eq!(excerpt("one two three", 9), "one two…");
        assert_eq!(excerpt("Ünbrökenword", 4), "Ünbr…");
    }
}
