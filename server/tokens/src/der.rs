//! Encodes a private JWK's numbers as DER documents, which signers need.

use pkcs1::UintRef;
use pkcs1::der::Encode as _;
use pkcs8::der::Encode as _;
use pkcs8::der::asn1::{AnyRef, OctetStringRef};
use pkcs8::spki::AlgorithmIdentifierRef;
use pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use sec1::EcPrivateKey;

/// secp256r1 (RFC 5480, section 2.1.1.1).
pub(crate) const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// secp384r1 (same section).
pub(crate) const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
/// id-ecPublicKey (RFC 5480, section 2.1.1).
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
/// id-Ed25519 (RFC 8410, section 3).
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// Returns the PKCS #8 document of the private key `d` on `curve` (RFC 5915 inside RFC 5958).
pub(crate) fn elliptic_curve_key(curve: &ObjectIdentifier, d: &[u8]) -> pkcs8::der::Result<Vec<u8>> {
    let key = EcPrivateKey { private_key: d, parameters: None, public_key: None }.to_der()?;
    document(ELLIPTIC_CURVE, Some(curve.into()), &key)
}

/// Returns the PKCS #8 document of an Ed25519 seed (RFC 8410, section 7).
pub(crate) fn ed25519_key(seed: &[u8]) -> pkcs8::der::Result<Vec<u8>> {
    document(ED25519, None, &OctetStringRef::new(seed)?.to_der()?)
}

fn document(
    oid: ObjectIdentifier,
    parameters: Option<AnyRef<'_>>,
    key: &[u8],
) -> pkcs8::der::Result<Vec<u8>> {
    PrivateKeyInfoRef::new(AlgorithmIdentifierRef { oid, parameters }, OctetStringRef::new(key)?).to_der()
}

/// Returns the PKCS #1 `RSAPrivateKey` (RFC 8017, appendix A.1.2) of `n, e, d, p, q, dP, dQ, qInv`, big-endian.
pub(crate) fn rsa_key([n, e, d, p, q, dp, dq, qi]: &[Vec<u8>; 8]) -> pkcs1::der::Result<Vec<u8>> {
    let key = pkcs1::RsaPrivateKey {
        modulus: UintRef::new(n)?,
        public_exponent: UintRef::new(e)?,
        private_exponent: UintRef::new(d)?,
        prime1: UintRef::new(p)?,
        prime2: UintRef::new(q)?,
        exponent1: UintRef::new(dp)?,
        exponent2: UintRef::new(dq)?,
        coefficient: UintRef::new(qi)?,
        other_prime_infos: None,
    };
    key.to_der()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// Compares with the documents that openssl writes without the public part.
    #[test]
    fn documents_have_the_standard_form() {
        for (document, before, number) in [
            (ed25519_key(&[7; 32]), "302e020100300506032b657004220420", [7; 32].as_slice()),
            (
                elliptic_curve_key(&P256, &[7; 32]),
                "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420",
                &[7; 32],
            ),
            (
                elliptic_curve_key(&P384, &[7; 48]),
                "304e020100301006072a8648ce3d020106052b81040022043730350201010430",
                &[7; 48],
            ),
        ] {
            assert_eq!(HEXLOWER.encode(&document.unwrap()), before.to_owned() + &HEXLOWER.encode(number));
        }
    }

    #[test]
    fn integers_are_shortest_and_never_negative() {
        let numbers = [&[0, 0, 5][..], &[0x80], &[1], &[1], &[1], &[1], &[1], &[1]].map(<[u8]>::to_vec);
        let document = rsa_key(&numbers).unwrap();
        assert_eq!(document[..10], [0x30, 28, 2, 1, 0, 2, 1, 5, 2, 2]);
        assert_eq!(document[10..12], [0, 0x80]);
    }
}
