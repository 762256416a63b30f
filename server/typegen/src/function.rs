//! Functions: their arguments, their results, and which of them clients can call.

use crate::catalog::{Argument, Function, Relation};
use crate::layout::{Ts, key, string};
use crate::view::View;

/// Types that a single unnamed argument may have: `json`, `jsonb`, `text`, `bytea`, `xml`. Source: PostgREST,
/// "Functions with a single unnamed parameter"; the Supabase CLI leaves the last two out.
const UNNAMED: [i64; 5] = [114, 3802, 25, 17, 142];

/// Returns the schema's functions that clients can call.
fn listed<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a Function> {
    let own = view.catalog.functions.iter().filter(|function| function.schema == view.schema);
    own.filter(|function| is_callable(view, function))
}

/// Returns the same functions, grouped by name.
pub(crate) fn groups<'a>(view: &'a View<'_>) -> Vec<Vec<&'a Function>> {
    let mut groups: Vec<Vec<&Function>> = Vec::new();
    for function in listed(view) {
        match groups.last_mut() {
            Some(group) if group[0].name == function.name => group.push(function),
            _ => groups.push(vec![function]),
        }
    }
    groups
}

/// Returns the computed fields of a relation: the functions of its schema whose only argument is a row of it. A column
/// hides one of the same name.
pub(crate) fn computed_fields<'a>(view: &'a View<'_>, relation: &Relation) -> Vec<&'a Function> {
    let computes = |function: &Function| {
        let mut inputs = function.inputs();
        match (inputs.next(), inputs.next()) {
            (Some(only), None) => row_type(view, only).is_some_and(|t| t.relation_id == Some(relation.id)),
            _ => false,
        }
    };
    let mut fields: Vec<&Function> = listed(view).filter(|function| computes(function)).collect();
    fields.retain(|field| !relation.columns.iter().any(|column| column.name == field.name));
    fields.dedup_by(|next, field| next.name == field.name);
    fields
}

fn is_callable(view: &View<'_>, function: &Function) -> bool {
    let unnamed = |argument: &Argument| argument.name.is_empty();
    let inputs: Vec<&Argument> = function.inputs().collect();
    let all_named = !inputs.iter().any(|argument| unnamed(argument));
    let defaults = || inputs.iter().all(|a| !unnamed(a) || (a.has_default && UNNAMED.contains(&a.type_id)));
    let single = || match inputs.as_slice() {
        [only] => UNNAMED.contains(&only.type_id) || row_type(view, only).is_some(),
        _ => false,
    };
    all_named || defaults() || single()
}

/// Returns the row type of an argument; `None` if it has another type.
fn row_type<'a>(view: &'a View<'_>, argument: &Argument) -> Option<&'a crate::catalog::Type> {
    view.catalog.type_of(argument.type_id).filter(|t| t.relation_id.is_some())
}

/// Returns the signatures of functions that share a name.
pub(crate) fn signatures(view: &View<'_>, group: &[&Function]) -> Ts {
    let mut signatures: Vec<Ts> = group.iter().map(|function| signature(view, group, function)).collect();
    match signatures.len() {
        1 => signatures.remove(0),
        _ => Ts::Union(signatures),
    }
}

fn signature(view: &View<'_>, group: &[&Function], function: &Function) -> Ts {
    let inputs: Vec<&Argument> = function.inputs().collect();
    let arguments = match inputs.is_empty() {
        true => Ts::atom("Record<PropertyKey, never>"),
        false => Ts::Object {
            properties: inputs
                .iter()
                .map(|argument| {
                    let mark = if argument.has_default { "?" } else { "" };
                    (format!("{}{mark}", property_name(argument)), view.argument(argument))
                })
                .collect(),
            suffix: String::new(),
            expanded: false,
        },
    };
    let options = set_options(view, function);
    let refusal = conflict(view, group, function, &inputs).or_else(|| not_callable(view, function, &inputs));
    let returns = match refusal {
        Some(message) => Ts::Object {
            properties: vec![("error".to_owned(), Ts::atom("true"))],
            suffix: format!(" & {}", string(&message)),
            expanded: false,
        },
        None => {
            let single_row = options.is_some() && !returns_many(function);
            let ts = result(view, function);
            if function.is_set && !single_row { ts.array() } else { ts }
        }
    };
    let mut properties = vec![("Args".to_owned(), arguments), ("Returns".to_owned(), returns)];
    properties.extend(options.map(|options| ("SetofOptions".to_owned(), options)));
    Ts::Object { properties, suffix: String::new(), expanded: false }
}

