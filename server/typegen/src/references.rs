//! References by foreign keys, as the REST service embeds them: views have the keys of the tables that their columns
//! come from.

use postgres::Database;
use rest::schema_cache::{Cardinality, Relationship, SchemaCache};

/// A reference from one relation to another of the same schema.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) schema: String,
    pub(crate) relation: String,
    pub(crate) foreign_key: String,
    pub(crate) columns: Vec<String>,
    pub(crate) is_one_to_one: bool,
    pub(crate) referenced_relation: String,
    pub(crate) referenced_columns: Vec<String>,
}

/// Returns the references within each of `schemas`.
///
/// Errors: those of the database.
pub(crate) async fn load(database: &Database, schemas: &[String]) -> Result<Vec<Reference>, postgres::Error> {
    let settings = rest::Settings { db_schemas: schemas.to_vec(), ..rest::Settings::default() };
    let catalog = rest::schema_cache::load(database, &settings).await.map_err(|error| match error {
        rest::schema_cache::LoadError::Database(error) => error,
        other => postgres::Error::Protocol(other.to_string()),
    })?;
    let cache = SchemaCache::new(catalog, schemas);
    let relationships = schemas
        .iter()
        .filter_map(|schema| cache.schema(schema))
        .flat_map(|schema| schema.relationships.values().flatten());
    Ok(relationships.filter_map(|relationship| reference(relationship)).collect())
}

fn reference(relationship: &Relationship) -> Option<Reference> {
    let (constraint, pairs, is_one_to_one) = match &relationship.cardinality {
        Cardinality::ManyToOne { constraint, columns } => (constraint, columns, false),
        Cardinality::OneToOne { constraint, columns, refers: true } => (constraint, columns, true),
        _ => return None,
    };
    let within = relationship.table.schema == relationship.foreign_table.schema;
    let (columns, referenced_columns) = pairs.iter().cloned().unzip();
    within.then(|| Reference {
        schema: relationship.table.schema.clone(),
        relation: relationship.table.name.clone(),
        foreign_key: constraint.clone(),
        columns,
        is_one_to_one,
        referenced_relation: relationship.foreign_table.name.clone(),
        referenced_columns,
    })
}
