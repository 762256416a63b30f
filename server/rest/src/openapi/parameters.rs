//! The parameters that paths refer to by name.

use serde_json::{Map, Value, json};

use super::{Contents, reference};
use crate::schema_cache::{Column, Table};

/// Returns all parameters: those that every relation takes, then each relation's body and filters.
pub(super) fn all(contents: &Contents<'_>) -> Value {
    let mut all = Map::new();
    let mut add = |name: &str, parameter: Value| all.insert(name.to_owned(), parameter);
    let returns = ["return=representation", "return=minimal", "return=none"];
    let resolutions = ["resolution=ignore-duplicates", "resolution=merge-duplicates"];
    let post: Vec<&str> = returns.into_iter().chain(resolutions).collect();
    add("preferParams", preference(&[]));
    add("preferReturn", preference(&returns));
    add("preferCount", preference(&["count=none"]));
    add("preferPost", preference(&post));
    add("select", text("select", "Filtering Columns", "query"));
    add("on_conflict", text("on_conflict", "On Conflict", "query"));
    add("order", text("order", "Ordering", "query"));
    add("range", text("Range", "Limiting and Pagination", "header"));
    let mut unit = text("Range-Unit", "Limiting and Pagination", "header");
    unit["default"] = "items".into();
    add("rangeUnit", unit);
    add("offset", text("offset", "Limiting and Pagination", "query"));
    add("limit", text("limit", "Limiting and Pagination", "query"));
    for table in &contents.tables {
        add(&body(table), body_parameter(table));
        for column in &table.columns {
            add(&filter(table, column), filter_parameter(column));
        }
    }
    Value::Object(all)
}

/// Returns the name of the parameter for a relation's body.
pub(super) fn body(table: &Table) -> String {
    format!("body.{}", table.name)
}

/// Returns the name of the parameter for a filter on a column.
pub(super) fn filter(table: &Table, column: &Column) -> String {
    format!("rowFilter.{}.{}", table.name, column.name)
}

fn body_parameter(table: &Table) -> Value {
    json!({
        "name": table.name,
        "description": table.name,
        "required": false,
        "in": "body",
        "schema": reference("definitions", &table.name),
    })
}

fn filter_parameter(column: &Column) -> Value {
    let mut parameter = Map::new();
    parameter.insert("name".to_owned(), column.name.as_str().into());
    if let Some(comment) = &column.comment {
        parameter.insert("description".to_owned(), comment.as_str().into());
    }
    parameter.insert("required".to_owned(), false.into());
    parameter.insert("in".to_owned(), "query".into());
    parameter.insert("type".to_owned(), "string".into());
    Value::Object(parameter)
}

fn text(name: &str, description: &str, place: &str) -> Value {
    json!({ "name": name, "description": description, "required": false, "in": place, "type": "string" })
}

fn preference(values: &[&str]) -> Value {
    let mut parameter = text("Prefer", "Preference", "header");
    if !values.is_empty() {
        parameter["enum"] = json!(values);
    }
    parameter
}
