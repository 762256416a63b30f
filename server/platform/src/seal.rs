//! Sealed values: secrets that only this server can read, with a key that follows from its shared secret.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest as _, Sha256};
use tokens::Keys;

use crate::Error;

/// Bytes of the number that is used once (NIST SP 800-38D, section 8.2.2).
const NONCE: usize = 12;

/// Seals values with AES-256-GCM. The name of a value is bound to it, so that nobody who writes rows can exchange two.
#[derive(Clone)]
pub(crate) struct Seal(Aes256Gcm);

impl Seal {
    /// Returns the seal of the server with these `keys`. Nodes with the same shared secret have the same one.
    pub(crate) fn new(keys: &Keys) -> Self {
        let key = Sha256::digest(keys.derive("sealed values of the platform interface"));
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(<[u8; 32]>::from(key))))
    }

    /// Returns `value`, which is called `name`, sealed.
    pub(crate) fn seal(&self, value: &str, name: &str) -> Result<Vec<u8>, Error> {
        let nonce: [u8; NONCE] = rand::random();
        let payload = Payload { msg: value.as_bytes(), aad: name.as_bytes() };
        let sealed = self.0.encrypt(&Nonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Error::Internal("a secret is too long to be sealed".to_owned()))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Returns the value in `sealed`, which is in base64; `None` if it was sealed with other keys or for another name.
    pub(crate) fn open_base64(&self, sealed: &str, name: &str) -> Option<String> {
        let sealed = BASE64.decode(sealed.as_bytes()).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: name.as_bytes() };
        String::from_utf8(self.0.decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    }
}

/// Returns the SHA-256 of `value`, hexadecimal: by it, tools notice whether a secret has the value that they know.
pub(crate) fn digest(value: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_opened_under_its_name_only() {
        let keys = tokens::KeyOverrides {
            jwt_secret: Some("a secret that is longer than 32 bytes".to_owned()),
            ..Default::default()
        };
        let seal = Seal::new(&Keys::from_settings(keys).unwrap());
        let sealed = BASE64.encode(&seal.seal("hunter2", "PASSWORD").unwrap());
        assert!(!sealed.contains("hunter2"));
        assert_eq!(seal.open_base64(&sealed, "PASSWORD").as_deref(), Some("hunter2"));
        assert_eq!(seal.open_base64(&sealed, "OTHER"), None);
    }
}
