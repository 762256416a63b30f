//! The routes of postgres-meta. Errors are `{"error": …}`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gateway::Caller;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use poem::{Endpoint, Request, Response, endpoint};
use serde::Deserialize;
use serde_json::{Value, json};
use tokens::ApiKeyKind;

use super::{Filter, List, generators};
use crate::api::Context;
use crate::console::Query;
use crate::error::{self, Error};

/// The longest time that a request may set for its statements.
const LONGEST: Duration = Duration::from_secs(300);
/// The largest body of a request in bytes, as upstream has it.
const LARGEST: usize = 3 << 20;

/// The SQLSTATE of a statement that was cancelled, because of its time limit.
const CANCELLED: &str = "57014";

/// The path of types for supabase-js.
const TYPES: &str = "generators/typescript";

/// The body of `POST /query`.
#[derive(Deserialize)]
struct QueryBody {
    #[serde(default)]
    query: String,
    #[serde(default)]
    parameters: Option<Value>,
}

/// An error of a route.
struct Refusal(StatusCode, Value);

impl Refusal {
    fn new(status: StatusCode, message: &str) -> Self {
        Self(status, json!({ "error": message }))
    }

    fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found")
    }
}

/// Returns the endpoints. Whoever calls them may do everything: they are for holders of a secret API key.
pub(crate) fn endpoint(context: Arc<Context>) -> impl Endpoint<Output = Response> + use<> {
    endpoint::make(move |request: Request| {
        let context = Arc::clone(&context);
        async move {
            if !context.is_open() {
                return Ok(error::response(StatusCode::NOT_FOUND, "Not found"));
            }
            if !has_secret_key(&request) {
                return Ok(error::response(StatusCode::FORBIDDEN, "You cannot consume this service"));
            }
            if request.method() == Method::GET && request.uri().path().trim_matches('/') == TYPES {
                return Ok(generators::typescript(&context, &request).await);
            }
            let outcome = respond(&context, request).await;
            let (status, body) = match outcome {
                Ok(body) => (StatusCode::OK, body),
                Err(Refusal(status, body)) => (status, body.to_string()),
            };
            let response = Response::builder().status(status).content_type("application/json; charset=utf-8");
            Ok::<_, poem::Error>(response.body(body))
        }
    })
}

/// Reports whether the API key of `request` is a secret one, as the gateway has found out.
fn has_secret_key(request: &Request) -> bool {
    let key = request.extensions().get::<Caller>().and_then(|caller| caller.api_key);
    matches!(key, Some(ApiKeyKind::ServiceRole | ApiKeyKind::Secret))
}

async fn respond(context: &Context, mut request: Request) -> Result<String, Refusal> {
    let path = request.uri().path().trim_matches('/').to_owned();
    let parameters: HashMap<String, String> =
        url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    if path == "query" && request.method() == Method::POST {
        return query(context, &mut request, &parameters).await;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Refusal::not_found());
    }
    let body = match path.as_str() {
        "" => json!({ "status": "ok", "name": "basalt", "version": env!("CARGO_PKG_VERSION") }),
        "health" => json!({ "date": time::OffsetDateTime::now_utc().unix_timestamp() * 1000 }),
        "config/version" => one(context, List::Version, Filter::default(), "").await?,
        _ => list(context, &path, &parameters).await?,
    };
    Ok(body.to_string())
}

/// Runs SQL.
async fn query(
    context: &Context,
    request: &mut Request,
    parameters: &HashMap<String, String>,
) -> Result<String, Refusal> {
    let bytes = request.take_body().into_bytes_limit(LARGEST).await;
    let bytes = bytes.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, &error.to_string()))?;
    let body: QueryBody = serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, &error.to_string()))?;
    let values = match body.parameters {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(failed("Query values must be an array", StatusCode::BAD_REQUEST)),
    };
    let seconds = ["statementTimeoutSecs", "queryTimeoutSecs"]
        .into_iter()
        .filter_map(|name| parameters.get(name)?.parse::<u64>().ok())
        .filter(|seconds| *seconds > 0)
        .min();
    let time = seconds.map_or(context.settings.query_timeout, Duration::from_secs).min(LONGEST);
    let query = Query { sql: &body.query, parameters: &values, is_read_only: false, time };
    match context.inner().console.run(&query).await {
        Ok(rows) => Ok(rows),
        Err(Error::Sql(refusal, sql)) => {
            let status =
                if refusal.code == CANCELLED { StatusCode::REQUEST_TIMEOUT } else { StatusCode::BAD_REQUEST };
            Err(Refusal(status, described(&refusal, &error::described(&refusal, &sql))))
        }
        Err(other @ Error::Database(postgres::Error::Timeout(_))) => {
            let Refusal(status, mut body) = failed(&other.message(), other.status());
            body["code"] = json!(CANCELLED);
            Err(Refusal(status, body))
        }
        Err(other) => Err(failed(&other.message(), other.status())),
    }
}

/// Returns an error in the form that Studio reads: three texts.
fn failed(message: &str, status: StatusCode) -> Refusal {
    let formatted = format!("ERROR:  {message}\n");
    Refusal(status, json!({ "error": message, "message": message, "code": "", "formattedError": formatted }))
}

