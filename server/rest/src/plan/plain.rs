//! Who writes the rows of a request as JSON: the server, from plain rows, or Postgres. This is decided here and nowhere
//! else. The result is a [`BodyWriter`].
//!
//! The server writes reads without groups, spreads or a count beyond their page, and changes whose rows are returned
//! unchanged. Postgres needs two to three times as long to write a list as JSON as to send its rows. What the database
//! set for the response then takes a statement of its own, which costs less even than the JSON of one row.

use super::{Body, BodyShape, Column, Grouping, Node, OutputColumn, Planner};
use crate::request::Count;
use crate::schema_cache::{Function, Table};

/// Types whose text form the server can convert to JSON: SQL names as the catalog prints them, and short names that
/// clients cast to. All others are requested from Postgres as JSON.
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

/// Reports whether the server can make JSON of a value of this type, which is Postgres' own then.
pub(super) fn is_plain(type_name: &str) -> bool {
    PLAIN_TYPES.contains(&type_name)
}

/// Types whose text form depends on `DateStyle`.
const STYLED_TYPES: &[&str] =
    &["date", "timestamp", "timestamp with time zone", "timestamp without time zone", "timestamptz"];

/// Types whose names mean another type in a cast: one of a single character or bit.
const NARROWED_TYPES: &[&str] = &["bit", "character"];

/// Who writes rows as a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyWriter {
    /// Postgres, in the statement that gives them.
    Postgres,
    /// The server, from plain rows. The list says how each column is requested from Postgres.
    Server(Vec<PlainColumn>),
}

/// How a column of plain rows is requested from Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainColumn {
    /// Unchanged.
    Bare,
    /// Converted to JSON by Postgres.
    Json,
    /// Cast to this type, given as SQL, even if its type has changed since.
    Cast(String),
}

/// Where the rows of a body come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowSource<'a> {
    /// A read of this relation.
    Read(&'a Table),
    /// A change of this relation's rows.
    Change {
        /// The relation.
        table: &'a Table,
        /// Whether the response needs more than the rows, or the change is undone if they are too many or too few: then
        /// the statement that shows them counts them.
        is_guarded: bool,
    },
    /// A call of this function.
    Call {
        /// The function.
        function: &'a Function,
        /// Whether it changes nothing.
        is_read_only: bool,
        /// See [`RowSource::Change::is_guarded`].
        is_guarded: bool,
    },
}

/// Names of columns and the types under their domains.
type Types<'a> = Vec<(&'a str, &'a str)>;

impl Planner<'_> {
    /// Decides who writes the `rows`, of which `tree` is returned, as `body`. The columns of `tree` are listed by name
    /// if the server needs that to write them.
    pub(super) fn body_writer(&self, tree: &mut Node, body: &Body, rows: RowSource<'_>) -> BodyWriter {
        if !self.is_list_of_objects(tree, body) {
            return BodyWriter::Postgres;
        }
        let is_bare = tree.embeds.is_empty() && tree.order.is_empty() && tree.conditions.is_empty();
        let columns = match rows {
            RowSource::Change { is_guarded: true, .. } | RowSource::Call { is_guarded: true, .. } => None,
            RowSource::Read(table) => repeatable_columns(tree, &types_of(table)),
            RowSource::Call { function, is_read_only: true, .. } => {
                repeatable_columns(tree, &self.result_types(function))
            }
            RowSource::Call { function, is_read_only: false, .. } => {
                certain_columns(tree, &self.result_types(function))
            }
            RowSource::Change { table, .. } if is_bare => certain_columns(tree, &types_of(table)),
            // `RETURNING` cannot do these.
            RowSource::Change { .. } => None,
        };
        columns.map_or(BodyWriter::Postgres, BodyWriter::Server)
    }

    /// Returns the names and types of the columns that `function` gives, as far as they are known.
    fn result_types<'f>(&'f self, function: &'f Function) -> Types<'f> {
        let returns = &function.returns;
        let is_of_table = returns.columns.is_empty() && returns.schema == function.schema;
        if is_of_table {
            self.schema.tables.get(&returns.name).map_or_else(Vec::new, types_of)
        } else {
            returns.columns.iter().map(|(name, type_name)| (name.as_str(), type_name.as_str())).collect()
        }
    }

    /// Reports whether `body` is a list of the rows of `tree` as objects, or a single one, and can be written from the
    /// rows alone.
    fn is_list_of_objects(&self, tree: &Node, body: &Body) -> bool {
        let is_json = matches!(body.shape, BodyShape::Array | BodyShape::Object);
        let is_written = is_json && !body.strips_nulls && body.explain().is_none();
        let mut visible = tree.embeds.iter().filter(|embed| !embed.is_hidden).peekable();
        let is_empty = tree.columns.is_empty() && visible.peek().is_none();
        let is_spread = visible.any(|embed| embed.spread.is_some());
        is_written && !is_empty && !is_spread && tree.grouping == Grouping::None && !self.is_counted(tree)
    }

    /// Reports whether the rows beyond the page are counted. The count must see the same rows as the page, so both are
    /// one statement.
    fn is_counted(&self, tree: &Node) -> bool {
        let is_exact = matches!(self.request.preferences.count, Some(Count::Exact | Count::Estimated));
        is_exact && tree.range != crate::request::Range::ALL
    }
}

