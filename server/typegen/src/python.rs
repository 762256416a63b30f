//! Classes for Python: pydantic models of rows, and typed dictionaries of what is inserted and updated. Source: the
//! Supabase CLI 3.1, `gen types --lang python`.

use crate::catalog::{Catalog, Column, Relation, Type};
use crate::layout::json_string;
use crate::names::pascal;

const IMPORTS: &str = "\
from __future__ import annotations

import datetime
import uuid
from typing import (
    Annotated,
    Any,
    List,
    Literal,
    Optional,
    TypedDict,
)
from typing_extensions import NotRequired, TypeAlias

from pydantic import BaseModel, Field, JsonValue";

/// Returns the text of the module. It contains the enums of all schemas, as upstream's.
pub(crate) fn module(catalog: &Catalog, schemas: &[String]) -> String {
    let relations = |wanted: fn(&Relation) -> bool, write: fn(&Catalog, &Relation) -> String| {
        let relations = catalog.relations.iter().filter(|relation| wanted(relation));
        relations.map(|relation| write(catalog, relation)).collect::<Vec<_>>().join("\n\n")
    };
    let types = |wanted: &dyn Fn(&Type) -> bool, write: fn(&Catalog, &Type) -> String| {
        let types = catalog.types.iter().filter(|t| wanted(t));
        types.map(|t| write(catalog, t)).collect::<Vec<_>>().join("\n\n")
    };
    // Kinds that the database has none of leave their empty lines, as upstream's.
    let parts = [
        IMPORTS.to_owned(),
        types(&|t| !t.labels.is_empty(), |_, t| alias(t)),
        relations(Relation::is_local_table, table),
        relations(|relation| !relation.is_table() && !relation.is_materialized(), model),
        relations(Relation::is_materialized, model),
        types(&|t| !t.attributes.is_empty() && schemas.contains(&t.schema), composite),
    ];
    format!("{}\n", parts.join("\n\n").trim_end())
}

/// Returns the name of an enum's labels.
fn alias(t: &Type) -> String {
    let labels: Vec<String> = t.labels.iter().map(|label| json_string(label)).collect();
    format!("{}: TypeAlias = Literal[{}]", class_name(&t.schema, &t.name), labels.join(", "))
}

fn table(catalog: &Catalog, table: &Relation) -> String {
    let name = class_name(&table.schema, &table.name);
    let dictionary = |operation: &str, not_required: fn(&Column) -> bool| {
        let attributes = table.columns.iter().map(|column| {
            let annotated =
                format!("Annotated[{}, {}]", column_type(catalog, column), alias_of(&column.name));
            let python = if not_required(column) { format!("NotRequired[{annotated}]") } else { annotated };
            format!("    {}: {python}", attribute_name(&column.name))
        });
        class(&format!("{name}{operation}"), "TypedDict", attributes)
    };
    [model(catalog, table), dictionary("Insert", Column::is_optional), dictionary("Update", |_| true)]
        .join("\n\n")
}

fn model(catalog: &Catalog, relation: &Relation) -> String {
    let attributes =
        relation.columns.iter().map(|column| attribute(&column.name, &column_type(catalog, column)));
    class(&class_name(&relation.schema, &relation.name), "BaseModel", attributes)
}

fn composite(catalog: &Catalog, composite: &Type) -> String {
    let attributes = composite.attributes.iter().map(|member| {
        let python = catalog
            .type_of(member.type_id)
            .map_or_else(|| "Any".to_owned(), |t| type_name(catalog, &t.name, &t.schema));
        attribute(&member.name, &format!("Optional[{python}]"))
    });
    class(&class_name(&composite.schema, &composite.name), "BaseModel", attributes)
}

fn class(name: &str, base: &str, attributes: impl Iterator<Item = String>) -> String {
    let attributes: Vec<String> = attributes.collect();
    let body = if attributes.is_empty() { "    pass".to_owned() } else { attributes.join("\n") };
    format!("class {name}({base}):\n{body}")
}

fn attribute(name: &str, python: &str) -> String {
    format!("    {}: {python} = {}", attribute_name(name), alias_of(name))
}

fn alias_of(name: &str) -> String {
    format!("Field(alias={})", json_string(name))
}

fn class_name(schema: &str, name: &str) -> String {
    format!("{}{}", pascal(schema), pascal(name))
}

/// Returns a name in lower case, with underscores for what is neither a letter nor a digit of ASCII.
fn attribute_name(name: &str) -> String {
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_alphanumeric()) {
        words.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    }
    words.push(rest);
    words.join("_").to_lowercase()
}

fn column_type(catalog: &Catalog, column: &Column) -> String {
    let python = type_name(catalog, &column.format, &column.type_schema);
    if column.is_nullable { format!("Optional[{python}]") } else { python }
}

/// Returns the type of the values of the Postgres type with this internal name.
fn type_name(catalog: &Catalog, name: &str, schema: &str) -> String {
    if let Some(element) = name.strip_prefix('_') {
        return format!("List[{}]", type_name(catalog, element, schema));
    }
    let own = catalog.types.iter().find(|t| t.name == name && t.schema == schema);
    match (own, scalar(name)) {
        (Some(own), _) if !own.labels.is_empty() => class_name(schema, name),
        (_, Some(scalar)) => scalar.to_owned(),
        // Also what has no class here, as upstream: annotations are not evaluated.
        (Some(_), None) => class_name(schema, name),
        (None, None) => "Any".to_owned(),
    }
}

fn scalar(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "bool",
        "int2" | "int4" | "int8" => "int",
        "float4" | "float8" | "numeric" => "float",
        "bytea" => "bytes",
        "bpchar" | "varchar" | "string" | "text" | "citext" | "interval" | "int4range" | "int4multirange"
        | "int8range" | "int8multirange" | "numrange" | "nummultirange" | "tsrange" | "tsmultirange"
        | "tstzrange" | "tstzmultirange" | "daterange" | "datemultirange" => "str",
        "date" => "datetime.date",
        "time" | "timetz" => "datetime.time",
        "timestamp" | "timestamptz" => "datetime.datetime",
        "uuid" => "uuid.UUID",
        "vector" => "list[Any]",
        "json" | "jsonb" => "JsonValue",
        "void" => "None",
        "record" => "dict[str, Any]",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_names_in_snake_case() {
        let names = ["home town", "createdAt", "a - b", "_id", "b_"];
        assert_eq!(names.map(attribute_name), ["home_town", "createdat", "a_b", "_id", "b_"]);
    }
}
