//! Operations on single objects, and the removal of many.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http_body_util::combinators::BoxBody;
use poem::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE,
    ETAG, EXPIRES, LAST_MODIFIED,
};
use poem::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result};
use serde_json::{Map, Value};

use super::request::Call;
use super::xml_errors::{XML, not_implemented, precondition_failed, refusal};
use crate::context::Context;
use crate::error::Error;
use crate::key::FOLDER_MARKER;
use crate::mime::DEFAULT_TYPE;
use crate::object_row::Object;
use crate::objects;
use crate::objects::remove;
use crate::objects::versions::{self, Removed};
use crate::upload::{DEFAULT_CACHE_CONTROL, Description, Target};
use crate::version_id::VersionId;
use crate::{bucket_rules, coding, mime};
use crate::{range, response};

/// Keys that one request may remove. Source: Amazon S3 API Reference, "DeleteObjects".
const MAX_REMOVED: usize = 1000;
pub(super) const METADATA_PREFIX: &str = "x-amz-meta-";
const MISSING_METADATA: HeaderName = HeaderName::from_static("x-amz-missing-meta");
pub(super) const VERSION_ID: HeaderName = HeaderName::from_static("x-amz-version-id");
const DELETE_MARKER: HeaderName = HeaderName::from_static("x-amz-delete-marker");

/// Returns the tag of an object in the form of `s3s`. The row may have it with or without quotes.
pub(super) fn etag(stored: &str) -> ETag {
    stored.parse().unwrap_or_else(|_| ETag::Strong(stored.trim_matches('"').to_owned()))
}

/// Returns what a request says about the object that it writes.
pub(super) fn describe(call: &Call) -> Description {
    let text = |name: &str, default: &str| call.header(name).unwrap_or(default).to_owned();
    Description {
        mimetype: text("content-type", DEFAULT_TYPE),
        cache_control: text("cache-control", DEFAULT_CACHE_CONTROL),
        robots_tag: call.header("x-robots-tag").map(str::to_owned),
        content_encoding: call.header("content-encoding").and_then(coding::stored),
        user_metadata: user_metadata(&call.headers),
        content_length: call.length,
    }
}

/// Returns the user metadata of headers `x-amz-meta-*`.
pub(super) fn user_metadata(headers: &HeaderMap) -> Option<Value> {
    let pairs = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(METADATA_PREFIX)?;
        Some((name.to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned().into()))
    });
    let metadata: Map<String, Value> = pairs.collect();
    (!metadata.is_empty()).then_some(Value::Object(metadata))
}

/// Reports whether an object of the same name is replaced: always, unless the request says that there must be none.
///
/// Errors: `NotImplemented` for other conditions.
pub(super) fn replaces(call: &Call) -> Result<bool, S3Error> {
    match (call.header("if-none-match"), call.headers.contains_key("if-match")) {
        (None, false) => Ok(true),
        (Some("*"), false) => Ok(false),
        (_, true) => Err(not_implemented("If-Match")),
        (Some(_), false) => Err(not_implemented("If-None-Match")),
    }
}

/// Returns the error of a write with a condition for `error`.
pub(super) fn conditional_error(error: Error) -> S3Error {
    match error {
        Error::KeyAlreadyExists => precondition_failed(),
        error => error.into(),
    }
}

pub(super) async fn put(
    context: &Context,
    call: &Call,
    input: PutObjectInput,
) -> S3Result<S3Response<PutObjectOutput>> {
    let bucket = bucket_rules::find(&context.store.rows, &input.bucket).await?;
    // As upstream: an empty object whose name ends with a slash is how S3 clients make a folder.
    let is_folder = input.key.ends_with('/') && call.length == Some(0);
    let key = if is_folder { format!("{}{FOLDER_MARKER}", input.key) } else { input.key };
    let target = Target {
        bucket: &input.bucket,
        key: &key,
        owner: call.caller.subject(),
        replaces: replaces(call)?,
        operation: "storage.s3.upload",
    };
    let about = describe(call);
    let chunks = input.body.unwrap_or_else(|| s3s::Body::empty().into()).map_err(io::Error::other);
    let stored = target
        .receive(&context.store, &call.caller, &bucket, &about, call.length, chunks)
        .await
        .map_err(conditional_error)?;
    let written =
        target.complete(&context.store, &call.caller, &about, &stored).await.map_err(conditional_error)?;
    Ok(S3Response::new(PutObjectOutput {
        e_tag: Some(ETag::Strong(stored.md5)),
        version_id: written.version.map(|version| version.to_string()),
        ..PutObjectOutput::default()
    }))
}

