//! `object`: the routes that only need names: listing, moving, copying, removing.

use std::sync::Arc;

use poem::{Request, Response};
use serde_json::{Value, json};

use super::body::{self, Fields};
use super::{credentials, json_response, parameter, rest, write};
use crate::context::Context;
use crate::error::Error;
use crate::objects::list::{self, Column, FolderListing, PrefixListing};
use crate::objects::list_versions::{Filter, Inclusion};
use crate::objects::relocate::{self, CopyChanges, CopyOptions};
use crate::objects::remove::{self, Entry};
use crate::objects::versions;
use crate::version_id::VersionId;
use crate::{coding, key, response};

/// Names that one request may remove. Source: upstream's `MAX_OBJECTS_PER_REQUEST`.
const MAX_REMOVED: usize = 1000;
/// Entries that a list of version 1 shows if the request does not say how many.
const DEFAULT_LIMIT: u64 = 100;

/// Responds to `DELETE object/:bucket/*`. A slash alone after the bucket counts for nothing.
pub(crate) async fn remove(context: Arc<Context>, request: Request) -> Result<Response, Error> {
    const OPERATION: &str = "storage.object.delete";
    if rest(&request).is_empty() {
        return remove_many(context, request).await;
    }
    let (bucket, key) = key::decode_name(bucket(&request), rest(&request))?;
    let caller = credentials::required(&context.verifier, &request)?;
    let name = (&*bucket, &*key);
    let removed = match response::version(&request)? {
        Some(version) => Some(versions::remove(&context.store, &caller, name, version, OPERATION).await?),
        None => remove::one(&context.store, &caller, name, OPERATION).await?,
    };
    let mut json = json!({ "message": "Successfully deleted" });
    if let Some(removed) = removed {
        json["VersionId"] = removed.id.map(|id| id.to_string()).into();
        if removed.is_delete_marker {
            json["DeleteMarker"] = true.into();
        }
    }
    Ok(json_response(json.to_string()))
}

/// Returns what a request to remove many names: objects by their names, and versions by name and id.
///
/// Errors: [`Error::InvalidRequest`].
fn entries(fields: &Fields<'_>) -> Result<Vec<Entry>, Error> {
    let Some(Value::Array(values)) = fields.value("prefixes") else {
        let keys = fields.texts("prefixes", 1..=MAX_REMOVED)?;
        return Ok(keys.into_iter().map(|key| Entry { key, version: None }).collect());
    };
    let names: Vec<Value> =
        values.iter().map(|value| if value.is_object() { Value::from("") } else { value.clone() }).collect();
    let checked = json!({ "prefixes": names });
    let keys = Fields::of(&checked, "body")?.texts("prefixes", 1..=MAX_REMOVED)?;
    let mut entries = Vec::with_capacity(keys.len());
    for (value, key) in values.iter().zip(keys) {
        if value.is_object() {
            let entry = Fields::of(value, "body/prefixes")?;
            // The clients send `path`; upstream's first release with versions called it `name`.
            let key = entry.text("name")?.map_or_else(|| entry.required_text("path"), Ok)?;
            // A version that none can have removes nothing.
            if let Ok(version) = VersionId::parse(&entry.required_text("versionId")?) {
                entries.push(Entry { key, version: Some(version) });
            }
        } else {
            entries.push(Entry { key, version: None });
        }
    }
    Ok(entries)
}

/// Returns the bucket in the path of `request`, still encoded.
fn bucket(request: &Request) -> &str {
    parameter(request, ":bucket")
}

/// Responds to `DELETE object/:bucket`.
pub(crate) async fn remove_many(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let bucket = key::decode(bucket(&request))?;
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let entries = entries(&Fields::of(&body, "body")?)?;
    let rows =
        remove::entries(&context.store, &caller, &bucket, &entries, "storage.object.delete_many").await?;
    Ok(json_response(format!("[{}]", rows.join(","))))
}

/// The names in the body of a move or a copy.
struct Names {
    source: (String, String),
    /// The version of the source; `None` for the current one.
    version: Option<VersionId>,
    target: (String, String),
}

impl Names {
    fn of(fields: &Fields<'_>) -> Result<Self, Error> {
        let version = fields.text("sourceVersionId")?.filter(|version| !version.is_empty());
        let bucket = fields.required_text("bucketId")?;
        let target = fields.text("destinationBucket")?.filter(|bucket| !bucket.is_empty());
        Ok(Self {
            target: (target.unwrap_or_else(|| bucket.clone()), fields.required_text("destinationKey")?),
            source: (bucket, fields.required_text("sourceKey")?),
            version: version.map(|version| VersionId::parse(&version)).transpose()?,
        })
    }

    fn route(&self) -> relocate::Route<'_> {
        relocate::Route { source: (&self.source.0, &self.source.1), target: (&self.target.0, &self.target.1) }
    }
}

