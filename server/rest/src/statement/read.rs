//! Reading a tree of nodes: a select, with a correlated select for each embed.

use super::condition::{column, condition, type_name};
use super::sql::Sql;
use super::{SOURCE, group};
use crate::plan::{Embed, Grouping, Node, Order, OrderTarget, OutputColumn, PlainColumn, Source};
use crate::request::Range;
use crate::request::syntax::{Direction, Join, Nulls};
use crate::schema_cache::{Cardinality, Junction};

/// The largest limit that is part of the text. A limit that is a parameter makes Postgres plan each time; larger ones
/// are rare enough, and would fill the caches of statements.
const LARGEST_TEXT_LIMIT: i64 = 1000;

/// The name of grouped rows that are counted.
const GROUPS: &str = "pgrst_groups";

/// The name of an embed's rows on their way to JSON.
const EMBEDDED: &str = "pgrst_embed";

/// Writes the rows of `node`. `parent` is what it is embedded into, and as what.
pub(super) fn rows<'p>(sql: &mut Sql<'p>, node: &'p Node, parent: Option<(&'p Node, &'p Embed)>) {
    all_rows(sql, node, parent);
    order(sql, node);
    range(sql, node.range);
}

/// Writes the rows of `node` without order and range.
fn all_rows<'p>(sql: &mut Sql<'p>, node: &'p Node, parent: Option<(&'p Node, &'p Embed)>) {
    sql.push("SELECT ");
    sql.separated(&node.columns, ", ", |sql, selected| self::output_column(sql, node, selected));
    let embeds: Vec<(usize, &Embed)> = visible_embeds(node).collect();
    if !node.columns.is_empty() && !embeds.is_empty() {
        sql.push(", ");
    }
    sql.separated(embeds, ", ", |sql, (index, embed)| match embed.spread {
        _ if node.grouping == Grouping::Grouped => group::spread_columns(sql, &lateral_alias(index), embed),
        Some(_) => {
            sql.identifier(&lateral_alias(index)).push(".*");
        }
        None => self::embed(sql, node, embed),
    });
    source(sql, node, parent);
    let is_lateral = |embed: &Embed| embed.spread.is_some() || node.grouping == Grouping::Grouped;
    for (index, embed) in visible_embeds(node).filter(|(_, embed)| is_lateral(embed)) {
        sql.push(" LEFT JOIN LATERAL (");
        match embed.spread {
            Some(_) => spread(sql, node, embed),
            None => self::embed(sql.push("SELECT "), node, embed),
        }
        sql.push(") AS ").identifier(&lateral_alias(index)).push(" ON true");
    }
    filters(sql, node, parent);
    group::terms(sql, node, visible_embeds(node).map(|(_, embed)| embed));
}

/// Writes the rows of `node`, which is neither grouped nor spread into. `columns` says which of its columns are written
/// as JSON.
pub(super) fn plain_rows<'p>(sql: &mut Sql<'p>, node: &'p Node, columns: &'p [PlainColumn]) {
    sql.push("SELECT ");
    plain_columns(sql, node, columns);
    for (position, (_, embed)) in visible_embeds(node).enumerate() {
        sql.push(if position == 0 && columns.is_empty() { "" } else { ", " });
        self::embed(sql, node, embed);
    }
    from(sql, node, None);
    order(sql, node);
    range(sql, node.range);
}

/// Writes the columns of `node`, each in the form that `columns` says.
pub(super) fn plain_columns<'p>(sql: &mut Sql<'p>, node: &'p Node, columns: &'p [PlainColumn]) {
    sql.separated(node.columns.iter().zip(columns), ", ", |sql, (selected, column)| {
        let name = selected.alias.as_ref().unwrap_or(&selected.column.name);
        match column {
            PlainColumn::Bare => self::output_column(sql, node, selected),
            PlainColumn::Json => {
                sql.enclosed("to_json(", ")", |sql| value(sql, node, selected));
                sql.push(" AS ").identifier(name);
            }
            PlainColumn::Cast(type_name) => {
                sql.enclosed("CAST(", ")", |sql| {
                    value(sql, node, selected);
                    // The type comes from the catalog, which prints it as SQL.
                    sql.push(" AS ").push(type_name);
                });
                sql.push(" AS ").identifier(name);
            }
        }
    });
}

/// Writes how many rows `node` has without its range.
pub(super) fn count<'p>(sql: &mut Sql<'p>, node: &'p Node) {
    sql.push("SELECT count(*)");
    if node.grouping == Grouping::None {
        return from(sql, node, None);
    }
    sql.push(" FROM (");
    all_rows(sql, node, None);
    sql.push(") AS ").identifier(GROUPS);
}

/// Writes the rows of `node` without its range, for the planner to estimate.
pub(super) fn matching<'p>(sql: &mut Sql<'p>, node: &'p Node) {
    if node.grouping == Grouping::None {
        return from(sql.push("SELECT 1"), node, None);
    }
    all_rows(sql, node, None);
}

