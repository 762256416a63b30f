//! Encrypted assertions (XML Encryption 1.1, as SAML uses it).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::SoftwareKey;
use bergshamra::core::algorithm;
use bergshamra::crypto::cipher;
use bergshamra::crypto::keytransport::{self, OaepParams};

use super::xml::{Element, ns};

/// AES with keys of all lengths, including modes without authentication, which most identity providers use. This is
/// safe: the signature inside is always verified, and all failures have the same response, so an attacker learns
/// nothing from them.
const CIPHERS: [&str; 6] = [
    algorithm::AES128_GCM,
    algorithm::AES192_GCM,
    algorithm::AES256_GCM,
    algorithm::AES128_CBC,
    algorithm::AES192_CBC,
    algorithm::AES256_CBC,
];

/// Returns the text of the assertion in `encrypted`, an `EncryptedAssertion`. Its key is encrypted with RSA-OAEP for
/// `key`, and is either next to the data or in its key info. RSA with PKCS#1 v1.5 padding is not accepted: an attacker
/// who can send enough messages could decrypt with it (Bleichenbacher), and this service's metadata does not offer it.
///
/// Errors: a sentence, for the log only.
pub(super) fn decrypt(encrypted: Element<'_>, key: &SoftwareKey) -> Result<String, String> {
    let data = encrypted.only(ns::ENC, "EncryptedData").ok_or("no EncryptedData")?;
    let method = data.only(ns::ENC, "EncryptionMethod").ok_or("no EncryptionMethod of the data")?;
    let name = method.attribute("Algorithm").unwrap_or_default();
    if !CIPHERS.contains(&name) {
        return Err(format!("data encrypted with {name:?}, which is not taken"));
    }
    let within = data
        .children_named(ns::DSIG, "KeyInfo")
        .flat_map(|info| info.children_named(ns::ENC, "EncryptedKey"));
    let mut last = "no EncryptedKey".to_owned();
    for encrypted_key in within.chain(encrypted.children_named(ns::ENC, "EncryptedKey")) {
        match unwrap(encrypted_key, key) {
            Ok(session_key) => return open(data, name, &session_key),
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

fn open(data: Element<'_>, name: &str, session_key: &[u8]) -> Result<String, String> {
    let cipher = cipher::from_uri(name).map_err(|error| error.to_string())?;
    if session_key.len() != cipher.key_size() {
        return Err(format!("a key of {} bytes for {name}", session_key.len()));
    }
    let plain = cipher.decrypt(session_key, &cipher_value(data)?).map_err(|error| error.to_string())?;
    String::from_utf8(plain).map_err(|_| "what was encrypted is no text".to_owned())
}

fn unwrap(encrypted_key: Element<'_>, key: &SoftwareKey) -> Result<Vec<u8>, String> {
    let method = encrypted_key.only(ns::ENC, "EncryptionMethod").ok_or("no EncryptionMethod of the key")?;
    let name = method.attribute("Algorithm").unwrap_or_default();
    if name != algorithm::RSA_OAEP && name != algorithm::RSA_OAEP_ENC11 {
        return Err(format!("a key encrypted with {name:?}, which is not taken"));
    }
    let algorithm_of = |child: Option<Element<'_>>| Some(child?.attribute("Algorithm")?.to_owned());
    let label = method.child(ns::ENC, "OAEPparams").map(|label| STANDARD.decode(label.compact_text()));
    let parameters = OaepParams {
        digest_uri: algorithm_of(method.child(ns::DSIG, "DigestMethod")),
        mgf_uri: algorithm_of(method.child(ns::ENC11, "MGF")),
        oaep_params: label.transpose().map_err(|error| error.to_string())?,
    };
    let transport =
        keytransport::from_uri_with_params(name, parameters).map_err(|error| error.to_string())?;
    transport.decrypt(key, &cipher_value(encrypted_key)?).map_err(|error| error.to_string())
}

/// Returns the encrypted bytes, which must be in the document itself.
fn cipher_value(element: Element<'_>) -> Result<Vec<u8>, String> {
    let value = element.only(ns::ENC, "CipherData").and_then(|data| data.only(ns::ENC, "CipherValue"));
    let value = value.ok_or("no CipherValue")?;
    STANDARD.decode(value.compact_text()).map_err(|error| error.to_string())
}
