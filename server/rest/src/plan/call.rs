//! Calling a function, and reading what it gives like a relation.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::read::{Node, OutputColumn, Source};
use super::{Body, BodyShape, BodySource, Grouping, Plan, Planner, RowSource};
use crate::bytea;
use crate::error::{Error, NoFunction, closest};
use crate::request::{MediaType, Payload, first_byte};
use crate::schema_cache::{Function, Parameter};

/// The least similarity of suggested parameters and of a suggested function: upstream's.
const NEAR_PARAMETERS: f64 = 0.33;
const NEAR_FUNCTION: f64 = 0.75;

/// A function call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPlan {
    /// The function's schema.
    pub schema: String,
    /// The function's name.
    pub function: String,
    /// The arguments given, in the order of the parameters.
    pub arguments: Vec<Argument>,
    /// Whether its values have no columns.
    pub is_scalar: bool,
    /// Whether it returns a set of rows.
    pub is_set: bool,
    /// The columns of its rows that are needed; `*` alone for all.
    pub returning: Vec<String>,
    /// Whether it returns nothing.
    pub is_void: bool,
    /// Whether the columns of its rows are known only from the call.
    pub is_untyped: bool,
    /// Whether its value is of the type `json`, which keeps the space around it.
    pub is_json: bool,
    /// Whether it must not write.
    pub is_read_only: bool,
    /// Its own settings.
    pub settings: Vec<(String, String)>,
    /// What is read of its result.
    pub tree: Node,
    /// How it is represented.
    pub body: Body,
    /// Whether it must give exactly one row.
    pub must_be_single: bool,
    /// The most rows that it may give.
    pub row_limit: Option<i64>,
    /// The value of [`Plan::sees_request`].
    pub sees_request: bool,
}

/// A parameter and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The parameter's name; empty for the single unnamed one.
    pub name: String,
    /// The parameter's type as SQL.
    pub type_name: String,
    /// Whether it takes the rest of the arguments.
    pub is_variadic: bool,
    /// Whether the text of a JSON value is one of the type, too.
    pub is_scalar: bool,
    /// The value.
    pub value: ArgumentValue,
}

/// How a value is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentValue {
    /// In the type's own text form; `None` is null.
    Text(Option<Bytes>),
    /// In JSON, of which Postgres makes the value: for arrays, composites and domains.
    Json(Bytes),
    /// Several texts, for a variadic parameter.
    Texts(Vec<String>),
}

impl CallPlan {
    /// Implements [`Plan::values_of`].
    pub(super) fn values_of(&self, payload: &Payload) -> Option<Vec<Option<Bytes>>> {
        let Payload::Json { raw, .. } = payload else { return None };
        if let [whole] = self.arguments.as_slice()
            && whole.name.is_empty()
        {
            return (whole.type_name != "bytea").then(|| vec![Some(raw.clone())]);
        }
        let fields = Fields::read(raw).ok()?;
        let values = self.arguments.iter().map(|argument| {
            let value = fields.value(&argument.name);
            match (&argument.value, json_value(&argument.type_name, argument.is_scalar, value)) {
                (ArgumentValue::Text(_), ArgumentValue::Text(text)) => Some(text),
                (ArgumentValue::Json(_), ArgumentValue::Json(json)) => Some(Some(json)),
                _ => None,
            }
        });
        values.collect()
    }

    /// Reports whether the body is the function's one value and nothing else.
    pub(crate) fn shows_value_alone(&self) -> bool {
        self.body.shape == BodyShape::Scalar && shows_all(&self.tree)
    }
}

/// Reports whether nothing but the one value of a function's result is returned.
fn shows_all(tree: &Node) -> bool {
    let Node { columns, embeds, conditions, grouping, order, range, .. } = tree;
    *columns == [OutputColumn::scalar()]
        && embeds.is_empty()
        && conditions.is_empty()
        && order.is_empty()
        && *grouping == Grouping::None
        && range.offset == 0
        && range.limit != Some(0)
}

