//! The system catalogs, as `introspect.sql` reads them.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::Deserialize;

use crate::references::Reference;

#[derive(Debug, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) relations: Vec<Relation>,
    pub(crate) functions: Vec<Function>,
    pub(crate) types: Vec<Type>,
    /// Set by [`Self::with_references`].
    #[serde(skip)]
    pub(crate) references: Vec<Reference>,
    #[serde(skip)]
    type_index: HashMap<i64, usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Relation {
    pub(crate) id: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    kind: String,
    pub(crate) is_updatable: bool,
    pub(crate) columns: Vec<Column>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The type's internal name; for a domain, that of its base type.
    pub(crate) format: String,
    pub(crate) is_nullable: bool,
    has_default: bool,
    /// `a` for always, `d` for by default, else empty.
    identity: String,
    pub(crate) is_updatable: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Function {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) identity_arguments: String,
    pub(crate) result: String,
    pub(crate) return_type_id: i64,
    pub(crate) return_relation_id: Option<i64>,
    pub(crate) is_set: bool,
    /// The planner's estimate for functions that return sets.
    pub(crate) rows: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Argument {
    pub(crate) name: String,
    mode: String,
    pub(crate) type_id: i64,
    pub(crate) has_default: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Type {
    pub(crate) id: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// The name in SQL.
    pub(crate) format: String,
    /// The labels of an enum.
    pub(crate) labels: Vec<String>,
    /// The attributes of a composite type.
    pub(crate) attributes: Vec<Attribute>,
    /// Whether it is the row type of a relation or a composite type.
    pub(crate) is_row: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) type_id: i64,
}

impl Relation {
    pub(crate) fn is_table(&self) -> bool {
        matches!(&*self.kind, "r" | "p" | "f")
    }
}

impl Column {
    pub(crate) fn is_always_generated_identity(&self) -> bool {
        self.identity == "a"
    }

    /// Reports whether an insert need not contain it.
    pub(crate) fn is_optional(&self) -> bool {
        self.is_nullable || self.has_default || !self.identity.is_empty()
    }
}

impl Argument {
    pub(crate) fn is_input(&self) -> bool {
        matches!(&*self.mode, "i" | "b" | "v")
    }

    /// Reports whether it is a column of `returns table (…)`.
    pub(crate) fn is_table_column(&self) -> bool {
        self.mode == "t"
    }
}

impl Function {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.is_input())
    }
}

impl Catalog {
    /// Parses the document and sorts everything into the order of the generated text.
    pub(crate) fn parse(json: &str) -> serde_json::Result<Self> {
        let mut catalog: Self = serde_json::from_str(json)?;
        catalog.relations.sort_by(|a, b| collate(&a.name, &b.name));
        for relation in &mut catalog.relations {
            relation.columns.sort_by(|a, b| collate(&a.name, &b.name));
        }
        for function in &mut catalog.functions {
            function.arguments.sort_by(|a, b| collate(&a.name, &b.name));
        }
        catalog.functions.sort_by(|a, b| {
            collate(&a.name, &b.name)
                .then_with(|| collate(&a.identity_arguments, &b.identity_arguments))
                .then_with(|| collate(&a.result, &b.result))
        });
        catalog.types.sort_by(|a, b| collate(&a.name, &b.name));
        catalog.type_index = catalog.types.iter().enumerate().map(|(index, t)| (t.id, index)).collect();
        Ok(catalog)
    }

    /// Returns the catalog with the references of its relations.
    pub(crate) fn with_references(mut self, mut references: Vec<Reference>) -> Self {
        references.sort_by(|a, b| {
            collate(&a.foreign_key, &b.foreign_key)
                .then_with(|| collate(&a.referenced_relation, &b.referenced_relation))
                .then_with(|| a.referenced_columns.cmp(&b.referenced_columns))
        });
        self.references = references;
        self
    }

    pub(crate) fn type_of(&self, id: i64) -> Option<&Type> {
        self.type_index.get(&id).and_then(|index| self.types.get(*index))
    }

    pub(crate) fn relation(&self, id: i64) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.id == id)
    }
}

/// Compares names in the order of JavaScript's `localeCompare`: punctuation before digits before letters; letters
/// without regard to case unless everything else is equal, then lower case first. Source: Unicode Technical Standard
/// 10, root collation, for the characters of ASCII.
fn collate(a: &str, b: &str) -> Ordering {
    let weight = |c: char| {
        let class = match c {
            '_' => 0,
            '-' => 1,
            c if c.is_alphabetic() => 4,
            c if c.is_ascii_digit() => 3,
            _ => 2,
        };
        (class, c.to_lowercase().next().unwrap_or(c))
    };
    let by_weight = a.chars().map(weight).cmp(b.chars().map(weight));
    by_weight.then_with(|| b.cmp(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_javascript_sorts_them() {
        let mut names = ["source_title1", "source1", "b", "B", "a_b", "a1", "ab", "Ab", "a"];
        names.sort_by(|a, b| collate(a, b));
        assert_eq!(names, ["a", "a_b", "a1", "ab", "Ab", "b", "B", "source_title1", "source1"]);
    }
}
