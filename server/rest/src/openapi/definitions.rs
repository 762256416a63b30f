//! What a row of each relation looks like.

use serde_json::{Map, Value, json};

use super::{Contents, types};
use crate::schema_cache::{Cardinality, Column, Relationship, Schema, Table};

/// Returns a schema for each relation, by its name.
pub(super) fn all(contents: &Contents<'_>) -> Value {
    let tables = contents.tables.iter();
    Value::Object(tables.map(|table| (table.name.clone(), definition(table, contents.schema))).collect())
}

fn definition(table: &Table, schema: &Schema) -> Value {
    let required = table.columns.iter().filter(|column| !column.is_nullable);
    let references = schema.relationships.get(&table.name).map_or(&[][..], Vec::as_slice);
    let property = |column: &Column| {
        let reference = reference(column, references.iter().map(AsRef::as_ref));
        (column.name.clone(), property(table, column, reference.as_deref()))
    };
    types::object(
        table.comment.as_deref(),
        required.map(|column| column.name.as_str()),
        table.columns.iter().map(property),
    )
}

fn property(table: &Table, column: &Column, reference: Option<&str>) -> Value {
    let type_name = types::described_type(column);
    let mut property = Map::new();
    let mut add = |name: &str, value: Value| property.insert(name.to_owned(), value);
    if let Some(description) = description(table, column, reference) {
        add("description", description.into());
    }
    if let Some(default) = column.default.as_deref().and_then(|text| types::default(type_name, text)) {
        add("default", default);
    }
    if let Some(length) = column.max_length {
        add("maxLength", length.into());
    }
    if !column.labels.is_empty() {
        add("enum", json!(column.labels));
    }
    types::describe(&mut property, type_name);
    Value::Object(property)
}

/// Returns the column's comment and notes on its keys. Generators of clients find the keys by their tags.
fn description(table: &Table, column: &Column, reference: Option<&str>) -> Option<String> {
    let is_key = table.primary_key.contains(&column.name);
    let key = is_key.then_some("This is a Primary Key.<pk/>");
    let notes: Vec<&str> = key.into_iter().chain(reference).collect();
    if notes.is_empty() {
        return column.comment.clone();
    }
    let comment = column.comment.as_ref().map(|comment| format!("{comment}\n\n")).unwrap_or_default();
    Some(format!("{comment}Note:\n{}", notes.join("\n")))
}

/// Returns a note on what the column alone refers to: a table rather than a view of it.
fn reference<'a>(column: &Column, relationships: impl Iterator<Item = &'a Relationship>) -> Option<String> {
    let target = |relationship: &'a Relationship| match &relationship.cardinality {
        Cardinality::ManyToOne { columns, .. } | Cardinality::OneToOne { columns, refers: true, .. } => {
            let [(own, foreign)] = columns.as_slice() else { return None };
            (*own == column.name).then_some((relationship, foreign))
        }
        _ => None,
    };
    let (relationship, foreign) =
        relationships.filter_map(target).min_by_key(|(relationship, _)| relationship.leads_to_view)?;
    let table = &relationship.foreign_table.name;
    Some(format!("This is a Foreign Key to `{table}.{foreign}`.<fk table='{table}' column='{foreign}'/>"))
}
