//! Computed relationships: functions that take a row of one relation and give rows of another.
//!
//! Source: PostgREST's documentation, "Computed Relationships".

use std::collections::HashSet;

use super::{Cardinality, Relationship, RowFunction};

/// Adds to `relationships` those that `functions` define between relations of `schemas`. One that is called like a
/// relation replaces everything derived between its table and that relation.
pub(super) fn compute(
    relationships: &mut Vec<Relationship>,
    mut functions: Vec<RowFunction>,
    schemas: &[String],
) {
    functions.retain(|found| {
        // A client names the function without its schema, which so has to be that of the request's relation.
        found.function.schema == found.table.schema
            && schemas.contains(&found.function.schema)
            && schemas.contains(&found.foreign_table.schema)
    });
    let replaced: HashSet<_> = functions.iter().map(|found| (&found.table, &found.function)).collect();
    relationships.retain(|known| !replaced.contains(&(&known.table, &known.foreign_table)));
    relationships.extend(functions.into_iter().map(|found| Relationship {
        table: found.table,
        foreign_table: found.foreign_table,
        leads_to_view: false,
        cardinality: Cardinality::Computed { function: found.function, is_to_one: found.is_to_one },
    }));
}
