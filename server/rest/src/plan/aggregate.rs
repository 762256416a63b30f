//! Aggregates: which nodes group their rows, and what spread embeds lift into them.
//!
//! An aggregate inside a to-one spread would see a single row. It is lifted, level by level, into the node whose
//! rows have more than one: the root, or an embed with a key of its own.
//! Source: PostgREST's documentation, "Aggregate Functions".

use super::Planner;
use super::read::{Node, OutputColumn};
use crate::error::Error;
use crate::request::syntax::Aggregate;

/// The message for an aggregate where PostgREST's interface has none.
const NOT_IN_TO_MANY_SPREADS: &str =
    "Aggregates are not implemented for one-to-many or many-to-many spreads.";

/// An aggregate function over a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregation {
    /// The function.
    pub function: Aggregate,
    /// The type that its result is cast to.
    pub cast: Option<String>,
}

/// How a node's rows are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// Not at all: each stays a row.
    None,
    /// By all selected columns that are not aggregated.
    Grouped,
    /// They are spread into grouped rows, so all selected columns have to be comparable.
    Compared,
}

/// A column that a spread embed adds to its parent's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadColumn {
    /// Its name, in the embed and in the parent.
    pub name: String,
    /// The aggregate that the parent makes of its values.
    pub aggregation: Option<Aggregation>,
}

impl SpreadColumn {
    fn plain(name: String) -> Self {
        Self { name, aggregation: None }
    }
}

impl Planner<'_> {
    /// Decides which aggregates the embeds of `root` lift and which nodes group their rows.
    ///
    /// Errors: `PGRST123` for aggregates when they are disabled, `PGRST127` for some in a to-many spread.
    pub(super) fn plan_aggregates(&self, root: &mut Node) -> Result<(), Error> {
        if !self.settings.db_aggregates_enabled && has_aggregates(root) {
            return Err(Error::AggregatesNotAllowed);
        }
        self.group(root)
    }

    fn group(&self, node: &mut Node) -> Result<(), Error> {
        self.settle_embeds(node)?;
        let mut lifted = node.embeds.iter().filter_map(|embed| embed.spread.as_ref()).flatten();
        let is_grouped = node.columns.iter().any(|selected| selected.aggregation.is_some())
            || lifted.any(|column| column.aggregation.is_some());
        if is_grouped {
            self.expand_all(node);
            compare(node);
            node.grouping = Grouping::Grouped;
        }
        Ok(())
    }

    fn settle_embeds(&self, node: &mut Node) -> Result<(), Error> {
        for embed in &mut node.embeds {
            if embed.spread.is_none() {
                self.group(&mut embed.node)?;
                continue;
            }
            let lifted = self.lift(&mut embed.node)?;
            let is_aggregated = lifted.iter().any(|column| column.aggregation.is_some());
            if is_aggregated && !embed.relationship.is_to_one() {
                return Err(Error::NotImplemented(NOT_IN_TO_MANY_SPREADS));
            }
            embed.spread = Some(lifted);
        }
        Ok(())
    }

    /// Returns what `node` adds to its parent's row, each name once. Its aggregates, and those that are lifted into it,
    /// go along; the plain values stay.
    fn lift(&self, node: &mut Node) -> Result<Vec<SpreadColumn>, Error> {
        self.settle_embeds(node)?;
        let mut lifted = Vec::new();
        let table = self.relation_of(node);
        for selected in &mut node.columns {
            match selected.aggregation.take() {
                None if selected.column.is_all => {
                    let columns = table.map_or(&[][..], |table| table.columns.as_slice());
                    lifted.extend(columns.iter().map(|column| SpreadColumn::plain(column.name.clone())));
                }
                aggregation => lifted.push(SpreadColumn { name: selected.name().to_owned(), aggregation }),
            }
        }
        for embed in node.embeds.iter_mut().filter(|embed| !embed.is_hidden) {
            match &mut embed.spread {
                Some(inner) => lifted.extend(inner.iter_mut().map(|column| SpreadColumn {
                    name: column.name.clone(),
                    aggregation: column.aggregation.take(),
                })),
                None => lifted.push(SpreadColumn::plain(embed.key.clone())),
            }
        }
        let mut seen = std::collections::HashSet::new();
        lifted.retain(|column| seen.insert(column.name.clone()));
        Ok(lifted)
    }

    /// Replaces `*` by the names of all columns of `node`.
    pub(super) fn expand_all(&self, node: &mut Node) {
        let each = self.each(node);
        let is_all = |selected: &OutputColumn| selected.column.is_all && selected.aggregation.is_none();
        if each.is_empty() || !node.columns.iter().any(is_all) {
            return;
        }
        let columns = std::mem::take(&mut node.columns).into_iter();
        node.columns = columns
            .flat_map(|selected| if is_all(&selected) { each.clone() } else { vec![selected] })
            .collect();
    }
}

/// Reports whether `node` or something embedded into it asks for an aggregate.
fn has_aggregates(node: &Node) -> bool {
    node.columns.iter().any(|selected| selected.aggregation.is_some())
        || node.embeds.iter().any(|embed| has_aggregates(&embed.node))
}

/// Makes everything that is spread into `node` comparable.
fn compare(node: &mut Node) {
    let spreads = node.embeds.iter_mut().filter(|embed| embed.spread.is_some());
    for embed in spreads.filter(|embed| embed.relationship.is_to_one()) {
        embed.node.grouping = Grouping::Compared;
        compare(&mut embed.node);
    }
}
