//! Recovery codes, which replace a second factor that is lost.

/// The kind of their factor, as a value of the enum `auth.factor_type`.
pub(crate) const KIND: &str = "recovery_code";
/// What claim `amr` calls an authentication with one.
pub(crate) const METHOD: &str = "mfa/recovery_code";

/// The alphabet of base32 (RFC 4648, section 6) in lower case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Returns a new code of `length` characters, of 5 bits each.
pub(crate) fn generate(length: usize) -> String {
    (0..length).map(|_| char::from(ALPHABET[usize::from(rand::random::<u8>() % 32)])).collect()
}

/// Returns what a user has typed in the form in which codes are compared: without the spaces and hyphens that group it,
/// in lower case.
pub(crate) fn normalized(typed: &str) -> String {
    let is_separator = |character: &char| *character == '-' || character.is_whitespace();
    typed.chars().filter(|character| !is_separator(character)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_however_they_are_typed() {
        let code = generate(16);
        assert!(code.len() == 16 && code.bytes().all(|byte| ALPHABET.contains(&byte)), "{code}");
        assert_ne!(code, generate(16));
        let typed = format!(" {}-{}\u{a0}{}\n", &code[..4], code[4..8].to_uppercase(), &code[8..]);
        assert_eq!(normalized(&typed), code);
        assert_eq!(normalized(" - "), "");
    }
}