fn property_name(argument: &Argument) -> String {
    if argument.name.is_empty() { "\"\"".to_owned() } else { key(&argument.name) }
}

/// Returns the type of one result: a row of `returns table`, a row of a relation, or a value.
pub(crate) fn result(view: &View<'_>, function: &Function) -> Ts {
    let table: Vec<&Argument> = function.arguments.iter().filter(|a| a.is_table_column()).collect();
    let row = |properties| Ts::Object { properties, suffix: String::new(), expanded: true };
    if !table.is_empty() {
        return row(table.iter().map(|a| (key(&a.name), view.type_by_id(a.type_id))).collect());
    }
    let relation = function.return_relation_id.and_then(|id| view.catalog.relation(id));
    match relation.filter(|relation| relation.schema == view.schema) {
        Some(relation) => row(relation.columns.iter().map(|c| (key(&c.name), view.column(c))).collect()),
        None => view.type_by_id(function.return_type_id),
    }
}

fn returns_many(function: &Function) -> bool {
    function.rows.is_some_and(|rows| rows > 1.0)
}

/// Returns the name of the relation or composite type whose rows the function returns.
fn returned_relation(view: &View<'_>, function: &Function) -> Option<String> {
    let id = function.return_relation_id?;
    let relation = view.catalog.relation(id).map(|relation| relation.name.clone());
    relation.or_else(|| view.catalog.type_of(function.return_type_id).map(|t| t.name.clone()))
}

/// Returns the options with which a client selects from the rows that a function returns, or embeds them.
fn set_options(view: &View<'_>, function: &Function) -> Option<Ts> {
    let to = returned_relation(view, function)?;
    let argument = match function.arguments.as_slice() {
        [only] => row_type(view, only),
        _ => None,
    };
    let from = argument.map_or("*", |t| t.format.as_str());
    let one = if function.is_set { !returns_many(function) } else { true };
    let properties = [
        ("from", string(from)),
        ("to", string(&to)),
        ("isOneToOne", one.to_string()),
        ("isSetofReturn", function.is_set.to_string()),
    ];
    let properties = properties.map(|(name, value)| (name.to_owned(), Ts::Atom(value))).to_vec();
    Some(Ts::Object { properties, suffix: String::new(), expanded: true })
}

/// Returns the error for a function whose only argument is a row without a name: it is a computed field or a computed
/// relationship, and cannot be called directly.
fn not_callable(view: &View<'_>, function: &Function, inputs: &[&Argument]) -> Option<String> {
    match inputs {
        [only] if only.name.is_empty() && row_type(view, only).is_some() => Some(format!(
            "the function {}.{} with parameter or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache",
            function.schema, function.name
        )),
        _ => None,
    }
}

/// Returns the error for overloads that a call with named arguments cannot distinguish (PostgREST's PGRST203).
fn conflict(
    view: &View<'_>,
    group: &[&Function],
    function: &Function,
    inputs: &[&Argument],
) -> Option<String> {
    let single = |other: &Function| {
        let mut inputs = other.inputs();
        match (inputs.next(), inputs.next()) {
            (Some(only), None) => Some((only.name.clone(), only.type_id, only.has_default)),
            _ => None,
        }
    };
    let others = || group.iter().filter(|other| !std::ptr::eq(**other, function));
    let type_name = |id| view.catalog.type_of(id).map_or("unknown", |t| t.name.as_str());
    let name = format!("{}.{}", function.schema, function.name);
    let candidates = match inputs {
        [] => {
            let rival =
                others().find(|other| matches!(single(other), Some((name, _, true)) if name.is_empty()))?;
            format!("{name}(), {name}( => {})", type_name(rival.return_type_id))
        }
        [only] if !only.name.is_empty() => {
            let rivals = others().filter_map(|other| single(other));
            let rivals = rivals.filter(|(name, type_id, _)| *name == only.name && *type_id != only.type_id);
            let mut types: Vec<i64> = rivals.map(|(_, type_id, _)| type_id).collect();
            if types.is_empty() {
                return None;
            }
            types.push(only.type_id);
            types.sort_unstable();
            let spell = |id: &i64| format!("{name}({} => {})", only.name, type_name(*id));
            types.iter().map(spell).collect::<Vec<_>>().join(", ")
        }
        _ => return None,
    };
    Some(format!(
        "Could not choose the best candidate function between: {candidates}. Try renaming the parameters or the function itself in the database so function overloading can be resolved"
    ))
}
