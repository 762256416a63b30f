//! The store in an S3 bucket, of any service that supports Amazon's protocol.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;

use crate::error::Error;
use crate::settings::S3Settings;

/// The smallest part of an upload in parts that S3 takes, in bytes.
pub(super) const SMALLEST_PART: usize = 5 << 20;
/// The largest object that S3 copies in one request, in bytes.
pub(super) const LARGEST_COPY: u64 = 5 << 30;

/// The prefix of all keys.
const PREFIX: &str = "basalt";

/// Returns the store. Does not connect yet.
///
/// Errors: [`Error::Backend`] when a setting is missing or cannot be used.
pub(super) fn open(settings: &S3Settings) -> Result<Arc<dyn ObjectStore>, Error> {
    if settings.bucket.is_empty() {
        return Err(Error::Backend("STORAGE_BACKEND=s3 needs STORAGE_S3_BUCKET".to_owned()));
    }
    let bucket = stores::Bucket {
        name: settings.bucket.clone(),
        prefix: PREFIX.to_owned(),
        endpoint: settings.endpoint.clone(),
        region: settings.region.clone(),
        is_in_path: settings.force_path_style,
        access_key_id: settings.access_key_id.clone(),
        secret_access_key: settings.secret_access_key.clone(),
        session_token: settings.session_token.clone(),
        timeout: Duration::from_millis(settings.client_timeout_ms),
    };
    stores::open(&bucket).map_err(Error::Backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_needs_a_bucket() {
        let error = open(&S3Settings::default()).unwrap_err();
        assert!(error.to_string().contains("STORAGE_S3_BUCKET"), "{error}");
        let settings = S3Settings {
            bucket: "objects".to_owned(),
            access_key_id: "key".to_owned(),
            ..S3Settings::default()
        };
        assert!(open(&settings).is_ok());
    }
}
