//! Multipart uploads: beginning, sending parts, listing, completing, giving up.

use std::io;

use futures_util::{StreamExt as _, TryStreamExt as _};
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result};

use super::list_operations::is_url;
use super::object_operations::{conditional_error, describe, etag, replaces};
use super::payload;
use super::request::Call;
use super::sigv4::encode_key;
use super::xml_errors::invalid;
use crate::bucket_rules;
use crate::context::Context;
use crate::error::Error;
use crate::multipart::{self, MAX_PART_SIZE, MAX_PARTS, Multipart, Part, UploadListing};
use crate::upload::{self, Target};

/// Entries that a list of parts or uploads shows.
const MAX_LISTED: u64 = 1000;

fn target<'a>(call: &'a Call, (bucket, key): (&'a str, &'a str), operation: &'static str) -> Target<'a> {
    Target { bucket, key, owner: call.caller.subject(), replaces: true, operation }
}

/// Finds upload `id` to an object that the caller may write.
///
/// Errors: [`Error::NoSuchUpload`], the refusal of a policy.
async fn find(
    context: &Context,
    call: &Call,
    name: (&str, &str),
    id: &str,
    operation: &'static str,
) -> Result<Multipart, Error> {
    let upload = multipart::find(&context.store.rows, name, id).await?;
    target(call, name, operation).rehearse(&context.store.rows, &call.caller, &upload.description()).await?;
    Ok(upload)
}

/// Bytes that a part may have, and all parts together.
pub(super) struct Limit {
    pub(super) room: u64,
    pub(super) whole: u64,
}

/// Finds an upload that may get a part of `announced` bytes, and says how many it may have.
///
/// Errors: [`Error::NoSuchUpload`], [`Error::EntityTooLarge`], the refusal of a policy.
pub(super) async fn admit(
    context: &Context,
    call: &Call,
    name: (&str, &str),
    (id, number): (&str, u64),
    announced: Option<u64>,
    operation: &'static str,
) -> Result<(Multipart, Limit), Error> {
    let bucket = bucket_rules::find(&context.store.rows, name.0).await?;
    let upload = find(context, call, name, id, operation).await?;
    let whole = target(call, name, operation).size_limit(&context.store, &bucket);
    let received = multipart::received_bytes(&context.store.rows, id, number).await?;
    let room = whole.saturating_sub(received).min(MAX_PART_SIZE);
    if announced.is_some_and(|length| length > room) {
        return Err(Error::EntityTooLarge);
    }
    Ok((upload, Limit { room, whole }))
}

pub(super) async fn create(
    context: &Context,
    call: &Call,
    input: CreateMultipartUploadInput,
) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
    let name = (&*input.bucket, &*input.key);
    let target = target(call, name, "storage.s3.upload.create_multipart");
    let bucket = bucket_rules::find(&context.store.rows, &input.bucket).await?;
    let mut about = describe(call);
    // The body of the request is not part of the object.
    about.content_length = None;
    target.check(&bucket, &about)?;
    target.rehearse(&context.store.rows, &call.caller, &about).await?;
    let id = multipart::create(&context.store.rows, &call.caller, &target, &about).await?;
    let output = CreateMultipartUploadOutput {
        upload_id: Some(id),
        bucket: Some(input.bucket),
        key: Some(input.key),
        ..CreateMultipartUploadOutput::default()
    };
    Ok(S3Response::new(output))
}

pub(super) async fn part(
    context: &Context,
    call: &Call,
    input: UploadPartInput,
) -> S3Result<S3Response<UploadPartOutput>> {
    const OPERATION: &str = "storage.s3.upload.part";
    let name = (&*input.bucket, &*input.key);
    let number = u64::try_from(input.part_number).unwrap_or_default();
    let admitted = admit(context, call, name, (&input.upload_id, number), call.length, OPERATION);
    let (upload, limit) = admitted.await?;
    let chunks = input.body.unwrap_or_else(|| s3s::Body::empty().into()).map_err(io::Error::other);
    let stored = upload::store(&context.store, chunks, limit.room).await?;
    multipart::note(&context.store, &call.caller, &upload, (number, &stored, limit.whole), OPERATION).await?;
    let tag = Some(ETag::Strong(stored.md5));
    Ok(S3Response::new(UploadPartOutput { e_tag: tag, ..UploadPartOutput::default() }))
}

