//! Copies: of a whole object, and of an object's bytes into a part of a multipart upload.

use std::ops::Range;

use percent_encoding::percent_decode_str;
use poem::http::{HeaderMap, HeaderName};
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result};
use serde_json::Value;

use super::multipart_operations as parts;
use super::object_operations::{etag, find, user_metadata, version_id};
use super::request::Call;
use super::xml_errors::{invalid, precondition_failed};
use crate::context::Context;
use crate::error::Error;
use crate::object_row::Object;
use crate::objects::relocate::{self, CopyChanges, CopyOptions, Route};
use crate::range;
use crate::version_id::VersionId;
use crate::{bucket_rules, coding, upload};

const SOURCE: &str = "x-amz-copy-source";
const CONDITION_PREFIX: &str = "x-amz-copy-source-";
const SOURCE_RANGE: &str = "x-amz-copy-source-range";

/// What is copied: the bucket, the key, and the version if one is named.
struct Source {
    bucket: String,
    key: String,
    version: Option<VersionId>,
}

/// Returns what is copied: `bucket/key`, encoded, with or without a slash before it, and perhaps the id of a version.
fn source(call: &Call) -> Result<Source, S3Error> {
    let header = call.header(SOURCE).unwrap_or_default();
    let (path, query) = header.split_once('?').map_or((header, None), |(path, query)| (path, Some(query)));
    let version = match query.filter(|query| !query.is_empty()).map(|query| query.strip_prefix("versionId="))
    {
        None => None,
        Some(Some(version)) => version_id(version)?,
        Some(None) => {
            return Err(invalid("The query of the copy source names something else than a version"));
        }
    };
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| Error::InvalidKey(path.to_owned()))?;
    let (bucket, key) = decoded.trim_start_matches('/').split_once('/').unwrap_or((&decoded, ""));
    if key.is_empty() {
        return Err(invalid("Copy Source must mention the source bucket and key: sourcebucket/sourcekey"));
    }
    Ok(Source { bucket: bucket.to_owned(), key: key.to_owned(), version })
}

/// Checks the conditions that a copy makes of its source.
///
/// Errors: `PreconditionFailed`.
fn check(call: &Call, object: &Object) -> Result<(), S3Error> {
    let mut conditions = HeaderMap::new();
    for (name, value) in &call.headers {
        let plain = name.as_str().strip_prefix(CONDITION_PREFIX).filter(|name| name.starts_with("if-"));
        if let Some(Ok(name)) = plain.map(HeaderName::try_from) {
            conditions.insert(name, value.clone());
        }
    }
    let tag = object.metadata.etag.as_deref().unwrap_or_default();
    let modified = object.metadata.last_modified;
    let is_met = !range::is_precondition_unmet(&conditions, tag, modified)
        && !range::is_fresh(&conditions, tag, modified);
    if is_met { Ok(()) } else { Err(precondition_failed()) }
}

pub(super) async fn object(
    context: &Context,
    call: &Call,
    input: CopyObjectInput,
) -> S3Result<S3Response<CopyObjectOutput>> {
    const OPERATION: &str = "storage.s3.object.copy";
    let Source { bucket, key, version } = source(call)?;
    let source = (&*bucket, &*key);
    let original = find(context, call, source, version, OPERATION).await?;
    check(call, &original)?;
    let content_encoding = call.header("content-encoding").and_then(coding::stored);
    let changes = match call.header("x-amz-metadata-directive") {
        None | Some("COPY") => None,
        Some("REPLACE") => Some(CopyChanges {
            cache_control: call.header("cache-control"),
            mimetype: call.header("content-type"),
            content_encoding: content_encoding.as_deref(),
            user_metadata: user_metadata(&call.headers),
            keeps_unspecified: false,
        }),
        Some(_) => return Err(invalid("Unknown metadata directive.")),
    };
    let route = Route { source, target: (&input.bucket, &input.key) };
    bucket_rules::find(&context.store.rows, &input.bucket).await?;
    let options = CopyOptions { version, replaces: true, changes };
    let (row, written) =
        relocate::copy_object(&context.store, &call.caller, route, options, OPERATION).await?;
    let row: Value = serde_json::from_str(&row).map_err(|error| Error::Backend(error.to_string()))?;
    let metadata = &row["metadata"];
    let modified = metadata["lastModified"].as_str();
    let result = CopyObjectResult {
        e_tag: metadata["eTag"].as_str().map(etag),
        last_modified: modified.and_then(|time| Timestamp::parse(TimestampFormat::DateTime, time).ok()),
        ..CopyObjectResult::default()
    };
    Ok(S3Response::new(CopyObjectOutput {
        copy_object_result: Some(result),
        copy_source_version_id: version.map(|_| original.version_id().to_string()),
        version_id: written.version.map(|version| version.to_string()),
        ..CopyObjectOutput::default()
    }))
}

