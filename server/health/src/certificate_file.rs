//! Files of certificates.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use time::OffsetDateTime;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// Returns when the first certificate in the file at `path` ends, which is the server's own in a chain.
///
/// Errors: a sentence with the path.
pub fn end_of_certificate(path: &Path) -> Result<OffsetDateTime, String> {
    let unreadable = |reason: String| format!("the certificate {} cannot be read: {reason}", path.display());
    let first = CertificateDer::from_pem_file(path).map_err(|error| unreadable(error.to_string()))?;
    let certificate = Certificate::from_der(&first).map_err(|error| unreadable(error.to_string()))?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    Ok(OffsetDateTime::UNIX_EPOCH + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("certificate.pem");
        let mut parameters = rcgen::CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
        let end = OffsetDateTime::from_unix_timestamp(1_900_000_000).unwrap();
        parameters.not_after = end;
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&path, parameters.self_signed(&key).unwrap().pem()).unwrap();
        assert_eq!(end_of_certificate(&path), Ok(end));
        std::fs::write(&path, "no certificate").unwrap();
        assert!(end_of_certificate(&path).unwrap_err().contains("certificate.pem cannot be read"));
    }
}
