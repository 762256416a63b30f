//! Verification of signatures.

use jsonwebtoken::Algorithm;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// The lengths in bytes of moduli that ring accepts.
const MODULI: std::ops::RangeInclusive<usize> = 256..=1024;

/// A public key in ring's form; its checks are several times as fast as jsonwebtoken's.
#[derive(Clone)]
pub(crate) enum PublicNumbers {
    /// A point on P-256, uncompressed (SEC 1, section 2.3.3).
    P256(Vec<u8>),
    /// Modulus and exponent, big-endian without zeros before them.
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl PublicNumbers {
    /// Returns an RSA key; `None` for a modulus that ring does not accept.
    pub(crate) fn rsa(n: &[u8], e: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            bytes[zeros..].to_vec()
        };
        let (n, e) = (number(n), number(e));
        MODULI.contains(&n.len()).then_some(Self::Rsa { n, e })
    }

    /// Reports whether the key made `signature` of `message`; `None` for an algorithm that jsonwebtoken has to verify.
    pub(crate) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Option<bool> {
        let outcome = match (self, algorithm) {
            (Self::P256(point), Algorithm::ES256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Self::Rsa { n, e }, Algorithm::RS256 | Algorithm::RS384 | Algorithm::RS512) => {
                let parameters = match algorithm {
                    Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
                    _ => &RSA_PKCS1_2048_8192_SHA512,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            _ => return None,
        };
        Some(outcome.is_ok())
    }
}

/// The last part of a token.
#[derive(Clone, Copy)]
pub(crate) struct Signature<'a> {
    /// The signature's text in the token.
    pub(crate) text: &'a str,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}
