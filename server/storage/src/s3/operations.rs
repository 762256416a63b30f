//! The operations of this service. `s3s` answers every other with `NotImplemented`.

use std::sync::Arc;

use s3s::config::{S3Config, StaticConfigProvider};
use s3s::dto::*;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::validation::NameValidation;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result};

use super::request::Call;
use super::{buckets, copy, lifecycle, list, multipart, objects};
use crate::Storage;

/// Bytes of an XML document in a request: ten thousand parts with their checksums have room.
const MAX_DOCUMENT: usize = 4 << 20;

/// Returns what routes requests to the operations of `storage` and writes their answers.
pub(crate) fn service(storage: Storage) -> S3Service {
    let mut config = S3Config::default();
    config.xml_max_body_size = MAX_DOCUMENT;
    let mut builder = S3ServiceBuilder::new(Operations { storage });
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
    storage: Storage,
}

/// Returns the caller, and the parts of the request that `s3s` does not pass on.
fn call<T>(request: &S3Request<T>) -> Result<Arc<Call>, S3Error> {
    let call = request.extensions.get::<Arc<Call>>();
    call.cloned().ok_or_else(|| S3Error::new(s3s::S3ErrorCode::InternalError))
}

/// Makes the methods of the trait out of functions that take the storage, the call and the operation's input.
macro_rules! operations {
    ($($name:ident: $input:ty => $output:ty = $function:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Operations {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                let call = call(&request)?;
                $function(&self.storage, &call, request.input).await
            })*
        }
    };
}

operations! {
    list_buckets: ListBucketsInput => ListBucketsOutput = buckets::list;
    create_bucket: CreateBucketInput => CreateBucketOutput = buckets::create;
    head_bucket: HeadBucketInput => HeadBucketOutput = buckets::head;
    delete_bucket: DeleteBucketInput => DeleteBucketOutput = buckets::delete;
    get_bucket_location: GetBucketLocationInput => GetBucketLocationOutput = buckets::location;
    get_bucket_versioning: GetBucketVersioningInput => GetBucketVersioningOutput = buckets::versioning;
    put_bucket_versioning: PutBucketVersioningInput => PutBucketVersioningOutput = buckets::set_versioning;
    get_bucket_lifecycle_configuration: GetBucketLifecycleConfigurationInput
        => GetBucketLifecycleConfigurationOutput = lifecycle::get;
    put_bucket_lifecycle_configuration: PutBucketLifecycleConfigurationInput
        => PutBucketLifecycleConfigurationOutput = lifecycle::put;
    delete_bucket_lifecycle: DeleteBucketLifecycleInput => DeleteBucketLifecycleOutput = lifecycle::delete;
    list_objects: ListObjectsInput => ListObjectsOutput = list::objects;
    list_object_versions: ListObjectVersionsInput => ListObjectVersionsOutput = list::versions;
    list_objects_v2: ListObjectsV2Input => ListObjectsV2Output = list::objects_v2;
    put_object: PutObjectInput => PutObjectOutput = objects::put;
    get_object: GetObjectInput => GetObjectOutput = objects::get;
    head_object: HeadObjectInput => HeadObjectOutput = objects::head;
    get_object_tagging: GetObjectTaggingInput => GetObjectTaggingOutput = objects::tagging;
    delete_object: DeleteObjectInput => DeleteObjectOutput = objects::delete;
    delete_objects: DeleteObjectsInput => DeleteObjectsOutput = objects::delete_many;
    copy_object: CopyObjectInput => CopyObjectOutput = copy::object;
    create_multipart_upload: CreateMultipartUploadInput => CreateMultipartUploadOutput = multipart::create;
    upload_part: UploadPartInput => UploadPartOutput = multipart::part;
    upload_part_copy: UploadPartCopyInput => UploadPartCopyOutput = copy::part;
    list_parts: ListPartsInput => ListPartsOutput = multipart::list_parts;
    list_multipart_uploads: ListMultipartUploadsInput => ListMultipartUploadsOutput = multipart::list;
    complete_multipart_upload: CompleteMultipartUploadInput => CompleteMultipartUploadOutput = multipart::complete;
    abort_multipart_upload: AbortMultipartUploadInput => AbortMultipartUploadOutput = multipart::abort;
}
