//! The answers to challenges, which prove to an ACME server that the domains lead here.

use instant_acme::{ChallengeHandle, ChallengeType};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::CertifiedKey;
use serde::{Deserialize, Serialize};

/// The answer to a challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// HTTP-01 (RFC 8555, section 8.3): the text for a token.
    Text { token: String, text: String },
    /// TLS-ALPN-01 (RFC 8737): the digest that the certificate for a domain has.
    Handshake { domain: String, digest: Vec<u8> },
}

impl Answer {
    /// Returns the answer to `challenge`, which is of one of these two kinds.
    pub(crate) fn to(challenge: &ChallengeHandle<'_>) -> Self {
        let authorization = challenge.key_authorization();
        match challenge.r#type {
            ChallengeType::Http01 => {
                Self::Text { token: challenge.token.clone(), text: authorization.as_str().to_owned() }
            }
            _ => Self::Handshake {
                domain: challenge.identifier().to_string(),
                digest: authorization.digest().as_ref().to_vec(),
            },
        }
    }
}

/// Returns the certificate with `digest` that answers TLS-ALPN-01 for `domain`.
///
/// Errors: a sentence if it cannot be made.
pub(crate) fn certificate(domain: &str, digest: &[u8]) -> Result<CertifiedKey, String> {
    let failed = |error: rcgen::Error| format!("the answer to a challenge: {error}");
    let mut params = CertificateParams::new(vec![domain.to_owned()]).map_err(failed)?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let private = PrivateKeyDer::try_from(key.serialize_der())?;
    // rustls does not know the extension, which is critical, but does not check its own certificates either.
    let signing = ring::default_provider().key_provider.load_private_key(private);
    let signing = signing.map_err(|error| format!("the answer to a challenge: {error}"))?;
    Ok(CertifiedKey::new(vec![certificate.der().clone()], signing))
}
