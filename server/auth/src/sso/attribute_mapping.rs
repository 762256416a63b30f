//! How attributes of assertions become claims.

use std::collections::BTreeMap;

use poem_openapi::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The attributes that claims are read from.
#[derive(Debug, Clone, Default, PartialEq, Object, Serialize, Deserialize)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct AttributeMapping {
    /// The attributes by the name of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<BTreeMap<String, MappedAttribute>>,
}

/// The source of a claim.
#[derive(Debug, Clone, Default, PartialEq, Object, Serialize, Deserialize)]
#[oai(skip_serializing_if_is_none)]
pub(crate) struct MappedAttribute {
    /// The attribute's name, or its friendly name, without regard to upper and lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Further names; the first one that has a value is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
    /// The claim of users who have none of these attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    /// Whether the claim is a list of all values, rather than the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    array: Option<bool>,
}

impl MappedAttribute {
    fn names(&self) -> impl Iterator<Item = &str> {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.into_iter().chain(self.names.iter().flatten().map(String::as_str))
    }

    fn claim<'a>(&self, values: impl Fn(&str) -> Vec<&'a str>) -> Option<Value> {
        let found = self.names().map(values).find_map(|mut values| {
            values.retain(|value| !value.is_empty());
            Some(values).filter(|values| !values.is_empty())
        });
        match found {
            Some(values) if self.array.unwrap_or_default() => Some(values.into()),
            Some(values) => values.first().map(|value| Value::from(*value)),
            None => self.default.clone().filter(|default| !default.is_null()),
        }
    }
}

impl AttributeMapping {
    /// Returns the claims of a user whose attributes have these `values`, by the attribute's name.
    pub(crate) fn claims<'a>(&self, values: impl Fn(&str) -> Vec<&'a str>) -> Map<String, Value> {
        let mapped = self.keys.iter().flatten();
        mapped.filter_map(|(claim, attribute)| Some((claim.clone(), attribute.claim(&values)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(mapping: Value) -> Value {
        let mapping: AttributeMapping = serde_json::from_value(mapping).unwrap();
        let values = |name: &str| match name.to_lowercase().as_str() {
            "mail" => vec!["", "ada@example.com", "ada@other.example"],
            "group" => vec!["a", "", "b"],
            _ => Vec::new(),
        };
        mapping.claims(values).into()
    }

    #[test]
    fn names_are_tried_in_their_order() {
        let mapping =
            json!({ "keys": { "email": { "name": "none", "names": ["nothing", "Mail", "group"] } } });
        assert_eq!(claims(mapping), json!({ "email": "ada@example.com" }));
    }

    #[test]
    fn lists_defaults_and_nothing() {
        let mapping = json!({ "keys": {
            "groups": { "name": "group", "array": true },
            "role": { "name": "none", "default": { "a": [1] } },
            "gone": { "name": "none" },
            "null": { "name": "none", "default": null },
            "fixed": { "default": 0 },
        } });
        let expected = json!({ "fixed": 0, "groups": ["a", "b"], "role": { "a": [1] } });
        assert_eq!(claims(mapping), expected);
        assert_eq!(claims(json!({})), json!({}));
    }
}
