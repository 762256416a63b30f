//! The certificate of the port of the database: the operator's, else that of HTTPS, else one that the first start makes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acme::Certificates;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::error::Error;
use crate::settings::Settings;

/// The files of the certificate that the first start makes, in the data folder.
const CERTIFICATE: &str = "database-certificate.pem";
const KEY: &str = "database-key.pem";

/// The operator's certificate for the port, whose files may change.
#[derive(Clone)]
pub(crate) struct OwnCertificate {
    pub(crate) chain: PathBuf,
    key: PathBuf,
    /// What connections are encrypted with.
    pub(crate) current: Arc<Certificates>,
}

impl OwnCertificate {
    /// Returns the certificate that `settings` name; `None` if they name none.
    ///
    /// Errors: with the file that cannot be used.
    pub(super) fn read(settings: &Settings) -> Result<Option<Self>, Error> {
        let database = &settings.database;
        match (&database.certificate, &database.private_key) {
            (Some(chain), Some(key)) => {
                let (chain, key) = (chain.clone(), key.clone());
                let current = load(&chain, &key)?;
                Ok(Some(Self { chain, key, current }))
            }
            (None, None) => Ok(None),
            _ => {
                let advice = "set basalt.database.certificate and basalt.database.private_key, or neither";
                Err(Error::Advice(advice.to_owned()))
            }
        }
    }

    /// Follows the files, and never returns.
    pub(super) async fn keep(&self) {
        acme::keep_own("the database", &self.chain, &self.key, &self.current).await;
    }
}

/// Returns what encrypts connections: with the operator's certificate if there is one, else with that of `https`, once it
/// is there, else with one of the server's own.
///
/// Errors: if the server's own cannot be made or read.
pub(super) fn acceptor(
    settings: &Settings,
    operators: Option<&OwnCertificate>,
    https: Option<Arc<Certificates>>,
) -> Result<TlsAcceptor, Error> {
    let resolver: Arc<dyn ResolvesServerCert> = match operators {
        Some(operators) => Arc::clone(&operators.current) as _,
        None => {
            let (chain, key) = own(settings)?;
            Arc::new(Resolver { https, own: load(&chain, &key)? })
        }
    };
    let config = ServerConfig::builder().with_no_client_auth().with_cert_resolver(resolver);
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn load(chain: &Path, key: &Path) -> Result<Arc<Certificates>, Error> {
    let certificates = Certificates::default();
    certificates.replace(acme::load_own(chain, key).map_err(Error::Advice)?);
    Ok(Arc::new(certificates))
}

/// Chooses the certificate of HTTPS if there is one.
#[derive(Debug)]
struct Resolver {
    https: Option<Arc<Certificates>>,
    own: Arc<Certificates>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let https = self.https.as_ref().filter(|https| https.validity().is_some());
        https.unwrap_or(&self.own).resolve(hello)
    }
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
