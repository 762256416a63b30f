//! Postgres' types as JSON Schema has them.

use serde_json::{Map, Value, json};

use crate::schema_cache::Column;

/// Returns the JSON type of `type_name`; `None` for a type that may hold any JSON.
pub(super) fn json_type(type_name: &str) -> Option<&'static str> {
    match type_name {
        "boolean" => Some("boolean"),
        "smallint" | "integer" | "bigint" => Some("integer"),
        "numeric" | "real" | "double precision" => Some("number"),
        "json" | "jsonb" => None,
        array if array.ends_with("[]") => Some("array"),
        _ => Some("string"),
    }
}

/// Returns the format of `type_name`: a number's width, else the type's own name.
pub(super) fn format(type_name: &str) -> &str {
    match type_name {
        "smallint" | "integer" => "int32",
        "bigint" => "int64",
        other => other,
    }
}

/// Returns the type of an array's elements.
pub(super) fn element(type_name: &str) -> &str {
    type_name.strip_suffix("[]").unwrap_or(type_name)
}

/// Returns the type that a column is described by: of a domain on one of Postgres' own types that type, else its own.
pub(super) fn described_type(column: &Column) -> &str {
    // The catalog is read with an empty search path, so only types outside `pg_catalog` carry a schema.
    if column.base_type.contains('.') { &column.type_name } else { &column.base_type }
}

/// Adds type, format and items of `type_name` to `schema`.
pub(super) fn describe(schema: &mut Map<String, Value>, type_name: &str) {
    schema.insert("format".to_owned(), format(type_name).into());
    let Some(kind) = json_type(type_name) else { return };
    schema.insert("type".to_owned(), kind.into());
    if kind == "array" {
        let items = json_type(element(type_name)).map_or(json!({}), |kind| json!({ "type": kind }));
        schema.insert("items".to_owned(), items);
    }
}

/// Returns the schema of an object.
pub(super) fn object<'a>(
    comment: Option<&str>,
    required: impl Iterator<Item = &'a str>,
    properties: impl Iterator<Item = (String, Value)>,
) -> Value {
    let mut schema = Map::new();
    if let Some(comment) = comment {
        schema.insert("description".to_owned(), comment.into());
    }
    let required: Vec<&str> = required.collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    schema.insert("type".to_owned(), "object".into());
    Value::Object(schema)
}

/// Returns a column's default as JSON, if it is a constant of its type. Texts are returned as SQL expressions, except
/// that a plain literal has neither quotes nor cast.
pub(super) fn default(type_name: &str, expression: &str) -> Option<Value> {
    if json_type(type_name) == Some("string") {
        let literal = expression.strip_suffix(type_name).and_then(|text| text.strip_suffix("::"));
        let text = literal.map_or(expression, |literal| literal.trim_matches('\''));
        return Some(text.into());
    }
    serde_json::from_str(expression).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_describe_their_elements() {
        let described = |type_name| {
            let mut schema = Map::new();
            describe(&mut schema, type_name);
            Value::Object(schema)
        };
        assert_eq!(
            described("integer[]"),
            json!({ "format": "integer[]", "type": "array", "items": { "type": "integer" } })
        );
        assert_eq!(described("jsonb[]"), json!({ "format": "jsonb[]", "type": "array", "items": {} }));
        assert_eq!(described("jsonb"), json!({ "format": "jsonb" }));
        assert_eq!(described("bigint"), json!({ "format": "int64", "type": "integer" }));
    }

    #[test]
    fn defaults_are_constants_or_expressions() {
        assert_eq!(default("text", "'a \"b\"'::text"), Some("a \"b\"".into()));
        assert_eq!(default("timestamp with time zone", "now()"), Some("now()".into()));
        assert_eq!(default("boolean", "true"), Some(true.into()));
        assert_eq!(default("numeric", "1.5"), Some(1.5.into()));
        assert_eq!(default("integer", "nextval('ids'::regclass)"), None);
        assert_eq!(default("jsonb", "'{}'::jsonb"), None);
    }
}
