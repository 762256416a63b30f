//! Public keys of authenticators (COSE: RFC 9052, section 7, and RFC 9053) and whether one has signed something: all
//! algorithms that upstream offers, so that a key registered there signs in here.

use std::collections::BTreeMap;

use p521::ecdsa::signature::Verifier;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_cbor_2::Value;

/// A key and the one algorithm that it is for.
pub(crate) enum PublicKey {
    /// The bytes in the form that the algorithm takes.
    Plain { algorithm: &'static dyn VerificationAlgorithm, bytes: Vec<u8> },
    /// On P-521, which ring does not know.
    P521(p521::ecdsa::VerifyingKey),
    /// Modulus and exponent, big-endian without zeros before them.
    Rsa { parameters: &'static RsaParameters, n: Vec<u8>, e: Vec<u8> },
}

impl PublicKey {
    /// Parses a key in COSE. `None` for text that is no key, and for an algorithm or a curve that upstream does not
    /// offer either.
    pub(crate) fn parse(cbor: &[u8]) -> Option<Self> {
        let Ok(Value::Map(members)) = serde_cbor_2::from_slice(cbor) else { return None };
        let members = Members(members);
        // Kind of key and algorithm (RFC 9052, table 4); `crv` (-1) must fit both.
        Some(match (members.number(1)?, members.number(3)?) {
            (2, -7) => plain(&ECDSA_P256_SHA256_ASN1, members.point(1)?),
            (2, -35) => plain(&ECDSA_P384_SHA384_ASN1, members.point(2)?),
            (2, -36) => Self::P521(p521::ecdsa::VerifyingKey::from_sec1_bytes(&members.point(3)?).ok()?),
            (1, -8) if members.number(-1)? == 6 => plain(&ED25519, members.bytes(-2)?.to_vec()),
            (3, algorithm) => Self::Rsa {
                parameters: rsa(algorithm)?,
                n: without_zeros(members.bytes(-1)?),
                e: without_zeros(members.bytes(-2)?),
            },
            _ => return None,
        })
    }

    /// Returns whether `signature` is the key's, of `message`.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Plain { algorithm, bytes } => {
                UnparsedPublicKey::new(*algorithm, bytes).verify(message, signature).is_ok()
            }
            Self::P521(key) => p521::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Self::Rsa { parameters, n, e } => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }
        }
    }
}

fn plain(algorithm: &'static dyn VerificationAlgorithm, bytes: Vec<u8>) -> PublicKey {
    PublicKey::Plain { algorithm, bytes }
}

/// Returns the parameters of an RSA `algorithm` (RFC 8812, table 1, and RFC 8230, table 1).
fn rsa(algorithm: i128) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        -257 => &RSA_PKCS1_2048_8192_SHA256,
        -258 => &RSA_PKCS1_2048_8192_SHA384,
        -259 => &RSA_PKCS1_2048_8192_SHA512,
        -37 => &RSA_PSS_2048_8192_SHA256,
        -38 => &RSA_PSS_2048_8192_SHA384,
        -39 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn without_zeros(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number[zeros..].to_vec()
}

/// The members of a COSE key by their labels.
struct Members(BTreeMap<Value, Value>);

impl Members {
    fn number(&self, label: i128) -> Option<i128> {
        let Value::Integer(number) = self.0.get(&Value::Integer(label))? else { return None };
        Some(*number)
    }

    fn bytes(&self, label: i128) -> Option<&[u8]> {
        let Value::Bytes(bytes) = self.0.get(&Value::Integer(label))? else { return None };
        Some(bytes)
    }