/// Returns an error of Postgres with its fields.
fn described(refusal: &postgres::ServerError, formatted: &str) -> Value {
    let mut body = json!({
        "error": formatted,
        "name": "error",
        "severity": refusal.severity,
        "code": refusal.code,
    });
    let position = refusal.position.map(|position| position.to_string());
    let fields = [
        ("detail", &refusal.detail),
        ("hint", &refusal.hint),
        ("position", &position),
        ("where", &refusal.context),
        ("schema", &refusal.schema),
        ("table", &refusal.table),
        ("column", &refusal.column),
        ("constraint", &refusal.constraint),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    body["message"] = json!(refusal.message);
    body["formattedError"] = json!(formatted);
    body
}

/// Returns a list, or one of its objects.
async fn list(context: &Context, path: &str, parameters: &HashMap<String, String>) -> Result<Value, Refusal> {
    let (name, id) = path.split_once('/').map_or((path, None), |(name, id)| (name, Some(id)));
    let id = id.map(|id| percent_decode_str(id).decode_utf8_lossy());
    let id = id.as_deref();
    let list = List::of_name(name).filter(|list| *list != List::Version).ok_or_else(Refusal::not_found)?;
    if let Some(id) = id {
        let (kind, is_valid) = identity(list, id).ok_or_else(Refusal::not_found)?;
        if !is_valid {
            return Err(Refusal::not_found());
        }
        let filter = Filter { id: Some(id.to_owned()), include_columns: true, ..Filter::default() };
        return one(context, list, filter, &format!("Cannot find {kind} {id}")).await;
    }
    let filter = filter(list, parameters)?;
    match list.read(&context.inner().project_database, &filter).await {
        Ok(objects) => Ok(Value::Array(objects)),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Returns the one object that `filter` names. Errors: 404 with `missing`.
async fn one(context: &Context, list: List, filter: Filter, missing: &str) -> Result<Value, Refusal> {
    match list.read(&context.inner().project_database, &filter).await {
        Ok(objects) => objects.into_iter().next().ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, missing)),
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &Error) -> Refusal {
    match error {
        Error::Database(postgres::Error::Postgres(refusal)) if error.status().is_server_error() => {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, &refusal.message)
        }
        other => Refusal::new(other.status(), &other.message()),
    }
}

/// Returns how an object of `list` is called in errors, with the words before its id, and whether `id` has the form of
/// one; `None` if its objects have no route of their own.
fn identity(list: List, id: &str) -> Option<(&'static str, bool)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let kind = match list {
        List::Extensions => return Some(("an extension named", !id.is_empty())),
        List::Columns => {
            let is_valid = id.split_once('.').is_some_and(|(table, column)| digits(table) && digits(column));
            return Some(("a column with ID", is_valid));
        }
        List::ForeignTables => "a foreign table with ID",
        List::Functions => "a function with ID",
        List::Indexes => "a index with ID",
        List::MaterializedViews => "a materialized view with ID",
        List::Policies => "a policy with ID",
        List::Publications => "a publication with ID",
        List::Roles => "a role with ID",
        List::Schemas => "a schema with ID",
        List::Tables => "a table with ID",
        List::Triggers => "a trigger with ID",
        List::Views => "a view with ID",
        List::ColumnPrivileges | List::TablePrivileges | List::Config | List::Types | List::Version => {
            return None;
        }
    };
    Some((kind, digits(id)))
}

/// Returns what the parameters of a query string ask for. Errors: 500, as upstream has it, for values of a wrong type.
fn filter(list: List, parameters: &HashMap<String, String>) -> Result<Filter, Refusal> {
    let is_strict = matches!(
        list,
        List::Schemas
            | List::ForeignTables
            | List::Tables
            | List::Views
            | List::MaterializedViews
            | List::Columns
            | List::ColumnPrivileges
            | List::TablePrivileges
    );
    let flag = |name: &str, default: bool| match parameters.get(name).map(String::as_str) {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) if is_strict => {
            let message = format!("querystring/{name} must be boolean");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, &message))
        }
        Some(_) => Ok(default),
    };
    let number = |name: &str| match parameters.get(name) {
        Some(text) if is_strict && text.parse::<i64>().is_err() => {
            let message = format!("querystring/{name} must be integer");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, &message))
        }
        Some(text) if text.is_empty() || is_strict && text == "0" => Ok(None),
        other => Ok(other.cloned()),
    };
    let schemas = |name: &str| parameters.get(name).map(|text| text.split(',').map(str::to_owned).collect());
    let takes_schemas = !matches!(
        list,
        List::Config
            | List::Extensions
            | List::Publications
            | List::Roles
            | List::Schemas
            | List::ForeignTables
            | List::Version
    );
    let system = match list {
        List::Roles => "include_default_roles",
        _ => "include_system_schemas",
    };
    let columns = match list {
        List::Types => ("include_array_types", false),
        List::MaterializedViews => ("include_columns", false),
        _ => ("include_columns", true),
    };
    Ok(Filter {
        included_schemas: schemas("included_schemas").filter(|_| takes_schemas),
        excluded_schemas: schemas("excluded_schemas").filter(|_| takes_schemas),
        include_system_schemas: flag(system, false)?,
        limit: number("limit")?,
        offset: number("offset")?,
        id: None,
        include_columns: flag(columns.0, columns.1)?,
    })
}
