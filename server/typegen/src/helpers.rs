//! The generic types and constants after the `Database` type. Clients' code uses their names, so their names,
//! parameters and order are part of the format.

use crate::catalog::Catalog;
use crate::layout::{Layout, Ts, key, string};

/// The generic types, which are the same for every database.
const TYPES: &str = include_str!("helpers.txt");

/// Writes the generic types. They describe what is in `default`, or in another schema if one is named.
pub(crate) fn write_types(layout: &mut Layout, default: &str) {
    layout.line("type DatabaseWithoutInternals = Omit<Database, \"__InternalSupabase\">");
    layout.line("");
    let default = Ts::Generic {
        name: "Extract",
        arguments: vec![Ts::atom("keyof Database"), Ts::Atom(string(default))],
    };
    layout.indexed("type DefaultSchema = DatabaseWithoutInternals", &default);
    layout.line("");
    for line in TYPES.lines() {
        layout.line(line);
    }
}

/// Writes the labels of enums as values, for lists and checks at run time.
pub(crate) fn write_constants(layout: &mut Layout, catalog: &Catalog, schemas: &[String]) {
    layout.block("export const Constants = {", "} as const", |layout| {
        for schema in schemas {
            layout.block(&format!("{}: {{", key(schema)), "},", |layout| {
                let enums = catalog.types.iter().filter(|t| t.schema == *schema && !t.labels.is_empty());
                let enums: Vec<_> = enums.collect();
                if enums.is_empty() {
                    return layout.line("Enums: {},");
                }
                layout.block("Enums: {", "},", |layout| {
                    for t in enums {
                        let labels: Vec<String> = t.labels.iter().map(|label| string(label)).collect();
                        layout.strings(&format!("{}: ", key(&t.name)), &labels, ",");
                    }
                });
            });
        }
    });
}
