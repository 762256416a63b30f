//! Lists of objects.

use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::object_operations::{etag, version_id};
use super::request::Call;
use super::sigv4::encode_key;
use crate::bucket_rules;
use crate::context::Context;
use crate::objects::list::{self, Column, Cursor, MAX_KEYS, Page, PrefixListing};
use crate::objects::list_versions::{Filter, Inclusion};
use crate::objects::versions;
use crate::version_id::VersionId;

const OPERATION: &str = "storage.s3.object.list";

/// What a request for either list asks for.
struct ListRequest<'a> {
    bucket: &'a str,
    prefix: &'a str,
    delimiter: Option<&'a str>,
    limit: u64,
    start: Cursor,
    filter: Filter,
}

async fn page(context: &Context, call: &Call, request: &ListRequest<'_>) -> S3Result<Page> {
    bucket_rules::find(&context.store.rows, request.bucket).await?;
    if request.limit == 0 {
        return Ok(Page::default());
    }
    let listing = PrefixListing {
        prefix: request.prefix,
        delimiter: request.delimiter.filter(|delimiter| !delimiter.is_empty()),
        limit: request.limit,
        start: request.start.clone(),
        filter: request.filter,
        ..PrefixListing::default()
    };
    Ok(list::page(&context.store.rows, &call.caller, request.bucket, &listing, OPERATION).await?)
}

/// Returns the objects of a page, each as `object` has it, and its folders.
fn entries<T>(
    page: &Page,
    is_encoded: bool,
    object: impl Fn(String, &Value) -> T,
) -> (Vec<T>, Vec<CommonPrefix>) {
    let (mut objects, mut folders) = (Vec::new(), Vec::new());
    for entry in &page.entries {
        let name = entry["name"].as_str().unwrap_or_default();
        let name = if is_encoded { encode_key(name) } else { name.to_owned() };
        match entry["id"].is_null() {
            true => folders.push(CommonPrefix { prefix: Some(name) }),
            false => objects.push(object(name, entry)),
        }
    }
    (objects, folders)
}

fn object(key: String, entry: &Value) -> Object {
    let metadata = &entry["metadata"];
    let modified = [&metadata["lastModified"], &entry["updated_at"]].into_iter().find_map(Value::as_str);
    Object {
        key: Some(key),
        e_tag: metadata["eTag"].as_str().map(etag),
        size: Some(metadata["size"].as_i64().unwrap_or_default()),
        last_modified: modified.and_then(|time| Timestamp::parse(TimestampFormat::DateTime, time).ok()),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        ..Object::default()
    }
}

/// Returns the id of the version that an entry is about, and whether it is the current one.
fn version_of(entry: &Value) -> (Option<String>, Option<bool>) {
    let version = entry["version"].as_str().and_then(|version| Uuid::try_parse(version).ok());
    let is_versioned = entry["is_versioned"].as_bool().unwrap_or_default();
    let id = VersionId::of(version.unwrap_or_default(), is_versioned);
    (Some(id.to_string()), Some(entry["archived_at"].is_null()))
}

fn version(key: String, entry: &Value) -> ObjectVersion {
    let Object { key, e_tag, size, last_modified, .. } = object(key, entry);
    let (version_id, is_latest) = version_of(entry);
    ObjectVersion {
        key,
        e_tag,
        size,
        last_modified,
        version_id,
        is_latest,
        storage_class: Some(ObjectVersionStorageClass::from_static(ObjectVersionStorageClass::STANDARD)),
        ..ObjectVersion::default()
    }
}

fn delete_marker(key: String, entry: &Value) -> DeleteMarkerEntry {
    let (version_id, is_latest) = version_of(entry);
    let created = entry["created_at"].as_str();
    DeleteMarkerEntry {
        key: Some(key),
        last_modified: created.and_then(|time| Timestamp::parse(TimestampFormat::DateTime, time).ok()),
        version_id,
        is_latest,
        ..DeleteMarkerEntry::default()
    }
}

fn limit(requested: Option<i32>) -> u64 {
    requested.and_then(|most| u64::try_from(most).ok()).map_or(MAX_KEYS, |most| most.min(MAX_KEYS))
}

/// Reports whether names are to be encoded as in URLs.
pub(super) fn is_url(encoding: Option<&EncodingType>) -> bool {
    encoding.is_some_and(|encoding| encoding.as_str() == EncodingType::URL)
}

pub(super) async fn objects_v2(
    context: &Context,
    call: &Call,
    input: ListObjectsV2Input,
) -> S3Result<S3Response<ListObjectsV2Output>> {
    let after = match &input.continuation_token {
        Some(token) => list::decode_cursor(token)?.0.after,
        None => input.start_after.clone().unwrap_or_default(),
    };
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = limit(input.max_keys);
    let delimiter = input.delimiter.as_deref();
    let start = Cursor { after, ..Cursor::default() };
    let request = ListRequest {
        bucket: &input.bucket,
        prefix: &prefix,
        delimiter,
        limit,
        start,
        filter: Filter::default(),
    };
    let page = page(context, call, &request).await?;
    let is_encoded = is_url(input.encoding_type.as_ref());
    let (contents, common_prefixes) = entries(&page, is_encoded, object);
    let encoded = |text: String| if is_encoded { encode_key(&text) } else { text };
    let output = ListObjectsV2Output {
        key_count: i32::try_from(page.entries.len()).ok(),
        is_truncated: Some(page.next.is_some()),
        next_continuation_token: page.next.map(|next| list::encode_cursor(&next, Column::Name, false)),
        max_keys: i32::try_from(limit).ok(),
        contents: Some(contents),
        common_prefixes: Some(common_prefixes),
        name: Some(input.bucket),
        prefix: Some(encoded(prefix)),
        delimiter: input.delimiter.map(encoded),
        start_after: input.start_after.map(encoded),
        continuation_token: input.continuation_token,
        encoding_type: input.encoding_type,
        ..ListObjectsV2Output::default()
    };
    Ok(S3Response::new(output))
}

