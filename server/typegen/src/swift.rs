//! Structs for Swift: one per table and operation, one per view and one per composite type, in one enum per schema.
//! Source: postgres-meta, `src/server/templates/swift.ts`. It names structs that it does not write, for composite types
//! and for types of Postgres that it does not know; this module names those that there are.

use crate::catalog::{Catalog, Column, Relation, Type};
use crate::names::{capitalized, pascal};

/// Who can use the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwiftAccess {
    /// The module that contains them.
    Internal,
    /// Everyone.
    Public,
}

const INDENT: &str = "  ";

/// What a struct of a relation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Select,
    Insert,
    Update,
}

struct Attribute<'a> {
    /// The name in Postgres.
    name: &'a str,
    swift_name: String,
    swift_type: String,
    is_identity: bool,
}

/// Returns the text of the file.
pub(crate) fn module(catalog: &Catalog, schemas: &[String], access: SwiftAccess) -> String {
    let mut file = File { catalog, access, text: "import Foundation\nimport Supabase\n\n".to_owned() };
    for schema in schemas {
        file.schema(schema);
    }
    file.text
}

struct File<'a> {
    catalog: &'a Catalog,
    access: SwiftAccess,
    text: String,
}

impl File<'_> {
    fn schema(&mut self, schema: &str) {
        let catalog = self.catalog;
        let types = || catalog.types.iter().filter(|t| t.schema == schema);
        let relations = || catalog.relations.iter().filter(|relation| relation.schema == schema);
        let access = self.access();
        self.line(0, &format!("{access} enum {}Schema {{", type_name(schema)));
        for t in types().filter(|t| !t.labels.is_empty()) {
            let cases: Vec<_> = t.labels.iter().map(|label| (property_name(label), label.as_str())).collect();
            self.enumeration(1, &type_name(&t.name), "String, Codable, Hashable, Sendable", &cases);
        }
        for table in relations().filter(|relation| relation.is_table()) {
            for operation in [Operation::Select, Operation::Insert, Operation::Update] {
                self.relation(table, operation);
            }
        }
        for view in relations().filter(|relation| !relation.is_table()) {
            self.relation(view, Operation::Select);
        }
        for t in types().filter(|t| !t.attributes.is_empty()) {
            self.composite(t);
        }
        self.line(0, "}");
    }

    fn relation(&mut self, relation: &Relation, operation: Operation) {
        let is_nullable = |column: &Column| match operation {
            Operation::Select => column.is_nullable,
            Operation::Insert => column.is_optional(),
            Operation::Update => true,
        };
        let attributes = relation.columns.iter().map(|column| Attribute {
            name: &column.name,
            swift_name: property_name(&column.name),
            swift_type: self.column_type(column, is_nullable(column)),
            is_identity: column.is_identity(),
        });
        let attributes: Vec<Attribute<'_>> = attributes.collect();
        self.structure(&format!("{}{operation:?}", type_name(&relation.name)), &attributes);
    }

    fn composite(&mut self, composite: &Type) {
        let attributes = composite.attributes.iter().map(|attribute| {
            // The name in SQL, as upstream: few are known.
            let format = self.catalog.type_of(attribute.type_id).map_or("", |t| &t.format);
            Attribute {
                name: &attribute.name,
                swift_name: type_name(&attribute.name),
                swift_type: scalar(format).unwrap_or("AnyJSON").to_owned(),
                is_identity: false,
            }
        });
        let attributes: Vec<Attribute<'_>> = attributes.collect();
        self.structure(&type_name(&composite.name), &attributes);
    }

    fn structure(&mut self, name: &str, attributes: &[Attribute<'_>]) {
        let access = self.access();
        let identity = attributes.iter().find(|attribute| attribute.is_identity);
        let identifiable = if identity.is_some() { ", Identifiable" } else { "" };
        self.line(1, &format!("{access} struct {name}: Codable, Hashable, Sendable{identifiable} {{"));
        if let Some(identity) = identity.filter(|identity| identity.swift_name != "id") {
            let Attribute { swift_name, swift_type, .. } = identity;
            self.line(2, &format!("{access} var id: {swift_type} {{ {swift_name} }}"));
        }
        for Attribute { swift_name, swift_type, .. } in attributes {
            self.line(2, &format!("{access} let {swift_name}: {swift_type}"));
        }
        if !attributes.is_empty() {
            let keys: Vec<_> = attributes.iter().map(|a| (a.swift_name.clone(), a.name)).collect();
            self.enumeration(2, "CodingKeys", "String, CodingKey", &keys);
        }
        self.line(1, "}");
    }

    /// Writes an enum; each case has a name and a value.
    fn enumeration(&mut self, level: usize, name: &str, protocols: &str, cases: &[(String, &str)]) {
        let access = self.access();
        self.line(level, &format!("{access} enum {name}: {protocols} {{"));
        for (name, value) in cases {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            self.line(level + 1, &format!("case {name} = \"{value}\""));
        }
        self.line(level, "}");
    }

    fn line(&mut self, level: usize, text: &str) {
        self.text.extend(std::iter::repeat_n(INDENT, level));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn access(&self) -> &'static str {
        match self.access {
            SwiftAccess::Internal => "internal",
            SwiftAccess::Public => "public",
        }
    }

    fn column_type(&self, column: &Column, nullable: bool) -> String {
        let swift = self.named_type(&column.format, &column.type_schema);
        if nullable { format!("{swift}?") } else { swift }
    }

    /// Returns the type of the values of the Postgres type with this internal name.
    fn named_type(&self, name: &str, schema: &str) -> String {
        if let Some(scalar) = scalar(name) {
            return scalar.to_owned();
        }
        if let Some(element) = name.strip_prefix('_') {
            return format!("[{}]", self.named_type(element, schema));
        }
        let own = self.catalog.types.iter().find(|t| t.name == name && t.schema == schema);
        match own {
            Some(t) if !t.labels.is_empty() || !t.attributes.is_empty() => type_name(name),
            Some(t) if t.relation_id.is_some_and(|id| self.catalog.relation(id).is_some()) => {
                format!("{}Select", type_name(name))
            }
            _ => "AnyJSON".to_owned(),
        }
    }
}

/// Returns a name in `PascalCase`; a leading underscore stays.
fn type_name(name: &str) -> String {
    let underscore = if name.starts_with('_') { "_" } else { "" };
    format!("{underscore}{}", pascal(name))
}

/// Returns a name in `camelCase`.
fn property_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).enumerate().map(|(position, word)| {
        let word = word.to_lowercase();
        if position == 0 { word } else { capitalized(&word) }
    });
    let name: String = words.collect();
    if matches!(&*name, "in" | "default" | "case") { format!("`{name}`") } else { name }
}

fn scalar(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "Bool",
        "int2" => "Int16",
        "int4" => "Int32",
        "int8" => "Int64",
        "float4" => "Float",
        "float8" => "Double",
        "numeric" | "decimal" => "Decimal",
        "uuid" => "UUID",
        "bytea" | "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz" | "timestamp"
        | "timestamptz" | "interval" | "vector" => "String",
        "json" | "jsonb" => "AnyJSON",
        "void" => "Void",
        "record" => "JSONObject",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_swift() {
        let names = ["pokemon_center", "victory-road", "_key_id", "Created", "case"];
        assert_eq!(names.map(type_name), ["PokemonCenter", "VictoryRoad", "_KeyId", "Created", "Case"]);
        assert_eq!(names.map(property_name), ["pokemonCenter", "victoryRoad", "KeyId", "created", "`case`"]);
    }
}
