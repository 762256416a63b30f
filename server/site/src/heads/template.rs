//! Texts and JSON with placeholders: `{{name}}` for a value, `{{query[].column}}` for a column of each row.

use serde_json::Value;

/// A name between two pairs of braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholder<'a> {
    /// The value of that name.
    Value(&'a str),
    /// A column of the row of the surrounding list item.
    Column { query: &'a str, column: &'a str },
}

impl<'a> Placeholder<'a> {
    fn parse(name: &'a str) -> Self {
        match name.split_once("[].") {
            Some((query, column)) => Self::Column { query, column },
            None => Self::Value(name),
        }
    }
}

/// Splits a text at its first placeholder: the text before, the placeholder, and the rest; `None` if there is no
/// placeholder.
fn split(text: &str) -> Option<(&str, Placeholder<'_>, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, Placeholder::parse(name), after))
}

/// Returns the placeholders of `text`, in their order.
pub(super) fn placeholders(mut text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    std::iter::from_fn(move || {
        let (_, placeholder, after) = split(text)?;
        text = after;
        Some(placeholder)
    })
}

/// Replaces each placeholder in `text` by the result of `value`, in which placeholders are not replaced.
pub(super) fn fill(mut text: &str, value: impl Fn(Placeholder<'_>) -> String) -> String {
    let mut filled = String::with_capacity(text.len());
    while let Some((before, placeholder, after)) = split(text) {
        filled.push_str(before);
        filled.push_str(&value(placeholder));
        text = after;
    }
    filled.push_str(text);
    filled
}

/// Returns the query whose rows repeat `item`, an item of a list: the one whose columns it names outside of inner
/// lists.
pub(super) fn repeated(item: &Value) -> Option<&str> {
    match item {
        Value::String(text) => placeholders(text).find_map(|placeholder| match placeholder {
            Placeholder::Column { query, .. } => Some(query),
            Placeholder::Value(_) => None,
        }),
        Value::Object(members) => members.values().find_map(repeated),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let filled = fill("{{a}} | {{b}}{{", |placeholder| match placeholder {
            Placeholder::Value("a") => "{{b}}".to_owned(),
            Placeholder::Value(name) => format!("<{name}>"),
            Placeholder::Column { .. } => String::new(),
        });
        assert_eq!(filled, "{{b}} | <b>{{");
    }

    #[test]
    fn an_item_is_repeated_by_the_rows_it_names_itself() {
        let job = serde_json::json!({ "title": "{{jobs[].title}}", "at": { "id": "{{jobs[].id}}" } });
        assert_eq!(repeated(&job), Some("jobs"));
        let page = serde_json::json!({ "name": "{{site.name}}", "entities": ["{{faqs[].question}}"] });
        assert_eq!(repeated(&page), None);
    }
}
