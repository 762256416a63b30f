//! The HTTP client of the ACME server.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use reqwest::Client;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A client with the machine's certificate authorities and those of a file.
pub(crate) struct Directory(Client);

impl Directory {
    /// Makes a client that also trusts the certificate authorities in the file `root`.
    ///
    /// Errors: a sentence if the file cannot be read.
    pub(crate) fn new(root: Option<&Path>) -> Result<Self, String> {
        let more = match root {
            None => Vec::new(),
            Some(path) => CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|error| format!("{} cannot be used: {error}", path.display()))?,
        };
        let client = Client::builder().tls_backend_preconfigured(tls::client_config_with(more)?);
        client.timeout(LIMIT).build().map(Self).map_err(tls::describe)
    }
}

impl HttpClient for Directory {
    fn request(
        &self,
        request: http::Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                Err(never) => match never {},
            };
            let sent = client
                .request(parts.method, parts.uri.to_string())
                .headers(parts.headers)
                .body(body)
                .send()
                .await;
            let failed = |error| Error::Other(tls::describe(error).into());
            let mut response = sent.map_err(failed)?;
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            let body = response.bytes().await.map_err(failed)?;
            let mut answer = http::Response::new(Full::new(body));
            (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
            Ok(answer.into())
        })
    }
}
