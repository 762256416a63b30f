//! Reads the catalog: one query, one JSON document, so that everything in it is of one moment.

use foldhash::HashMap;
use postgres::{Database, quote_literal};
use serde::Deserialize;

use super::{Function, MediaHandler, QualifiedName, Relation, RowFunction, Source, Table};
use crate::settings::Settings;

/// The query; `{schemas}` and `{hoisted}` stand for SQL arrays.
const CATALOG: &str = include_str!("catalog.sql");

/// What the catalog says, before anything is derived from it.
#[derive(Debug, Default, Deserialize)]
pub struct Catalog {
    /// Those of the exposed schemas that do not exist.
    #[serde(default)]
    pub missing_schemas: Vec<String>,
    /// Relations of the exposed schemas.
    pub tables: Vec<Table>,
    /// All foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// All relations, with the definitions of views.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// Functions of the exposed schemas.
    pub functions: Vec<Function>,
    /// Texts of functions that can be understood, in the exposed schemas and wherever their tables call them.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// Whether the database announces changes of all code that tables and functions run.
    #[serde(default)]
    pub is_watched: bool,
    /// Comments by schema, of those that have one.
    #[serde(default)]
    pub schema_comments: HashMap<String, String>,
    /// Aggregates that make rows a media type.
    #[serde(default)]
    pub media_handlers: Vec<MediaHandler>,
    /// PostGIS' function that makes a GeoJSON feature of a row, where there is one.
    #[serde(default)]
    pub geojson: Option<QualifiedName>,
    /// Those of the functions that relate relations.
    #[serde(default)]
    pub row_functions: Vec<RowFunction>,
    /// Settings by role.
    pub role_settings: HashMap<String, Vec<(String, String)>>,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForeignKey {
    /// The relation that refers.
    pub table: QualifiedName,
    /// The relation referred to.
    pub foreign_table: QualifiedName,
    /// Its name.
    pub constraint: String,
    /// (referring column, column referred to).
    pub columns: Vec<(String, String)>,
    /// Whether the referring columns are unique.
    pub is_one_to_one: bool,
}

/// Why the catalog could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] postgres::Error),
    /// The query's result does not have the expected form.
    #[error("the catalog query gave an unexpected document: {0}")]
    Document(#[from] serde_json::Error),
    /// The query gave no row.
    #[error("the catalog query gave no row")]
    Empty,
    /// Schemas that are to be served do not exist; upstream's catalog queries fail on them, too.
    #[error("db-schemas names what does not exist: schema \"{}\"; create it, or leave it out of db-schemas", .0.join("\", \""))]
    MissingSchemas(Vec<String>),
}

/// Reads the catalog as the login role sees it.
///
/// Errors: [`LoadError`]; nothing is kept of a failed attempt.
pub async fn load(database: &Database, settings: &Settings) -> Result<Catalog, LoadError> {
    // An empty search path makes Postgres print every type's name with its schema. To compile a statement of this size
    // takes ten times as long as to run it.
    let transaction = postgres::Transaction::anonymous()
        .setting("search_path", "")
        .setting("jit", "off")
        .read_only()
        .leaves_session_unchanged()
        .statement(catalog_query(settings), Vec::new());
    let answer = database.run_reserved(&transaction).await?;
    let document = answer.row().and_then(|row| row.get(0));
    Ok(serde_json::from_slice(document.ok_or(LoadError::Empty)?)?)
}

fn catalog_query(settings: &Settings) -> String {
    let array = |names: &[String]| {
        let quoted: Vec<String> = names.iter().map(|name| quote_literal(name)).collect();
        format!("array[{}]::text[]", quoted.join(", "))
    };
    CATALOG
        .replace("{schemas}", &array(&settings.db_schemas))
        .replace("{hoisted}", &array(&settings.db_hoisted_tx_settings))
}
