//! Which requests give plain rows, for the server to write as JSON: reads without groups, spreads or a count beyond their
//! page, and changes whose rows are shown as they are.
//!
//! Postgres needs two to three times as long to write a list as JSON as to send its rows. What the database set for
//! the response then takes a statement of its own, which costs less even than the JSON of one row.

use super::{Body, Column, Grouping, Node, Planner, Selected, Shape};
use crate::request::Count;
use crate::schema_cache::{Function, Table};

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

/// Types whose text form depends on `DateStyle`.
const STYLED_TYPES: &[&str] =
    &["date", "timestamp", "timestamp with time zone", "timestamp without time zone", "timestamptz"];

/// Types whose names are another type in a cast: one of a single character or bit.
const NARROWED_TYPES: &[&str] = &["bit", "character"];

/// How each of the columns that are shown is asked for.
pub type PlainColumns = Vec<PlainColumn>;

/// How a column of plain rows is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainColumn {
    /// As it is.
    Bare,
    /// As JSON, which Postgres makes of it.
    Json,
    /// As a value of this type, as SQL, whatever type it has by then.
    Cast(String),
}

/// Names of columns and the types under their domains.
type Types<'a> = Vec<(&'a str, &'a str)>;

impl Planner<'_> {
    /// How the columns of `tree` are asked for as plain rows; `None` where Postgres writes the body.
    pub(super) fn plain(&self, tree: &Node, body: &Body) -> Option<PlainColumns> {
        self.plain_of(tree, body, self.types(&tree.relation))
    }

    /// As [`Self::plain`], of the rows that `function` gives.
    pub(super) fn plain_result(&self, tree: &Node, body: &Body, function: &Function) -> Option<PlainColumns> {
        self.plain_of(tree, body, self.result_types(function))
    }

    /// What is known of the columns that `function` gives.
    fn result_types<'f>(&'f self, function: &'f Function) -> Types<'f> {
        let returns = &function.returns;
        let is_of_table = returns.columns.is_empty() && returns.schema == function.schema;
        match is_of_table {
            true => self.types(&returns.name),
            false => {
                returns.columns.iter().map(|(name, type_name)| (name.as_str(), type_name.as_str())).collect()
            }
        }
    }

    /// What is known of the columns of `relation`.
    fn types(&self, relation: &str) -> Types<'_> {
        let columns = self.schema.tables.get(relation).map_or(&[][..], |table| &table.columns);
        columns.iter().map(|column| (column.name.as_str(), column.base_type.as_str())).collect()
    }

    /// As [`Self::plain`], of the rows that a change of `table` returns, whose columns `tree` names then.
    pub(super) fn plain_change(&self, tree: &mut Node, body: &Body, table: &Table) -> Option<PlainColumns> {
        let is_bare = tree.embeds.is_empty() && tree.order.is_empty() && tree.conditions.is_empty();
        if is_bare { self.plain_once(tree, body, self.types(&table.name)) } else { None }
    }

    /// As [`Self::plain_result`], where the function may change something.
    pub(super) fn plain_volatile(
        &self,
        tree: &mut Node,
        body: &Body,
        function: &Function,
    ) -> Option<PlainColumns> {
        self.plain_once(tree, body, self.result_types(function))
    }

    fn plain_of(&self, tree: &Node, body: &Body, types: Types<'_>) -> Option<PlainColumns> {
        if !self.is_written_here(tree, body) {
            return None;
        }
        let column = |selected| needs_json(&types, selected);
        let columns = tree.columns.iter().map(column).collect::<Option<Vec<bool>>>()?;
        Some(
            columns
                .into_iter()
                .map(|json| if json { PlainColumn::Json } else { PlainColumn::Bare })
                .collect(),
        )
    }

    /// Of rows that cannot be asked for once more, since their transaction changes something and is committed when they
    /// come. Nothing may be left to turn out then: each column is asked for under the type that it is known to have, or
    /// as JSON.
    fn plain_once(&self, tree: &mut Node, body: &Body, types: Types<'_>) -> Option<PlainColumns> {
        if !self.is_written_here(tree, body) {
            return None;
        }
        let mut named: Vec<Selected> = Vec::new();
        for selected in &tree.columns {
            let column = &selected.column;
            let is_bare =
                selected.cast.is_none() && selected.aggregation.is_none() && column.format.is_none();
            match selected {
                _ if !is_bare || !column.path.is_empty() => return None,
                // Nothing is known of the columns, which is not to say that there are none.
                _ if column.is_all && types.is_empty() => return None,
                Selected { alias: None, .. } if column.is_all => {
                    named.extend(types.iter().map(|(name, _)| Selected::named(name)));
                }
                _ if column.is_all => return None,
                _ => named.push(selected.clone()),
            }
        }
        let is_twice = |(index, selected): (usize, &Selected)| {
            named[..index].iter().any(|earlier| earlier.name() == selected.name())
        };
        if named.iter().enumerate().any(is_twice) {
            return None;
        }
        let columns =
            named.iter().map(|selected| typed(&types, &selected.column.name)).collect::<Option<_>>()?;
        tree.columns = named;
        Some(columns)
    }

    fn is_written_here(&self, tree: &Node, body: &Body) -> bool {
        let is_json = matches!(body.shape, Shape::Array | Shape::Object);
        let is_written = is_json && !body.strips_nulls && body.explain().is_none();
        let mut shown = tree.embeds.iter().filter(|embed| !embed.is_hidden).peekable();
        let is_empty = tree.columns.is_empty() && shown.peek().is_none();
        let is_spread = shown.any(|embed| embed.spread.is_some());
        is_written && !is_empty && !is_spread && tree.grouping == Grouping::None && !self.is_counted(tree)
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

/// How the column called `name` is asked for where there is no second attempt; `None` if nothing is known of it.
fn typed(types: &Types<'_>, name: &str) -> Option<PlainColumn> {
    let (_, type_name) = types.iter().find(|(column, _)| *column == name)?;
    let is_certain =
        is_plain(type_name) && !STYLED_TYPES.contains(type_name) && !NARROWED_TYPES.contains(type_name);
    Some(if is_certain { PlainColumn::Cast((*type_name).to_owned()) } else { PlainColumn::Json })
}
