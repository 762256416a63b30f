//! Codes that users get by mail or text message.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use sha2::{Digest, Sha224, Sha256};
use subtle::ConstantTimeEq;
use tokens::Keys;

use super::pkce;
use crate::delivery::messages::OneTimeCode;
use crate::store::one_time_tokens::PendingCode;

/// Bytes of a code's hash: as many as upstream's have.
const HASH_SIZE: usize = 28;

/// Generates codes and computes what is stored of them.
///
/// The hash of a code is in the link that is sent with it, and a link is not bound to an address: wrong ones cannot be
/// counted for a user. Therefore the hash depends on a key, so that nobody can try codes by trying links.
pub(crate) struct Codes {
    keyed: Hmac<Sha256>,
}

impl Codes {
    /// Returns the codes of the project with `keys`.
    ///
    /// Errors: the key cannot be used, which does not happen.
    pub(crate) fn new(keys: &Keys) -> Result<Self, String> {
        let key = keys.derive("hashes of one-time codes");
        let keyed = Hmac::new_from_slice(key.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Self { keyed })
    }

    /// Returns a new code of `length` digits for `address`; `pkce` says whether its link will end in a code.
    pub(crate) fn generate(&self, address: &str, length: usize, pkce: bool) -> OneTimeCode {
        self.of(address, digits(length), pkce)
    }

    /// Returns `code` as the one that is sent to `address`.
    pub(crate) fn of(&self, address: &str, code: String, pkce: bool) -> OneTimeCode {
        let prefix = if pkce { pkce::PREFIX } else { "" };
        OneTimeCode { hash: format!("{prefix}{}", self.hash(address, &code)), code }
    }

    fn hash(&self, address: &str, code: &str) -> String {
        let mac = self.keyed.clone().chain_update(address).chain_update([0]).chain_update(code);
        let bytes = mac.finalize().into_bytes();
        HEXLOWER.encode(bytes.get(..HASH_SIZE).unwrap_or(&bytes))
    }

    /// Returns what may be stored of a code that was typed: this service's hash, or upstream's, which a database that
    /// comes from there may hold.
    pub(crate) fn typed(&self, address: &str, code: &str) -> Vec<String> {
        vec![self.hash(address, code), upstream_hash(address, code)]
    }
}

/// Returns a code of `length` digits.
pub(crate) fn digits(length: usize) -> String {
    let mut rng = rand::rng();
    (0..length.clamp(6, 10)).map(|_| char::from(b'0' + rng.random_range(0..10u8))).collect()
}

/// Returns what upstream stores of a code: hexadecimal SHA-224 of the address that it was sent to and the code.
fn upstream_hash(address: &str, code: &str) -> String {
    HEXLOWER.encode(&Sha224::new().chain_update(address).chain_update(code).finalize())
}

impl PendingCode {
    /// Returns whether the code with one of `hashes` is this one, and not older than `expiry`. A code that was sent for
    /// a PKCE flow may be typed, too.
    pub(crate) fn is(&self, hashes: &[String], expiry: std::time::Duration) -> bool {
        let stored = self.hash.strip_prefix(pkce::PREFIX).unwrap_or(&self.hash).as_bytes();
        let is_same = |hash: &String| {
            let hash = hash.strip_prefix(pkce::PREFIX).unwrap_or(hash);
            bool::from(stored.ct_eq(hash.as_bytes()))
        };
        !stored.is_empty() && self.is_fresh(expiry) && hashes.iter().any(is_same)
    }

    /// Returns whether it was sent within the last `expiry`.
    pub(crate) fn is_fresh(&self, expiry: std::time::Duration) -> bool {
        self.age.is_some_and(|age| age <= expiry.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn codes(secret: &str) -> Codes {
        Codes { keyed: Hmac::new_from_slice(secret.as_bytes()).unwrap() }
    }

    #[test]
    fn codes_are_digits_and_never_leave_a_trace_of_themselves() {
        let codes = codes("a");
        let code = codes.generate("ada@example.com", 8, true);
        assert!(code.code.len() == 8 && code.code.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(code.hash.starts_with("pkce_") && !code.hash.contains(&code.code));
        assert_eq!(code.hash.len(), "pkce_".len() + 56, "as long as upstream's");
        assert_ne!(codes.generate("a", 10, false).code, codes.generate("a", 10, false).code);
    }

    #[test]
    fn who_knows_the_address_and_the_code_does_not_know_the_link() {
        let hash = |secret: &str| codes(secret).of("ada@example.com", "123456".to_owned(), false).hash;
        assert_ne!(hash("a"), hash("b"));
        assert_ne!(hash("a"), upstream_hash("ada@example.com", "123456"));
        assert_ne!(codes("a").hash("a", "bc"), codes("a").hash("ab", "c"));
    }

    #[test]
    fn codes_that_upstream_has_sent_may_be_typed() {
        assert_eq!(upstream_hash("", ""), "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f");
        let hash = format!("pkce_{}", upstream_hash("ada@example.com", "123456"));
        let pending = PendingCode { hash, age: Some(1.0) };
        assert!(pending.is(&codes("a").typed("ada@example.com", "123456"), Duration::from_secs(60)));
    }

    #[test]
    fn a_code_is_good_for_its_time() {
        let codes = codes("a");
        let code = codes.of("ada@example.com", "123456".to_owned(), true);
        let pending = PendingCode { hash: code.hash.clone(), age: Some(59.0) };
        let typed = |code: &str| codes.typed("ada@example.com", code);
        assert!(pending.is(&typed("123456"), Duration::from_secs(60)));
        assert!(pending.is(&[code.hash], Duration::from_secs(60)));
        assert!(!pending.is(&typed("123457"), Duration::from_secs(60)));
        assert!(!pending.is(&typed("123456"), Duration::from_secs(58)));
        assert!(!PendingCode::default().is(&[String::new()], Duration::from_secs(60)));
    }
}
