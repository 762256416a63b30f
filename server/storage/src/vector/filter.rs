//! Filters of metadata, from JSON to SQL. Source: the documentation of Amazon S3 Vectors ("Metadata filtering").
//!
//! A field that is a list satisfies `$eq` and `$in` if one of its entries does, `$ne` and `$nin` if none has such a
//! value. Values are compared with their types: the number 1 is not the text "1". A vector without the field satisfies
//! only `$exists: false`.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::row::{Parameter, display};

/// Comparisons that a filter may consist of; each has two of the parameters that a statement can have.
const MAX_COMPARISONS: usize = 1000;

const EMPTY: &str = "Filter must contain at least one clause";

/// A filter that has been checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    /// All of these hold.
    And(Vec<Self>),
    /// One of these holds.
    Or(Vec<Self>),
    /// This holds of a field.
    Comparison { field: String, operator: Operator, value: Value },
}

::settings::words! {
    /// How a field is compared.
    pub(crate) enum Operator {
        Equal = "$eq",
        NotEqual = "$ne",
        Greater = "$gt",
        GreaterOrEqual = "$gte",
        Less = "$lt",
        LessOrEqual = "$lte",
        In = "$in",
        NotIn = "$nin",
        Exists = "$exists",
    }
}

impl Operator {
    /// Checks that `value` is one that this operator compares with; returns what is wrong otherwise, in the words of a
    /// validator of JSON schemas.
    fn check(self, value: &Value) -> Result<(), &'static str> {
        match (self, value) {
            (Self::Equal | Self::NotEqual, _) if is_primitive(value) => Ok(()),
            (Self::Equal | Self::NotEqual, _) => Err("must match a schema in anyOf"),
            (Self::Exists, Value::Bool(_)) => Ok(()),
            (Self::Exists, _) => Err("must be boolean"),
            (Self::In | Self::NotIn, Value::Array(values)) if values.is_empty() => {
                Err("must NOT have fewer than 1 items")
            }
            (Self::In | Self::NotIn, Value::Array(values)) if values.iter().all(is_primitive) => Ok(()),
            (Self::In | Self::NotIn, Value::Array(_)) => Err("must match a schema in anyOf"),
            (Self::In | Self::NotIn, _) => Err("must be array"),
            (_, Value::Number(_)) => Ok(()),
            _ => Err("must be number"),
        }
    }
}

fn is_primitive(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

impl Filter {
    /// Reads a filter.
    ///
    /// Errors: [`Error::InvalidRequest`], which begins with the path of the fault: `body/filter/genre/$gt must be
    /// number`; [`Error::InvalidValue`] for one that says nothing.
    pub(crate) fn parse(value: &Value) -> Result<Self, Error> {
        let mut comparisons = 0;
        Self::read(value, "body/filter", &mut comparisons).map_err(|reason| match &*reason {
            EMPTY => Error::InvalidValue(reason),
            _ => Error::InvalidRequest(reason),
        })
    }

    fn read(value: &Value, path: &str, comparisons: &mut usize) -> Result<Self, String> {
        let fields = value.as_object().ok_or_else(|| format!("{path} must be object"))?;
        if fields.is_empty() {
            return Err(EMPTY.to_owned());
        }
        if let Some(logical) = fields.keys().find(|name| name.starts_with('$')) {
            return Self::read_logical(fields, logical, path, comparisons);
        }
        let mut all = Vec::new();
        for (field, value) in fields {
            let path = format!("{path}/{field}");
            match value {
                Value::Object(operators) if operators.is_empty() => {
                    return Err(format!("{path} must NOT have fewer than 1 properties"));
                }
                Value::Object(operators) => {
                    for (name, value) in operators {
                        let operator = Operator::of_name(name)
                            .ok_or_else(|| format!("{path} must NOT have additional properties"))?;
                        operator.check(value).map_err(|reason| format!("{path}/{name} {reason}"))?;
                        all.push(comparison(field, operator, value, comparisons)?);
                    }
                }
                _ if is_primitive(value) => all.push(comparison(field, Operator::Equal, value, comparisons)?),
                _ => return Err(format!("{path} must match a schema in anyOf")),
            }
        }
        Ok(Self::And(all))
    }

    fn read_logical(
        fields: &Map<String, Value>,
        name: &str,
        path: &str,
        comparisons: &mut usize,
    ) -> Result<Self, String> {
        if !matches!(name, "$and" | "$or") || fields.len() > 1 {
            return Err(format!("{path} must match a schema in anyOf"));
        }
        let path = format!("{path}/{name}");
        let parts = fields[name].as_array().ok_or_else(|| format!("{path} must be array"))?;
        if parts.is_empty() {
            return Err(format!("{path} must NOT have fewer than 1 items"));
        }
        let parts = parts.iter().enumerate();
        let parts = parts.map(|(index, part)| Self::read(part, &format!("{path}/{index}"), comparisons));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(if name == "$and" { Self::And(parts) } else { Self::Or(parts) })
    }

    /// Checks that the filter uses none of the keys `unfiltered`.
    ///
    /// Errors: [`Error::InvalidValue`].
    pub(super) fn check_fields(&self, unfiltered: &[String]) -> Result<(), Error> {
        match self {
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().try_for_each(|part| part.check_fields(unfiltered))
            }
            Self::Comparison { field, .. } if unfiltered.contains(field) => {
                Err(Error::InvalidValue(format!("Metadata key \"{field}\" is configured as non-filterable")))
            }
            Self::Comparison { .. } => Ok(()),
        }
    }

    /// Returns the condition on column `metadata`; its values are appended to `parameters`.
    pub(super) fn condition(&self, parameters: &mut Vec<Parameter<'static>>) -> String {
        let mut join = |parts: &[Self], word: &str| {
            let parts: Vec<String> = parts.iter().map(|part| part.condition(parameters)).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Self::And(parts) => join(parts, " and "),
            Self::Or(parts) => join(parts, " or "),
            Self::Comparison { field, operator, value } => {
                parameters.push(display(field));
                let field = format!("${}::text", parameters.len());
                if *operator == Operator::Exists {
                    let negation = if *value == Value::Bool(false) { "not " } else { "" };
                    return format!("{negation}jsonb_exists(metadata, {field})");
                }
                parameters.push(display(value));
                comparison_sql(*operator, &field, &format!("${}", parameters.len()))
            }
        }
    }
}