/// Writes whether `embed` has a row for the row of `parent`.
pub(super) fn exists<'p>(sql: &mut Sql<'p>, parent: &'p Node, embed: &'p Embed) {
    sql.push("EXISTS (SELECT 1");
    from(sql, &embed.node, Some((parent, embed)));
    let range = embed.node.range;
    // Any other limit leaves a row where there is one, and would only keep Postgres from a semi-join.
    if range.offset > 0 || range.limit == Some(0) {
        self::range(sql, range);
    }
    sql.push(")");
}

fn output_column(sql: &mut Sql<'_>, node: &Node, selected: &OutputColumn) {
    value(sql, node, selected);
    if let Some(alias) = &selected.alias {
        sql.push(" AS ").identifier(alias);
    }
}

fn value(sql: &mut Sql<'_>, node: &Node, selected: &OutputColumn) {
    group::aggregated(sql, selected.aggregation.as_ref(), |sql| match &selected.cast {
        // Only a whole row that another node counts has an alias.
        None if selected.column.is_all && selected.alias.is_some() && selected.aggregation.is_none() => {
            sql.push("ROW(").identifier(&node.alias).push(".*)");
        }
        None if selected.column.is_all && selected.aggregation.is_some() => {
            sql.push("*");
        }
        None => {
            column(sql, &node.alias, &selected.column);
            if selected.column.format.is_some() && node.grouping == Grouping::Compared {
                comparable(sql, node);
            }
        }
        Some(cast) => {
            sql.push("CAST(");
            column(sql, &node.alias, &selected.column);
            sql.push(" AS ");
            type_name(sql, cast);
            sql.push(")");
        }
    });
}

/// Writes an embed as a value: an object, or an array of them.
fn embed<'p>(sql: &mut Sql<'p>, parent: &'p Node, embed: &'p Embed) {
    let is_to_one = embed.relationship.is_to_one();
    sql.push(if is_to_one { "(SELECT row_to_json(" } else { "coalesce((SELECT json_agg(" });
    sql.identifier(EMBEDDED).push(".*) FROM (");
    rows(sql, &embed.node, Some((parent, embed)));
    sql.push(") AS ").identifier(EMBEDDED);
    if is_to_one && embed.relationship.is_unchecked() {
        sql.push(" LIMIT 1");
    }
    sql.push(if is_to_one { ")" } else { "), '[]')" });
    comparable(sql, parent);
    sql.push(" AS ").identifier(&embed.key);
}

/// Returns the embeds of which something is returned, with their indexes.
fn visible_embeds(node: &Node) -> impl Iterator<Item = (usize, &Embed)> {
    node.embeds.iter().enumerate().filter(|(_, embed)| !embed.is_hidden)
}

/// Writes the type of a JSON value that the rows of `node` are grouped by.
fn comparable(sql: &mut Sql<'_>, node: &Node) {
    if node.grouping != Grouping::None {
        sql.push("::jsonb");
    }
}

/// Returns the name of the rows of a spread embed, or of any in a grouped node, which its parent's row takes columns
/// from.
fn lateral_alias(index: usize) -> String {
    format!("pgrst_spread_{index}")
}

/// Writes a spread embed as one row: the one that it has, or one of arrays with an element for each.
fn spread<'p>(sql: &mut Sql<'p>, parent: &'p Node, embed: &'p Embed) {
    if embed.relationship.is_to_one() {
        let is_unchecked = embed.relationship.is_unchecked();
        sql.push(if is_unchecked { "SELECT * FROM (" } else { "" });
        rows(sql, &embed.node, Some((parent, embed)));
        if is_unchecked {
            sql.push(") AS ").identifier(EMBEDDED).push(" LIMIT 1");
        }
        return;
    }
    sql.push("SELECT ");
    sql.separated(embed.spread.iter().flatten(), ", ", |sql, column| {
        sql.push("coalesce(json_agg(").qualified(EMBEDDED, &column.name).push("), '[]')");
        comparable(sql, parent);
        sql.push(" AS ").identifier(&column.name);
    });
    sql.push(" FROM (");
    rows(sql, &embed.node, Some((parent, embed)));
    sql.push(") AS ").identifier(EMBEDDED);
}

/// Writes FROM and WHERE: the relation, its junction, how it is joined, its conditions, and its inner embeds.
fn from<'p>(sql: &mut Sql<'p>, node: &'p Node, parent: Option<(&'p Node, &'p Embed)>) {
    source(sql, node, parent);
    filters(sql, node, parent);
}

