//! Reads the catalog: one query, one JSON document, so that everything in it is of one moment.

use postgres::{Database, quote_literal};

use super::Catalog;
use crate::settings::Settings;

/// The query; `{schemas}` and `{hoisted}` stand for SQL arrays.
const CATALOG: &str = include_str!("catalog.sql");

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
    let reply = database.run_reserved(&transaction).await?;
    let document = reply.row().and_then(|row| row.get(0));
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
