//! TLS of the HTTP clients, and the text of their errors.

use std::error::Error as _;
use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore, crypto};

/// Returns the configuration of a client that trusts the machine's certificate authorities (`SSL_CERT_FILE` names
/// others).
///
/// Errors: a sentence if the cryptography supports no version of TLS.
pub fn client_config() -> Result<ClientConfig, String> {
    client_config_with(Vec::new())
}

/// Does what [`client_config`] does, for a client that also trusts the certificate authorities `more`.
///
/// Errors: those of [`client_config`].
pub fn client_config_with(more: Vec<CertificateDer<'static>>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    // A machine without certificates may start, too: the client then works for http, but not for https.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(more);
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the builder of an HTTP client with [`client_config`].
///
/// Errors: those of [`client_config`].
pub fn client_builder() -> Result<ClientBuilder, String> {
    Ok(Client::builder().tls_backend_preconfigured(client_config()?))
}

/// Returns the text of an error with its causes, without the URL, whose parameters may contain a secret.
pub fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
