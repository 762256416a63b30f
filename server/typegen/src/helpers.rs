//! The generic types and constants after the `Database` type. Clients' code uses their names, so their names,
//! parameters and order are part of the format.

use crate::catalog::Catalog;
use crate::layout::{Layout, key, string};

/// The generic types, which are the same for every database.
const TYPES: &str = include_str!("helpers.txt");

/// Writes the generic types.
pub(crate) fn write_types(layout: &mut Layout) {
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