/// Reads the id of a version; an empty one is none.
///
/// Errors: `InvalidArgument` for one that no version can have.
pub(super) fn version_id(id: &str) -> Result<Option<VersionId>, S3Error> {
    let id = Some(id).filter(|id| !id.is_empty()).map(VersionId::parse).transpose();
    id.map_err(|_| s3s::s3_error!(InvalidArgument, "Invalid version id specified"))
}

/// Finds an object that the caller may read, in its current version unless one is named.
///
/// Errors: [`Error::NoSuchKey`], [`Error::NoSuchBucket`], `NoSuchVersion`, `MethodNotAllowed` for a delete marker.
pub(super) async fn find(
    context: &Context,
    call: &Call,
    (bucket, key): (&str, &str),
    version: Option<VersionId>,
    operation: &'static str,
) -> Result<Arc<Object>, S3Error> {
    match objects::find_visible(&context.store, &call.caller, (bucket, key), version, operation).await {
        Err(Error::NoSuchKey) => {
            bucket_rules::find(&context.store.rows, bucket).await?;
            Err(if version.is_some() { no_such_version() } else { Error::NoSuchKey.into() })
        }
        Err(Error::MethodNotAllowed) => Err(is_delete_marker(Error::MethodNotAllowed.into(), version)),
        found => Ok(found?),
    }
}

/// Returns the refusal of a request that names a version which an object does not have.
fn no_such_version() -> S3Error {
    let words = "The specified version does not exist.";
    refusal(StatusCode::NOT_FOUND, "NoSuchVersion", words)
}

/// Adds to a refusal that what it is about is a delete marker.
fn is_delete_marker(mut error: S3Error, version: Option<VersionId>) -> S3Error {
    let mut headers = HeaderMap::new();
    headers.insert(DELETE_MARKER, HeaderValue::from_static("true"));
    if let Some(version) = version {
        response::insert(&mut headers, VERSION_ID, &version.to_string());
    }
    // `s3s` sends these in place of its own.
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(XML));
    error.set_headers(headers);
    error
}

/// A response about an object: all of it, or the requested part.
struct ObjectResponse {
    status: StatusCode,
    headers: HeaderMap,
    part: std::ops::Range<u64>,
}

impl ObjectResponse {
    /// Evaluates conditions and the range.
    ///
    /// Errors: `PreconditionFailed`, [`Error::InvalidRange`].
    fn of(call: &Call, object: &Object) -> Result<Self, S3Error> {
        let tag = object.metadata.etag.as_deref().unwrap_or_default();
        let modified = object.metadata.last_modified;
        if range::is_precondition_unmet(&call.headers, tag, modified) {
            return Err(precondition_failed());
        }
        let mut headers = object_headers(object);
        if range::is_fresh(&call.headers, tag, modified) {
            return Ok(Self { status: StatusCode::NOT_MODIFIED, headers, part: 0..0 });
        }
        let (status, part) = response::select(&mut headers, &call.headers, object)?;
        Ok(Self { status, headers, part })
    }

    /// Adds the id of the object's version, if one was asked for or the object is one of several.
    fn with_version(mut self, object: &Object, asked: Option<VersionId>) -> Self {
        if object.is_versioned || asked.is_some() {
            response::insert(&mut self.headers, VERSION_ID, &object.version_id().to_string());
        }
        self
    }
}

/// Returns the headers that all responses about `object` have.
fn object_headers(object: &Object) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let metadata = &object.metadata;
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let modified = metadata.last_modified.and_then(range::http_date);
    for (name, value) in [
        (CONTENT_TYPE, Some(metadata.mimetype.as_deref().map_or(DEFAULT_TYPE, mime::served))),
        (CACHE_CONTROL, metadata.cache_control.as_deref()),
        (CONTENT_ENCODING, coding::served(metadata.content_encoding.as_deref())),
        (ETAG, metadata.etag.as_deref()),
        (LAST_MODIFIED, modified.as_deref()),
    ] {
        if let Some(value) = value {
            response::insert(&mut headers, name, value);
        }
    }
    let mut missing = 0_u64;
    for (name, value) in object.user_metadata.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let name = HeaderName::try_from(format!("{METADATA_PREFIX}{name}")).ok().filter(|_| !name.is_empty());
        let value = value.as_str().filter(|value| value.is_ascii());
        match name.zip(value.and_then(|value| HeaderValue::from_str(value).ok())) {
            Some((name, value)) => drop(headers.insert(name, value)),
            None => missing += 1,
        }
    }
    if missing > 0 {
        headers.insert(MISSING_METADATA, missing.into());
    }
    headers
}

