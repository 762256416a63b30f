//! Reading what a function gave or a mutation changed: which of its columns are needed, and that its rows are no
//! longer of their relation's type.

use super::Planner;
use super::read::{Condition, Node, OrderTarget};

impl Planner<'_> {
    /// Prepares `root` for rows of a result, which have lost their relation's type: computed columns have to be part of
    /// the result, and functions that take such a row need one of that type again.
    pub(super) fn type_rows(&self, root: &mut Node) {
        let Some(table) = self.relation_of(root) else { return };
        let is_unknown = |name: &&str| table.column(name).is_none();
        let has_computed = root.embeds.iter().any(|embed| embed.relationship.function().is_some());
        if has_computed || root.named_columns().iter().any(is_unknown) {
            self.expand_all(root);
        }
        for embed in root.embeds.iter_mut().filter(|embed| embed.relationship.function().is_some()) {
            embed.row = Some(table.columns.iter().map(|column| column.name.clone()).collect());
        }
    }
}

impl Node {
    /// Returns the columns that reading this node takes from its source, each once and sorted; `*` alone for all.
    pub(super) fn needed_columns(&self) -> Vec<String> {
        if self.columns.iter().any(|selected| selected.column.is_all && selected.aggregation.is_none()) {
            return vec!["*".to_owned()];
        }
        let mut needed: Vec<String> = self.named_columns().into_iter().map(str::to_owned).collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Returns the columns that are named wherever this node reads its source.
    fn named_columns(&self) -> Vec<&str> {
        let named = self.columns.iter().filter(|selected| !selected.column.is_all);
        let mut found: Vec<&str> = named.map(|selected| selected.column.name.as_str()).collect();
        found.extend(self.embeds.iter().flat_map(|embed| embed.relationship.own_columns()));
        found.extend(self.embeds.iter().flat_map(|embed| embed.row.iter().flatten()).map(String::as_str));
        found.extend(self.order.iter().filter_map(|order| match &order.target {
            OrderTarget::Own(column) => Some(column.name.as_str()),
            OrderTarget::Related { .. } => None,
        }));
        self.conditions.iter().for_each(|condition| condition.columns(&mut found));
        found
    }
}

impl Condition {
    /// Adds the columns that it compares to `found`.
    fn columns<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Filter { column, .. } => found.push(&column.name),
            Self::Group { members, .. } => members.iter().for_each(|member| member.columns(found)),
            Self::Embedded { .. } => {}
        }
    }
}
