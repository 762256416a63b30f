//! Opens a bucket of an S3 store, of any service that supports Amazon's protocol, with this program's TLS.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, RetryConfig};
use reqwest::Client;
use settings::Secret;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a request is repeated that the store could not respond to, and for how long.
const MAX_RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// A bucket of an S3 store, and how it is reached.
#[derive(Debug, Clone, Default)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// The beginning of all keys, without a slash at its end; may be empty.
    pub prefix: String,
    /// The store's URL; empty for Amazon's.
    pub endpoint: String,
    /// Its region.
    pub region: String,
    /// Whether the bucket's name is in the path of URLs and not in their host.
    pub is_in_path: bool,
    /// The access key; empty for the default AWS credentials.
    pub access_key_id: String,
    /// The access key's secret.
    pub secret_access_key: Secret,
    /// The token of temporary credentials; empty without one.
    pub session_token: Secret,
    /// How long to wait for the store's response, and for each further piece of it.
    pub timeout: Duration,
}

/// Returns the store of `bucket`. Does not connect yet.
///
/// Errors: a sentence that says what cannot be used.
pub fn open(bucket: &Bucket) -> Result<Arc<dyn ObjectStore>, String> {
    let mut builder = if bucket.access_key_id.is_empty() {
        AmazonS3Builder::from_env()
    } else {
        AmazonS3Builder::new()
            .with_access_key_id(&bucket.access_key_id)
            .with_secret_access_key(bucket.secret_access_key.expose())
    };
    if !bucket.session_token.is_empty() {
        builder = builder.with_token(bucket.session_token.expose());
    }
    if !bucket.endpoint.is_empty() {
        builder = builder.with_endpoint(bucket.endpoint.trim_end_matches('/'));
    }
    let store = builder
        .with_bucket_name(&bucket.name)
        .with_region(&bucket.region)
        .with_virtual_hosted_style_request(!bucket.is_in_path)
        .with_allow_http(bucket.endpoint.starts_with("http://"))
        .with_retry(RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        })
        .with_http_connector(Connector(client(bucket)?))
        .build()
        .map_err(|error| error.to_string())?;
    Ok(match bucket.prefix.is_empty() {
        true => Arc::new(store),
        false => Arc::new(PrefixStore::new(store, &*bucket.prefix)),
    })
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
fn client(bucket: &Bucket) -> Result<Client, String> {
    Client::builder()
        .tls_backend_preconfigured(tls::client_config()?)
        .user_agent(concat!("basalt/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(bucket.timeout)
        .build()
        .map_err(|error| format!("no HTTP client: {error}"))
}
