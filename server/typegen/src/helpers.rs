//! The generic types and constants after the `Database` type. Clients' code names them, so their names, parameters
//! and order are part of the format.

use crate::catalog::Catalog;
use crate::layout::{Layout, key, string};

const ALL: &str = "DatabaseWithoutInternals";

/// One helper: `Name<"table">` for the default schema, `Name<{ schema: "x" }, "table">` for another.
struct Helper {
    name: &'static str,
    /// Its first parameter: a name in the default schema, or a schema.
    first: &'static str,
    /// Its second parameter: a name in that schema.
    second: &'static str,
    /// The part of a schema that it looks into.
    part: &'static str,
    /// The member of what it finds that it gives, and the name to infer it by; `None` gives the whole.
    member: Option<(&'static str, &'static str)>,
}

const HELPERS: [Helper; 4] = [
    Helper {
        name: "TablesInsert",
        first: "DefaultSchemaTableNameOrOptions",
        second: "TableName",
        part: "Tables",
        member: Some(("Insert", "I")),
    },
    Helper {
        name: "TablesUpdate",
        first: "DefaultSchemaTableNameOrOptions",
        second: "TableName",
        part: "Tables",
        member: Some(("Update", "U")),
    },
    Helper {
        name: "Enums",
        first: "DefaultSchemaEnumNameOrOptions",
        second: "EnumName",
        part: "Enums",
        member: None,
    },
    Helper {
        name: "CompositeTypes",
        first: "PublicCompositeTypeNameOrOptions",
        second: "CompositeTypeName",
        part: "CompositeTypes",
        member: None,
    },
];

/// Writes the helpers.
pub(crate) fn write(layout: &mut Layout) {
    layout.line(&format!("type {ALL} = Omit<Database, \"__InternalSupabase\">"));
    layout.line("");
    layout.line(&format!("type DefaultSchema = {ALL}[Extract<keyof Database, \"public\">]"));
    layout.line("");
    write_rows(layout);
    for helper in &HELPERS {
        write_helper(layout, helper);
    }
}

fn lines(layout: &mut Layout, lines: &[String]) {
    for line in lines {
        layout.line(line);
    }
}

/// Writes `Tables`, which looks into tables and views alike.
fn write_rows(layout: &mut Layout) {
    let first = "DefaultSchemaTableNameOrOptions";
    let part = |part: &str| format!("{ALL}[{first}[\"schema\"]][\"{part}\"]");
    lines(
        layout,
        &[
            "export type Tables<".to_owned(),
            format!("  {first} extends"),
            "    | keyof (DefaultSchema[\"Tables\"] & DefaultSchema[\"Views\"])".to_owned(),
            format!("    | {{ schema: keyof {ALL} }},"),
            format!("  TableName extends {first} extends {{"),
            format!("    schema: keyof {ALL}"),
            "  }".to_owned(),
            format!("    ? keyof ({} &", part("Tables")),
            format!("        {})", part("Views")),
            "    : never = never,".to_owned(),
            format!("> = {first} extends {{"),
            format!("  schema: keyof {ALL}"),
            "}".to_owned(),
            format!("  ? ({} &", part("Tables")),
            format!("      {})[TableName] extends {{", part("Views")),
            "      Row: infer R".to_owned(),
            "    }".to_owned(),
            "    ? R".to_owned(),
            "    : never".to_owned(),
            format!("  : {first} extends keyof (DefaultSchema[\"Tables\"] &"),
            "        DefaultSchema[\"Views\"])".to_owned(),
            "    ? (DefaultSchema[\"Tables\"] &".to_owned(),
            format!("        DefaultSchema[\"Views\"])[{first}] extends {{"),
            "        Row: infer R".to_owned(),
            "      }".to_owned(),
            "      ? R".to_owned(),
            "      : never".to_owned(),
            "    : never".to_owned(),
            String::new(),
        ],
    );
}

fn write_helper(layout: &mut Layout, helper: &Helper) {
    let Helper { name, first, second, part, member } = helper;
    let found = format!("{ALL}[{first}[\"schema\"]][\"{part}\"]");
    lines(
        layout,
        &[
            format!("export type {name}<"),
            format!("  {first} extends"),
            format!("    | keyof DefaultSchema[\"{part}\"]"),
            format!("    | {{ schema: keyof {ALL} }},"),
            format!("  {second} extends {first} extends {{"),
            format!("    schema: keyof {ALL}"),
            "  }".to_owned(),
            format!("    ? keyof {found}"),
            "    : never = never,".to_owned(),
            format!("> = {first} extends {{"),
            format!("  schema: keyof {ALL}"),
            "}".to_owned(),
        ],
    );
    match member {
        Some((member, letter)) => lines(
            layout,
            &[
                format!("  ? {found}[{second}] extends {{"),
                format!("      {member}: infer {letter}"),
                "    }".to_owned(),
                format!("    ? {letter}"),
                "    : never".to_owned(),
                format!("  : {first} extends keyof DefaultSchema[\"{part}\"]"),
                format!("    ? DefaultSchema[\"{part}\"][{first}] extends {{"),
                format!("        {member}: infer {letter}"),
                "      }".to_owned(),
                format!("      ? {letter}"),
                "      : never".to_owned(),
                "    : never".to_owned(),
            ],
        ),
        None => lines(
            layout,
            &[
                format!("  ? {found}[{second}]"),
                format!("  : {first} extends keyof DefaultSchema[\"{part}\"]"),
                format!("    ? DefaultSchema[\"{part}\"][{first}]"),
                "    : never".to_owned(),
            ],
        ),
    }
    layout.line("");
}

/// Writes the enums' labels as values, for lists and checks at run time.
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
