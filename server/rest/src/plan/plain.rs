//! Which reads give plain rows, for the server to write as JSON: all without groups, spreads or a count beyond their
//! page.
//!
//! Postgres needs two to three times as long to write a list as JSON as to send its rows. What the database set for
//! the response then takes a statement of its own, which costs less even than the JSON of one row.

use super::{Body, Column, Grouping, Node, Planner, Selected, Shape};
use crate::request::Count;
use crate::schema_cache::Function;

/// Types whose text form the server can make JSON of: SQL names as the catalog prints them, and short names that
/// clients cast to. Any other is asked for as JSON.
const PLAIN_TYPES: &[&str] = &[
    "bigint",
    "bit",
    "bit varying",
    "bool",
    "boolean",
    "bytea",
    "character",
    "character varying",
    "cidr",
    "date",
    "daterange",
    "decimal",
    "double precision",
    "float4",
    "float8",
    "inet",
    "int",
    "int2",
    "int4",
    "int4range",
    "int8",
    "int8range",
    "integer",
    "interval",
    "json",
    "jsonb",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "numeric",
    "numrange",
    "oid",
    "point",
    "real",
    "smallint",
    "text",
    "time",
    "time with time zone",
    "time without time zone",
    "timestamp",
    "timestamp with time zone",
    "timestamp without time zone",
    "timestamptz",
    "tsquery",
    "tsrange",
    "tstzrange",
    "tsvector",
    "uuid",
    "varchar",
    "xml",
];

/// Whether the server can make JSON of a value of this type, which is Postgres' own then.
pub(super) fn is_plain(type_name: &str) -> bool {
    PLAIN_TYPES.contains(&type_name)
}

/// For each of the columns that are shown, whether it has to be asked for as JSON.
pub type PlainColumns = Vec<bool>;

/// Names of columns and the types under their domains.
type Types<'a> = Vec<(&'a str, &'a str)>;

impl Planner<'_> {
    /// How the columns of `tree` are asked for as plain rows; `None` where Postgres writes the body.
    pub(super) fn plain(&self, tree: &Node, body: &Body) -> Option<PlainColumns> {
        self.plain_of(tree, body, self.types(&tree.relation))
    }

    /// As [`Self::plain`], of the rows that `function` gives.
    pub(super) fn plain_result(&self, tree: &Node, body: &Body, function: &Function) -> Option<PlainColumns> {
        let returns = &function.returns;
        let is_of_table = returns.columns.is_empty() && returns.schema == function.schema;
        let types = match is_of_table {
            true => self.types(&returns.name),
            false => {
                returns.columns.iter().map(|(name, type_name)| (name.as_str(), type_name.as_str())).collect()
            }
        };
        self.plain_of(tree, body, types)
    }

    /// What is known of the columns of `relation`.
    fn types(&self, relation: &str) -> Types<'_> {
        let columns = self.schema.tables.get(relation).map_or(&[][..], |table| &table.columns);
        columns.iter().map(|column| (column.name.as_str(), column.base_type.as_str())).collect()
    }

    fn plain_of(&self, tree: &Node, body: &Body, types: Types<'_>) -> Option<PlainColumns> {
        let is_json = matches!(body.shape, Shape::Array | Shape::Object);
        let is_written = is_json && !body.strips_nulls && body.explain().is_none();
        let mut shown = tree.embeds.iter().filter(|embed| !embed.is_hidden).peekable();
        let is_empty = tree.columns.is_empty() && shown.peek().is_none();
        let is_spread = shown.any(|embed| embed.spread.is_some());
        if !is_written || is_empty || is_spread || tree.grouping != Grouping::None || self.is_counted(tree) {
            return None;
        }
        tree.columns.iter().map(|selected| needs_json(&types, selected)).collect()
    }

    /// Whether the rows beyond the page are counted, which must see what the page sees: one statement.
    fn is_counted(&self, tree: &Node) -> bool {
        let is_exact = matches!(self.request.preferences.count, Some(Count::Exact | Count::Estimated));
        is_exact && tree.range != crate::request::Range::ALL
    }
}

/// Whether a column has to be asked for as JSON; `None` for all columns of rows that cannot be asked for in one way, or
/// of which nothing is known. They are not listed by name, so that a cache that is not fresh hides none.
fn needs_json(types: &Types<'_>, selected: &Selected) -> Option<bool> {
    if let Some(cast) = &selected.cast {
        return Some(!is_plain(&cast.to_lowercase()));
    }
    match &selected.column {
        Column { is_all: true, .. } => {
            (!types.is_empty() && types.iter().all(|(_, type_name)| is_plain(type_name))).then_some(false)
        }
        // A step gives json, jsonb or text.
        Column { path, .. } if !path.is_empty() => Some(false),
        Column { name, .. } => {
            let known = types.iter().find(|(column, _)| column == name);
            Some(!known.is_some_and(|(_, type_name)| is_plain(type_name)))
        }
    }
}