pub(super) async fn get(
    context: &Context,
    call: &Call,
    input: GetObjectInput,
) -> S3Result<S3Response<GetObjectOutput>> {
    let version = version_id(input.version_id.as_deref().unwrap_or_default())?;
    let name = (&*input.bucket, &*input.key);
    let (found, body) = match read(context, call, name, version).await {
        // The object may have been replaced, and its old bytes removed, since its row was read.
        Err(error) if error.code().as_str() == "NoSuchKey" => read(context, call, name, version).await?,
        read => read?,
    };
    let ObjectResponse { status, mut headers, part: _ } = found;
    let content_type = input.response_content_type.map(|requested| mime::served(&requested).to_owned());
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CONTENT_DISPOSITION, input.response_content_disposition),
        (CACHE_CONTROL, input.response_cache_control),
        (CONTENT_ENCODING, input.response_content_encoding),
        (CONTENT_LANGUAGE, input.response_content_language),
        (EXPIRES, input.response_expires.and_then(|time| range::http_date(time.into()))),
    ] {
        if let Some(value) = value {
            response::insert(&mut headers, name, &value);
        }
    }
    Ok(s3_response(GetObjectOutput { body, ..GetObjectOutput::default() }, status, headers))
}

/// Returns a response with its status as an extension, which `s3s` ignores.
fn s3_response<T>(output: T, status: StatusCode, headers: HeaderMap) -> S3Response<T> {
    let mut response = S3Response::with_headers(output, headers);
    response.extensions.insert(status);
    response
}

async fn read(
    context: &Context,
    call: &Call,
    name: (&str, &str),
    version: Option<VersionId>,
) -> Result<(ObjectResponse, Option<StreamingBlob>), S3Error> {
    let object = find(context, call, name, version, "storage.s3.object.get").await?;
    let found = ObjectResponse::of(call, &object)?.with_version(&object, version);
    if found.part.is_empty() {
        return Ok((found, None));
    }
    let bytes = context.store.blobs.backend.read(object.version, found.part.clone(), object.size).await?;
    let body = s3s::Body::http_body(BoxBody::<Bytes, io::Error>::from(bytes));
    Ok((found, Some(body.into())))
}

pub(super) async fn head(
    context: &Context,
    call: &Call,
    input: HeadObjectInput,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let version = version_id(input.version_id.as_deref().unwrap_or_default())?;
    let name = (&*input.bucket, &*input.key);
    let object = find(context, call, name, version, "storage.s3.object.info").await?;
    let found = ObjectResponse::of(call, &object)?.with_version(&object, version);
    let ObjectResponse { status, headers, part: _ } = found;
    Ok(s3_response(HeadObjectOutput::default(), status, headers))
}

/// Responds with no tags: objects have none.
pub(super) async fn tagging(
    context: &Context,
    call: &Call,
    input: GetObjectTaggingInput,
) -> S3Result<S3Response<GetObjectTaggingOutput>> {
    let version = version_id(input.version_id.as_deref().unwrap_or_default())?;
    let name = (&*input.bucket, &*input.key);
    find(context, call, name, version, "storage.s3.object.get_tagging").await?;
    Ok(S3Response::new(GetObjectTaggingOutput { tag_set: Vec::new(), version_id: None }))
}

