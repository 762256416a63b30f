//! The operations of this service. `s3s` responds to every other with `NotImplemented`.

use std::sync::Arc;

use s3s::config::{S3Config, StaticConfigProvider};
use s3s::dto::*;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::validation::NameValidation;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result};

use super::request::Call;
use super::{
    bucket_operations, copy_operations, lifecycle_operations, list_operations, multipart_operations,
    object_operations,
};
use crate::context::Context;

/// Bytes of an XML document in a request: ten thousand parts with their checksums have room.
const MAX_DOCUMENT: usize = 4 << 20;

/// Returns what routes requests to the operations of `storage` and writes their responses.
pub(crate) fn service(context: Arc<Context>) -> S3Service {
    let mut config = S3Config::default();
    config.xml_max_body_size = MAX_DOCUMENT;
    let mut builder = S3ServiceBuilder::new(Operations { context });
    builder.set_validation(AnyName);
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
    builder.build()
}

/// Names of buckets are checked where buckets are made, by rules that differ from Amazon's.
struct AnyName;

impl NameValidation for AnyName {
    fn validate_bucket_name(&self, name: &str) -> bool {
        !name.is_empty()
    }
}

struct Operations {
    context: Arc<Context>,
}

/// Returns the caller, and the parts of the request that `s3s` does not pass on.
fn call<T>(request: &S3Request<T>) -> Result<Arc<Call>, S3Error> {
    let call = request.extensions.get::<Arc<Call>>();
    call.cloned().ok_or_else(|| S3Error::new(s3s::S3ErrorCode::InternalError))
}

/// Makes the methods of the trait out of functions that take the context, the call and the operation's input.
macro_rules! operations {
    ($($name:ident: $input:ty => $output:ty = $function:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Operations {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                let call = call(&request)?;
                $function(&self.context, &call, request.input).await
            })*
        }
    };
}

operations! {
    list_buckets: ListBucketsInput => ListBucketsOutput = bucket_operations::list;
    create_bucket: CreateBucketInput => CreateBucketOutput = bucket_operations::create;
    head_bucket: HeadBucketInput => HeadBucketOutput = bucket_operations::head;
    delete_bucket: DeleteBucketInput => DeleteBucketOutput = bucket_operations::delete;
    get_bucket_location: GetBucketLocationInput => GetBucketLocationOutput = bucket_operations::location;
    get_bucket_versioning: GetBucketVersioningInput => GetBucketVersioningOutput = bucket_operations::versioning;
    put_bucket_versioning: PutBucketVersioningInput => PutBucketVersioningOutput = bucket_operations::set_versioning;
    get_bucket_lifecycle_configuration: GetBucketLifecycleConfigurationInput
        => GetBucketLifecycleConfigurationOutput = lifecycle_operations::get;
    put_bucket_lifecycle_configuration: PutBucketLifecycleConfigurationInput
        => PutBucketLifecycleConfigurationOutput = lifecycle_operations::put;
    delete_bucket_lifecycle: DeleteBucketLifecycleInput => DeleteBucketLifecycleOutput = lifecycle_operations::delete;
    list_objects: ListObjectsInput => ListObjectsOutput = list_operations::objects;
    list_object_versions: ListObjectVersionsInput => ListObjectVersionsOutput = list_operations::versions;
    list_objects_v2: ListObjectsV2Input => ListObjectsV2Output = list_operations::objects_v2;
    put_object: PutObjectInput => PutObjectOutput = object_operations::put;
    get_object: GetObjectInput => GetObjectOutput = object_operations::get;
    head_object: HeadObjectInput => HeadObjectOutput = object_operations::head;
    get_object_tagging: GetObjectTaggingInput => GetObjectTaggingOutput = object_operations::tagging;
    delete_object: DeleteObjectInput => DeleteObjectOutput = object_operations::delete;
    delete_objects: DeleteObjectsInput => DeleteObjectsOutput = object_operations::delete_many;
    copy_object: CopyObjectInput => CopyObjectOutput = copy_operations::object;
    create_multipart_upload: CreateMultipartUploadInput => CreateMultipartUploadOutput = multipart_operations::create;
    upload_part: UploadPartInput => UploadPartOutput = multipart_operations::part;
    upload_part_copy: UploadPartCopyInput => UploadPartCopyOutput = copy_operations::part;
    list_parts: ListPartsInput => ListPartsOutput = multipart_operations::list_parts;
    list_multipart_uploads: ListMultipartUploadsInput => ListMultipartUploadsOutput = multipart_operations::list;
    complete_multipart_upload: CompleteMultipartUploadInput => CompleteMultipartUploadOutput = multipart_operations::complete;
    abort_multipart_upload: AbortMultipartUploadInput => AbortMultipartUploadOutput = multipart_operations::abort;
}
