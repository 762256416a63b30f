//! `bucket`: making, finding, changing, emptying and deleting buckets.

use std::sync::Arc;

use poem::{Request, Response};
use serde_json::{Value, json};

use super::body::{self, Fields};
use super::{credentials, json_response, message, parameter};
use crate::buckets::lifecycle::{self, Configuration};
use crate::buckets::{self, Changes, Limits, Listing, NewBucket, Versioning};
use crate::context::Context;
use crate::error::Error;
use crate::key;

/// Columns by which buckets may be listed. `public` and others are not among upstream's.
const COLUMNS: [&str; 4] = ["id", "name", "created_at", "updated_at"];

/// Returns the bucket's id in the path of `request`.
///
/// Errors: [`Error::InvalidKey`].
fn id(request: &Request) -> Result<String, Error> {
    key::decode(parameter(request, ":id"))
}

/// Responds to `GET bucket/:id`.
pub(crate) async fn get(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    let has_versioning = !is_python_before(&request, [2, 20, 0], [2, 20, 0]);
    let rows = &context.store.rows;
    Ok(json_response(buckets::get(rows, &caller, &id, has_versioning, "storage.bucket.get").await?))
}

/// Responds to `DELETE bucket/:id`.
pub(crate) async fn delete(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    body::json(&mut request, true).await?;
    buckets::delete(&context.store.rows, &caller, &id, "storage.bucket.delete").await?;
    Ok(message("Successfully deleted"))
}

/// Responds to `POST bucket/:id/empty`.
pub(crate) async fn empty(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    body::json(&mut request, true).await?;
    buckets::empty(&context.store, &caller, &id).await?;
    Ok(message("Empty bucket has been queued. Completion may take up to an hour."))
}

/// Responds to `GET bucket`.
pub(crate) async fn list(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let query = body::query(&request);
    let fields = Fields::of(&query, "querystring")?;
    let search = fields.text("search")?;
    let listing = Listing {
        search: search.as_deref(),
        has_type: !is_python_before(&request, [2, 18, 0], [0, 12, 1]),
        has_versioning: !is_python_before(&request, [2, 20, 0], [2, 20, 0]),
        column: fields.one_of("sortColumn", &COLUMNS)?,
        descending: fields.one_of("sortOrder", &["asc", "desc"])? == Some("desc"),
        limit: fields.integer("limit", 1)?,
        offset: fields.integer("offset", 0)?,
    };
    let caller = credentials::required(&context.verifier, &request)?;
    Ok(json_response(buckets::list(&context.store.rows, &caller, &listing, "storage.bucket.list").await?))
}

/// Reports whether a request is from Supabase's client for Python, or from the one for storage alone, before these
/// versions.
fn is_python_before(request: &Request, supabase: [u32; 3], storage3: [u32; 3]) -> bool {
    let is_before =
        |header, name, version| request.header(header).is_some_and(|value| is_older(value, name, version));
    is_before("x-client-info", "supabase-py/", supabase)
        || is_before("user-agent", "supabase-py/storage3 v", storage3)
}

/// Reports whether a client that says who it is in `header` is `name`, in a version before `version`.
fn is_older(header: &str, name: &str, version: [u32; 3]) -> bool {
    let Some((_, said)) = header.split_once(name) else { return false };
    let numbers = said.split(|character: char| !character.is_ascii_digit()).take(3);
    let numbers: Option<Vec<u32>> = numbers.map(|digits| digits.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() == 3 && *numbers < version[..])
}

/// Responds to `POST bucket`.
pub(crate) async fn create(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let name = fields.required_text("name")?;
    let id = fields.text("id")?.filter(|id| !id.is_empty());
    let is_public = fields.boolean("public")?.unwrap_or(false);
    if fields.one_of("type", &["STANDARD", "ANALYTICS"])? == Some("ANALYTICS") {
        return Err(Error::FeatureNotEnabled("Iceberg buckets are not enabled for this tenant"));
    }
    let versioning = fields.one_of("versioning_status", &["DISABLED", "ENABLED"])?;
    let new = NewBucket {
        id: id.as_deref().unwrap_or(&name),
        name: &name,
        is_public,
        versioning: versioning.and_then(Versioning::of_name).unwrap_or_default(),
        limits: limits(&fields)?,
    };
    buckets::create(&context.store, &caller, &new, "storage.bucket.create").await?;
    Ok(json_response(json!({ "name": name }).to_string()))
}

/// Responds to `PUT bucket/:id`.
pub(crate) async fn update(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let is_public = fields.boolean("public")?;
    let limits = limits(&fields)?;
    let versioning = fields.one_of("versioning_status", &["ENABLED", "SUSPENDED"])?;
    let is_unchanged =
        is_public.is_none() && limits.file_size_limit.is_none() && limits.allowed_mime_types.is_none();
    if is_unchanged && versioning.is_none() {
        return Err(Error::InvalidContent("No content provided".to_owned()));
    }
    let changes = Changes { is_public, versioning: versioning.and_then(Versioning::of_name), limits };
    buckets::update(&context.store, &caller, &id, &changes, "storage.bucket.update").await?;
    Ok(message("Successfully updated"))
}

/// Responds to `PUT bucket/:id/lifecycle`.
pub(crate) async fn put_lifecycle(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let configuration =
        Configuration::of_json(&body).map_err(|refused| Error::InvalidValue(refused.words))?;
    let (rows, operation) = (&context.store.rows, "storage.bucket.put_lifecycle");
    Ok(json_response(lifecycle::put(rows, &caller, &id, &configuration, operation).await?))
}

/// Responds to `DELETE bucket/:id/lifecycle`.
pub(crate) async fn delete_lifecycle(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    body::json(&mut request, true).await?;
    lifecycle::delete(&context.store.rows, &caller, &id, "storage.bucket.delete_lifecycle").await?;
    Ok(message("Successfully deleted"))
}

/// Responds to `GET bucket/:id/lifecycle`.
pub(crate) async fn get_lifecycle(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    let id = id(&request)?;
    let caller = credentials::required(&context.verifier, &request)?;
    let (rows, operation) = (&context.store.rows, "storage.bucket.get_lifecycle");
    Ok(json_response(lifecycle::get(rows, &caller, &id, operation).await?.to_json().to_string()))
}

fn limits<'a>(fields: &Fields<'a>) -> Result<Limits<'a>, Error> {
    let allowed_mime_types = match fields.value("allowed_mime_types") {
        None => None,
        Some(Value::Null) => Some(None),
        Some(_) => Some(Some(fields.texts("allowed_mime_types", 0..=usize::MAX)?)),
    };
    Ok(Limits { file_size_limit: fields.value("file_size_limit"), allowed_mime_types })
}
