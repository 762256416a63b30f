//! Aggregates, and the groups of rows that they are of.

use super::condition::{column, type_name};
use super::sql::Sql;
use crate::plan::{Aggregation, Embed, Grouping, Node, SpreadColumn};

/// Writes `value`, aggregated and cast as `aggregation` wants it.
pub(super) fn aggregated<'p>(
    sql: &mut Sql<'p>,
    aggregation: Option<&Aggregation>,
    value: impl FnOnce(&mut Sql<'p>),
) {
    let Some(Aggregation { function, cast }) = aggregation else { return value(sql) };
    if cast.is_some() {
        sql.push("CAST(");
    }
    sql.push(function.name()).enclosed("(", ")", value);
    if let Some(cast) = cast {
        sql.push(" AS ");
        type_name(sql, cast);
        sql.push(")");
    }
}

/// Writes what `embed`, which goes by `alias`, adds to its grouped parent's row.
pub(super) fn spread_columns(sql: &mut Sql<'_>, alias: &str, embed: &Embed) {
    let Some(columns) = &embed.spread else {
        sql.qualified(alias, &embed.key);
        return;
    };
    sql.separated(columns, ", ", |sql, SpreadColumn { name, aggregation }| {
        aggregated(sql, aggregation.as_ref(), |sql| {
            sql.qualified(alias, name);
        });
        if aggregation.is_some() {
            sql.push(" AS ").identifier(name);
        }
    });
}

/// Writes GROUP BY: everything that a grouped `node` and those of its `embeds` that are returned select without an
/// aggregate.
pub(super) fn terms<'p>(sql: &mut Sql<'_>, node: &Node, embeds: impl Iterator<Item = &'p Embed>) {
    if node.grouping != Grouping::Grouped {
        return;
    }
    let mut position = 0;
    let mut separator = " GROUP BY ";
    for selected in &node.columns {
        position += 1;
        if selected.aggregation.is_some() {
            continue;
        }
        sql.push(std::mem::replace(&mut separator, ", "));
        // As upstream has it, a column under its own name is grouped by before its cast. A position, other than an
        // alias, cannot be taken for a column of that name. JSON cannot be compared, but what it is made of can.
        match (&selected.column.format, &selected.alias) {
            (Some(_), _) => {
                sql.qualified(&node.alias, &selected.column.name);
            }
            (None, None) => column(sql, &node.alias, &selected.column),
            (None, Some(_)) => {
                sql.number(position);
            }
        }
    }
    for embed in embeds {
        let aggregated = match &embed.spread {
            Some(columns) => columns.iter().map(|column| column.aggregation.is_some()).collect(),
            None => vec![false],
        };
        for is_aggregated in aggregated {
            position += 1;
            if !is_aggregated {
                sql.push(std::mem::replace(&mut separator, ", ")).number(position);
            }
        }
    }
}
