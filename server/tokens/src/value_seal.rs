//! Sealed values: secrets in the database that only this project's servers can read.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Bytes of the number that is used once (NIST SP 800-38D, section 8.2.2).
const NONCE: usize = 12;

/// Seals values of one purpose with AES-256-GCM. The name of a value is bound to it, so that nobody who writes rows can
/// exchange two.
#[derive(Clone)]
pub struct ValueSeal(Aes256Gcm);

impl std::fmt::Debug for ValueSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueSeal").finish_non_exhaustive()
    }
}

impl ValueSeal {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(secret)))
    }

    /// Returns `value`, which is called `name`, sealed; `None` if it is too long, which values of less than 64 GiB are
    /// not.
    pub fn seal(&self, value: &str, name: &str) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE] = rand::random();
        let payload = Payload { msg: value.as_bytes(), aad: name.as_bytes() };
        let sealed = self.0.encrypt(&Nonce::from(nonce), payload).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Returns the value in `sealed`, which is in base64; `None` if it was sealed with other keys or for another name.
    pub fn open_base64(&self, sealed: &str, name: &str) -> Option<String> {
        let sealed = BASE64_STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: name.as_bytes() };
        String::from_utf8(self.0.decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_opened_with_the_same_secret_and_under_its_name_only() {
        let seal = ValueSeal::new([7; 32]);
        let sealed = BASE64_STANDARD.encode(seal.seal("hunter2", "PASSWORD").unwrap());
        assert!(!sealed.contains("hunter2"));
        assert_eq!(seal.open_base64(&sealed, "PASSWORD").as_deref(), Some("hunter2"));
        assert_eq!(seal.open_base64(&sealed, "OTHER"), None);
        assert_eq!(ValueSeal::new([8; 32]).open_base64(&sealed, "PASSWORD"), None);
    }
}
