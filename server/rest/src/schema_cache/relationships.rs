//! Relationships between relations, derived from foreign keys or computed by functions.
//!
//! Source: PostgREST's documentation, "Resource Embedding".

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::{Catalog, ForeignKey, QualifiedName};

/// How the rows of one relation belong to those of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Relationship {
    /// The relation that it starts from.
    pub table: QualifiedName,
    /// The relation that it leads to.
    pub foreign_table: QualifiedName,
    /// Whether that is a view, whose rows no constraint makes unique.
    pub leads_to_view: bool,
    /// How many rows there are on the other side, and what they are joined by.
    pub cardinality: Cardinality,
}

/// How many rows a relationship leads to, and by what. Pairs are (own column, foreign column).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// Any number, which refer to this one by `constraint`.
    OneToMany {
        /// The foreign key.
        constraint: String,
        /// What is equal on both sides.
        columns: Vec<(String, String)>,
    },
    /// One, which this one refers to by `constraint`.
    ManyToOne {
        /// The foreign key.
        constraint: String,
        /// What is equal on both sides.
        columns: Vec<(String, String)>,
    },
    /// One at most in either direction: the foreign key is unique.
    OneToOne {
        /// The foreign key.
        constraint: String,
        /// What is equal on both sides.
        columns: Vec<(String, String)>,
        /// Whether the foreign key is on the own side.
        refers: bool,
    },
    /// Any number, through a junction.
    ManyToMany(Junction),
    /// What a function gives for a row.
    Computed {
        /// The function.
        function: QualifiedName,
        /// Whether it gives one row at most.
        is_to_one: bool,
    },
}

/// A relation whose rows pair those of two others: its primary key holds a foreign key to each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Junction {
    /// The junction.
    pub table: QualifiedName,
    /// Its foreign key to the relation that the relationship starts from.
    pub source_constraint: String,
    /// Its foreign key to the relation that the relationship leads to.
    pub target_constraint: String,
    /// (column of the start, column of the junction).
    pub source_columns: Vec<(String, String)>,
    /// (column of the target, column of the junction).
    pub target_columns: Vec<(String, String)>,
}

impl Relationship {
    /// Reports whether it leads to one row at most.
    pub(crate) fn is_to_one(&self) -> bool {
        match self.cardinality {
            Cardinality::ManyToOne { .. } | Cardinality::OneToOne { .. } => true,
            Cardinality::Computed { is_to_one, .. } => is_to_one,
            Cardinality::OneToMany { .. } | Cardinality::ManyToMany(_) => false,
        }
    }

    /// Reports whether it should lead to one row without a constraint that ensures this: it leads to a view, or is
    /// computed by a function.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.leads_to_view || self.function().is_some()
    }

    /// Returns the function that computes it.
    pub fn function(&self) -> Option<&QualifiedName> {
        match &self.cardinality {
            Cardinality::Computed { function, .. } => Some(function),
            _ => None,
        }
    }

    /// Reports whether it leads back to its own relation.
    pub(crate) fn is_self(&self) -> bool {
        self.table == self.foreign_table
    }

    /// Returns the foreign key's name, if there is one for the whole.
    pub fn constraint(&self) -> Option<&str> {
        match &self.cardinality {
            Cardinality::OneToMany { constraint, .. }
            | Cardinality::ManyToOne { constraint, .. }
            | Cardinality::OneToOne { constraint, .. } => Some(constraint),
            Cardinality::ManyToMany(_) | Cardinality::Computed { .. } => None,
        }
    }

    /// Returns the pairs of equal columns; none where a junction or a function is between.
    pub fn columns(&self) -> &[(String, String)] {
        match &self.cardinality {
            Cardinality::OneToMany { columns, .. }
            | Cardinality::ManyToOne { columns, .. }
            | Cardinality::OneToOne { columns, .. } => columns,
            Cardinality::ManyToMany(_) | Cardinality::Computed { .. } => &[],
        }
    }

    /// Returns the own columns that a join needs.
    pub(crate) fn own_columns(&self) -> impl Iterator<Item = &str> {
        let pairs = match &self.cardinality {
            Cardinality::ManyToMany(junction) => &junction.source_columns,
            _ => self.columns(),
        };
        pairs.iter().map(|(own, _)| own.as_str())
    }
}

