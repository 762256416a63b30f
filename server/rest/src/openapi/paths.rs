//! The operations of the root, of each relation and of each function.

use serde_json::{Map, Value, json};

use super::{Contents, JSON_TYPES, parameters, reference, split_comment, types};
use crate::request::OPENAPI;
use crate::schema_cache::{Function, Parameter, Table};

/// Returns an item for each path.
pub(super) fn all(contents: &Contents<'_>) -> Value {
    let mut paths = Map::new();
    paths.insert("/".to_owned(), root());
    for table in &contents.tables {
        paths.insert(format!("/{}", table.name), relation(table));
    }
    for function in &contents.functions {
        paths.insert(format!("/rpc/{}", function.name), call(function));
    }
    Value::Object(paths)
}

fn root() -> Value {
    json!({ "get": {
        "tags": ["Introspection"],
        "summary": "OpenAPI description (this document)",
        "produces": [OPENAPI, "application/json"],
        "responses": { "200": { "description": "OK" } },
    } })
}

/// Returns the operations of a relation: it can be read; what can be changed in any way offers every change, as
/// upstream has it.
fn relation(table: &Table) -> Value {
    let filters: Vec<String> = table.columns.iter().map(|column| parameters::filter(table, column)).collect();
    let operation = |own: &[&str], filtered: bool, responses: Value| {
        let filters = filters.iter().filter(|_| filtered).map(String::as_str);
        let names = filters.chain(own.iter().copied());
        let references: Vec<Value> = names.map(|name| reference("parameters", name)).collect();
        let mut operation = new_operation(&table.name, table.comment.as_deref());
        operation.insert("parameters".to_owned(), Value::Array(references));
        operation.insert("responses".to_owned(), responses);
        Value::Object(operation)
    };
    let body = parameters::body(table);
    let reading = ["select", "order", "range", "rangeUnit", "offset", "limit", "preferCount"];
    let rows = json!({
        "200": {
            "description": "OK",
            "schema": { "type": "array", "items": reference("definitions", &table.name) },
        },
        "206": { "description": "Partial Content" },
    });
    let mut item = Map::new();
    item.insert("get".to_owned(), operation(&reading, true, rows));
    if table.insertable || table.updatable || table.deletable {
        let created = json!({ "201": { "description": "Created" } });
        let no_content = || json!({ "204": { "description": "No Content" } });
        item.insert("post".to_owned(), operation(&[&body, "select", "preferPost"], false, created));
        item.insert("patch".to_owned(), operation(&[&body, "preferReturn"], true, no_content()));
        item.insert("delete".to_owned(), operation(&["preferReturn"], true, no_content()));
    }
    Value::Object(item)
}

/// Returns the operations of a function: it can be called by POST, and by GET where it cannot write.
fn call(function: &Function) -> Value {
    let operation = |parameters: Value| {
        let mut operation = new_operation(&format!("(rpc) {}", function.name), function.comment.as_deref());
        operation.insert("produces".to_owned(), json!(JSON_TYPES));
        operation.insert("parameters".to_owned(), parameters);
        operation.insert("responses".to_owned(), json!({ "200": { "description": "OK" } }));
        Value::Object(operation)
    };
    let mut item = Map::new();
    if !function.is_volatile {
        let arguments = function.parameters.iter().map(query_parameter).collect();
        item.insert("get".to_owned(), operation(Value::Array(arguments)));
    }
    let arguments = json!([
        { "name": "args", "required": true, "in": "body", "schema": arguments_schema(function) },
        reference("parameters", "preferParams"),
    ]);
    item.insert("post".to_owned(), operation(arguments));
    Value::Object(item)
}

/// Returns an operation's tag, and its comment taken apart.
fn new_operation(tag: &str, comment: Option<&str>) -> Map<String, Value> {
    let mut operation = Map::new();
    operation.insert("tags".to_owned(), json!([tag]));
    if let Some(comment) = comment {
        let (summary, description) = split_comment(comment);
        operation.insert("summary".to_owned(), summary.into());
        if let Some(description) = description {
            operation.insert("description".to_owned(), description.into());
        }
    }
    operation
}

/// Returns an argument in a query string: an array in Postgres' own text form, a variadic one repeated.
fn query_parameter(parameter: &Parameter) -> Value {
    let type_name = parameter.type_name.as_str();
    let mut described = json!({ "name": parameter.name, "required": parameter.is_required, "in": "query" });
    if parameter.is_variadic {
        let element = types::element(type_name);
        described["type"] = "array".into();
        let kind = types::json_type(element).unwrap_or("string");
        described["items"] = json!({ "type": kind, "format": types::format(element) });
        described["collectionFormat"] = "multi".into();
    } else {
        let kind = types::json_type(type_name).filter(|kind| *kind != "array");
        described["type"] = kind.unwrap_or("string").into();
        described["format"] = types::format(type_name).into();
    }
    described
}

fn arguments_schema(function: &Function) -> Value {
    let required = function.parameters.iter().filter(|parameter| parameter.is_required);
    let property = |parameter: &Parameter| {
        let mut property = Map::new();
        types::describe(&mut property, &parameter.type_name);
        (parameter.name.clone(), Value::Object(property))
    };
    types::object(
        function.comment.as_deref(),
        required.map(|parameter| parameter.name.as_str()),
        function.parameters.iter().map(property),
    )
}
