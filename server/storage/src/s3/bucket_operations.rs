//! Operations on buckets.

use poem::http::header::LOCATION;
use poem::http::{HeaderValue, StatusCode};
use s3s::dto::*;
use s3s::{S3Response, S3Result};
use serde::Deserialize;
use time::OffsetDateTime;

use super::request::Call;
use super::sigv4::encode_key;
use super::xml_errors::{not_implemented, refusal};
use crate::buckets::{self, Changes, Limits, Listing, NewBucket, Versioning};
use crate::context::Context;
use crate::error::Error;

/// A bucket as the list of buckets has it.
#[derive(Deserialize)]
struct BucketEntry {
    name: String,
    #[serde(with = "time::serde::rfc3339::option", default)]
    created_at: Option<OffsetDateTime>,
}

pub(super) async fn list(
    context: &Context,
    call: &Call,
    input: ListBucketsInput,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let listing = Listing { column: Some("name"), ..Listing::default() };
    let json = buckets::list(&context.store.rows, &call.caller, &listing, "storage.s3.bucket.list").await?;
    let mut listed: Vec<BucketEntry> =
        serde_json::from_str(&json).map_err(|error| Error::Backend(error.to_string()))?;
    // The database orders names by the rules of a language; pages need a strict order by bytes.
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    let prefix = input.prefix.clone().unwrap_or_default();
    let after = input.continuation_token.unwrap_or_default();
    listed.retain(|bucket| bucket.name.starts_with(&prefix) && bucket.name > after);
    let most = input.max_buckets.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let is_truncated = listed.len() > most;
    listed.truncate(most);
    let output = ListBucketsOutput {
        continuation_token: listed.last().filter(|_| is_truncated).map(|bucket| bucket.name.clone()),
        prefix: input.prefix,
        buckets: Some(
            listed
                .into_iter()
                .map(|bucket| Bucket {
                    name: Some(bucket.name),
                    creation_date: bucket.created_at.map(Timestamp::from),
                    ..Bucket::default()
                })
                .collect(),
        ),
        ..ListBucketsOutput::default()
    };
    Ok(S3Response::new(output))
}

pub(super) async fn create(
    context: &Context,
    call: &Call,
    input: CreateBucketInput,
) -> S3Result<S3Response<CreateBucketOutput>> {
    let new = NewBucket {
        id: &input.bucket,
        name: &input.bucket,
        is_public: call.header("x-amz-acl") == Some("public-read"),
        versioning: Versioning::default(),
        limits: Limits::default(),
    };
    buckets::create(&context.store, &call.caller, &new, "storage.s3.bucket.create").await?;
    let mut response = S3Response::new(CreateBucketOutput::default());
    if let Ok(location) = HeaderValue::from_str(&format!("/{}", encode_key(&input.bucket))) {
        response.headers.insert(LOCATION, location);
    }
    Ok(response)
}

pub(super) async fn head(
    context: &Context,
    call: &Call,
    input: HeadBucketInput,
) -> S3Result<S3Response<HeadBucketOutput>> {
    buckets::get(&context.store.rows, &call.caller, &input.bucket, false, "storage.s3.bucket.head").await?;
    let region = context.access_keys.region.clone();
    Ok(S3Response::new(HeadBucketOutput { bucket_region: Some(region), ..HeadBucketOutput::default() }))
}

pub(super) async fn delete(
    context: &Context,
    call: &Call,
    input: DeleteBucketInput,
) -> S3Result<S3Response<DeleteBucketOutput>> {
    buckets::delete(&context.store.rows, &call.caller, &input.bucket, "storage.s3.bucket.delete").await?;
    Ok(S3Response::new(DeleteBucketOutput::default()))
}

pub(super) async fn location(
    context: &Context,
    call: &Call,
    input: GetBucketLocationInput,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    buckets::get(&context.store.rows, &call.caller, &input.bucket, false, "storage.s3.bucket.get_location")
        .await?;
    let region = BucketLocationConstraint::from(context.access_keys.region.clone());
    Ok(S3Response::new(GetBucketLocationOutput { location_constraint: Some(region) }))
}

/// Says whether the bucket keeps versions. As upstream, one that never has is said to be suspended.
pub(super) async fn versioning(
    context: &Context,
    call: &Call,
    input: GetBucketVersioningInput,
) -> S3Result<S3Response<GetBucketVersioningOutput>> {
    let operation = "storage.s3.bucket.get_versioning";
    let status = match buckets::status(&context.store.rows, &call.caller, &input.bucket, operation).await? {
        Versioning::Enabled => BucketVersioningStatus::ENABLED,
        Versioning::Disabled | Versioning::Suspended => BucketVersioningStatus::SUSPENDED,
    };
    Ok(S3Response::new(GetBucketVersioningOutput {
        status: Some(BucketVersioningStatus::from_static(status)),
        ..GetBucketVersioningOutput::default()
    }))
}

/// Lets the bucket keep versions, or no longer.
pub(super) async fn set_versioning(
    context: &Context,
    call: &Call,
    input: PutBucketVersioningInput,
) -> S3Result<S3Response<PutBucketVersioningOutput>> {
    const OPERATION: &str = "storage.s3.bucket.put_versioning";
    let wanted = input.versioning_configuration;
    if wanted.mfa_delete.is_some_and(|delete| delete.as_str() == MFADelete::ENABLED) {
        return Err(not_implemented("MfaDelete"));
    }
    let versioning = match wanted.status.as_ref().map(BucketVersioningStatus::as_str) {
        Some(BucketVersioningStatus::ENABLED) => Versioning::Enabled,
        Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
        _ => {
            return Err(refusal(
                StatusCode::BAD_REQUEST,
                "MalformedXML",
                "The status is Enabled or Suspended",
            ));
        }
    };
    let changes = Changes { versioning: Some(versioning), ..Changes::default() };
    match buckets::update(&context.store, &call.caller, &input.bucket, &changes, OPERATION).await {
        // What never was kept is said to be suspended, and stays so.
        Err(Error::InvalidValue(_)) if versioning == Versioning::Suspended => {}
        changed => changed?,
    }
    Ok(S3Response::new(PutBucketVersioningOutput::default()))
}