    /// Returns the point of an elliptic curve, uncompressed (SEC 1, section 2.3.3). `None` on another curve than
    /// `curve`.
    fn point(&self, curve: i128) -> Option<Vec<u8>> {
        if self.number(-1)? != curve {
            return None;
        }
        Some([&[4], self.bytes(-2)?, self.bytes(-3)?].concat())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use p521::ecdsa::signature::Signer;
    use ring::rand::SystemRandom;
    use ring::signature::{self as signing, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair};

    use super::*;

    const RSA: &str = include_str!("../../../saml/tests/service_provider.b64");

    fn cose(members: &[(i128, Value)]) -> Vec<u8> {
        let members = members.iter().map(|(label, value)| (Value::Integer(*label), value.clone()));
        serde_cbor_2::to_vec(&Value::Map(members.collect())).unwrap()
    }

    fn number(number: i128) -> Value {
        Value::Integer(number)
    }

    fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.to_vec())
    }

    /// Returns a key on an elliptic curve, from its point.
    fn on_curve(algorithm: i128, curve: i128, point: &[u8]) -> Vec<u8> {
        let (x, y) = point[1..].split_at(point.len() / 2);
        cose(&[(1, number(2)), (3, number(algorithm)), (-1, number(curve)), (-2, bytes(x)), (-3, bytes(y))])
    }

    /// Returns a key and its signature of `message`, for each algorithm that upstream offers.
    fn all(message: &[u8]) -> Vec<(i128, Vec<u8>, Vec<u8>)> {
        let random = SystemRandom::new();
        let mut all = Vec::new();
        for (algorithm, curve, kind) in [
            (-7, 1, &signing::ECDSA_P256_SHA256_ASN1_SIGNING),
            (-35, 2, &signing::ECDSA_P384_SHA384_ASN1_SIGNING),
        ] {
            let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
            let signature = pair.sign(&random, message).unwrap().as_ref().to_vec();
            all.push((algorithm, on_curve(algorithm, curve, pair.public_key().as_ref()), signature));
        }
        let pair = p521::ecdsa::SigningKey::from_slice(&[1; 66]).unwrap();
        let signature: p521::ecdsa::Signature = pair.sign(message);
        let point = pair.verifying_key().to_sec1_point(false);
        all.push((-36, on_curve(-36, 3, point.as_bytes()), signature.to_der().as_bytes().to_vec()));
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let key = [(1, number(1)), (3, number(-8)), (-1, number(6)), (-2, bytes(pair.public_key().as_ref()))];
        all.push((-8, cose(&key), pair.sign(message).as_ref().to_vec()));
        let pair = RsaKeyPair::from_der(&BASE64_STANDARD.decode(RSA.trim()).unwrap()).unwrap();
        let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
        let kinds: [(i128, &dyn signing::RsaEncoding); 6] = [
            (-257, &signing::RSA_PKCS1_SHA256),
            (-258, &signing::RSA_PKCS1_SHA384),
            (-259, &signing::RSA_PKCS1_SHA512),
            (-37, &signing::RSA_PSS_SHA256),
            (-38, &signing::RSA_PSS_SHA384),
            (-39, &signing::RSA_PSS_SHA512),
        ];
        for (algorithm, kind) in kinds {
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(kind, &random, message, &mut signature).unwrap();
            let key =
                [(1, number(3)), (3, number(algorithm)), (-1, bytes(&public.n)), (-2, bytes(&public.e))];
            all.push((algorithm, cose(&key), signature));
        }
        all
    }

    #[test]
    fn keys_of_all_algorithms_that_upstream_offers_verify_their_own_signatures_alone() {
        let all = all(b"message");
        assert_eq!(all.len(), 10);
        for (algorithm, key, signature) in &all {
            let key = PublicKey::parse(key).unwrap();
            assert!(key.verify(b"message", signature), "{algorithm}");
            assert!(!key.verify(b"massage", signature), "{algorithm}");
            for (other, _, foreign) in all.iter().filter(|(other, ..)| other != algorithm) {
                assert!(!key.verify(b"message", foreign), "{algorithm} takes one of {other}");
            }
        }
    }

    #[test]
    fn what_is_no_key_of_these_is_none() {
        let point = [4; 65];
        for key in [
            b"no key".to_vec(),
            cose(&[]),
            on_curve(-7, 2, &point),
            on_curve(-47, 8, &point),
            on_curve(-36, 3, &point),
            cose(&[(1, number(1)), (3, number(-8)), (-1, number(7)), (-2, bytes(&[0; 57]))]),
        ] {
            assert!(PublicKey::parse(&key).is_none());
        }
    }
}
