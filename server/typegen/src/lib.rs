//! The output of `basalt gen types`: the types of a database's schemas, for typed clients, in the format of the
//! Supabase CLI's `gen types`, so that either tool's output can replace the other's.
//!
//! [`generate`] reads the system catalogs (`catalog`, `references`, `nullability`), and writes them for TypeScript
//! (`schema`, `function`, `helpers`), formatted as Prettier would (`layout`), for Go, Python or Swift.

mod catalog;
mod collation;
mod function;
mod go;
mod helpers;
mod layout;
mod names;
mod node_tree;
mod nullability;
mod python;
mod references;
mod schema;
mod swift;
mod view;

use catalog::Catalog;
use collation::collate;
use postgres::Database;
pub use swift::SwiftAccess;
use view::View;

/// The version in the types. supabase-js selects features of the server by the major version, and knows none above 14.
const POSTGREST_VERSION: &str = "14.17";

/// The schema that the generic types describe, if it is among those to describe.
const DEFAULT_SCHEMA: &str = "public";

const INTROSPECT: &str = include_str!("introspect.sql");

/// A language that types are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A `Database` type for supabase-js.
    TypeScript,
    /// Structs for supabase-go.
    Go,
    /// Models of pydantic and typed dictionaries for supabase-py.
    Python,
    /// Structs for supabase-swift.
    Swift(SwiftAccess),
}

/// Options of [`generate`].
#[derive(Debug, Clone)]
pub struct Options {
    /// The language to generate.
    pub language: Language,
    /// The schemas to describe; those that do not exist are left out.
    pub schemas: Vec<String>,
    /// Whether references contain whether they are one to one, which PostgREST 9 and older do not support.
    pub one_to_one: bool,
    /// The version of PostgREST that types for TypeScript name; `None` for the one whose interface this server has.
    pub postgrest_version: Option<String>,
}

/// Returns the types of a database's schemas, as the text of a source file.
///
/// Errors: those of the database.
pub async fn generate(database: &Database, options: &Options) -> Result<String, postgres::Error> {
    let schemas = existing(database, &options.schemas).await?;
    let row = database.client().await?.query_one(INTROSPECT, &[&schemas]).await?;
    let json: String = row.try_get(0)?;
    let catalog = Catalog::parse(&json).map_err(|error| postgres::Error::Protocol(error.to_string()))?;
    let catalog = catalog.with_references(references::load(database, &schemas).await?);
    Ok(match options.language {
        Language::TypeScript => module(&catalog, &schemas, options),
        Language::Go => go::module(&catalog, &schemas),
        Language::Python => python::module(&catalog, &schemas),
        Language::Swift(access) => swift::module(&catalog, &schemas, access),
    })
}

/// Returns those of `schemas` that exist, sorted and without duplicates.
async fn existing(database: &Database, schemas: &[String]) -> Result<Vec<String>, postgres::Error> {
    const EXISTING: &str = "select nspname::text from pg_catalog.pg_namespace where nspname = any ($1)";
    let rows = database.client().await?.query(EXISTING, &[&schemas]).await?;
    let mut existing = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    existing.sort_by(|a, b| collate(a, b));
    for missing in schemas.iter().filter(|schema| !existing.contains(schema)) {
        tracing::warn!("schema {missing} does not exist and is left out");
    }
    Ok(existing)
}

/// Returns the text of the module for TypeScript.
fn module(catalog: &Catalog, schemas: &[String], options: &Options) -> String {
    let one_to_one = options.one_to_one;
    let version = options.postgrest_version.as_deref().unwrap_or(POSTGREST_VERSION);
    let mut layout = layout::Layout::default();
    let json = ["string", "number", "boolean", "null", "{ [key: string]: Json | undefined }", "Json[]"];
    layout.line("export type Json =");
    for member in json {
        layout.line(&format!("  | {member}"));
    }
    layout.line("");
    layout.block("export type Database = {", "}", |layout| {
        layout.line("// Allows to automatically instantiate createClient with right options");
        layout.line("// instead of createClient<Database, { PostgrestVersion: 'XX' }>(URL, KEY)");
        layout.block("__InternalSupabase: {", "}", |layout| {
            layout.line(&format!("PostgrestVersion: \"{version}\""));
        });
        for schema in schemas {
            schema::write(layout, &View { catalog, schemas, schema, one_to_one });
        }
    });
    layout.line("");
    let default = schemas.iter().find(|schema| *schema == DEFAULT_SCHEMA).or(schemas.first());
    helpers::write_types(&mut layout, default.map_or(DEFAULT_SCHEMA, |schema| schema));
    helpers::write_constants(&mut layout, catalog, schemas);
    layout.finish()
}

#[cfg(test)]
mod tests;
