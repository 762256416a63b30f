//! The few lines of DER (ITU-T X.690) that turn a private JWK's numbers into the documents that signers take.

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// `AlgorithmIdentifier` of an elliptic curve key: id-ecPublicKey with prime256v1 (RFC 5480, section 2.1.1).
const P256: &[u8] = &[
    0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07,
];
/// The same with secp384r1.
const P384: &[u8] = &[
    0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
    0x22,
];
/// `AlgorithmIdentifier` of Ed25519 (RFC 8410, section 3).
const ED25519: &[u8] = &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];

/// Curves whose private keys can be written.
#[derive(Clone, Copy)]
pub(crate) enum Curve {
    P256,
    P384,
}

/// PKCS #8 document of an elliptic curve private key (RFC 5915 inside RFC 5208).
pub(crate) fn elliptic_curve_key(curve: Curve, d: &[u8]) -> Vec<u8> {
    let algorithm = match curve {
        Curve::P256 => P256,
        Curve::P384 => P384,
    };
    let key = tagged(SEQUENCE, &[&integer(&[1]), &tagged(OCTET_STRING, &[d])]);
    tagged(SEQUENCE, &[&integer(&[0]), algorithm, &tagged(OCTET_STRING, &[&key])])
}

/// PKCS #8 document of an Ed25519 seed (RFC 8410, section 7).
pub(crate) fn ed25519_key(seed: &[u8]) -> Vec<u8> {
    let key = tagged(OCTET_STRING, &[seed]);
    tagged(SEQUENCE, &[&integer(&[0]), ED25519, &tagged(OCTET_STRING, &[&key])])
}

/// PKCS #1 `RSAPrivateKey` (RFC 8017, appendix A.1.2) from `n, e, d, p, q, dP, dQ, qInv`, big-endian.
pub(crate) fn rsa_key(numbers: &[Vec<u8>; 8]) -> Vec<u8> {
    let encoded: Vec<Vec<u8>> = numbers.iter().map(|number| integer(number)).collect();
    let version = integer(&[0]);
    let mut parts: Vec<&[u8]> = vec![&version];
    parts.extend(encoded.iter().map(Vec::as_slice));
    tagged(SEQUENCE, &parts)
}

/// A non-negative INTEGER in its shortest form (X.690, section 8.3.2).
fn integer(big_endian: &[u8]) -> Vec<u8> {
    let start = big_endian.iter().position(|&byte| byte != 0).unwrap_or(big_endian.len());
    let digits = &big_endian[start..];
    // A leading one bit would read as a negative number; zero needs one byte, too.
    let sign: &[u8] = if digits.first().is_none_or(|&byte| byte >= 0x80) { &[0] } else { &[] };
    tagged(INTEGER, &[sign, digits])
}

fn tagged(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len() - 1);
        out.push(0x80 | (bytes.len() - start) as u8);
        out.extend_from_slice(&bytes[start..]);
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_shortest_and_never_negative() {
        assert_eq!(integer(&[0, 0, 5]), [INTEGER, 1, 5]);
        assert_eq!(integer(&[0x80]), [INTEGER, 2, 0, 0x80]);
        assert_eq!(integer(&[0]), [INTEGER, 1, 0]);
    }

    #[test]
    fn long_lengths_state_how_many_bytes_they_take() {
        let long = tagged(OCTET_STRING, &[&[7; 300]]);
        assert_eq!(long[..4], [OCTET_STRING, 0x82, 0x01, 0x2c]);
        assert_eq!(long.len(), 304);
    }
}
