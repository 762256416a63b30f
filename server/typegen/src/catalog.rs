//! The system catalogs, as `introspect.sql` reads them.

use std::collections::HashMap;

use serde::Deserialize;

use crate::collation::collate;
use crate::nullability;
use crate::references::Reference;

#[derive(Debug, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) relations: Vec<Relation>,
    pub(crate) functions: Vec<Function>,
    pub(crate) types: Vec<Type>,
    /// The described views, and those that they select from.
    views: Vec<Definition>,
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
    /// Whether it is a view that rows can be inserted into.
    pub(crate) is_insertable: bool,
    /// Whether it is a view whose rows can be updated.
    pub(crate) is_updatable: bool,
    pub(crate) columns: Vec<Column>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) number: i64,
    /// The type's internal name; for a domain, that of its base type.
    pub(crate) format: String,
    /// The schema of the type of this name.
    pub(crate) type_schema: String,
    /// False for a view's column, too, if it comes from one that cannot be null.
    pub(crate) is_nullable: bool,
    has_default: bool,
    /// `a` for always, `d` for by default, else empty.
    identity: String,
    is_generated: bool,
    pub(crate) is_updatable: bool,
    /// Only of a view's column.
    pub(crate) comment: Option<String>,
}

/// A view's query.
#[derive(Debug, Deserialize)]
pub(crate) struct Definition {
    pub(crate) id: i64,
    /// The text form of the parse tree.
    pub(crate) definition: String,
    /// The relations and numbers of columns that it reads and that cannot be null.
    pub(crate) non_null_columns: Vec<(i64, i64)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Function {
    id: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    argument_types: String,
    result: String,
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
    /// The relation or composite type whose row type it is.
    pub(crate) relation_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) type_id: i64,
}

impl Relation {
    /// Reports whether it is a table of this database, not a foreign one.
    pub(crate) fn is_local_table(&self) -> bool {
        matches!(&*self.kind, "r" | "p")
    }

    pub(crate) fn is_materialized(&self) -> bool {
        self.kind == "m"
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(&*self.kind, "r" | "p" | "f")
    }
}

impl Column {
    /// Reports whether only Postgres sets its values: it is `generated always`, from other columns or as an identity.
    pub(crate) fn is_always_generated(&self) -> bool {
        self.is_generated || self.identity == "a"
    }

    pub(crate) fn is_identity(&self) -> bool {
        !self.identity.is_empty()
    }

    /// Reports whether an insert need not contain it.
    pub(crate) fn is_optional(&self) -> bool {
        // What is generated from other columns has a default, too.
        self.is_nullable || self.has_default || self.is_identity()
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
    /// Parses the document, sorts everything into the order of the generated text, and finds out which columns of views
    /// cannot be null.
    pub(crate) fn parse(json: &str) -> serde_json::Result<Self> {
        let mut catalog: Self = serde_json::from_str(json)?;
        nullability::apply(&mut catalog.relations, &catalog.views);
        catalog
            .relations
            .sort_by(|a, b| collate(&a.schema, &b.schema).then_with(|| collate(&a.name, &b.name)));
        for relation in &mut catalog.relations {
            relation.columns.sort_by(|a, b| collate(&a.name, &b.name));
        }
        for function in &mut catalog.functions {
            function.arguments.sort_by(|a, b| collate(&a.name, &b.name));
        }
        catalog.functions.sort_by(|a, b| {
            collate(&a.name, &b.name)
                .then_with(|| collate(&a.argument_types, &b.argument_types))
                .then_with(|| collate(&a.result, &b.result))
                .then_with(|| a.id.cmp(&b.id))
        });
        catalog.types.sort_by(|a, b| collate(&a.schema, &b.schema).then_with(|| collate(&a.name, &b.name)));
        catalog.type_index = catalog.types.iter().enumerate().map(|(index, t)| (t.id, index)).collect();
        Ok(catalog)
    }

    /// Returns the catalog with the references of its relations.
    pub(crate) fn with_references(mut self, mut references: Vec<Reference>) -> Self {
        references.sort_by(|a, b| {
            collate(&a.foreign_key, &b.foreign_key)
                .then_with(|| collate(&a.referenced_relation, &b.referenced_relation))
                .then_with(|| a.referenced_columns.cmp(&b.referenced_columns))
                .then_with(|| a.columns.cmp(&b.columns))
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
