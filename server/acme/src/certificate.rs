//! A certificate with its key, and how long it is valid.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode as _;

/// A certificate with its chain and its key.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(crate) key: Arc<CertifiedKey>,
    /// Since when it is valid, in seconds since 1970.
    pub(crate) begin: u64,
    /// Until when it is valid, in seconds since 1970.
    pub(crate) end: u64,
}

impl Certificate {
    /// Reads a `chain` and a `key`, both in PEM.
    ///
    /// Errors: the reason why they cannot be used, such as a key of another certificate.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("the certificate: {error}"))?;
        let Some(first) = chain.first() else { return Err("there is no certificate in it".to_owned()) };
        let validity = x509_cert::Certificate::from_der(first)
            .map_err(|error| format!("the certificate: {error}"))?
            .tbs_certificate
            .validity;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| format!("the key: {error}"))?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| error.to_string())?;
        Ok(Self {
            key: Arc::new(key),
            begin: validity.not_before.to_unix_duration().as_secs(),
            end: validity.not_after.to_unix_duration().as_secs(),
        })
    }
}
