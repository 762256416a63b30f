//! A schema with the types that its columns and functions may have.

use crate::catalog::{Argument, Catalog, Column, Type};
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
    /// Returns the type of a column's values. `Json` contains null.
    pub(crate) fn column(&self, column: &Column) -> Ts {
        let ts = self.type_by_name(&column.format, &column.type_schema);
        match ts {
            _ if column.is_nullable => ts.or_null(),
            Ts::Atom(text) if text == "Json" => Ts::atom("NonNullable<Json>"),
            _ => ts,
        }
    }

    /// Returns the type of a function's argument. A call cannot pass the computed fields of a row.
    pub(crate) fn argument(&self, argument: &Argument) -> Ts {
        let ts = self.type_by_id(argument.type_id);
        let row = self.catalog.type_of(argument.type_id).and_then(|t| self.relation(&t.name, &t.schema));
        match row {
            Some(relation) if !argument.name.is_empty() && ts == row_of(&relation) => Ts::Generic {
                name: "Omit",
                arguments: vec![ts, Ts::Atom(format!("{relation}[\"ComputedFields\"]"))],
            },
            _ => ts,
        }
    }

    /// Returns the type of JSON values of the Postgres type with this OID.
    pub(crate) fn type_by_id(&self, id: i64) -> Ts {
        self.catalog
            .type_of(id)
            .map_or_else(|| Ts::atom("unknown"), |t| self.type_by_name(&t.name, &t.schema))
    }

    /// Returns the type of JSON values of the Postgres type with this internal name: those of `schema`, or else of any.
    pub(crate) fn type_by_name(&self, name: &str, schema: &str) -> Ts {
        match name {
            "bool" => Ts::atom("boolean"),
            "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" => Ts::atom("number"),
            "bytea" | "bpchar" | "varchar" | "date" | "text" | "citext" | "time" | "timetz" | "timestamp"
            | "timestamptz" | "uuid" | "vector" | "interval" => Ts::atom("string"),
            "json" | "jsonb" => Ts::atom("Json"),
            "void" => Ts::atom("undefined"),
            "record" => Ts::atom("Record<string, unknown>"),
            _ => match name.strip_prefix('_') {
                Some(element) => self.type_by_name(element, schema).array(),
                None => self.user_type(name, schema),
            },
        }
    }

    /// Returns the type of an enum, a composite type or a row.
    fn user_type(&self, name: &str, schema: &str) -> Ts {
        let types = || self.catalog.types.iter().filter(|t| t.name == name);
        let pick = |wanted: fn(&Type) -> bool| {
            let own = types().find(|t| wanted(t) && t.schema == schema);
            own.or_else(|| types().find(|t| wanted(t)))
        };
        if let Some(t) = pick(|t| !t.labels.is_empty()) {
            return match self.schemas.contains(&t.schema) {
                true => Ts::Atom(reference(&t.schema, "Enums", name)),
                false => Ts::Union(t.labels.iter().map(|label| Ts::atom(string(label))).collect()),
            };
        }
        if let Some(t) = pick(|t| !t.attributes.is_empty()) {
            return match self.schemas.contains(&t.schema) {
                true => Ts::Atom(reference(&t.schema, "CompositeTypes", name)),
                false => Ts::atom("unknown"),
            };
        }
        self.relation(name, schema).map_or_else(|| Ts::atom("unknown"), |relation| row_of(&relation))
    }

    /// Returns a reference to the described relation with this name: that of `schema`, or else of any, tables first.
    fn relation(&self, name: &str, schema: &str) -> Option<String> {
        let relations = || self.catalog.relations.iter().filter(|relation| relation.name == name);
        let relation = relations()
            .find(|relation| relation.schema == schema)
            .or_else(|| relations().find(|relation| relation.is_table()))
            .or_else(|| relations().next())?;
        let kind = if relation.is_table() { "Tables" } else { "Views" };
        Some(reference(&relation.schema, kind, name))
    }
}

/// Returns a reference to a member of the `Database` type.
fn reference(schema: &str, kind: &str, name: &str) -> String {
    format!("Database[{}][\"{kind}\"][{}]", string(schema), string(name))
}

fn row_of(relation: &str) -> Ts {
    Ts::Atom(format!("{relation}[\"Row\"]"))
}