pub(super) async fn list_parts(
    context: &Context,
    call: &Call,
    input: ListPartsInput,
) -> S3Result<S3Response<ListPartsOutput>> {
    const OPERATION: &str = "storage.s3.upload.list_parts";
    find(context, call, (&input.bucket, &input.key), &input.upload_id, OPERATION).await?;
    let requested = input.max_parts.and_then(|most| u64::try_from(most).ok()).unwrap_or(MAX_LISTED);
    let limit = if requested == 0 { MAX_LISTED } else { requested.min(MAX_LISTED) };
    let after = input.part_number_marker.as_ref().and_then(|marker| u64::try_from(*marker).ok()).unwrap_or(0);
    let mut parts = multipart::parts(&context.store.rows, &input.upload_id, after, limit + 1).await?;
    let is_truncated = parts.len() as u64 > limit;
    parts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let number = |part: &Part| PartNumber::try_from(part.number).unwrap_or_default();
    let output = ListPartsOutput {
        next_part_number_marker: parts.last().filter(|_| is_truncated).map(number),
        part_number_marker: input.part_number_marker,
        max_parts: i32::try_from(limit).ok(),
        is_truncated: Some(is_truncated),
        parts: Some(
            parts
                .iter()
                .map(|part| s3s::dto::Part {
                    part_number: Some(number(part)),
                    e_tag: Some(etag(&part.etag)),
                    size: i64::try_from(part.size).ok(),
                    last_modified: part.created_at.map(Timestamp::from),
                    ..s3s::dto::Part::default()
                })
                .collect(),
        ),
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
        ..ListPartsOutput::default()
    };
    Ok(S3Response::new(output))
}

/// Returns the parts that the client names, in its order, or all.
///
/// Errors: `InvalidPart` for one that has not come or has another tag, `InvalidPartOrder`.
fn choose_parts(known: Vec<Part>, wanted: Option<CompletedMultipartUpload>) -> Result<Vec<Part>, S3Error> {
    let Some(wanted) = wanted.and_then(|wanted| wanted.parts).filter(|parts| !parts.is_empty()) else {
        return if known.is_empty() { Err(invalid("You must specify at least one part")) } else { Ok(known) };
    };
    let mut chosen: Vec<Part> = Vec::with_capacity(wanted.len());
    for part in wanted {
        let number = part.part_number.and_then(|number| u64::try_from(number).ok());
        let found = known.iter().find(|known| Some(known.number) == number);
        let is_same = |found: &&Part| part.e_tag.as_ref().is_some_and(|tag| *tag == etag(&found.etag));
        let found = found.filter(is_same).ok_or_else(|| {
            s3s::s3_error!(
                InvalidPart,
                "Part {} has not come, or has another ETag",
                number.unwrap_or_default()
            )
        })?;
        if chosen.last().is_some_and(|last| last.number >= found.number) {
            return Err(s3s::s3_error!(InvalidPartOrder, "The list of parts was not in ascending order."));
        }
        chosen.push(found.clone());
    }
    Ok(chosen)
}

pub(super) async fn complete(
    context: &Context,
    call: &Call,
    input: CompleteMultipartUploadInput,
) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
    const OPERATION: &str = "storage.s3.upload.complete_multipart";
    let name = (&*input.bucket, &*input.key);
    let bucket = bucket_rules::find(&context.store.rows, &input.bucket).await?;
    let upload = multipart::find(&context.store.rows, name, &input.upload_id).await?;
    let target = Target { replaces: replaces(call)?, ..target(call, name, OPERATION) };
    target.check(&bucket, &upload.description())?;
    target
        .rehearse(&context.store.rows, &call.caller, &upload.description())
        .await
        .map_err(conditional_error)?;
    let known = multipart::parts(&context.store.rows, &upload.id, 0, MAX_PARTS).await?;
    let chosen = match choose_parts(known, input.multipart_upload) {
        Ok(chosen) => chosen,
        Err(refused) => {
            // The parts are removed when another request completes the upload.
            let current = multipart::find(&context.store.rows, name, &upload.id).await;
            return Err(current.err().map_or(refused, S3Error::from));
        }
    };
    let limit = target.size_limit(&context.store, &bucket);
    let versions = chosen.iter().map(|part| part.version).collect();
    let bytes = context.store.blobs.backend.stream_all(versions).boxed();
    // Hashes of the whole object; those of other types are made of the parts' hashes.
    let (bytes, verdict) = match call.header("x-amz-checksum-type") {
        Some("FULL_OBJECT") => payload::inspect(&call.headers, bytes)?,
        _ => (bytes, payload::Verdict::default()),
    };
    let whole = match upload::store(&context.store, bytes, limit).await {
        Ok(whole) => whole,
        Err(error) => {
            if let Some(refused) = verdict.take() {
                return Err(refused);
            }
            multipart::find(&context.store.rows, name, &upload.id).await?;
            // It is not the client's error that the parts cannot be read.
            return Err(match error {
                Error::InvalidContent(reason) => Error::Backend(reason).into(),
                error => error.into(),
            });
        }
    };
    let size = call.header("x-amz-mp-object-size");
    if size.is_some_and(|size| size.parse() != Ok(whole.size)) {
        context.store.blobs.discard(&[whole.version]).await;
        return Err(invalid("The parts do not have the size of x-amz-mp-object-size"));
    }
    let completed = multipart::complete(&context.store, &call.caller, &upload, &target, &whole);
    let written = completed.await.map_err(conditional_error)?;
    let output = CompleteMultipartUploadOutput {
        location: Some(format!("{}/{}", input.bucket, input.key)),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(ETag::Strong(whole.md5)),
        version_id: written.version.map(|version| version.to_string()),
        ..CompleteMultipartUploadOutput::default()
    };
    Ok(S3Response::new(output))
}

