//! Whether the database's own code that runs with a plan may see more of the request than its caller's claims, or say
//! something about the response. Where it cannot, the settings that describe the request are not sent and those of the
//! response are not read (decisions 21 and 47). What code does is known from [`crate::schema_cache`].

use super::plain::is_plain;
use super::read::{Column, Condition, Node, Order, OrderTarget, OutputColumn};
use super::{Body, BodyShape, Grouping, Planner};
use crate::schema_cache::{Cardinality, Table};

impl Planner<'_> {
    /// Reports whether the function before every request, or the code that makes rows into `body`, may see the request.
    pub(super) fn body_sees_request(&self, body: &Body) -> bool {
        let is_own =
            matches!(body.shape, BodyShape::GeoJson(_) | BodyShape::Aggregate { .. } | BodyShape::Raw);
        self.settings.db_pre_request.is_some() || is_own || body.explain().is_some()
    }

    /// Reports whether code that runs when `node` is read may see the request.
    pub(super) fn read_sees_request(&self, node: &Node) -> bool {
        let Some(table) = self.table_in(&node.schema, &node.relation) else { return true };
        table.reads_see_request
            || node.grouping != Grouping::None
            || node.columns.iter().any(is_cast_by_others)
            || node.columns.iter().any(|selected| !is_own_column(table, &selected.column))
            || node.conditions.iter().any(|condition| self.condition_sees_request(table, condition))
            || node.order.iter().any(|order| !self.is_order_of_columns(table, node, order))
            || node.embeds.iter().any(|embed| {
                let is_joined_by_code = match &embed.relationship.cardinality {
                    Cardinality::Computed { .. } => true,
                    Cardinality::ManyToMany(junction) => self
                        .table_in(&junction.table.schema, &junction.table.name)
                        .is_none_or(|junction| junction.reads_see_request),
                    Cardinality::OneToMany { .. }
                    | Cardinality::ManyToOne { .. }
                    | Cardinality::OneToOne { .. } => false,
                };
                is_joined_by_code || self.read_sees_request(&embed.node)
            })
    }

    /// Reports whether code that runs when `condition` is evaluated for a row of `table` may see the request.
    pub(super) fn condition_sees_request(&self, table: &Table, condition: &Condition) -> bool {
        match condition {
            Condition::Filter { column, .. } => !is_own_column(table, column),
            Condition::Group { members, .. } => {
                members.iter().any(|member| self.condition_sees_request(table, member))
            }
            // The embedded node is checked separately.
            Condition::Embedded { .. } => false,
        }
    }

    fn is_order_of_columns(&self, table: &Table, node: &Node, order: &Order) -> bool {
        match &order.target {
            OrderTarget::Own(column) => is_own_column(table, column),
            OrderTarget::Related { embed, column } => node
                .embeds
                .get(*embed)
                .and_then(|embed| self.table_in(&embed.node.schema, &embed.node.relation))
                .is_some_and(|table| is_own_column(table, column)),
        }
    }

    fn table_in(&self, schema: &str, name: &str) -> Option<&Table> {
        self.cache.schema(schema)?.tables.get(name)
    }
}

/// Reports whether the value is a column of the table, and not the result of a function.
fn is_own_column(table: &Table, column: &Column) -> bool {
    column.format.is_none()
        && column.parse.is_none()
        && (column.is_all || table.column(&column.name).is_some())
}

fn is_cast_by_others(selected: &OutputColumn) -> bool {
    selected.cast.as_ref().is_some_and(|cast| !is_plain(&cast.to_lowercase()))
}