impl Planner<'_> {
    pub(super) fn call(&self, name: &str, by_get: bool) -> Result<Plan, Error> {
        let request = self.request;
        let mut names: Vec<String> = if by_get {
            request.query.arguments.iter().map(|(name, _)| name.clone()).collect()
        } else {
            request.payload.iter().flat_map(Payload::keys).map(str::to_owned).collect()
        };
        names.sort_unstable();
        names.dedup();
        let body_type = (!by_get).then_some(&request.content_type);
        let function = self.function(name, &names, body_type)?;
        let relation = if function.returns.is_composite { &function.returns.name } else { &function.name };
        let mut tree = self.tree(relation, Source::Result)?;
        let is_scalar = !function.returns.is_composite;
        if is_scalar && self.selects_all() {
            tree.columns = vec![OutputColumn::scalar()];
        }
        let body = self.body(BodySource::Result(function), &mut tree)?;
        request.preferences.check()?;
        let row_limit = request.preferences.row_limit();
        if row_limit.is_some() && !function.returns.is_set {
            return Err(Error::MaxAffectedOnSingle);
        }
        let must_be_single = body.must_be_single() && function.returns.is_set;
        let row_limit = row_limit.filter(|_| body.explain().is_none());
        let mut body = Body { shape: shape(body.shape, function), ..body };
        let is_read_only = by_get || !function.is_volatile;
        let sees_request = function.sees_request || self.body_sees_request(&body) || !shows_all(&tree);
        let is_guarded = row_limit.is_some() || must_be_single;
        let rows = RowSource::Call { function, is_read_only, is_guarded };
        body.writer = self.body_writer(&mut tree, &body, rows);
        Ok(Plan::Call(Box::new(CallPlan {
            schema: function.schema.clone(),
            function: function.name.clone(),
            arguments: self.arguments(function, by_get)?,
            is_scalar,
            is_set: function.returns.is_set,
            returning: tree.needed_columns(),
            is_void: function.returns.is_void(),
            is_untyped: function.returns.is_untyped(),
            is_json: function.returns.name == "json",
            is_read_only,
            settings: function.settings.clone(),
            tree,
            body,
            must_be_single,
            row_limit,
            sees_request,
        })))
    }

    /// Returns the function called `name` that takes exactly `arguments`. `body_type` is the body's, if there is one:
    /// it may be meant as a whole for a single unnamed parameter.
    ///
    /// Errors: `PGRST202` for none, `PGRST203` for several.
    pub(super) fn function(
        &self,
        name: &str,
        arguments: &[String],
        body_type: Option<&MediaType>,
    ) -> Result<&Function, Error> {
        let overloads = self.schema.functions.get(name).map_or(&[][..], Vec::as_slice);
        let by_name: Vec<&Function> =
            overloads.iter().filter(|function| takes(function, arguments, body_type)).collect();
        let candidates = if by_name.is_empty() {
            overloads.iter().filter(|function| takes_body(function, body_type)).collect()
        } else {
            by_name
        };
        match candidates.as_slice() {
            [function] => Ok(function),
            [] => Err(self.no_function(name, arguments, body_type, overloads)),
            several => {
                Err(Error::AmbiguousFunction(several.iter().map(|function| (*function).clone()).collect()))
            }
        }
    }

    fn no_function(
        &self,
        name: &str,
        arguments: &[String],
        body_type: Option<&MediaType>,
        overloads: &[Function],
    ) -> Error {
        let unnamed = match body_type {
            Some(MediaType::Json) => Some("json/jsonb"),
            Some(MediaType::Text) => Some("text"),
            Some(MediaType::Xml) => Some("xml"),
            Some(MediaType::OctetStream) => Some("bytea"),
            _ => None,
        };
        let schema = &self.request.schema;
        let signature = |mut names: Vec<&str>| {
            names.sort_unstable();
            format!("({})", names.join(", "))
        };
        let near = if overloads.is_empty() {
            let names = self.schema.functions.keys().map(String::as_str);
            closest(name, names, NEAR_FUNCTION).map(str::to_owned)
        } else {
            let signatures: Vec<String> = overloads
                .iter()
                .map(|function| signature(function.parameters.iter().map(|p| p.name.as_str()).collect()))
                .collect();
            let given = signature(arguments.iter().map(String::as_str).collect());
            closest(&given, signatures.iter().map(String::as_str), NEAR_PARAMETERS)
                .map(|near| format!("{name}{near}"))
        };
        let takes_whole_body = matches!(unnamed, Some("text" | "xml" | "bytea"));
        let suggestion = near.filter(|_| !takes_whole_body);
        Error::NoFunction(Box::new(NoFunction {
            schema: schema.clone(),
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            unnamed,
            suggestion: suggestion
                .map(|near| format!("Perhaps you meant to call the function {schema}.{near}")),
        }))
    }

    fn arguments(&self, function: &Function, by_get: bool) -> Result<Vec<Argument>, Error> {
        let payload = self.request.payload.as_ref();
        let form = match payload {
            _ if by_get => Some(&self.request.query.arguments),
            Some(Payload::Form(pairs)) => Some(pairs),
            _ => None,
        };
        if let [parameter] = function.parameters.as_slice()
            && parameter.name.is_empty()
        {
            let raw = form.map_or_else(|| super::raw_body(payload), |pairs| object(pairs));
            let value = if parameter.type_name == "bytea" { bytea::encode(&raw).into() } else { raw };
            return Ok(vec![argument(parameter, ArgumentValue::Text(Some(value)))]);
        }
        if let Some(pairs) = form {
            return Ok(from_pairs(&function.parameters, pairs));
        }
        let Some(Payload::Json { raw, keys, .. }) = payload else { return Ok(Vec::new()) };
        from_json(&function.parameters, raw, keys)
    }
}

/// Returns what a function's result looks like where a relation would give `shape`.
fn shape(shape: BodyShape, function: &Function) -> BodyShape {
    let returns = &function.returns;
    match (shape, returns.is_composite, returns.is_set) {
        (BodyShape::Array | BodyShape::Object, true, false) => BodyShape::FunctionRow,
        (BodyShape::Array | BodyShape::Object, false, false) => BodyShape::Scalar,
        (BodyShape::Array, false, true) => BodyShape::ScalarArray,
        (shape, _, _) => shape,
    }
}