pub(super) async fn abort(
    context: &Context,
    call: &Call,
    input: AbortMultipartUploadInput,
) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
    const OPERATION: &str = "storage.s3.upload.abort_multipart";
    let upload = find(context, call, (&input.bucket, &input.key), &input.upload_id, OPERATION).await?;
    multipart::abort(&context.store, &call.caller, &upload.id, OPERATION).await?;
    Ok(S3Response::new(AbortMultipartUploadOutput::default()))
}

/// A page of uploads and of the folders that others are in.
#[derive(Default)]
struct Page {
    uploads: Vec<Multipart>,
    folders: Vec<String>,
    /// The key and the id of the last entry, if others follow.
    next: Option<(String, String)>,
}

pub(super) async fn list(
    context: &Context,
    call: &Call,
    input: ListMultipartUploadsInput,
) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
    bucket_rules::find(&context.store.rows, &input.bucket).await?;
    let limit =
        input.max_uploads.and_then(|most| u64::try_from(most).ok()).unwrap_or(MAX_LISTED).min(MAX_LISTED);
    let page = page(context, call, &input, limit).await?;
    let is_encoded = is_url(input.encoding_type.as_ref());
    let encoded = |text: String| if is_encoded { encode_key(&text) } else { text };
    let (next_key, next_id) = page.next.unzip();
    let output = ListMultipartUploadsOutput {
        is_truncated: Some(next_key.is_some()),
        next_key_marker: next_key.map(encoded),
        next_upload_id_marker: next_id,
        max_uploads: i32::try_from(limit).ok(),
        common_prefixes: Some(
            page.folders.into_iter().map(|folder| CommonPrefix { prefix: Some(encoded(folder)) }).collect(),
        ),
        uploads: Some(
            page.uploads
                .into_iter()
                .map(|upload| MultipartUpload {
                    key: Some(encoded(upload.key)),
                    upload_id: Some(upload.id),
                    initiated: upload.created_at.map(Timestamp::from),
                    storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
                    ..MultipartUpload::default()
                })
                .collect(),
        ),
        bucket: Some(input.bucket),
        prefix: input.prefix.map(encoded),
        delimiter: input.delimiter.map(encoded),
        key_marker: input.key_marker.map(encoded),
        upload_id_marker: input.upload_id_marker,
        encoding_type: input.encoding_type,
        ..ListMultipartUploadsOutput::default()
    };
    Ok(S3Response::new(output))
}

async fn page(
    context: &Context,
    call: &Call,
    input: &ListMultipartUploadsInput,
    limit: u64,
) -> Result<Page, Error> {
    let prefix = input.prefix.as_deref().unwrap_or_default();
    let delimiter = input.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty());
    let folder_of = |key: &str| {
        let delimiter = delimiter?;
        let end = key.get(prefix.len()..)?.find(delimiter)?;
        Some(key[..prefix.len() + end + delimiter.len()].to_owned())
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut after = (text(&input.key_marker), text(&input.upload_id_marker));
    let mut page = Page::default();
    // A page may end with a folder: its content has been listed with it.
    let mut folder = folder_of(&after.0).filter(|folder| *folder == after.0);
    loop {
        let listing = UploadListing { prefix, after: (&after.0, &after.1), limit: MAX_LISTED };
        let batch = multipart::list(
            &context.store.rows,
            &call.caller,
            &input.bucket,
            &listing,
            "storage.s3.upload.list_multipart",
        );
        let batch = batch.await?;
        let is_last = (batch.len() as u64) < MAX_LISTED;
        for upload in batch {
            after = (upload.key.clone(), upload.id.clone());
            if folder.as_ref().is_some_and(|folder| upload.key.starts_with(folder)) {
                continue;
            }
            if (page.uploads.len() + page.folders.len()) as u64 == limit {
                return Ok(page);
            }
            folder = folder_of(&upload.key);
            match &folder {
                Some(folder) => {
                    page.next = Some((folder.clone(), String::new()));
                    page.folders.push(folder.clone());
                }
                None => {
                    page.next = Some(after.clone());
                    page.uploads.push(upload);
                }
            }
        }
        if is_last {
            page.next = None;
            return Ok(page);
        }
    }
}
