//! Operations on lifecycles of buckets.

use poem::http::StatusCode;
use s3s::dto::*;
use s3s::{S3Error, S3Response, S3Result};

use super::request::Call;
use super::xml_errors::{not_implemented, refusal};
use crate::buckets::lifecycle::{self, Configuration, Refused, Rule};
use crate::context::Context;

pub(super) async fn get(
    context: &Context,
    call: &Call,
    input: GetBucketLifecycleConfigurationInput,
) -> S3Result<S3Response<GetBucketLifecycleConfigurationOutput>> {
    let operation = "storage.s3.bucket.get_lifecycle";
    let configuration = lifecycle::get(&context.store.rows, &call.caller, &input.bucket, operation).await?;
    Ok(S3Response::new(GetBucketLifecycleConfigurationOutput {
        rules: Some(configuration.rules.into_iter().map(to_s3).collect()),
        ..GetBucketLifecycleConfigurationOutput::default()
    }))
}

pub(super) async fn put(
    context: &Context,
    call: &Call,
    input: PutBucketLifecycleConfigurationInput,
) -> S3Result<S3Response<PutBucketLifecycleConfigurationOutput>> {
    let operation = "storage.s3.bucket.put_lifecycle";
    let rules = input.lifecycle_configuration.unwrap_or_default().rules;
    let mut read = Vec::with_capacity(rules.len());
    for (index, rule) in rules.into_iter().enumerate() {
        read.push(of_s3(index + 1, rule)?);
    }
    let configuration = Configuration::of_rules(read.into_iter().map(Ok)).map_err(refused)?;
    lifecycle::put(&context.store.rows, &call.caller, &input.bucket, &configuration, operation).await?;
    Ok(S3Response::new(PutBucketLifecycleConfigurationOutput::default()))
}

pub(super) async fn delete(
    context: &Context,
    call: &Call,
    input: DeleteBucketLifecycleInput,
) -> S3Result<S3Response<DeleteBucketLifecycleOutput>> {
    lifecycle::delete(&context.store.rows, &call.caller, &input.bucket, "storage.s3.bucket.delete_lifecycle")
        .await?;
    Ok(S3Response::new(DeleteBucketLifecycleOutput::default()))
}

fn refused(Refused { code, words }: Refused) -> S3Error {
    refusal(StatusCode::BAD_REQUEST, code, words)
}

/// Reads rule `number` of a configuration.
///
/// Errors: `NotImplemented` for what would not be carried out: rules for some of the objects, and for current ones.
fn of_s3(number: usize, rule: LifecycleRule) -> Result<Rule, S3Error> {
    let has_prefix = rule.prefix.is_some_and(|prefix| !prefix.is_empty());
    let has_filter = rule.filter.is_some_and(|filter| {
        filter.prefix.is_some_and(|prefix| !prefix.is_empty())
            || filter.and.is_some()
            || filter.tag.is_some()
            || filter.object_size_greater_than.is_some()
            || filter.object_size_less_than.is_some()
    });
    let (status, id) = (rule.status.as_str().to_owned(), rule.id.unwrap_or_default());
    for (is_there, name) in [
        (has_prefix || has_filter, "Filter"),
        (rule.expiration.is_some(), "Expiration"),
        (rule.transitions.is_some(), "Transition"),
        (rule.noncurrent_version_transitions.is_some(), "NoncurrentVersionTransition"),
        (rule.abort_incomplete_multipart_upload.is_some(), "AbortIncompleteMultipartUpload"),
    ] {
        if is_there {
            return Err(not_implemented(name));
        }
    }
    let expiration = rule.noncurrent_version_expiration.unwrap_or_default();
    let days = expiration.noncurrent_days.and_then(|days| u64::try_from(days).ok());
    let kept = expiration.newer_noncurrent_versions.map(|kept| u64::try_from(kept).unwrap_or_default());
    Rule::new(number, &id, &status, days, kept).map_err(refused)
}

fn to_s3(rule: Rule) -> LifecycleRule {
    let status = if rule.is_enabled { ExpirationStatus::ENABLED } else { ExpirationStatus::DISABLED };
    LifecycleRule {
        id: Some(rule.id),
        status: ExpirationStatus::from_static(status),
        filter: Some(LifecycleRuleFilter::default()),
        noncurrent_version_expiration: Some(NoncurrentVersionExpiration {
            noncurrent_days: i32::try_from(rule.days).ok(),
            newer_noncurrent_versions: rule.kept.and_then(|kept| i32::try_from(kept).ok()),
        }),
        abort_incomplete_multipart_upload: None,
        expiration: None,
        noncurrent_version_transitions: None,
        prefix: None,
        transitions: None,
    }
}