pub(super) async fn delete(
    context: &Context,
    call: &Call,
    input: DeleteObjectInput,
) -> S3Result<S3Response<DeleteObjectOutput>> {
    const OPERATION: &str = "storage.s3.object.delete";
    let name = (&*input.bucket, &*input.key);
    let version = version_id(input.version_id.as_deref().unwrap_or_default())?;
    let removed = match version {
        Some(version) => {
            versions::remove(&context.store, &call.caller, name, version, OPERATION).await.map(Some)
        }
        None => remove::one(&context.store, &call.caller, name, OPERATION).await,
    };
    let removed = match removed {
        Ok(removed) => removed,
        // A missing object is not an error: the request was to remove it.
        Err(Error::NoSuchKey) => {
            bucket_rules::find(&context.store.rows, &input.bucket).await?;
            None
        }
        Err(error) => return Err(error.into()),
    };
    Ok(S3Response::new(DeleteObjectOutput {
        delete_marker: removed.as_ref().filter(|removed| removed.is_delete_marker).map(|_| true),
        version_id: removed.and_then(|removed| removed.id).map(|id| id.to_string()),
        ..DeleteObjectOutput::default()
    }))
}

pub(super) async fn delete_many(
    context: &Context,
    call: &Call,
    input: DeleteObjectsInput,
) -> S3Result<S3Response<DeleteObjectsOutput>> {
    const OPERATION: &str = "storage.s3.object.delete_many";
    let objects = &input.delete.objects;
    if objects.len() > MAX_REMOVED {
        return Err(s3s::s3_error!(MalformedXML, "A request may remove at most {MAX_REMOVED} objects"));
    }
    let has_version =
        |object: &ObjectIdentifier| object.version_id.as_deref().is_some_and(|id| !id.is_empty());
    let keys: Vec<&str> =
        objects.iter().filter(|object| !has_version(object)).map(|object| &*object.key).collect();
    let markers = remove::many(&context.store, &call.caller, &input.bucket, &keys, OPERATION).await?;
    let markers: HashMap<&str, &Removed> =
        markers.iter().filter(|one| one.is_delete_marker).map(|one| (&*one.key, one)).collect();
    let kept: HashSet<String> = remove::existing(&context.store.rows, &input.bucket, &keys).await?;
    if kept.is_empty() {
        bucket_rules::find(&context.store.rows, &input.bucket).await?;
    }
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for object in objects {
        let outcome = if has_version(object) {
            delete_version(context, call, &input.bucket, object, OPERATION).await
        } else if kept.contains(&object.key) {
            Err(Error::AccessDenied("Access Denied".to_owned()).into())
        } else {
            Ok(marked(&object.key, markers.get(&*object.key).copied()))
        };
        match outcome {
            Ok(one) => deleted.push(one),
            Err(error) => errors.push(s3s::dto::Error {
                key: Some(object.key.clone()),
                code: Some(error.code().as_str().to_owned()),
                message: error.message().map(str::to_owned),
                version_id: object.version_id.clone(),
            }),
        }
    }
    let is_quiet = input.delete.quiet.unwrap_or(false);
    let output = DeleteObjectsOutput {
        deleted: (!is_quiet).then_some(deleted),
        errors: Some(errors),
        ..DeleteObjectsOutput::default()
    };
    Ok(S3Response::new(output))
}

/// Returns the entry of an object that was removed, by a delete marker if there is one.
fn marked(key: &str, marker: Option<&Removed>) -> DeletedObject {
    DeletedObject {
        key: Some(key.to_owned()),
        delete_marker: marker.map(|_| true),
        delete_marker_version_id: marker.and_then(|marker| marker.id).map(|id| id.to_string()),
        ..DeletedObject::default()
    }
}

/// Removes the version that an entry of a request to remove many names. One that does not exist counts as removed.
async fn delete_version(
    context: &Context,
    call: &Call,
    bucket: &str,
    object: &ObjectIdentifier,
    operation: &'static str,
) -> Result<DeletedObject, S3Error> {
    let Some(version) = version_id(object.version_id.as_deref().unwrap_or_default())? else {
        return Ok(marked(&object.key, None));
    };
    let name = (bucket, &*object.key);
    let removed = match versions::remove(&context.store, &call.caller, name, version, operation).await {
        Err(Error::NoSuchKey) => None,
        removed => Some(removed?),
    };
    let was_marker = removed.is_some_and(|removed| removed.is_delete_marker);
    Ok(DeletedObject {
        key: Some(object.key.clone()),
        version_id: object.version_id.clone(),
        delete_marker: was_marker.then_some(true),
        delete_marker_version_id: object.version_id.clone().filter(|_| was_marker),
    })
}
