//! A certificate with its key, and how long it is valid.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode as _;
use x509_cert::time::{Time, Validity};

/// A certificate with its chain and its key.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub(crate) key: Arc<CertifiedKey>,
    /// Since when it is valid, in seconds since 1970.
    pub(crate) begin: i64,
    /// Until when it is valid, in seconds since 1970.
    pub(crate) end: i64,
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
        let validity = validity(first).map_err(|reason| format!("the certificate: {reason}"))?;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| format!("the key: {error}"))?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| error.to_string())?;
        let [begin, end] = [validity.not_before, validity.not_after].map(seconds);
        Ok(Self { key: Arc::new(key), begin, end })
    }
}

fn validity(certificate: &CertificateDer<'_>) -> Result<Validity, String> {
    let certificate = x509_cert::Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    Ok(certificate.tbs_certificate.validity)
}

fn seconds(time: Time) -> i64 {
    time.to_unix_duration().as_secs().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_says_how_long_it_is_valid() {
        let mut parameters = rcgen::CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2030, 3, 16);
        parameters.not_after = rcgen::date_time_ymd(2030, 3, 17);
        let key = rcgen::KeyPair::generate().unwrap();
        let chain = parameters.self_signed(&key).unwrap().pem();
        let certificate = Certificate::from_pem(&chain, &key.serialize_pem()).unwrap();
        assert_eq!(certificate.begin..certificate.end, 1_899_849_600..1_899_936_000);
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        Certificate::from_pem(&chain, &other).unwrap_err();
        assert!(Certificate::from_pem("no certificate", &other).unwrap_err().contains("no certificate"));
    }
}
