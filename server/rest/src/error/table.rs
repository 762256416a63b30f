//! The table of errors: code, HTTP status, message, details and hint of each.
//!
//! Source: PostgREST's documentation, "Errors".

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Error, JwtError, NoFunction, RangeError, server_error};
use crate::schema_cache::{Cardinality, Function, Relationship};

/// One line of the table.
pub(super) struct Entry {
    pub(super) code: Cow<'static, str>,
    pub(super) status: u16,
    pub(super) message: Cow<'static, str>,
    pub(super) details: Option<Value>,
    pub(super) hint: Option<String>,
}

/// Returns a line without details and hint.
pub(super) fn entry(code: &'static str, status: u16, message: impl Into<Cow<'static, str>>) -> Entry {
    Entry { code: Cow::Borrowed(code), status, message: message.into(), details: None, hint: None }
}

impl Entry {
    pub(super) fn details(self, details: impl Into<Value>) -> Self {
        Self { details: Some(details.into()), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns `hint`, if there is one.
    fn maybe_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

const BAD_HEADERS: &str =
    "response.headers guc must be a JSON array composed of objects with a single key and a string value";
const BAD_PUT: &str = "Filters must include all and only primary key columns with 'eq' operators";
const SINGLE_RPC: &str =
    "Function must return SETOF or TABLE when max-affected preference is used with handling=strict";

impl Error {
    /// Returns the line of this error. What Postgres itself refuses has its lines in [`postgres`].
    pub(super) fn entry(&self) -> Entry {
        match self {
            Self::Unreachable(why) => entry("PGRST000", 503, "Database connection error.").details(&**why),
            Self::Client(why) => {
                entry("PGRST001", 503, "Database client error. Retrying the connection.").details(&**why)
            }
            Self::NoSchemaCache => {
                entry("PGRST002", 503, "Could not query the database for the schema cache. Retrying.")
            }
            Self::AcquireTimeout => {
                entry("PGRST003", 504, "Timed out acquiring connection from connection pool.")
            }
            Self::Timeout(after) => entry("57014", 500, format!("canceling statement after {after:?}"))
                .hint("Ask for less at once, or raise the server's transaction timeout."),
            // The words of the extension `safeupdate`, for clients that look for them.
            Self::NoFilter(statement) => entry("21000", 400, format!("{statement} requires a WHERE clause")),
            Self::Syntax { message, details } => entry("PGRST100", 400, message.clone()).details(&**details),
            Self::InvalidRpcMethod(method) => {
                entry("PGRST101", 405, format!("Cannot use the {method} method on RPC"))
            }
            Self::InvalidBody(message) => entry("PGRST102", 400, message.clone()),
            Self::BodyTooLarge(limit) => entry("PGRST102", 413, "Payload too large")
                .details(format!("The body has more than {limit} bytes."))
                .hint("Send fewer rows at once."),
            Self::InvalidRange(error) => {
                entry("PGRST103", 416, "Requested range not satisfiable").details(error.details())
            }
            Self::InvalidPutFilters => entry("PGRST105", 405, BAD_PUT),
            Self::UnacceptableSchema { schema, exposed } => {
                entry("PGRST106", 406, format!("Invalid schema: {schema}"))
                    .hint(format!("Only the following schemas are exposed: {}", exposed.join(", ")))
            }
            Self::NotAcceptable(types) => entry(
                "PGRST107",
                406,
                format!("None of these media types are available: {}", types.join(", ")),
            ),
            Self::NotEmbedded { name, alias } => not_embedded(name, alias.as_deref()),
            Self::BadResponseHeaders => entry("PGRST111", 500, BAD_HEADERS),
            Self::BadResponseStatus => {
                entry("PGRST112", 500, "response.status guc must be a valid status code")
            }
            Self::PutLimitNotAllowed => {
                entry("PGRST114", 400, "limit/offset querystring parameters are not allowed for PUT")
            }
            Self::PutKeyMismatch => {
                entry("PGRST115", 400, "Payload values do not match URL in primary key column(s)")
            }
            Self::NotSingular(rows) => {
                entry("PGRST116", 406, "Cannot coerce the result to a single JSON object")
                    .details(format!("The result contains {rows} rows"))
            }
            Self::UnsupportedMethod(method) => {
                entry("PGRST117", 405, format!("Unsupported HTTP method: {method}"))
            }
            Self::RelatedOrderNotToOne { origin, target } => related_order(origin, target),
            Self::InvalidPreferences(preferences) => {
                entry("PGRST122", 400, "Invalid preferences given with handling=strict")
                    .details(format!("Invalid preferences: {}", preferences.join(", ")))
            }
            Self::AggregatesNotAllowed => entry("PGRST123", 400, "Use of aggregate functions is not allowed"),
            Self::MaxAffectedExceeded(rows) => {
                entry("PGRST124", 400, "Query result exceeds max-affected preference constraint")
                    .details(format!("The query affects {rows} rows"))
            }
            Self::InvalidPath => entry("PGRST125", 404, "Invalid path specified in request URL"),
            Self::RootDisabled => entry("PGRST126", 404, "Root endpoint metadata is disabled"),
            Self::NotImplemented(what) => entry("PGRST127", 400, "Feature not implemented").details(*what),
            Self::MaxAffectedOnSingle => entry("PGRST128", 400, SINGLE_RPC),
            Self::NoRelationship { parent, child, hint, schema, suggestion } => {
                no_relationship((parent, child), hint.as_deref(), schema).maybe_hint(suggestion.clone())
            }
            Self::AmbiguousRelationship { parent, child, candidates } => {
                ambiguous_relationship(parent, child, candidates)
            }
            // Postgres' message, since it is Postgres that refuses upstream's statement, where each embed is a table of
            // this name.
            Self::DuplicateEmbed { parent, name, depth } => {
                let what = format!("table name \"{parent}_{name}_{depth}\" specified more than once");
                entry("42712", 400, what)
            }
            Self::NoFunction(missing) => missing.entry(),
            Self::AmbiguousFunction(candidates) => ambiguous_function(candidates),
            Self::NoColumn { relation, column } => {
                let what =
                    format!("Could not find the '{column}' column of '{relation}' in the schema cache");
                entry("PGRST204", 400, what)
            }
            Self::NoTable { schema, name, suggestion } => {
                let what = format!("Could not find the table '{schema}.{name}' in the schema cache");
                let near =
                    suggestion.as_ref().map(|near| format!("Perhaps you meant the table '{schema}.{near}'"));
                entry("PGRST205", 404, what).maybe_hint(near)
            }
            Self::Jwt(error) => error.entry(),
            Self::Postgres { error, is_authenticated } => server_error::entry(error, *is_authenticated),
        }
    }
}

fn not_embedded(name: &str, alias: Option<&str>) -> Entry {
    let line = entry("PGRST108", 400, format!("'{name}' is not an embedded resource in this request"));
    match alias {
        None => line.hint(format!("Verify that '{name}' is included in the 'select' query parameter.")),
        Some(alias) => line
            .details("Target names are not allowed in filters if they have an alias")
            .hint(format!("Change '{name}' to '{alias}' in filters, orders or limits.")),
    }
}

fn related_order(origin: &str, target: &str) -> Entry {
    entry("PGRST118", 400, format!("A related order on '{target}' is not possible"))
        .details(format!("'{origin}' and '{target}' do not form a many-to-one or one-to-one relationship"))
}

fn no_relationship((parent, child): (&str, &str), hint: Option<&str>, schema: &str) -> Entry {
    let using = hint.map(|hint| format!("' using the hint '{hint}")).unwrap_or_default();
    let what = format!("Could not find a relationship between '{parent}' and '{child}' in the schema cache");
    entry("PGRST200", 400, what).details(format!(
        "Searched for a foreign key relationship between '{parent}' and '{child}{using}' in the schema '{schema}', \
         but no matches were found."
    ))
}

fn ambiguous_relationship(parent: &str, child: &str, candidates: &[std::sync::Arc<Relationship>]) -> Entry {
    let hints: Vec<String> = candidates.iter().filter_map(|candidate| embed_hint(candidate)).collect();
    let what =
        format!("Could not embed because more than one relationship was found for '{parent}' and '{child}'");
    entry("PGRST201", 300, what)
        .details(Value::Array(candidates.iter().map(|candidate| describe(candidate)).collect()))
        .hint(format!(
            "Try changing '{child}' to one of the following: {}. Find the desired relationship in the 'details' key.",
            hints.join(", ")
        ))
}

fn ambiguous_function(candidates: &[Function]) -> Entry {
    let signature = |function: &Function| {
        let parameters: Vec<String> = function
            .parameters
            .iter()
            .map(|parameter| format!("{} => {}", parameter.name, parameter.type_name))
            .collect();
        format!("{}.{}({})", function.schema, function.name, parameters.join(", "))
    };
    let signatures: Vec<String> = candidates.iter().map(signature).collect();
    let what = "Could not choose the best candidate function between: ";
    entry("PGRST203", 300, format!("{what}{}", signatures.join(", "))).hint(
        "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
    )
}

impl RangeError {
    fn details(&self) -> String {
        match self {
            Self::NegativeLimit => "Limit should be greater than or equal to zero.".to_owned(),
            Self::LowerAboveUpper => {
                "The lower boundary must be lower than or equal to the upper boundary in the Range header."
                    .to_owned()
            }
            Self::OutOfBounds { offset, total } => {
                format!("An offset of {offset} was requested, but there are only {total} rows.")
            }
        }
    }
}

impl JwtError {
    fn entry(&self) -> Entry {
        match self {
            Self::Undecodable { message, details } => {
                let line = entry("PGRST301", 401, message.clone());
                match details {
                    Some(details) => line.details(&**details),
                    None => line,
                }
            }
            Self::NoKey => entry("PGRST300", 500, "Server lacks JWT secret"),
            Self::Required => entry("PGRST302", 401, "Anonymous access is disabled"),
            Self::Claims(message) => entry("PGRST303", 401, message.clone()),
        }
    }
}

impl NoFunction {
    fn entry(&self) -> Entry {
        let function = format!("{}.{}", self.schema, self.name);
        let list = self.arguments.join(", ");
        let is_body_only = matches!(self.unnamed, Some("text" | "xml" | "bytea"));
        let (called_with, searched_with) = match self.arguments.len() {
            0 => (" without parameters".to_owned(), " without parameters".to_owned()),
            1 => (format!("({list})"), format!(" with parameter {list}")),
            _ => (format!("({list})"), format!(" with parameters {list}")),
        };
        let called_with = if is_body_only { String::new() } else { called_with };
        let searched_with = match self.unnamed {
            None => searched_with,
            Some("json/jsonb") => format!("{searched_with} or with a single unnamed json/jsonb parameter"),
            Some(unnamed) => format!(" with a single unnamed {unnamed} parameter"),
        };
        entry(
            "PGRST202",
            404,
            format!("Could not find the function {function}{called_with} in the schema cache"),
        )
        .details(format!(
            "Searched for the function {function}{searched_with}, but no matches were found in the schema \
                 cache."
        ))
        .maybe_hint(self.suggestion.clone())
    }
}

/// Returns how the client can name `relationship` without ambiguity; a computed one takes no hint.
fn embed_hint(relationship: &Relationship) -> Option<String> {
    let by = match &relationship.cardinality {
        Cardinality::ManyToMany(junction) => &junction.table.name,
        _ => relationship.constraint()?,
    };
    Some(format!("'{}!{by}'", relationship.foreign_table.name))
}

/// Returns `relationship` as a candidate in the details of `PGRST201`.
fn describe(relationship: &Relationship) -> Value {
    let (table, foreign) = (&relationship.table.name, &relationship.foreign_table.name);
    let own =
        |pairs: &[(String, String)]| pairs.iter().map(|pair| pair.0.as_str()).collect::<Vec<_>>().join(", ");
    let other =
        |pairs: &[(String, String)]| pairs.iter().map(|pair| pair.1.as_str()).collect::<Vec<_>>().join(", ");
    let by_key = |constraint: &str, columns: &[(String, String)]| {
        format!("{constraint} using {table}({}) and {foreign}({})", own(columns), other(columns))
    };
    let (cardinality, by) = match &relationship.cardinality {
        Cardinality::OneToMany { constraint, columns } => ("one-to-many", by_key(constraint, columns)),
        Cardinality::ManyToOne { constraint, columns } => ("many-to-one", by_key(constraint, columns)),
        Cardinality::OneToOne { constraint, columns, .. } => ("one-to-one", by_key(constraint, columns)),
        Cardinality::ManyToMany(junction) => {
            let by = format!(
                "{} using {}({}) and {}({})",
                junction.table.name,
                junction.source_constraint,
                other(&junction.source_columns),
                junction.target_constraint,
                other(&junction.target_columns)
            );
            ("many-to-many", by)
        }
        Cardinality::Computed { function, is_to_one } => {
            let cardinality = if *is_to_one { "many-to-one" } else { "one-to-many" };
            (cardinality, format!("{}({table})", function.name))
        }
    };
    json!({ "cardinality": cardinality, "embedding": format!("{table} with {foreign}"), "relationship": by })
}