pub(super) async fn objects(
    context: &Context,
    call: &Call,
    input: ListObjectsInput,
) -> S3Result<S3Response<ListObjectsOutput>> {
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = limit(input.max_keys);
    let after = input.marker.clone().unwrap_or_default();
    let delimiter = input.delimiter.as_deref();
    let start = Cursor { after, ..Cursor::default() };
    let request = ListRequest {
        bucket: &input.bucket,
        prefix: &prefix,
        delimiter,
        limit,
        start,
        filter: Filter::default(),
    };
    let page = page(context, call, &request).await?;
    let is_encoded = is_url(input.encoding_type.as_ref());
    let (contents, common_prefixes) = entries(&page, is_encoded, object);
    let encoded = |text: String| if is_encoded { encode_key(&text) } else { text };
    let output = ListObjectsOutput {
        is_truncated: Some(page.next.is_some()),
        // Without a delimiter clients go on behind the last key.
        next_marker: page.next.filter(|_| input.delimiter.is_some()).map(|next| encoded(next.after)),
        max_keys: i32::try_from(limit).ok(),
        contents: Some(contents),
        common_prefixes: Some(common_prefixes),
        name: Some(input.bucket),
        prefix: Some(encoded(prefix)),
        marker: Some(encoded(input.marker.unwrap_or_default())),
        delimiter: input.delimiter.map(encoded),
        encoding_type: input.encoding_type,
        ..ListObjectsOutput::default()
    };
    Ok(S3Response::new(output))
}

/// Returns where a list of versions goes on: behind a version of the key, or behind the key.
///
/// A marker of a page tells when its version was made, so that the list goes on there although the version has been
/// removed.
///
/// Errors: `InvalidArgument`.
async fn start_of_versions(
    context: &Context,
    call: &Call,
    input: &ListObjectVersionsInput,
) -> Result<Cursor, S3Error> {
    let after = input.key_marker.clone().unwrap_or_default();
    let cursor = Cursor { after, ..Cursor::default() };
    let marker = match input.version_id_marker.as_deref() {
        None | Some("") => return Ok(cursor),
        Some(_) if cursor.after.is_empty() => {
            let message = "A version-id marker cannot be specified without a key marker.";
            return Err(s3s::s3_error!(InvalidArgument, "{message}"));
        }
        Some(marker) => marker,
    };
    let after_version = match marker.split_once('.') {
        Some((version, creation)) => {
            version_id(version)?;
            OffsetDateTime::parse(creation, &Rfc3339)
                .map_err(|_| s3s::s3_error!(InvalidArgument, "Invalid version id specified"))?;
            Some((creation.to_owned(), version.to_owned()))
        }
        None => match version_id(marker)? {
            Some(version) => {
                let name = (&*input.bucket, &*cursor.after);
                versions::place(&context.store.rows, &call.caller, name, version, OPERATION).await?
            }
            None => None,
        },
    };
    Ok(Cursor { after_version, ..cursor })
}

/// Lists the versions of objects and their delete markers.
pub(super) async fn versions(
    context: &Context,
    call: &Call,
    input: ListObjectVersionsInput,
) -> S3Result<S3Response<ListObjectVersionsOutput>> {
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = limit(input.max_keys);
    let request = ListRequest {
        bucket: &input.bucket,
        prefix: &prefix,
        delimiter: input.delimiter.as_deref(),
        limit,
        start: start_of_versions(context, call, &input).await?,
        filter: Filter {
            noncurrent: Inclusion::Include,
            delete_markers: Inclusion::Include,
            ..Filter::default()
        },
    };
    let mut page = page(context, call, &request).await?;
    let is_encoded = is_url(input.encoding_type.as_ref());
    let encoded = |text: String| if is_encoded { encode_key(&text) } else { text };
    let is_marker = |entry: &Value| entry["is_delete_marker"].as_bool() == Some(true);
    let markers: Vec<Value>;
    (markers, page.entries) = page.entries.into_iter().partition(is_marker);
    let (versions, common_prefixes) = entries(&page, is_encoded, version);
    let (is_truncated, next) = (page.next.is_some(), page.next.unwrap_or_default());
    let next_version = next.after_version.map(|(creation, version)| format!("{version}.{creation}"));
    let markers = markers.iter().map(|entry| {
        let key = entry["name"].as_str().unwrap_or_default().to_owned();
        delete_marker(encoded(key), entry)
    });
    let output = ListObjectVersionsOutput {
        is_truncated: Some(is_truncated),
        next_key_marker: is_truncated.then(|| encoded(next.after)),
        next_version_id_marker: next_version,
        max_keys: i32::try_from(limit).ok(),
        delete_markers: Some(markers.collect()),
        versions: Some(versions),
        common_prefixes: Some(common_prefixes),
        name: Some(input.bucket),
        prefix: Some(encoded(prefix)),
        delimiter: input.delimiter.map(encoded),
        key_marker: Some(encoded(input.key_marker.unwrap_or_default())),
        version_id_marker: Some(input.version_id_marker.unwrap_or_default()),
        encoding_type: input.encoding_type,
        ..ListObjectVersionsOutput::default()
    };
    Ok(S3Response::new(output))
}
