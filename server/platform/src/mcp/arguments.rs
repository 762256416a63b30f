//! The check of a tool's arguments against its schema: nothing is done with arguments that it does not describe.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// Returns `arguments` with the defaults of `schema`.
///
/// Errors: all that is wrong, as JSON in the form that upstream's tools have.
pub(super) fn checked(mut arguments: JsonObject, schema: &JsonObject) -> Result<JsonObject, String> {
    let empty = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let mut issues = Vec::new();
    for (name, property) in properties {
        match (arguments.get(name), property.get("default")) {
            (Some(value), _) => check(value, property, &[json!(name)], &mut issues),
            (None, Some(default)) => drop(arguments.insert(name.clone(), default.clone())),
            (None, None) if is_required(name) => {
                let expected = property.get("type").and_then(Value::as_str).unwrap_or("value");
                issues.push(wrong_type(expected, "undefined", &[json!(name)]));
            }
            (None, None) => {}
        }
    }
    let unknown: Vec<&String> = arguments.keys().filter(|name| !properties.contains_key(*name)).collect();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("\"{name}\"")).collect();
        let plural = if unknown.len() > 1 { "s" } else { "" };
        let message = format!("Unrecognized key{plural}: {}", names.join(", "));
        issues.push(json!({ "code": "unrecognized_keys", "keys": unknown, "path": [], "message": message }));
    }
    match issues.is_empty() {
        true => Ok(arguments),
        false => Err(serde_json::to_string_pretty(&issues).unwrap_or_default()),
    }
}

fn wrong_type(expected: &str, found: &str, path: &[Value]) -> Value {
    json!({
        "expected": expected,
        "code": "invalid_type",
        "path": path,
        "message": format!("Invalid input: expected {expected}, received {found}"),
    })
}

/// Appends what is wrong with `value` at `path`.
fn check(value: &Value, schema: &Value, path: &[Value], issues: &mut Vec<Value>) {
    let below = |part: Value| [path, &[part]].concat();
    match (schema["type"].as_str().unwrap_or_default(), value) {
        ("string", Value::String(text)) => {
            if let Some(options) = schema["enum"].as_array()
                && !options.iter().any(|option| option == text)
            {
                let names: Vec<String> = options.iter().map(Value::to_string).collect();
                let message = format!("Invalid option: expected one of {}", names.join("|"));
                issues.push(
                    json!({ "code": "invalid_value", "values": options, "path": path, "message": message }),
                );
            }
        }
        ("array", Value::Array(elements)) => {
            for (index, element) in elements.iter().enumerate() {
                check(element, &schema["items"], &below(json!(index)), issues);
            }
        }
        ("object", Value::Object(fields)) => {
            let required = schema["required"].as_array().into_iter().flatten();
            for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
                let expected = schema["properties"][name]["type"].as_str().unwrap_or("value");
                issues.push(wrong_type(expected, "undefined", &below(json!(name))));
            }
            for (name, field) in fields {
                match schema["properties"].get(name) {
                    Some(property) => check(field, property, &below(json!(name)), issues),
                    None => issues.push(json!({
                        "code": "unrecognized_keys", "keys": [name], "path": path,
                        "message": format!("Unrecognized key: \"{name}\""),
                    })),
                }
            }
        }
        ("number" | "integer", Value::Number(_)) | ("boolean", Value::Bool(_)) => {}
        (expected, found) => issues.push(wrong_type(expected, kind(found), path)),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let schema = json!({
            "properties": {
                "query": { "type": "string" },
                "kind": { "type": "string", "enum": ["a", "b"] },
                "schemas": { "type": "array", "items": { "type": "string" }, "default": ["public"] },
            },
            "required": ["query"],
        });
        let schema = schema.as_object().unwrap();
        let arguments = |value: Value| value.as_object().cloned().unwrap();
        let fine = checked(arguments(json!({ "query": "select 1" })), schema).unwrap();
        assert_eq!(fine["schemas"], json!(["public"]));
        let wrong =
            checked(arguments(json!({ "kind": "c", "schemas": [1], "extra": 2 })), schema).unwrap_err();
        let issues: Vec<Value> = serde_json::from_str(&wrong).unwrap();
        let codes: Vec<&str> = issues.iter().map(|issue| issue["code"].as_str().unwrap()).collect();
        assert_eq!(codes, ["invalid_type", "invalid_value", "invalid_type", "unrecognized_keys"]);
        assert_eq!(issues[2]["path"], json!(["schemas", 0]));
    }
}