/// Returns all relationships between relations of `schemas`, in a stable order: by relation, target, then cardinality.
pub(super) fn derive(catalog: &Catalog, schemas: &[String]) -> Vec<Relationship> {
    let views = catalog.relations.iter().filter(|relation| relation.definition.is_some());
    let views: HashSet<(&str, &str)> = views.map(|view| (view.schema.as_str(), view.name.as_str())).collect();
    let mut found = Vec::new();
    for key in &catalog.foreign_keys {
        let columns = key.columns.clone();
        let swapped = swapped(&columns);
        let constraint = key.constraint.clone();
        let (there, back) = if key.is_one_to_one {
            (
                Cardinality::OneToOne { constraint: constraint.clone(), columns, refers: true },
                Cardinality::OneToOne { constraint, columns: swapped, refers: false },
            )
        } else {
            (
                Cardinality::ManyToOne { constraint: constraint.clone(), columns },
                Cardinality::OneToMany { constraint, columns: swapped },
            )
        };
        let (table, foreign_table) = (key.table.clone(), key.foreign_table.clone());
        found.push(Relationship {
            table: table.clone(),
            foreign_table: foreign_table.clone(),
            leads_to_view: false,
            cardinality: there,
        });
        found.push(Relationship {
            table: foreign_table,
            foreign_table: table,
            leads_to_view: false,
            cardinality: back,
        });
    }
    found.extend(through_junctions(catalog, schemas));
    found.retain(|relationship| {
        // A client names the target without its schema, so both ends have to be in one.
        schemas.contains(&relationship.table.schema)
            && relationship.table.schema == relationship.foreign_table.schema
    });
    let is_view = |name: &QualifiedName| views.contains(&(name.schema.as_str(), name.name.as_str()));
    for relationship in &mut found {
        relationship.leads_to_view = is_view(&relationship.foreign_table);
    }
    found.sort_by(|a, b| {
        (&a.table, &a.foreign_table, &a.cardinality).cmp(&(&b.table, &b.foreign_table, &b.cardinality))
    });
    found
}

/// Returns the pairs as they are from the other side.
fn swapped(columns: &[(String, String)]) -> Vec<(String, String)> {
    columns.iter().map(|(own, foreign)| (foreign.clone(), own.clone())).collect()
}

/// Returns the relationships between relations that a junction pairs, whatever schemas they are in.
fn through_junctions<'a>(
    catalog: &'a Catalog,
    schemas: &'a [String],
) -> impl Iterator<Item = Relationship> + 'a {
    let primary_keys: HashMap<(&str, &str), HashSet<&str>> = catalog
        .tables
        .iter()
        .map(|table| {
            let columns = table.primary_key.iter().map(String::as_str).collect();
            ((table.schema.as_str(), table.name.as_str()), columns)
        })
        .collect();
    let mut by_table: HashMap<&QualifiedName, Vec<&ForeignKey>> = HashMap::new();
    for key in catalog.foreign_keys.iter().filter(|key| !key.is_one_to_one) {
        by_table.entry(&key.table).or_default().push(key);
    }
    let exposed = by_table.into_iter().filter(|(table, _)| schemas.contains(&table.schema));
    exposed.flat_map(move |(table, keys)| {
        let primary_key = primary_keys.get(&(table.schema.as_str(), table.name.as_str())).cloned();
        let primary_key = primary_key.unwrap_or_default();
        let is_in_key =
            |key: &ForeignKey| key.columns.iter().all(|(own, _)| primary_key.contains(own.as_str()));
        let inside: Vec<&ForeignKey> = keys.into_iter().filter(|key| is_in_key(key)).collect();
        let mut pairs = Vec::new();
        for source in &inside {
            for target in &inside {
                if source.constraint != target.constraint {
                    pairs.push(through(table, source, target));
                }
            }
        }
        pairs
    })
}

fn through(table: &QualifiedName, source: &ForeignKey, target: &ForeignKey) -> Relationship {
    Relationship {
        table: source.foreign_table.clone(),
        foreign_table: target.foreign_table.clone(),
        leads_to_view: false,
        cardinality: Cardinality::ManyToMany(Junction {
            table: table.clone(),
            source_constraint: source.constraint.clone(),
            target_constraint: target.constraint.clone(),
            source_columns: swapped(&source.columns),
            target_columns: swapped(&target.columns),
        }),
    }
}