/// Returns the names and types of the columns of `table`.
fn types_of(table: &Table) -> Types<'_> {
    table.columns.iter().map(|column| (column.name.as_str(), column.base_type.as_str())).collect()
}

/// Returns how the columns of `tree` are requested if the statement can be repeated in case a value turns out to be one
/// that only Postgres can write; `None` if it is already known that Postgres must write the rows.
fn repeatable_columns(tree: &Node, types: &Types<'_>) -> Option<Vec<PlainColumn>> {
    let columns = tree.columns.iter().map(|selected| {
        let needs_json = needs_json(types, selected)?;
        Some(if needs_json { PlainColumn::Json } else { PlainColumn::Bare })
    });
    columns.collect()
}

/// Returns how the columns of `tree`, which are then listed by name, are requested if the statement cannot be repeated:
/// its transaction changes something and is committed when the rows arrive. So nothing may be uncertain: each column is
/// cast to its known type, or requested as JSON. `None` if that is not possible.
fn certain_columns(tree: &mut Node, types: &Types<'_>) -> Option<Vec<PlainColumn>> {
    let mut named: Vec<OutputColumn> = Vec::new();
    for selected in &tree.columns {
        let column = &selected.column;
        let is_bare = selected.cast.is_none() && selected.aggregation.is_none() && column.format.is_none();
        match selected {
            _ if !is_bare || !column.path.is_empty() => return None,
            // The columns are not known; there may be some nevertheless.
            _ if column.is_all && types.is_empty() => return None,
            OutputColumn { alias: None, .. } if column.is_all => {
                named.extend(types.iter().map(|(name, _)| OutputColumn::named(name)));
            }
            _ if column.is_all => return None,
            _ => named.push(selected.clone()),
        }
    }
    let is_twice = |(index, selected): (usize, &OutputColumn)| {
        named[..index].iter().any(|earlier| earlier.name() == selected.name())
    };
    if named.iter().enumerate().any(is_twice) {
        return None;
    }
    let columns =
        named.iter().map(|selected| certain_column(types, &selected.column.name)).collect::<Option<_>>()?;
    tree.columns = named;
    Some(columns)
}

/// Reports whether a column has to be requested as JSON; `None` for `*` unless all of its columns are known to be
/// plain. They are not listed by name, so that an outdated cache does not hide a column.
fn needs_json(types: &Types<'_>, selected: &OutputColumn) -> Option<bool> {
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

/// Returns how the column called `name` is requested if the statement cannot be repeated; `None` if the column is not
/// known.
fn certain_column(types: &Types<'_>, name: &str) -> Option<PlainColumn> {
    let (_, type_name) = types.iter().find(|(column, _)| *column == name)?;
    let is_certain =
        is_plain(type_name) && !STYLED_TYPES.contains(type_name) && !NARROWED_TYPES.contains(type_name);
    Some(if is_certain { PlainColumn::Cast((*type_name).to_owned()) } else { PlainColumn::Json })
}
