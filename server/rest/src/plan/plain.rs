//! Which reads give plain rows, for the server to write as JSON: long lists without embeds.
//!
//! Postgres needs two to three times as long to write a list as JSON as to send its rows, but what the database set
//! for the response then takes a statement of its own, which a short list does not repay.

use super::{Body, Column, Condition, Grouping, Node, Planner, Selected, Shape};
use crate::request::Count;
use crate::request::syntax::{Operation, Operator};

/// Lists that cannot be longer than this are written by Postgres.
const SHORT_LIST: i64 = 8;

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

/// For each of the columns that are shown, whether it has to be asked for as JSON.
pub type PlainColumns = Vec<bool>;

impl Planner<'_> {
    /// How the columns of `tree` are asked for as plain rows; `None` where Postgres writes the body.
    pub(super) fn plain(&self, tree: &Node, body: &Body) -> Option<PlainColumns> {
        let is_list = body.shape == Shape::Array && !body.strips_nulls && body.explain().is_none();
        let has_embeds = tree.embeds.iter().any(|embed| !embed.is_hidden);
        let is_flat = !has_embeds && tree.grouping == Grouping::None;
        if !is_list || !is_flat || tree.columns.is_empty() || self.is_short(tree) || self.is_counted(tree) {
            return None;
        }
        tree.columns.iter().map(|selected| self.needs_json(tree, selected)).collect()
    }

    /// Whether few rows at most can come of `tree`.
    fn is_short(&self, tree: &Node) -> bool {
        let is_limited = tree.range.limit.is_some_and(|limit| limit <= SHORT_LIST);
        let key =
            self.schema.tables.get(&tree.relation).map_or(&[][..], |table| table.primary_key.as_slice());
        let is_fixed = |name: &String| tree.conditions.iter().any(|condition| fixes(condition, name));
        is_limited || !key.is_empty() && key.iter().all(is_fixed)
    }

    /// Whether the rows beyond the page are counted, which must see what the page sees: one statement.
    fn is_counted(&self, tree: &Node) -> bool {
        let is_exact = matches!(self.request.preferences.count, Some(Count::Exact | Count::Estimated));
        is_exact && tree.range != crate::request::Range::ALL
    }

    /// Whether a column has to be asked for as JSON; `None` for all columns of a relation that cannot be asked for
    /// in one way. They are not listed by name, so that a cache that is not fresh hides none.
    fn needs_json(&self, node: &Node, selected: &Selected) -> Option<bool> {
        let is_plain = |type_name: &str| PLAIN_TYPES.contains(&type_name);
        if let Some(cast) = &selected.cast {
            return Some(!is_plain(&cast.to_lowercase()));
        }
        let table = self.schema.tables.get(&node.relation);
        match &selected.column {
            Column { is_all: true, .. } => {
                let columns = &table?.columns;
                columns.iter().all(|column| is_plain(&column.base_type)).then_some(false)
            }
            // A step gives json, jsonb or text.
            Column { path, .. } if !path.is_empty() => Some(false),
            Column { name, .. } => {
                Some(!table.and_then(|table| table.column(name)).is_some_and(|c| is_plain(&c.base_type)))
            }
        }
    }
}

/// Whether `condition` lets the column called `name` have only one value.
fn fixes(condition: &Condition, name: &str) -> bool {
    matches!(condition, Condition::Filter {
        column,
        negated: false,
        operation: Operation::Compare { operator: Operator::Equal, quantifier: None, .. },
    } if column.name == name && column.path.is_empty())
}
