//! Refresh tokens in their two formats. Neither can be forged: the first is random, the second is signed with a key
//! that only the database knows.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Error;

const LENGTH: usize = 12;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Bytes of the second format: a zero, the session's id, the counter as LEB128, the first bytes of the signature of
/// all that, and the first bytes of the SHA-256 of everything before.
const VERSION: u8 = 0;
const SIGNATURE_LENGTH: usize = 16;
const CHECKSUM_LENGTH: usize = 4;

/// A refresh token that has the form of one.
pub(crate) enum RefreshToken {
    /// Twelve lowercase letters and digits, 62 bits of entropy; a row of a table.
    Row(String),
    /// A counter with a signature.
    Counted(CountedToken),
}

/// A refresh token of the second format, whose signature is not checked yet.
pub(crate) struct CountedToken {
    pub(crate) session: Uuid,
    pub(crate) counter: i64,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl CountedToken {
    /// Returns what the signature is of.
    pub(crate) fn signed_hex(&self) -> String {
        HEXLOWER.encode(&self.signed)
    }

    pub(crate) fn signature_hex(&self) -> String {
        HEXLOWER.encode(&self.signature)
    }

    /// Returns whether the signature was made with the key of its session, in the form of [`Key::as_str`].
    pub(crate) fn is_signed_with(&self, key: &str) -> bool {
        let mac = URL_SAFE_NO_PAD.decode(key).ok().and_then(|key| Hmac::<Sha256>::new_from_slice(&key).ok());
        mac.is_some_and(|mut mac| {
            mac.update(&self.signed);
            mac.verify_truncated_left(&self.signature).is_ok()
        })
    }
}

impl RefreshToken {
    /// Returns a new token of the first format, from the operating system's randomness.
    pub(crate) fn generate() -> String {
        let mut rng = rand::rng();
        (0..LENGTH).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
    }

    /// Parses a token of either format.
    ///
    /// Errors: `validation_failed` for text that cannot be a token, without a look into the database.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            return Ok(Self::Row(text.to_owned()));
        }
        let counted = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| parse_counted(&bytes));
        counted.map(RefreshToken::Counted).ok_or_else(|| Error::validation("Refresh token is not valid"))
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken(…)")
    }
}

fn parse_counted(bytes: &[u8]) -> Option<CountedToken> {
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_LENGTH)?)?;
    if Sha256::digest(body)[..CHECKSUM_LENGTH] != *checksum {
        return None;
    }
    let (signed, signature) = body.split_at_checked(body.len().checked_sub(SIGNATURE_LENGTH)?)?;
    let (&version, rest) = signed.split_first()?;
    let (session, counter) = rest.split_at_checked(16)?;
    if version != VERSION {
        return None;
    }
    Some(CountedToken {
        session: Uuid::from_slice(session).ok()?,
        counter: read_varint(counter)?,
        signed: signed.to_vec(),
        signature: signature.to_vec(),
    })
}

/// Reads a number that fills `bytes` (LEB128); one that is too large counts as the largest.
fn read_varint(bytes: &[u8]) -> Option<i64> {
    let (last, before) = bytes.split_last()?;
    if bytes.len() > 10 || last & 0x80 != 0 || before.iter().any(|byte| byte & 0x80 == 0) {
        return None;
    }
    let number = bytes.iter().rev().fold(0_u128, |number, byte| number << 7 | u128::from(byte & 0x7f));
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}

fn write_varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The key of one session that signs its refresh tokens of the second format: 32 bytes in base64url.
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn generate() -> Self {
        Self(URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the token of the second format for `session` at `counter`, signed with `key`.
///
/// Errors: an internal error if the key is malformed; this service does not store such keys.
pub(crate) fn sign(session: Uuid, counter: i64, key: &str) -> Result<String, Error> {
    let no_key = || Error::Internal("the key of a session's refresh tokens cannot be read".to_owned());
    let key = URL_SAFE_NO_PAD.decode(key).map_err(|_| no_key())?;
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(session.as_bytes());
    write_varint(counter.max(0).unsigned_abs(), &mut bytes);
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| no_key())?;
    mac.update(&bytes);
    bytes.extend_from_slice(&mac.finalize().into_bytes()[..SIGNATURE_LENGTH]);
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum[..CHECKSUM_LENGTH]);
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn generated_tokens_are_accepted_and_never_the_same() {
        let (one, other) = (RefreshToken::generate(), RefreshToken::generate());
        assert!(matches!(RefreshToken::parse(&one), Ok(RefreshToken::Row(_))));
        assert_ne!(one, other);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "short", "UPPERCASE123", "abcdefghijkl3", "abcdefghijk'", "AAAA"] {
            assert!(RefreshToken::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let (session, key) = (Uuid::new_v4(), Key::generate());
        let parse = |token: &str| match RefreshToken::parse(token) {
            Ok(RefreshToken::Counted(counted)) => counted,
            _ => panic!("{token}"),
        };
        let mut token = parse(&sign(session, 7, key.as_str()).unwrap());
        assert!(token.is_signed_with(key.as_str()));
        assert!(!token.is_signed_with(Key::generate().as_str()) && !token.is_signed_with("no key!"));
        token.signed[16] ^= 1;
        assert!(!token.is_signed_with(key.as_str()));
    }

    #[test]
    fn counters_survive_the_way_there_and_back() {
        let (session, key) = (Uuid::new_v4(), Key::generate());
        for counter in [0, 1, 127, 128, 300, i64::MAX] {
            let token = sign(session, counter, key.as_str()).unwrap();
            let Ok(RefreshToken::Counted(parsed)) = RefreshToken::parse(&token) else { panic!("{token}") };
            assert_eq!((parsed.session, parsed.counter), (session, counter));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_token_or_refused(text in "\\PC{0,120}", bytes in vec(any::<u8>(), 0..80)) {
            let _ = RefreshToken::parse(&text);
            prop_assert!(parse_counted(&bytes).is_none(), "nobody guesses a checksum");
        }

        #[test]
        fn a_right_checksum_alone_is_no_panic(mut bytes in vec(any::<u8>(), 0..60)) {
            let checksum = Sha256::digest(&bytes);
            bytes.extend_from_slice(&checksum[..CHECKSUM_LENGTH]);
            if let Some(token) = parse_counted(&bytes) {
                prop_assert_eq!(bytes[0], VERSION);
                prop_assert!(token.counter >= 0 && token.signature.len() == SIGNATURE_LENGTH);
            }
        }

        #[test]
        fn any_counter_survives(counter in 0..=i64::MAX, session in any::<u128>()) {
            let token = sign(Uuid::from_u128(session), counter, Key::generate().as_str()).unwrap();
            let Ok(RefreshToken::Counted(parsed)) = RefreshToken::parse(&token) else {
                return Err(TestCaseError::fail(token));
            };
            prop_assert_eq!((parsed.session, parsed.counter), (Uuid::from_u128(session), counter));
        }
    }

    #[test]
    fn a_changed_token_is_noticed() {
        let token = sign(Uuid::new_v4(), 5, Key::generate().as_str()).unwrap();
        for position in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            let parsed = RefreshToken::parse(&changed);
            assert!(parsed.is_err(), "{position}");
        }
        assert!(RefreshToken::parse(&token[..token.len() - 1]).is_err());
    }
}