/// Reports whether `function` can be called with exactly these arguments by name, which is "" of a parameter without
/// one.
fn takes(function: &Function, arguments: &[String], body_type: Option<&MediaType>) -> bool {
    if function.parameters.is_empty() {
        let is_raw = matches!(body_type, Some(MediaType::OctetStream | MediaType::Text | MediaType::Xml));
        return arguments.is_empty() && !is_raw;
    }
    let given: BTreeSet<&str> = arguments.iter().map(String::as_str).collect();
    let has_all_required =
        function.parameters.iter().filter(|p| p.is_required).all(|p| given.contains(p.name.as_str()));
    has_all_required && given.iter().all(|name| function.parameters.iter().any(|p| p.name == *name))
}

/// Reports whether `function` takes the whole body as its only, unnamed parameter.
fn takes_body(function: &Function, body_type: Option<&MediaType>) -> bool {
    let [parameter] = function.parameters.as_slice() else { return false };
    parameter.name.is_empty()
        && match body_type {
            Some(MediaType::Json) => matches!(&*parameter.type_name, "json" | "jsonb"),
            Some(MediaType::Text) => parameter.type_name == "text",
            Some(MediaType::Xml) => parameter.type_name == "xml",
            Some(MediaType::OctetStream) => parameter.type_name == "bytea",
            _ => false,
        }
}

fn argument(parameter: &Parameter, value: ArgumentValue) -> Argument {
    Argument {
        name: parameter.name.clone(),
        type_name: parameter.value_type().to_owned(),
        is_variadic: parameter.is_variadic,
        is_scalar: parameter.is_scalar,
        value,
    }
}

/// Returns names and values as one JSON object, which is what a parameter that takes a whole body is given of them.
fn object(pairs: &[(String, String)]) -> Bytes {
    let fields = pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    Bytes::from(Value::Object(fields.collect()).to_string())
}

/// Returns the arguments by name; a repeated name adds to a variadic parameter, else its last value counts.
fn from_pairs(parameters: &[Parameter], pairs: &[(String, String)]) -> Vec<Argument> {
    let values_of = |name: &str| -> Vec<String> {
        pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    };
    let with_values = parameters.iter().filter_map(|parameter| {
        let mut values = values_of(&parameter.name);
        let last = values.pop()?;
        let value = if parameter.is_variadic {
            values.push(last);
            ArgumentValue::Texts(values)
        } else {
            ArgumentValue::Text(Some(Bytes::from(last)))
        };
        Some(argument(parameter, value))
    });
    with_values.collect()
}

/// Returns the arguments in a JSON object, or in the first object of an array. One that `keys` announce but the
/// object lacks is null.
///
/// Errors: `PGRST102` for anything else, which is detected only here if `columns=` names the keys.
fn from_json(parameters: &[Parameter], raw: &Bytes, keys: &[String]) -> Result<Vec<Argument>, Error> {
    let fields = Fields::read(raw)?;
    let given = parameters.iter().filter(|parameter| keys.contains(&parameter.name)).map(|parameter| {
        let value = fields.value(&parameter.name);
        argument(parameter, json_value(parameter.value_type(), parameter.is_scalar, value))
    });
    Ok(given.collect())
}

/// The values of an object, or of the first object of an array, as JSON.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Takes the object apart.
    ///
    /// Errors: `PGRST102` for anything else.
    fn read(raw: &'a [u8]) -> Result<Self, Error> {
        let invalid = |_| Error::InvalidBody("Empty or invalid json".to_owned());
        let fields = if first_byte(raw) == Some(b'[') {
            let rows: Vec<BTreeMap<String, &'a RawValue>> = serde_json::from_slice(raw).map_err(invalid)?;
            rows.into_iter().next().unwrap_or_default()
        } else {
            serde_json::from_slice(raw).map_err(invalid)?
        };
        Ok(Self(fields))
    }

    /// Returns the value of the key `name`; null without one.
    fn value(&self, name: &str) -> &'a str {
        self.0.get(name).map_or("null", |value| value.get())
    }
}

/// Returns the value that Postgres' `json_to_record` would make of the JSON text `value`: the unquoted text of a
/// string, the JSON text itself of anything else, null of null; JSON types keep the quotes.
fn json_value(type_name: &str, is_scalar: bool, value: &str) -> ArgumentValue {
    if !is_scalar {
        return ArgumentValue::Json(value_object(value));
    }
    if value == "null" {
        return ArgumentValue::Text(None);
    }
    let is_json = matches!(type_name, "json" | "jsonb");
    if is_json || !value.starts_with('"') {
        return ArgumentValue::Text(Some(Bytes::copy_from_slice(value.as_bytes())));
    }
    match serde_json::from_str::<String>(value) {
        Ok(text) => ArgumentValue::Text(Some(Bytes::from(text))),
        // An escape of no character: the error has to be Postgres'.
        Err(_) => ArgumentValue::Json(value_object(value)),
    }
}

/// Returns `value` as the only field of an object.
fn value_object(value: &str) -> Bytes {
    Bytes::from(format!("{{\"value\":{value}}}"))
}
