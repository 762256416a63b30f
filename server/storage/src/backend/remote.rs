//! The store in an S3 bucket, of any service that supports Amazon's protocol.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, RetryConfig};
use reqwest::Client;

use crate::error::Error;
use crate::settings::S3Settings;

/// The smallest part of an upload in parts that S3 takes, in bytes.
pub(super) const SMALLEST_PART: usize = 5 << 20;
/// The largest object that S3 copies in one request, in bytes.
pub(super) const LARGEST_COPY: u64 = 5 << 30;

/// The prefix of all keys.
const PREFIX: &str = "basalt";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a request is repeated that the store could not respond to, and for how long.
const MAX_RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the store. Does not connect yet.
///
/// Errors: [`Error::Backend`] when a setting is missing or cannot be used.
pub(super) fn open(settings: &S3Settings) -> Result<Arc<dyn ObjectStore>, Error> {
    if settings.bucket.is_empty() {
        return Err(Error::Backend("STORAGE_BACKEND=s3 needs STORAGE_S3_BUCKET".to_owned()));
    }
    let mut builder = if settings.access_key_id.is_empty() {
        AmazonS3Builder::from_env()
    } else {
        AmazonS3Builder::new()
            .with_access_key_id(&settings.access_key_id)
            .with_secret_access_key(settings.secret_access_key.expose())
    };
    if !settings.session_token.is_empty() {
        builder = builder.with_token(settings.session_token.expose());
    }
    if !settings.endpoint.is_empty() {
        builder = builder.with_endpoint(settings.endpoint.trim_end_matches('/'));
    }
    let store = builder
        .with_bucket_name(&settings.bucket)
        .with_region(&settings.region)
        .with_virtual_hosted_style_request(!settings.force_path_style)
        .with_allow_http(settings.endpoint.starts_with("http://"))
        .with_retry(RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        })
        .with_http_connector(Connector(client(settings)?))
        .build()?;
    Ok(Arc::new(PrefixStore::new(store, PREFIX)))
}

/// Gives the store an HTTP client with this program's TLS.
#[derive(Debug)]
struct Connector(Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

/// Returns a client that trusts the machine's certificate authorities.
fn client(settings: &S3Settings) -> Result<Client, Error> {
    Client::builder()
        .tls_backend_preconfigured(tls::client_config().map_err(Error::Backend)?)
        .user_agent(concat!("basalt/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(Duration::from_millis(settings.client_timeout_ms))
        .build()
        .map_err(|error| Error::Backend(format!("no HTTP client: {error}")))
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
