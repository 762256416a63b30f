//! TLS for connections to Postgres, according to libpq's `sslmode`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Error;

/// libpq's `sslmode`. Source: PostgreSQL documentation, section 32.19.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Never encrypts.
    Disable,
    /// Encrypts if the server supports it.
    Prefer,
    /// Encrypts; checks the certificate's chain only when a root certificate is given.
    Require,
    /// Encrypts and checks the certificate's chain.
    VerifyCa,
    /// Encrypts and checks the certificate's chain and its host name.
    VerifyFull,
}

impl Mode {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            other => {
                return Err(Error::Configuration(format!(
                    "sslmode is {other:?}: expected disable, prefer, require, verify-ca or verify-full"
                )));
            }
        })
    }

    /// Returns libpq's name of the mode; `None` for [`Self::Prefer`], with which the server decides whether to encrypt.
    pub(crate) const fn strict_name(self) -> Option<&'static str> {
        match self {
            Self::Disable => Some("disable"),
            Self::Prefer => None,
            Self::Require => Some("require"),
            Self::VerifyCa => Some("verify-ca"),
            Self::VerifyFull => Some("verify-full"),
        }
    }

    /// Returns the mode of `tokio-postgres`, which only says whether to encrypt.
    pub(crate) const fn negotiation(self) -> tokio_postgres::config::SslMode {
        match self {
            Self::Disable => tokio_postgres::config::SslMode::Disable,
            Self::Prefer => tokio_postgres::config::SslMode::Prefer,
            Self::Require | Self::VerifyCa | Self::VerifyFull => tokio_postgres::config::SslMode::Require,
        }
    }
}

/// Returns the client configuration for `mode`, which trusts `root_certificate` (a PEM file, or `system`) or, if none
/// is given and one is needed, the system's certificates.
///
/// Errors: [`Error::Configuration`] for a file that cannot be read or contains no certificate.
pub(crate) fn client_config(mode: Mode, root_certificate: Option<&Path>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let check = match (mode, root_certificate) {
        (Mode::Disable | Mode::Prefer, _) | (Mode::Require, None) => Check::Nothing,
        (Mode::Require | Mode::VerifyCa, _) => Check::Chain(verifier(root_certificate, &provider)?),
        (Mode::VerifyFull, _) => Check::Full(verifier(root_certificate, &provider)?),
    };
    let verifier = Arc::new(Verifier { check, provider: Arc::clone(&provider) });
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Configuration(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn verifier(file: Option<&Path>, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    match file.filter(|file| *file != Path::new("system")) {
        Some(file) => {
            for certificate in read_certificates(file)? {
                roots.add(certificate).map_err(|error| {
                    Error::Configuration(format!("sslrootcert {}: {error}", file.display()))
                })?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().map_err(
        |error| Error::Configuration(format!("no root certificate to verify the server with: {error}")),
    )
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refuse = |error: &dyn std::fmt::Display| {
        Error::Configuration(format!("sslrootcert {}: {error}", PathBuf::from(file).display()))
    };
    CertificateDer::pem_file_iter(file)
        .map_err(|error| refuse(&error))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refuse(&error))
}

#[derive(Debug)]
enum Check {
    Nothing,
    Chain(Arc<WebPkiServerVerifier>),
    Full(Arc<WebPkiServerVerifier>),
}

/// Verifies certificates as far as `sslmode` requires it. The handshake's signatures are always verified.
#[derive(Debug)]
struct Verifier {
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verify = |inner: &WebPkiServerVerifier| {
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        match &self.check {
            Check::Nothing => Ok(ServerCertVerified::assertion()),
            Check::Full(inner) => verify(inner),
            // The chain is verified before the name, so an error about the name means that the chain is valid.
            Check::Chain(inner) => verify(inner).or_else(|error| match error {
                rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                ) => Ok(ServerCertVerified::assertion()),
                other => Err(other),
            }),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
