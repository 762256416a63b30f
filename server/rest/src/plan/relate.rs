//! Finding the relationship that an embed means.
//!
//! Source: PostgREST's documentation, "Foreign Key Joins on Multiple Foreign Key Relationships",
//! "Recursive Relationships" and "Computed Relationships".

use std::sync::Arc;

use super::Planner;
use crate::error::{Error, closest, closest_inexact};
use crate::schema_cache::{Cardinality, Relationship};

/// The least similarity of a suggestion: upstream's.
const NEAR: f64 = 0.33;

impl Planner<'_> {
    /// Returns the one relationship from `origin` that `target` and `hint` name.
    ///
    /// Errors: `PGRST200` for none, `PGRST201` for several.
    pub(super) fn relationship(
        &self,
        origin: &str,
        target: &str,
        hint: Option<&str>,
    ) -> Result<Arc<Relationship>, Error> {
        let from_origin = self.schema.relationships.get(origin).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> =
            from_origin.iter().filter(|relationship| matches(relationship, target, hint)).cloned().collect();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(Error::NoRelationship {
                parent: origin.to_owned(),
                child: target.to_owned(),
                hint: hint.map(str::to_owned),
                schema: self.request.schema.clone(),
                suggestion: self.suggest(origin, target),
            }),
            _ => Err(Error::AmbiguousRelationship {
                parent: origin.to_owned(),
                child: target.to_owned(),
                candidates: found,
            }),
        }
    }

    /// Suggests a name near to the parent's, if that has no relationships, else one near to the child's.
    fn suggest(&self, origin: &str, target: &str) -> Option<String> {
        let suggestion = |near: &str, of: &str| format!("Perhaps you meant '{near}' instead of '{of}'.");
        match self.schema.relationships.get(origin) {
            None => {
                let parents = self.schema.relationships.keys().map(String::as_str);
                closest(origin, parents, NEAR).map(|near| suggestion(near, origin))
            }
            Some(relationships) => {
                // Relations only: the name of a function that computes a relationship is not suggested.
                let children =
                    relationships.iter().map(|relationship| relationship.foreign_table.name.as_str());
                closest_inexact(target, children, NEAR).map(|near| suggestion(near, target))
            }
        }
    }
}

fn matches(relationship: &Relationship, target: &str, hint: Option<&str>) -> bool {
    if let Some(function) = relationship.function() {
        return target == function.name;
    }
    let is_target = target == relationship.foreign_table.name;
    let own_column = single_column(relationship).map(|(own, _)| own);
    let foreign_column = single_column(relationship).map(|(_, foreign)| foreign);
    if relationship.is_self() {
        // A foreign key to its own relation is two relationships of one name. The relation's name means the many
        // that refer here; the column's name means the one referred to.
        let is_to_many = matches!(relationship.cardinality, Cardinality::OneToMany { .. });
        let is_to_one = matches!(relationship.cardinality, Cardinality::ManyToOne { .. });
        return match hint {
            None => is_target && is_to_many || own_column == Some(target) && is_to_one,
            Some(hint) => is_target && is_to_many && foreign_column == Some(hint),
        };
    }
    match hint {
        None => {
            // A key's name means the table that it refers to, not the views on it.
            let is_named = relationship.constraint() == Some(target) || own_column == Some(target);
            is_target || is_named && !relationship.leads_to_view
        }
        Some(hint) => {
            let is_junction = match &relationship.cardinality {
                Cardinality::ManyToMany(junction) => junction.table.name == hint,
                _ => false,
            };
            let is_named = relationship.constraint() == Some(hint) || is_junction;
            is_target && (is_named || own_column == Some(hint) || foreign_column == Some(hint))
        }
    }
}

/// Returns the pair of columns of a key that has only one.
fn single_column(relationship: &Relationship) -> Option<(&str, &str)> {
    match relationship.columns() {
        [(own, foreign)] => Some((own, foreign)),
        _ => None,
    }
}
