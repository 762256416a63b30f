//! Structs for Go: one per table and operation, one per view and one per composite type. Source: the Supabase CLI 3.1,
//! `gen types --lang go`.

use crate::catalog::{Catalog, Column, Relation, Type};
use crate::layout::json_string;
use crate::names::pascal;

/// What a struct of a relation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Select,
    Insert,
    Update,
}

/// Returns the text of the package.
pub(crate) fn module(catalog: &Catalog, schemas: &[String]) -> String {
    let relations = |wanted: fn(&Relation) -> bool, operations: &[Operation]| {
        let relations = catalog.relations.iter().filter(|relation| wanted(relation));
        let structs = relations.flat_map(|relation| {
            operations.iter().map(move |operation| relation_struct(catalog, relation, *operation))
        });
        structs.collect::<Vec<_>>().join("\n\n")
    };
    let composites = catalog.types.iter().filter(|t| !t.attributes.is_empty() && schemas.contains(&t.schema));
    let composites: Vec<String> = composites.map(|t| composite_struct(catalog, t)).collect();
    // Kinds that the database has none of leave their empty lines, as upstream's.
    let parts = [
        "package database".to_owned(),
        relations(Relation::is_local_table, &[Operation::Select, Operation::Insert, Operation::Update]),
        relations(|relation| !relation.is_table() && !relation.is_materialized(), &[Operation::Select]),
        relations(Relation::is_materialized, &[Operation::Select]),
        composites.join("\n\n"),
    ];
    format!("{}\n", parts.join("\n\n").trim_end())
}

fn relation_struct(catalog: &Catalog, relation: &Relation, operation: Operation) -> String {
    let is_nullable = |column: &Column| match operation {
        Operation::Select => column.is_nullable,
        Operation::Insert => column.is_optional(),
        Operation::Update => true,
    };
    let name = format!("{}{}{operation:?}", pascal(&relation.schema), pascal(&relation.name));
    let fields = relation
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column_type(catalog, &column.format, is_nullable(column))));
    written(&name, &fields.collect::<Vec<_>>())
}

fn composite_struct(catalog: &Catalog, composite: &Type) -> String {
    let fields = composite.attributes.iter().map(|attribute| {
        // Upstream looks the name in SQL up: most types are `interface{}`.
        let name = catalog.type_of(attribute.type_id).map_or("", |t| &t.format);
        (attribute.name.as_str(), scalar(name).unwrap_or("interface{}").to_owned())
    });
    let name = format!("{}{}", pascal(&composite.schema), pascal(&composite.name));
    written(&name, &fields.collect::<Vec<_>>())
}

/// Returns a struct with aligned fields, each the name in Postgres and the type.
fn written(name: &str, fields: &[(&str, String)]) -> String {
    let names: Vec<String> = fields.iter().map(|(name, _)| pascal(name)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let type_width = fields.iter().map(|(_, go)| go.len()).max().unwrap_or(0);
    let lines = names
        .iter()
        .zip(fields)
        .map(|(go_name, (name, go))| format!("  {go_name:width$} {go:type_width$} {}", tag(name)));
    format!("type {name} struct {{\n{}\n}}", lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the tag with a field's name in JSON.
fn tag(name: &str) -> String {
    let tag = format!("json:{}", json_string(name));
    if tag.contains('`') { json_string(&tag) } else { format!("`{tag}`") }
}

/// Returns the type of a column's values; the name is the internal one of the Postgres type.
fn column_type(catalog: &Catalog, name: &str, nullable: bool) -> String {
    let types = || catalog.types.iter().filter(|t| t.name == name);
    let scalar = if types().any(|t| !t.labels.is_empty()) { Some("string") } else { scalar(name) };
    if let Some(go) = scalar {
        // The others have nil as they are.
        let is_value = !matches!(go, "[]byte" | "interface{}" | "map[string]interface{}");
        return if nullable && is_value { format!("*{go}") } else { go.to_owned() };
    }
    if types().any(|t| !t.attributes.is_empty()) {
        return "map[string]interface{}".to_owned();
    }
    match name.strip_prefix('_') {
        // The space is upstream's.
        Some(element) => format!("[]{} ", column_type(catalog, element, nullable)),
        None => "interface{}".to_owned(),
    }
}

fn scalar(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "bool",
        "int2" => "int16",
        "int4" => "int32",
        "int8" => "int64",
        "float4" => "float32",
        "float8" | "numeric" => "float64",
        "bytea" => "[]byte",
        "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz" | "timestamp"
        | "timestamptz" | "interval" | "uuid" | "vector" | "int4range" | "int4multirange" | "int8range"
        | "int8multirange" | "numrange" | "nummultirange" | "tsrange" | "tsmultirange" | "tstzrange"
        | "tstzmultirange" | "daterange" | "datemultirange" => "string",
        "json" | "jsonb" | "void" => "interface{}",
        "record" => "map[string]interface{}",
        _ => return None,
    })
}
