//! Lists of objects.

use s3s::dto::*;
use s3s::{S3Response, S3Result};
use serde_json::Value;

use super::objects::etag;
use super::request::Call;
use super::signature::encode_key;
use crate::objects::list::{self, Column, Cursor, MAX_KEYS, Page, PrefixListing};
use crate::{Storage, buckets};

const OPERATION: &str = "storage.s3.object.list";
/// What S3 calls the version of an object that has only one.
const ONLY_VERSION: &str = "null";

/// What a request for either list asks for.
struct ListRequest<'a> {
    bucket: &'a str,
    prefix: &'a str,
    delimiter: Option<&'a str>,
    limit: u64,
    after: String,
}

async fn page(storage: &Storage, call: &Call, request: &ListRequest<'_>) -> S3Result<Page> {
    buckets::find(storage, request.bucket).await?;
    if request.limit == 0 {
        return Ok(Page::default());
    }
    let listing = PrefixListing {
        prefix: request.prefix,
        delimiter: request.delimiter.filter(|delimiter| !delimiter.is_empty()),
        limit: request.limit,
        start: Cursor { after: request.after.clone(), after_time: None },
        ..PrefixListing::default()
    };
    Ok(list::page(storage, &call.caller, request.bucket, &listing, OPERATION).await?)
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

/// Returns the one version of an object.
fn version(key: String, entry: &Value) -> ObjectVersion {
    let Object { key, e_tag, size, last_modified, .. } = object(key, entry);
    ObjectVersion {
        key,
        e_tag,
        size,
        last_modified,
        version_id: Some(ONLY_VERSION.to_owned()),
        is_latest: Some(true),
        storage_class: Some(ObjectVersionStorageClass::from_static(ObjectVersionStorageClass::STANDARD)),
        ..ObjectVersion::default()
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
    storage: &Storage,
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
    let request = ListRequest { bucket: &input.bucket, prefix: &prefix, delimiter, limit, after };
    let page = page(storage, call, &request).await?;
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
    storage: &Storage,
    call: &Call,
    input: ListObjectsInput,
) -> S3Result<S3Response<ListObjectsOutput>> {
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = limit(input.max_keys);
    let after = input.marker.clone().unwrap_or_default();
    let delimiter = input.delimiter.as_deref();
    let request = ListRequest { bucket: &input.bucket, prefix: &prefix, delimiter, limit, after };
    let page = page(storage, call, &request).await?;
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

/// Lists the versions of objects: each has one. Clients ask for them to remove everything from a bucket.
pub(super) async fn versions(
    storage: &Storage,
    call: &Call,
    input: ListObjectVersionsInput,
) -> S3Result<S3Response<ListObjectVersionsOutput>> {
    let after = input.key_marker.clone().unwrap_or_default();
    match input.version_id_marker.as_deref() {
        None | Some("") => {}
        Some(_) if after.is_empty() => {
            let message = "A version-id marker cannot be specified without a key marker.";
            return Err(s3s::s3_error!(InvalidArgument, "{message}"));
        }
        Some(ONLY_VERSION) => {}
        Some(_) => return Err(s3s::s3_error!(InvalidArgument, "Invalid version id specified")),
    }
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = limit(input.max_keys);
    let delimiter = input.delimiter.as_deref();
    let request = ListRequest { bucket: &input.bucket, prefix: &prefix, delimiter, limit, after };
    let page = page(storage, call, &request).await?;
    let is_encoded = is_url(input.encoding_type.as_ref());
    let (versions, common_prefixes) = entries(&page, is_encoded, version);
    let encoded = |text: String| if is_encoded { encode_key(&text) } else { text };
    let ends_with_object = page.entries.last().is_some_and(|entry| !entry["id"].is_null());
    let is_truncated = page.next.is_some();
    let output = ListObjectVersionsOutput {
        is_truncated: Some(is_truncated),
        next_key_marker: page.next.map(|next| encoded(next.after)),
        next_version_id_marker: (is_truncated && ends_with_object).then(|| ONLY_VERSION.to_owned()),
        max_keys: i32::try_from(limit).ok(),
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
