//! What the database holds, as `introspect.sql` reports it.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::Deserialize;

use super::references::Reference;

#[derive(Debug, Deserialize)]
pub(super) struct Catalog {
    pub(super) relations: Vec<Relation>,
    pub(super) functions: Vec<Function>,
    pub(super) types: Vec<Type>,
    /// Set by [`Self::with_references`].
    #[serde(skip)]
    pub(super) references: Vec<Reference>,
    #[serde(skip)]
    type_index: HashMap<i64, usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    pub(super) id: i64,
    pub(super) schema: String,
    pub(super) name: String,
    kind: String,
    pub(super) is_updatable: bool,
    pub(super) columns: Vec<Column>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    /// The type's internal name; that of a domain's base type.
    pub(super) format: String,
    pub(super) is_nullable: bool,
    has_default: bool,
    /// `a` always, `d` by default, empty.
    identity: String,
    pub(super) is_updatable: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) identity_arguments: String,
    pub(super) result: String,
    pub(super) return_type_id: i64,
    pub(super) return_relation_id: Option<i64>,
    pub(super) is_set: bool,
    /// The planner's estimate for functions that return sets.
    pub(super) rows: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    mode: String,
    pub(super) type_id: i64,
    pub(super) has_default: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Type {
    pub(super) id: i64,
    pub(super) schema: String,
    pub(super) name: String,
    /// As SQL writes it.
    pub(super) format: String,
    /// Of an enum.
    pub(super) labels: Vec<String>,
    /// Of a composite type.
    pub(super) attributes: Vec<Attribute>,
    /// Whether it is the row type of a relation or a composite type.
    pub(super) is_row: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) type_id: i64,
}

impl Relation {
    pub(super) fn is_table(&self) -> bool {
        matches!(&*self.kind, "r" | "p" | "f")
    }
}

impl Column {
    pub(super) fn is_always_generated_identity(&self) -> bool {
        self.identity == "a"
    }

    /// Whether an insert may leave it out.
    pub(super) fn is_optional(&self) -> bool {
        self.is_nullable || self.has_default || !self.identity.is_empty()
    }
}

impl Argument {
    pub(super) fn is_input(&self) -> bool {
        matches!(&*self.mode, "i" | "b" | "v")
    }

    /// Whether it is a column of `returns table (…)`.
    pub(super) fn is_table_column(&self) -> bool {
        self.mode == "t"
    }
}

impl Function {
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.is_input())
    }
}

impl Catalog {
    /// Reads the document and puts everything into the order of the generated text.
    pub(super) fn parse(json: &str) -> serde_json::Result<Self> {
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

    /// The same with what its relations refer to.
    pub(super) fn with_references(mut self, mut references: Vec<Reference>) -> Self {
        references.sort_by(|a, b| {
            collate(&a.foreign_key, &b.foreign_key)
                .then_with(|| collate(&a.referenced_relation, &b.referenced_relation))
                .then_with(|| a.referenced_columns.cmp(&b.referenced_columns))
        });
        self.references = references;
        self
    }

    pub(super) fn type_of(&self, id: i64) -> Option<&Type> {
        self.type_index.get(&id).and_then(|index| self.types.get(*index))
    }

    pub(super) fn relation(&self, id: i64) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.id == id)
    }
}

/// The order of names that JavaScript's `localeCompare` gives: punctuation before digits before letters, letters
/// without regard to case unless all else is equal, then lower case first. Source: Unicode Technical Standard 10,
/// root collation, for the characters of ASCII.
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