/// Returns the SQL of a comparison of `field` with `value`, which are parameters. `jsonb @>` is true of equal values
/// and of a list and one of its entries; of a field that is not there it is null, which counts as false.
fn comparison_sql(operator: Operator, field: &str, value: &str) -> String {
    let any_of =
        format!("exists (select from jsonb_array_elements({value}::jsonb) v where metadata -> {field} @> v)");
    let ordered = |sign: &str| {
        // Only `case` keeps Postgres from reading a text as a number.
        format!(
            "case when jsonb_typeof(metadata -> {field}) = 'number' \
             then (metadata ->> {field})::numeric {sign} ({value}::text)::numeric else false end"
        )
    };
    match operator {
        Operator::Equal => format!("metadata -> {field} @> {value}::jsonb"),
        Operator::NotEqual => format!("not (metadata -> {field} @> {value}::jsonb)"),
        Operator::In => any_of,
        Operator::NotIn => format!("(jsonb_exists(metadata, {field}) and not {any_of})"),
        Operator::Greater => ordered(">"),
        Operator::GreaterOrEqual => ordered(">="),
        Operator::Less => ordered("<"),
        Operator::LessOrEqual => ordered("<="),
        Operator::Exists => format!("jsonb_exists(metadata, {field})"),
    }
}

fn comparison(
    field: &str,
    operator: Operator,
    value: &Value,
    comparisons: &mut usize,
) -> Result<Filter, String> {
    *comparisons += 1;
    if *comparisons > MAX_COMPARISONS {
        return Err(format!("body/filter must NOT have more than {MAX_COMPARISONS} comparisons"));
    }
    Ok(Filter::Comparison { field: field.to_owned(), operator, value: value.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_parameters() {
        let filter =
            json!({ "$or": [{ "a'b": { "$eq": "x\"y", "$exists": true } }, { "n": { "$gte": 1.5 } }] });
        let mut parameters = vec![display("vector")];
        let condition = Filter::parse(&filter).unwrap().condition(&mut parameters);
        assert!(condition.starts_with(
            "((metadata -> $2::text @> $3::jsonb and jsonb_exists(metadata, $4::text)) or (case"
        ));
        assert!(
            condition.ends_with("(metadata ->> $5::text)::numeric >= ($6::text)::numeric else false end))")
        );
        let values: Vec<_> =
            parameters.iter().flatten().map(|value| String::from_utf8_lossy(value)).collect();
        assert_eq!(values, ["vector", "a'b", "\"x\\\"y\"", "a'b", "n", "1.5"]);
    }

    #[test]
    fn what_is_no_filter_is_refused_with_its_place() {
        for (filter, reason) in [
            (json!([]), "body/filter must be object"),
            (json!({}), "Filter must contain at least one clause"),
            (json!({ "$not": 1 }), "body/filter must match a schema in anyOf"),
            (json!({ "$and": [{ "a": 1 }], "b": 2 }), "body/filter must match a schema in anyOf"),
            (json!({ "$and": [] }), "body/filter/$and must NOT have fewer than 1 items"),
            (json!({ "$or": [{ "a": null }] }), "body/filter/$or/0/a must match a schema in anyOf"),
            (json!({ "a": { "$gt": "1" } }), "body/filter/a/$gt must be number"),
            (json!({ "a": { "$in": [] } }), "body/filter/a/$in must NOT have fewer than 1 items"),
            (json!({ "a": { "$exists": 1 } }), "body/filter/a/$exists must be boolean"),
            (json!({ "a": { "$regex": "x" } }), "body/filter/a must NOT have additional properties"),
            (json!({ "a": {} }), "body/filter/a must NOT have fewer than 1 properties"),
        ] {
            assert_eq!(Filter::parse(&filter).unwrap_err().to_string(), reason);
        }
        let many: Map<String, Value> = (0..1001).map(|n| (n.to_string(), n.into())).collect();
        assert!(Filter::parse(&many.into()).unwrap_err().to_string().contains("more than 1000"));
    }

    #[test]
    fn keys_that_are_not_filterable_are_found_at_any_depth() {
        let filter = Filter::parse(&json!({ "$and": [{ "$or": [{ "a": 1 }, { "text": "x" }] }] })).unwrap();
        assert!(filter.check_fields(&["other".to_owned()]).is_ok());
        assert!(filter.check_fields(&["text".to_owned()]).unwrap_err().to_string().contains("\"text\""));
    }
}