/// Responds to `POST object/move`.
pub(crate) async fn move_object(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let names = Names::of(&Fields::of(&body, "body")?)?;
    let id = match names.version {
        None => relocate::move_object(&context.store, &caller, names.route()).await?,
        version => relocate::move_version(&context.store, &caller, names.route(), version).await?,
    };
    Ok(json_response(json!({ "message": "Successfully moved", "Id": id, "Key": names.target.1 }).to_string()))
}

/// Responds to `POST object/copy`.
pub(crate) async fn copy_object(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let names = Names::of(&fields)?;
    let metadata = fields.value("metadata").map(|value| Fields::of(value, "body/metadata")).transpose()?;
    let text = |name| metadata.as_ref().map_or(Ok(None), |metadata| metadata.text(name));
    let (cache_control, mimetype) = (text("cacheControl")?, text("mimetype")?);
    // An empty text is none, which the copy is to have then.
    let content_encoding = text("contentEncoding")?.map(|header| coding::stored(&header).unwrap_or_default());
    let keeps_all = fields.boolean("copyMetadata")?.unwrap_or(true);
    let options = CopyOptions {
        version: names.version,
        replaces: write::replaces(&request),
        changes: (!keeps_all).then(|| CopyChanges {
            cache_control: cache_control.as_deref(),
            mimetype: mimetype.as_deref(),
            content_encoding: content_encoding.as_deref(),
            user_metadata: write::metadata_header(&request),
            keeps_unspecified: true,
        }),
    };
    let operation = "storage.object.copy";
    let (copy, _) = relocate::copy_object(&context.store, &caller, names.route(), options, operation).await?;
    Ok(json_response(copy))
}

/// Returns the order that `sortBy` asks for: the column, and whether it descends.
fn order(fields: &Fields<'_>, columns: &[&'static str]) -> Result<(Column, bool), Error> {
    let Some(value) = fields.value("sortBy").filter(|value| !value.is_null()) else {
        return Ok((Column::Name, false));
    };
    let order = Fields::of(value, "body/sortBy")?;
    order.required("column")?;
    let column = order.one_of("column", columns)?.and_then(Column::of_name).unwrap_or_default();
    Ok((column, order.one_of("order", &["asc", "desc"])? == Some("desc")))
}

/// Returns which versions a list is to show.
fn filter(fields: &Fields<'_>) -> Result<Filter, Error> {
    let inclusion = |name| {
        let word = fields.one_of(name, &Inclusion::ALL.map(Inclusion::name));
        word.map(|word| word.and_then(Inclusion::of_name).unwrap_or_default())
    };
    Ok(Filter {
        noncurrent: inclusion("noncurrentVersions")?,
        delete_markers: inclusion("deleteMarkers")?,
        is_exact: fields.boolean("exactMatch")?.unwrap_or(false),
    })
}

/// Responds to `POST object/list/:bucket`.
pub(crate) async fn list_folder(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let bucket = key::decode(rest(&request))?;
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let filter = filter(&fields)?;
    let mut folder = fields.required_text("prefix")?;
    if !filter.is_exact && !folder.is_empty() && !folder.ends_with('/') {
        folder.push('/');
    }
    let search = fields.text("search")?.unwrap_or_default();
    let (column, descending) = order(&fields, &["name", "updated_at", "created_at", "last_accessed_at"])?;
    let listing = FolderListing {
        folder: &folder,
        search: &search,
        limit: fields.integer("limit", 1)?.unwrap_or(DEFAULT_LIMIT),
        offset: fields.integer("offset", 0)?.unwrap_or(0),
        column,
        descending,
        filter,
    };
    Ok(json_response(list::folder(&context.store.rows, &caller, &bucket, &listing).await?))
}

/// Responds to `POST object/list-v2/:bucket`.
pub(crate) async fn list_prefix(context: Arc<Context>, mut request: Request) -> Result<Response, Error> {
    let bucket = key::decode(rest(&request))?;
    let caller = credentials::required(&context.verifier, &request)?;
    let body = body::json(&mut request, false).await?;
    let fields = Fields::of(&body, "body")?;
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let (mut column, mut descending) = order(&fields, &["name", "updated_at", "created_at"])?;
    let mut start = list::Cursor::default();
    if let Some(token) = fields.text("cursor")?.filter(|token| !token.is_empty()) {
        (start, column, descending) = list::decode_cursor(&token)?;
    }
    let listing = PrefixListing {
        prefix: &prefix,
        delimiter: fields.boolean("with_delimiter")?.unwrap_or(false).then_some("/"),
        limit: fields.integer("limit", 1)?.unwrap_or(list::MAX_KEYS),
        column,
        descending,
        filter: filter(&fields)?,
        start,
    };
    let page = list::page(&context.store.rows, &caller, &bucket, &listing, "storage.object.list_v2").await?;
    Ok(json_response(list::page_as_json(page, column, descending).to_string()))
}
