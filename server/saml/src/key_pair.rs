//! The service provider's RSA key and the certificate with which identity providers receive it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::core::algorithm;
use bergshamra::crypto::sign;
use bergshamra::{DsigContext, Key, KeysManager, SoftwareKey};
use pkcs1::RsaPrivateKey;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::Version;
use x509_cert::der::asn1::{
    Any, BitString, GeneralizedTime, Ia5String, Null, ObjectIdentifier, OctetString, SetOfVec, UtcTime,
};
use x509_cert::der::{self, DateTime, Decode, Encode, Tag};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{KeyUsage, KeyUsages, SubjectAltName};
use x509_cert::name::{RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};
use x509_cert::{Certificate, TbsCertificate};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const SHA256_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");

/// The minimum number of bits of a modulus.
const MIN_BITS: usize = 2048;
/// The only accepted public exponent.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// Why a key cannot be used: a sentence for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidKey(String);

/// An RSA key and its certificate.
pub struct KeyPair {
    key: Key,
    /// The same key, in the type that signatures and decryption need.
    private: SoftwareKey,
    /// DER in base64.
    certificate: String,
}

impl KeyPair {
    /// Reads a private key, PKCS#1 DER in base64, and creates the certificate of the key and `host`. The certificate is
    /// byte for byte the one that Supabase Auth creates from them, so that identity providers that have stored it
    /// recognize the service; `decrypts` says whether it also allows encryption.
    ///
    /// Errors: [`InvalidKey`].
    pub fn new(private_key: &str, host: &str, decrypts: bool) -> Result<Self, InvalidKey> {
        let expected = format!(
            "expected an RSA key of at least {MIN_BITS} bits with exponent 65537, as PKCS#1 DER in base64 \
             (openssl genrsa -traditional {MIN_BITS} | openssl rsa -traditional -outform DER | base64 -w0)"
        );
        let wrong = |found: &str| InvalidKey(format!("{expected}, found {found}"));
        let der = STANDARD.decode(private_key).map_err(|_| wrong("no base64"))?;
        let parsed = RsaPrivateKey::from_der(&der).map_err(|_| wrong("no PKCS#1 key"))?;
        if parsed.public_exponent.as_bytes() != EXPONENT {
            return Err(wrong("another exponent"));
        }
        let bits = parsed.modulus.as_bytes().len() * 8
            - parsed.modulus.as_bytes().first().map_or(0, |byte| byte.leading_zeros() as usize);
        if bits < MIN_BITS {
            return Err(wrong(&format!("{bits} bits")));
        }
        let key = load(&der).map_err(|error| wrong(&format!("a key that cannot be used ({error})")))?;
        let private = key.software_key().map_err(|error| wrong(&error.to_string()))?;
        let private = private.ok_or_else(|| wrong("a key that cannot sign"))?;
        let public = key.to_spki_der().ok_or_else(|| wrong("a key without its public half"))?;
        let certificate = certify(&private, &public, host, decrypts)
            .map_err(|error| InvalidKey(format!("no certificate can be made of the key: {error}")))?;
        Ok(Self { key, private, certificate: STANDARD.encode(certificate) })
    }

    /// Returns the certificate, DER in base64.
    pub(super) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns the private key.
    pub(super) fn private_key(&self) -> &SoftwareKey {
        &self.private
    }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256.
    pub(super) fn sign(&self, data: &[u8]) -> Result<Vec<u8>, bergshamra::Error> {
        sign::from_uri(algorithm::RSA_SHA256)?.sign(&self.private, data)
    }

    /// Returns the document `template` with its signature filled in.
    pub(super) fn sign_document(&self, template: &str) -> Result<String, bergshamra::Error> {
        let mut keys = KeysManager::new();
        keys.add_key(self.key.clone());
        bergshamra::sign(&DsigContext::new(keys), template)
    }
}