/// Writes FROM: the relation and its junction.
fn source(sql: &mut Sql<'_>, node: &Node, parent: Option<(&Node, &Embed)>) {
    sql.push(" FROM ");
    let computed = parent.and_then(|(parent, embed)| Some((parent, embed, embed.relationship.function()?)));
    match (node.source, computed) {
        (_, Some((parent, embed, function))) => {
            sql.qualified(&function.schema, &function.name);
            sql.enclosed("(", ")", |sql| row(sql, parent, embed))
        }
        (Source::Table, None) => sql.qualified(&node.schema, &node.relation),
        (Source::Result, None) => sql.identifier(SOURCE),
    };
    sql.push(" AS ").identifier(&node.alias);
    if let Some((junction, alias)) = parent.and_then(|(_, embed)| junction(embed)) {
        sql.push(", ").qualified(&junction.table.schema, &junction.table.name).push(" AS ").identifier(alias);
    }
}

/// Writes the row of `parent` as the argument of the function that relates `embed` to it.
fn row(sql: &mut Sql<'_>, parent: &Node, embed: &Embed) {
    let Some(columns) = &embed.row else {
        // Not the name alone: it might be a column's, too.
        sql.identifier(&parent.alias).push(".*");
        return;
    };
    sql.push("ROW(");
    sql.separated(columns, ", ", |sql, name| {
        sql.qualified(&parent.alias, name);
    });
    let table = &embed.relationship.table;
    sql.push(")::").qualified(&table.schema, &table.name);
}

/// Returns the junction of a many-to-many relationship, and its alias.
fn junction(embed: &Embed) -> Option<(&Junction, &str)> {
    match &embed.relationship.cardinality {
        Cardinality::ManyToMany(junction) => Some((junction, embed.junction_alias.as_deref()?)),
        _ => None,
    }
}

/// Writes WHERE: how the relation is joined, its conditions, and its inner embeds.
fn filters<'p>(sql: &mut Sql<'p>, node: &'p Node, parent: Option<(&'p Node, &'p Embed)>) {
    let mut is_first = true;
    let mut conjunction = move |sql: &mut Sql<'p>| {
        sql.push(if std::mem::take(&mut is_first) { " WHERE " } else { " AND " });
    };
    if let Some((parent, embed)) = parent {
        join(sql, parent, embed, &mut conjunction);
    }
    for condition in &node.conditions {
        conjunction(sql);
        self::condition(sql, node, &node.alias, condition);
    }
    for embed in node.embeds.iter().filter(|embed| embed.join == Join::Inner) {
        conjunction(sql);
        exists(sql, node, embed);
    }
}

fn join<'p>(
    sql: &mut Sql<'p>,
    parent: &'p Node,
    embed: &'p Embed,
    conjunction: &mut impl FnMut(&mut Sql<'p>),
) {
    let child = embed.node.alias.as_str();
    let mut equal = |sql: &mut Sql<'p>, (left, a): (&str, &str), (right, b): (&str, &str)| {
        conjunction(sql);
        sql.qualified(left, a).push(" = ").qualified(right, b);
    };
    if let Some((junction, alias)) = junction(embed) {
        for (target, through) in &junction.target_columns {
            equal(sql, (child, target), (alias, through));
        }
        for (source, through) in &junction.source_columns {
            equal(sql, (alias, through), (&parent.alias, source));
        }
    }
    for (own, foreign) in embed.relationship.columns() {
        equal(sql, (child, foreign), (&parent.alias, own));
    }
}

fn order<'p>(sql: &mut Sql<'p>, node: &'p Node) {
    if node.order.is_empty() {
        return;
    }
    sql.push(" ORDER BY ");
    sql.separated(&node.order, ", ", |sql, term| order_term(sql, node, term));
}

fn order_term<'p>(sql: &mut Sql<'p>, node: &'p Node, term: &'p Order) {
    match &term.target {
        OrderTarget::Own(target) => column(sql, &node.alias, target),
        OrderTarget::Related { embed: index, column: target } => {
            let embed = &node.embeds[*index];
            if node.grouping == Grouping::Grouped && embed.spread.is_some() {
                // Only what the rows are grouped by can order the groups.
                column(sql, &lateral_alias(*index), target);
            } else {
                sql.push("(SELECT ");
                column(sql, &embed.node.alias, target);
                from(sql, &embed.node, Some((node, embed)));
                sql.push(if embed.relationship.is_unchecked() { " LIMIT 1)" } else { ")" });
            }
        }
    }
    sql.push(match term.direction {
        None => "",
        Some(Direction::Ascending) => " ASC",
        Some(Direction::Descending) => " DESC",
    });
    sql.push(match term.nulls {
        None => "",
        Some(Nulls::First) => " NULLS FIRST",
        Some(Nulls::Last) => " NULLS LAST",
    });
}

fn range(sql: &mut Sql<'_>, range: Range) {
    if let Some(limit) = range.limit {
        sql.push(" LIMIT ");
        if limit <= LARGEST_TEXT_LIMIT {
            sql.number(limit);
        } else {
            sql.parameter(Some(limit.to_string().into_bytes()));
        }
    }
    if range.offset > 0 {
        sql.push(" OFFSET ").parameter(Some(range.offset.to_string().into_bytes()));
    }
}
