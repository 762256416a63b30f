use std::fmt;

use rand::RngExt;

use crate::Error;

const LENGTH: usize = 12;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// A refresh token of the first format: twelve lowercase letters and digits, 62 bits of chance.
pub(crate) struct RefreshToken(String);

impl RefreshToken {
    /// A new token from the operating system's randomness.
    pub(crate) fn generate() -> RefreshToken {
        let mut rng = rand::rng();
        RefreshToken((0..LENGTH).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect())
    }

    /// Errors: `validation_failed` for text that cannot be a token, without a look into the database.
    pub(crate) fn parse(text: &str) -> Result<RefreshToken, Error> {
        if text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            return Ok(RefreshToken(text.to_owned()));
        }
        Err(Error::validation("Refresh token is not valid"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_tokens_are_accepted_and_never_the_same() {
        let (one, other) = (RefreshToken::generate(), RefreshToken::generate());
        assert!(RefreshToken::parse(one.as_str()).is_ok());
        assert_ne!(one.as_str(), other.as_str());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "short", "UPPERCASE123", "abcdefghijkl3", "abcdefghijk'"] {
            assert!(RefreshToken::parse(text).is_err(), "{text}");
        }
    }
}
