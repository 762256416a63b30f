//! TLS of the HTTP clients: which servers they trust.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto};

/// Returns the configuration of a client that trusts the machine's certificate authorities (`SSL_CERT_FILE` names others).
///
/// Errors: a sentence if the cryptography has none of TLS' versions.
pub fn client_config() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    // Without any certificate the client works still, for http and for nobody's https: a bare machine may start.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