pub(super) async fn part(
    context: &Context,
    call: &Call,
    input: UploadPartCopyInput,
) -> S3Result<S3Response<UploadPartCopyOutput>> {
    const OPERATION: &str = "storage.s3.upload.part_copy";
    let source = source(call)?;
    let object = find(context, call, (&source.bucket, &source.key), source.version, OPERATION).await?;
    check(call, &object)?;
    let range = match call.headers.get(SOURCE_RANGE) {
        Some(requested) => range_within(requested.to_str().unwrap_or_default(), object.size)?,
        None => 0..object.size,
    };
    let name = (&*input.bucket, &*input.key);
    let number = u64::try_from(input.part_number).unwrap_or_default();
    let room = parts::admit(
        context,
        call,
        name,
        (&input.upload_id, number),
        Some(range.end - range.start),
        OPERATION,
    );
    let (upload, limit) = room.await?;
    let bytes = context.store.blobs.backend.read(object.version, range, object.size).await?;
    let stored = upload::store(&context.store, Box::pin(bytes.into_bytes_stream()), limit.room).await?;
    crate::multipart::note(&context.store, &call.caller, &upload, (number, &stored, limit.whole), OPERATION)
        .await?;
    let result = CopyPartResult {
        e_tag: Some(ETag::Strong(stored.md5)),
        last_modified: Some(time::OffsetDateTime::now_utc().into()),
        ..CopyPartResult::default()
    };
    Ok(S3Response::new(UploadPartCopyOutput {
        copy_part_result: Some(result),
        copy_source_version_id: source.version.map(|_| object.version_id().to_string()),
        ..UploadPartCopyOutput::default()
    }))
}

/// Returns the range `bytes=first-last`, which has to lie within an object of `size` bytes.
///
/// Errors: `InvalidArgument`, Amazon S3's code for a range of another form and for one that does not lie within it.
fn range_within(header: &str, size: u64) -> Result<Range<u64>, S3Error> {
    let number = |digits: &str| -> Option<u64> {
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let bounds = header.strip_prefix("bytes=").and_then(|bounds| bounds.split_once('-'));
    let bounds = bounds.and_then(|(first, last)| number(first).zip(number(last)));
    match bounds.filter(|(first, last)| first <= last) {
        Some((first, last)) if last < size => Ok(first..last + 1),
        Some(_) => Err(s3s::s3_error!(
            InvalidArgument,
            "Range specified is not valid for source object of size: {size}"
        )),
        None => Err(s3s::s3_error!(
            InvalidArgument,
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the \
             zero-based offsets of the first and last bytes to copy"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_source_lies_within_it() {
        assert_eq!(range_within("bytes=0-9", 10).unwrap(), 0..10);
        assert_eq!(range_within("bytes=3-3", 10).unwrap(), 3..4);
        for header in
            ["bytes=0-10", "bytes=0-99999999999999999999999", "bytes=5-", "bytes=-5", "bytes=4-3", "0-3"]
                .into_iter()
                .chain(["bytes=+1-2", "bytes=a-b", "bytes=0-1,3-4", ""])
        {
            let refused = range_within(header, 10).unwrap_err();
            assert_eq!(refused.code().as_str(), "InvalidArgument", "{header}");
        }
    }
}
