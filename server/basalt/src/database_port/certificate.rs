//! The certificate of the port of the database: the operator's, or one that the first start makes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;
use crate::settings::Settings;

/// The files of the certificate that the first start makes, in the data folder.
const CERTIFICATE: &str = "database-certificate.pem";
const KEY: &str = "database-key.pem";

/// Returns what encrypts connections with the certificate of `settings`.
///
/// Errors: with the file that cannot be used.
pub(super) fn acceptor(settings: &Settings) -> Result<TlsAcceptor, Error> {
    let database = &settings.database;
    let (certificate, key) = match (&database.certificate, &database.private_key) {
        (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
        (None, None) => own(settings)?,
        _ => {
            let advice = "set basalt.database.certificate and basalt.database.private_key, or neither";
            return Err(Error::Advice(advice.to_owned()));
        }
    };
    let unusable =
        |path: &Path, reason: String| Error::Advice(format!("{} cannot be used: {reason}", path.display()));
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(&certificate, error.to_string()))?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unusable(&key, error.to_string()))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| unusable(&certificate, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Returns the files of a certificate of the server's own, which is made if it is missing. Nobody has signed it: it
/// keeps others from listening, but clients cannot tell it from another one unless they have a copy.
fn own(settings: &Settings) -> Result<(PathBuf, PathBuf), Error> {
    let (certificate, key) = (settings.data_dir.join(CERTIFICATE), settings.data_dir.join(KEY));
    if certificate.exists() && key.exists() {
        return Ok((certificate, key));
    }
    let names = vec![settings.platform.project_host(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| Error::Advice(format!("no certificate can be made: {error}")))?;
    write(&key, &made.signing_key.serialize_pem())?;
    write(&certificate, &made.cert.pem())?;
    Ok((certificate, key))
}

/// Writes a file that only this user can read.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = open.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(Error::io(format!("write {}", path.display())))
}
