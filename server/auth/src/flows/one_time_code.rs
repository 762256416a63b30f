//! Codes that users get by mail or text message.

use data_encoding::HEXLOWER;
use rand::RngExt;
use sha2::{Digest, Sha224};
use subtle::ConstantTimeEq;

use super::pkce;
use crate::messages::OneTimeCode;
use crate::store::one_time_tokens::PendingCode;

impl OneTimeCode {
    /// Returns a new code of `length` digits for `address`; `pkce` says whether its link will end in a code.
    pub(crate) fn generate(address: &str, length: usize, pkce: bool) -> Self {
        let mut rng = rand::rng();
        let digits = (0..length.clamp(6, 10)).map(|_| char::from(b'0' + rng.random_range(0..10u8)));
        Self::of(address, digits.collect(), pkce)
    }

    /// Makes `code` the one that is sent to `address`.
    pub(crate) fn of(address: &str, code: String, pkce: bool) -> Self {
        let prefix = if pkce { pkce::PREFIX } else { "" };
        Self { hash: format!("{prefix}{}", hash(address, &code)), code }
    }
}

/// Returns what is stored of a code: hexadecimal SHA-224 of the address that it was sent to and the code.
pub(crate) fn hash(address: &str, code: &str) -> String {
    HEXLOWER.encode(&Sha224::new().chain_update(address).chain_update(code).finalize())
}

impl PendingCode {
    /// Returns whether the code with `hash` is this one, and not older than `expiry`. A code that was sent for a PKCE
    /// flow may be typed, too.
    pub(crate) fn is(&self, hash: &str, expiry: std::time::Duration) -> bool {
        let stored = self.hash.strip_prefix(pkce::PREFIX).unwrap_or(&self.hash);
        let hash = hash.strip_prefix(pkce::PREFIX).unwrap_or(hash);
        !stored.is_empty() && self.is_fresh(expiry) && bool::from(stored.as_bytes().ct_eq(hash.as_bytes()))
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

    #[test]
    fn codes_are_digits_and_never_leave_a_trace_of_themselves() {
        let code = OneTimeCode::generate("ada@example.com", 8, true);
        assert!(code.code.len() == 8 && code.code.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(code.hash.starts_with("pkce_") && !code.hash.contains(&code.code));
        assert_ne!(OneTimeCode::generate("a", 10, false).code, OneTimeCode::generate("a", 10, false).code);
    }

    #[test]
    fn hashes_are_those_of_upstream() {
        assert_eq!(hash("", ""), "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f");
        assert_eq!(hash("a", "bc"), hash("ab", "c"));
    }

    #[test]
    fn a_code_is_good_for_its_time() {
        let code = OneTimeCode::of("ada@example.com", "123456".to_owned(), true);
        let pending = PendingCode { hash: code.hash.clone(), age: Some(59.0) };
        assert!(pending.is(&hash("ada@example.com", "123456"), Duration::from_secs(60)));
        assert!(pending.is(&code.hash, Duration::from_secs(60)));
        assert!(!pending.is(&hash("ada@example.com", "123457"), Duration::from_secs(60)));
        assert!(!pending.is(&code.hash, Duration::from_secs(58)));
        assert!(!PendingCode::default().is("", Duration::from_secs(60)));
    }
}