/// Loads a key in PKCS#1 DER, which the library reads only as PEM.
fn load(der: &[u8]) -> Result<Key, bergshamra::Error> {
    let mut pem = "-----BEGIN RSA PRIVATE KEY-----\n".to_owned();
    let text = STANDARD.encode(der);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem.push_str("-----END RSA PRIVATE KEY-----\n");
    bergshamra::keys::loader::load_rsa_private_pem(pem.as_bytes())
}

/// Returns a self-signed certificate of the key. Identity providers only use its key; the other fields are upstream's.
fn certify(
    key: &SoftwareKey,
    public: &[u8],
    host: &str,
    decrypts: bool,
) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let name = common_name(&format!("SAML 2.0 Certificate for {host}"))?;
    let sha256_with_rsa =
        AlgorithmIdentifierOwned { oid: SHA256_WITH_RSA, parameters: Some(Any::from(Null)) };
    let mut usages = KeyUsages::DigitalSignature.into();
    if decrypts {
        usages |= KeyUsages::DataEncipherment;
    }
    let names = vec![GeneralName::DnsName(Ia5String::new(&format!("_samlsp.{host}"))?)];
    let tbs_certificate = TbsCertificate {
        version: Version::V3,
        serial_number: SerialNumber::new(&[0])?,
        signature: sha256_with_rsa.clone(),
        issuer: name.clone(),
        validity: Validity {
            not_before: Time::UtcTime(UtcTime::from_unix_duration(Duration::ZERO)?),
            not_after: Time::GeneralTime(GeneralizedTime::from_date_time(DateTime::new(
                2170, 1, 1, 0, 0, 0,
            )?)),
        },
        subject: name,
        subject_public_key_info: SubjectPublicKeyInfoOwned::from_der(public)?,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: Some(vec![
            extension(KEY_USAGE, true, &KeyUsage(usages))?,
            extension(SUBJECT_ALT_NAME, false, &SubjectAltName(names))?,
        ]),
    };
    let signature = sign::from_uri(algorithm::RSA_SHA256)?.sign(key, &tbs_certificate.to_der()?)?;
    let certificate = Certificate {
        tbs_certificate,
        signature_algorithm: sha256_with_rsa,
        signature: BitString::from_bytes(&signature)?,
    };
    Ok(certificate.to_der()?)
}

fn common_name(text: &str) -> der::Result<RdnSequence> {
    let printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let tag = if text.bytes().all(printable) { Tag::PrintableString } else { Tag::Utf8String };
    let attribute = AttributeTypeAndValue { oid: COMMON_NAME, value: Any::new(tag, text.as_bytes())? };
    Ok(RdnSequence(vec![RelativeDistinguishedName::from(SetOfVec::try_from(vec![attribute])?)]))
}

fn extension(extn_id: ObjectIdentifier, critical: bool, value: &impl Encode) -> der::Result<Extension> {
    Ok(Extension { extn_id, critical, extn_value: OctetString::new(value.to_der()?)? })
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use sha2::{Digest, Sha256};

    use super::*;

    /// A key that was generated for tests and protects nothing.
    const KEY: &str = include_str!("../tests/service_provider.b64");

    #[test]
    fn the_certificate_is_the_one_that_upstream_makes() {
        // The output of Go's crypto/x509 for upstream's template with the same key and host.
        for (decrypts, expected) in [
            (false, "5d5e1a5134d3ee17c96d26309dff11c7feca82843268673656517a53c30c15d3"),
            (true, "6a44034d241c706058c0650ba6acf0e019b76928581f683e99c910224905ad8f"),
        ] {
            let pair = KeyPair::new(KEY, "project.example", decrypts).unwrap();
            let der = STANDARD.decode(pair.certificate()).unwrap();
            assert_eq!(HEXLOWER.encode(&Sha256::digest(&der)), expected);
        }
    }

    #[test]
    fn a_host_that_is_not_a_printable_string_is_certified_too() {
        assert!(KeyPair::new(KEY, "my_host", false).is_ok());
    }
}
