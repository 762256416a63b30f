//! Holds every response that a test gets against the OpenAPI document.

use http::{Method, StatusCode};
use serde_json::Value;

/// Returns what a response to `method path` has that the document does not say; `None` if it is as described.
///
/// Nobody responds to unknown paths and methods, so that there is nothing to describe.
pub(crate) fn deviation(
    document: &Value,
    (method, path): (&Method, &str),
    (status, body): (StatusCode, &Value),
) -> Option<String> {
    let is_known = status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED;
    let described = operation(document, method, path);
    let Some(operation) = described else {
        return is_known.then(|| format!("{method} {path} is not described"));
    };
    let responses = &operation["responses"];
    let range = format!("{}XX", status.as_u16() / 100);
    let response = responses.get(status.as_str()).or_else(|| responses.get(&range));
    let Some(response) = response else {
        return Some(format!("{method} {path} may not respond with {status}"));
    };
    let content = response.get("content").and_then(|content| content.as_object());
    let schema = content.and_then(|content| content.iter().find(|(kind, _)| kind.contains("json")));
    let (_, schema) = schema?;
    let wrong = check(document, &schema["schema"], body, "body").err()?;
    Some(format!("{method} {path} has responded with {status} with {wrong}: {body}"))
}

/// Returns the description of an operation; parameters in the path match anything but a slash.
fn operation<'a>(document: &'a Value, method: &Method, path: &str) -> Option<&'a Value> {
    let segments: Vec<_> = path.split('/').collect();
    let mut matching: Vec<_> = document["paths"]
        .as_object()?
        .iter()
        .filter(|(template, _)| {
            let template: Vec<_> = template.split('/').collect();
            template.len() == segments.len()
                && template
                    .iter()
                    .zip(&segments)
                    .all(|(expected, found)| expected.starts_with('{') || expected == found)
        })
        .collect();
    // What is written out comes before what a parameter stands for.
    matching.sort_by_key(|(template, _)| template.matches('{').count());
    matching.into_iter().find_map(|(_, operations)| operations.get(method.as_str().to_lowercase()))
}

fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        return check(document, target.ok_or(format!("an open reference {reference}"))?, value, place);
    }
    if value.is_null() && schema["nullable"] == true {
        return Ok(());
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(keyword).and_then(Value::as_array) {
            let results: Vec<_> =
                choices.iter().map(|choice| check(document, choice, value, place)).collect();
            if !results.iter().any(Result::is_ok) {
                let reasons: Vec<_> = results.into_iter().filter_map(Result::err).collect();
                return Err(format!("{place} like none of its descriptions ({})", reasons.join("; ")));
            }
            return Ok(());
        }
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(document, part, value, place)?;
    }
    let fits = match schema.get("type").and_then(Value::as_str) {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    if !fits {
        return Err(format!("{place} that is no {}", schema["type"]));
    }
    if let (Some(items), Some(elements)) = (schema.get("items"), value.as_array()) {
        for (index, element) in elements.iter().enumerate() {
            check(document, items, element, &format!("{place}[{index}]"))?;
        }
    }
    match (schema.get("properties").and_then(Value::as_object), value.as_object()) {
        (Some(_), Some(_)) => check_members(document, schema, value, place),
        _ => Ok(()),
    }
}

fn check_members(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let (properties, members) = (&schema["properties"], value.as_object().into_iter().flatten());
    for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = required.as_str().unwrap_or_default();
        if value.get(name).is_none() {
            return Err(format!("{place} without {name}"));
        }
    }
    for (name, member) in members {
        let place = format!("{place}.{name}");
        match properties.get(name) {
            Some(described) => check(document, described, member, &place)?,
            None if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) => {}
            None => return Err(format!("{place} that is not described")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_extra_or_of_another_type_deviates() {
        let item =
            json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } });
        let content = json!({ "application/json; charset=utf-8": { "schema": { "$ref": "#/components/schemas/Item" } } });
        let document = json!({
            "paths": { "/items/{id}": { "get": { "responses": { "200": { "content": content } } } } },
            "components": { "schemas": { "Item": item } },
        });
        let judge = |path: &str, status: StatusCode, body: Value| {
            deviation(&document, (&Method::GET, path), (status, &body)).is_some()
        };
        assert!(!judge("/items/7", StatusCode::OK, json!({ "id": 7 })));
        for body in [json!({}), json!({ "id": "7" }), json!({ "id": 7, "secret": 1 }), json!([])] {
            assert!(judge("/items/7", StatusCode::OK, body));
        }
        assert!(judge("/items/7", StatusCode::ACCEPTED, json!({ "id": 7 })));
        assert!(judge("/others", StatusCode::OK, json!({})));
        assert!(!judge("/others", StatusCode::NOT_FOUND, json!({})));
    }
}
