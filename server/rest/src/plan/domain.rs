//! Domains whose casts define how their values are written and read.
//!
//! Source: PostgREST's documentation, "Domain Representations".

use super::Planner;
use super::read::{Column, Node, OutputColumn};
use crate::request::syntax::Field;
use crate::schema_cache::DomainCasts;

impl Planner<'_> {
    /// Returns all columns of `node`: each by its name if one of them is formatted by a cast.
    pub(super) fn all(&self, node: &Node) -> Vec<OutputColumn> {
        let columns = self.relation_of(node).map_or(&[][..], |table| table.columns.as_slice());
        let is_formatted =
            columns.iter().any(|column| column.casts.as_ref().is_some_and(|casts| casts.to_json.is_some()));
        if is_formatted { self.each(node) } else { vec![OutputColumn::all()] }
    }

    /// Returns all columns of `node`, each by its name; none where it is no relation.
    pub(super) fn each(&self, node: &Node) -> Vec<OutputColumn> {
        let columns = self.relation_of(node).map_or(&[][..], |table| table.columns.as_slice());
        let selected = columns.iter().map(|column| {
            let column = self.formatted_column(node, &Field::column(column.name.clone()));
            let alias = column.format.as_ref().map(|_| column.name.clone());
            OutputColumn { column, cast: None, alias, aggregation: None }
        });
        selected.collect()
    }

    /// Returns the column, formatted by the cast of its domain.
    pub(super) fn formatted_column(&self, node: &Node, field: &Field) -> Column {
        let format = self.casts(node, field).and_then(|casts| casts.to_json.clone());
        Column { format, ..self.column(node, field) }
    }

    /// Returns the casts of a whole column's domain; a step into its JSON leaves the domain.
    pub(super) fn casts(&self, node: &Node, field: &Field) -> Option<&DomainCasts> {
        let table = self.relation_of(node).filter(|_| field.path.is_empty())?;
        table.column(&field.name)?.casts.as_deref()
    }
}
