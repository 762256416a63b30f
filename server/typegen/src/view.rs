//! A schema with the types that its columns and functions may have.

use crate::catalog::{Catalog, Column, Type};
use crate::layout::{Ts, string};

/// A schema and the catalog that contains it.
pub(crate) struct View<'a> {
    pub(crate) catalog: &'a Catalog,
    /// All schemas in the module, which types may refer to.
    pub(crate) schemas: &'a [String],
    pub(crate) schema: &'a str,
    /// Whether references contain whether they are one to one.
    pub(crate) one_to_one: bool,
}

impl View<'_> {
    /// Returns the type of a column's values.
    pub(crate) fn column(&self, column: &Column) -> Ts {
        let ts = self.type_by_name(&column.format);
        if column.is_nullable { ts.or_null() } else { ts }
    }

    /// Returns the type of JSON values of the Postgres type with this OID.
    pub(crate) fn type_by_id(&self, id: i64) -> Ts {
        self.catalog.type_of(id).map_or_else(|| Ts::atom("unknown"), |t| self.type_by_name(&t.name))
    }

    /// Returns the type of JSON values of the Postgres type with this internal name. Types are looked up by name only,
    /// this schema's first, as upstream does.
    pub(crate) fn type_by_name(&self, name: &str) -> Ts {
        match name {
            "bool" => Ts::atom("boolean"),
            "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" => Ts::atom("number"),
            "bytea" | "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz" | "timestamp"
            | "timestamptz" | "uuid" | "vector" | "interval" => Ts::atom("string"),
            "json" | "jsonb" => Ts::atom("Json"),
            "void" => Ts::atom("undefined"),
            "record" => Ts::atom("Record<string, unknown>"),
            _ => match name.strip_prefix('_') {
                Some(element) => self.type_by_name(element).array(),
                None => self.user_type(name),
            },
        }
    }

    /// Returns the type of an enum, a composite type or a row.
    fn user_type(&self, name: &str) -> Ts {
        let types = || self.catalog.types.iter().filter(|t| t.name == name);
        let pick = |wanted: fn(&Type) -> bool| {
            let own = types().find(|t| wanted(t) && t.schema == self.schema);
            own.or_else(|| types().find(|t| wanted(t)))
        };
        if let Some(t) = pick(|t| !t.labels.is_empty()) {
            return match self.schemas.contains(&t.schema) {
                true => reference(&t.schema, "Enums", name),
                false => Ts::Union(t.labels.iter().map(|label| Ts::atom(string(label))).collect()),
            };
        }
        if let Some(t) = pick(|t| !t.attributes.is_empty()) {
            return match self.schemas.contains(&t.schema) {
                true => reference(&t.schema, "CompositeTypes", name),
                false => Ts::atom("unknown"),
            };
        }
        let relations = || self.catalog.relations.iter().filter(|relation| relation.name == name);
        let relation =
            relations().find(|relation| relation.schema == self.schema).or_else(|| relations().next());
        match relation {
            Some(relation) => {
                let kind = if relation.is_table() { "Tables" } else { "Views" };
                let Ts::Atom(text) = reference(&relation.schema, kind, name) else {
                    return Ts::atom("unknown");
                };
                Ts::Atom(format!("{text}[\"Row\"]"))
            }
            None => Ts::atom("unknown"),
        }
    }
}

/// Returns a reference to a member of the `Database` type.
fn reference(schema: &str, kind: &str, name: &str) -> Ts {
    Ts::Atom(format!("Database[{}][\"{kind}\"][{}]", string(schema), string(name)))
}
