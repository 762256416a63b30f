//! One schema: its tables, views, functions, enums and composite types.

use crate::catalog::{Column, Relation};
use crate::function;
use crate::layout::{Layout, Ts, key, string};
use crate::view::View;

/// Writes the schema's part of the `Database` type.
pub(crate) fn write(layout: &mut Layout, view: &View<'_>) {
    let relations = || view.catalog.relations.iter().filter(|relation| relation.schema == view.schema);
    layout.block(&format!("{}: {{", key(view.schema)), "}", |layout| {
        let tables: Vec<_> = relations().filter(|relation| relation.is_table()).collect();
        section(layout, "Tables", &tables, |layout, table| write_table(layout, view, table));
        let views: Vec<_> = relations().filter(|relation| !relation.is_table()).collect();
        section(layout, "Views", &views, |layout, relation| write_view(layout, view, relation));
        let functions = function::groups(view);
        section(layout, "Functions", &functions, |layout, group| {
            layout.property(&key(&group[0].name), &function::signatures(view, group));
        });
        let types = || view.catalog.types.iter().filter(|t| t.schema == view.schema);
        let enums: Vec<_> = types().filter(|t| !t.labels.is_empty()).collect();
        section(layout, "Enums", &enums, |layout, t| {
            let labels = t.labels.iter().map(|label| Ts::atom(string(label))).collect();
            layout.property(&key(&t.name), &Ts::Union(labels));
        });
        let composites: Vec<_> = types().filter(|t| !t.attributes.is_empty()).collect();
        section(layout, "CompositeTypes", &composites, |layout, t| {
            layout.block(&format!("{}: {{", key(&t.name)), "}", |layout| {
                for attribute in &t.attributes {
                    let ts = view.type_by_id(attribute.type_id);
                    layout.property(&key(&attribute.name), &ts.or_null());
                }
            });
        });
    });
}

fn section<T>(layout: &mut Layout, name: &str, items: &[T], write: impl Fn(&mut Layout, &T)) {
    layout.block(&format!("{name}: {{"), "}", |layout| {
        if items.is_empty() {
            layout.line("[_ in never]: never");
        }
        for item in items {
            write(layout, item);
        }
    });
}

fn write_table(layout: &mut Layout, view: &View<'_>, table: &Relation) {
    layout.block(&format!("{}: {{", key(&table.name)), "}", |layout| {
        write_row(layout, view, table);
        let columns = || table.columns.iter();
        layout.object("Insert", &inputs(columns(), |column| (column.is_optional(), view.column(column))));
        layout.object("Update", &inputs(columns(), |column| (true, view.column(column))));
        write_relationships(layout, view, table);
    });
}

/// Returns the properties of what is written to a table. `input` returns whether a column can be left out, and its
/// type.
fn inputs<'a>(
    columns: impl Iterator<Item = &'a Column>,
    input: impl Fn(&Column) -> (bool, Ts),
) -> Vec<(String, Ts)> {
    let property = |column: &Column| {
        let (optional, ts) = match column.is_always_generated() {
            true => (true, Ts::atom("never")),
            false => input(column),
        };
        let mark = if optional { "?" } else { "" };
        (format!("{}{mark}", key(&column.name)), ts)
    };
    columns.map(property).collect()
}

fn write_view(layout: &mut Layout, view: &View<'_>, relation: &Relation) {
    layout.block(&format!("{}: {{", key(&relation.name)), "}", |layout| {
        write_row(layout, view, relation);
        let input = |column: &Column| match column.is_updatable {
            true => view.type_by_name(&column.format, &column.type_schema).or_null(),
            false => Ts::atom("never"),
        };
        let inputs: Vec<_> = relation
            .columns
            .iter()
            .map(|column| (format!("{}?", key(&column.name)), input(column)))
            .collect();
        if relation.is_insertable {
            layout.object("Insert", &inputs);
        }
        if relation.is_updatable {
            layout.object("Update", &inputs);
        }
        write_relationships(layout, view, relation);
    });
}

/// Writes the columns and the computed fields, and the names of the latter.
fn write_row(layout: &mut Layout, view: &View<'_>, relation: &Relation) {
    let computed = function::computed_fields(view, relation);
    let columns = relation.columns.iter().map(|column| (key(&column.name), view.column(column)));
    let fields = computed.iter().map(|field| (key(&field.name), function::result(view, field).or_null()));
    layout.object("Row", &columns.chain(fields).collect::<Vec<_>>());
    let names = match computed.as_slice() {
        [] => Ts::atom("never"),
        fields => Ts::Union(fields.iter().map(|field| Ts::atom(string(&field.name))).collect()),
    };
    layout.property("ComputedFields", &names);
}

fn write_relationships(layout: &mut Layout, view: &View<'_>, relation: &Relation) {
    let own = view.catalog.references.iter();
    let own: Vec<_> = own.filter(|r| r.schema == relation.schema && r.relation == relation.name).collect();
    if own.is_empty() {
        return layout.line("Relationships: []");
    }
    let strings = |names: &[String]| names.iter().map(|name| string(name)).collect::<Vec<_>>();
    layout.block("Relationships: [", "]", |layout| {
        for reference in own {
            layout.block("{", "},", |layout| {
                layout.line(&format!("foreignKeyName: {}", string(&reference.foreign_key)));
                layout.strings("columns: ", &strings(&reference.columns), "");
                if view.one_to_one {
                    layout.line(&format!("isOneToOne: {}", reference.is_one_to_one));
                }
                layout.line(&format!("referencedRelation: {}", string(&reference.referenced_relation)));
                layout.strings("referencedColumns: ", &strings(&reference.referenced_columns), "");
            });
        }
    });
}
