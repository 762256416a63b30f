//! Types for typed clients, in the format of the Supabase CLI's `gen types typescript`, so that either tool's output
//! can replace the other's.

mod catalog;
mod function;
mod helpers;
mod layout;
mod references;
mod schema;

use catalog::Catalog;
use database::Database;

/// What the types tell supabase-js about the server, which picks features by the major version and knows none above
/// 14.
const POSTGREST_VERSION: &str = "14.17";

const INTROSPECT: &str = include_str!("introspect.sql");

/// The types of `schemas` in `database`, as the text of a module.
///
/// Errors: whatever the database says; a schema that does not exist is described as empty.
pub(crate) async fn generate(database: &Database, schemas: &[String]) -> Result<String, database::Error> {
    let mut schemas = schemas.to_vec();
    schemas.sort();
    schemas.dedup();
    let row = database.client().await?.query_one(INTROSPECT, &[&schemas]).await?;
    let json: String = row.try_get(0)?;
    let catalog = Catalog::parse(&json).map_err(|error| database::Error::Protocol(error.to_string()))?;
    let catalog = catalog.with_references(references::load(database, &schemas).await?);
    Ok(module(&catalog, &schemas))
}

fn module(catalog: &Catalog, schemas: &[String]) -> String {
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
            layout.line(&format!("PostgrestVersion: \"{POSTGREST_VERSION}\""));
        });
        for schema in schemas {
            schema::write(layout, &schema::View { catalog, schemas, schema });
        }
    });
    layout.line("");
    helpers::write(&mut layout);
    helpers::write_constants(&mut layout, catalog, schemas);
    layout.finish()
}

#[cfg(test)]
mod tests;
