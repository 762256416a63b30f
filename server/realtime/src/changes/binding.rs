//! Bindings: the row changes that a client asks for, one table and filter each.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::row::Kind;

/// A request for row changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    /// The id for the client: not 0, and equal for equal bindings.
    pub(crate) id: u32,
    /// `None` for every kind.
    pub(crate) kind: Option<Kind>,
    /// `*` for every schema.
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) filter: Option<String>,
    /// The columns that the client wants.
    pub(crate) select: Option<Result<Vec<String>, InvalidSelect>>,
    /// The JSON object that the client sent, with the id.
    echo: Value,
}

/// A `select` that is no list of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidSelect;

/// The bindings of one channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bindings(pub(crate) Vec<Binding>);

impl Bindings {
    /// Parses the objects of a join; other values are ignored.
    pub(crate) fn read(objects: &[Value]) -> Self {
        Self(objects.iter().filter(|object| object.is_object()).map(Binding::read).collect())
    }

    /// Returns the bindings for the reply to the join.
    pub(crate) fn echo(&self) -> Vec<&Value> {
        self.0.iter().map(|binding| &binding.echo).collect()
    }
}

impl Binding {
    fn read(object: &Value) -> Self {
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        let filter = text("filter").map(|filter| filter.trim().to_owned());
        let mut echo = object.clone();
        let id = id(object);
        if let Some(echo) = echo.as_object_mut() {
            echo.insert("id".to_owned(), id.into());
        }
        Self {
            id,
            kind: text("event").and_then(|event| Kind::parse(&event)),
            schema: text("schema"),
            table: text("table"),
            filter: filter.filter(|filter| !filter.is_empty()),
            select: object.get("select").and_then(select),
            echo,
        }
    }

    /// Describes the binding in messages to its client.
    pub(crate) fn describe(&self) -> String {
        let event = self.kind.map_or("*", Kind::name);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let select = match &self.select {
            Some(Ok(columns)) => columns.join(","),
            _ => String::new(),
        };
        let (schema, table, filter) = (text(&self.schema), text(&self.table), text(&self.filter));
        format!("[event: {event}, schema: {schema}, table: {table}, filters: [{filter}], select: {select}]")
    }
}

fn select(value: &Value) -> Option<Result<Vec<String>, InvalidSelect>> {
    if value.is_null() {
        return None;
    }
    let columns = value.as_array().and_then(|columns| {
        columns.iter().map(|column| column.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    match columns {
        Some(columns) if columns.is_empty() => None,
        Some(mut columns) => {
            columns.sort_unstable();
            columns.dedup();
            Some(Ok(columns))
        }
        None => Some(Err(InvalidSelect)),
    }
}

/// Returns a hash of 27 bits, as upstream's ids are; JavaScript's numbers hold it.
fn id(object: &Value) -> u32 {
    let mut hasher = DefaultHasher::new();
    object.to_string().hash(&mut hasher);
    // The remainder fits.
    (hasher.finish() % ((1 << 27) - 1)) as u32 + 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bindings_are_echoed_with_an_id() {
        let objects =
            [json!({ "event": "insert", "schema": "public", "table": "t", "more": [1] }), json!({})];
        let bindings = Bindings::read(&objects);
        assert_eq!(bindings.0[0].kind, Some(Kind::Insert));
        assert_eq!((bindings.0[1].kind, bindings.0[1].schema.as_deref()), (None, None));
        let echo = bindings.echo();
        assert_eq!((&echo[0]["event"], &echo[0]["more"]), (&json!("insert"), &json!([1])));
        assert!(echo[0]["id"].as_u64().unwrap() > 0 && echo[0]["id"] != echo[1]["id"]);
        assert_eq!(Bindings::read(&objects), bindings);
    }

    #[test]
    fn select_is_a_list_of_names() {
        assert_eq!(select(&json!(["a"])), Some(Ok(vec!["a".to_owned()])));
        assert_eq!((select(&json!([])), select(&json!(null))), (None, None));
        assert_eq!(
            (select(&json!("a")), select(&json!([1]))),
            (Some(Err(InvalidSelect)), Some(Err(InvalidSelect)))
        );
    }
}
