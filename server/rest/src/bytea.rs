//! The text forms of Postgres' `bytea`.
//!
//! Source: PostgreSQL documentation, "Binary Data Types".

/// Returns the bytes in hexadecimal form.
pub(crate) fn encode(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = b"\\x".to_vec();
    text.reserve(bytes.len() * 2);
    for byte in bytes {
        text.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

/// Returns the bytes of what Postgres printed, in hexadecimal form or, where a role has `bytea_output` so, in escape
/// form.
pub(crate) fn decode(text: &[u8]) -> Vec<u8> {
    match text.strip_prefix(b"\\x") {
        Some(digits) => {
            digits.chunks_exact(2).map(|pair| digit(pair[0], 16) << 4 | digit(pair[1], 16)).collect()
        }
        None => unescape(text),
    }
}

/// Decodes the escape form: two backslashes for one, and one before three octal digits of what cannot be printed.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                bytes.push(digit(*a, 8) << 6 | digit(*b, 8) << 3 | digit(*c, 8));
                tail
            }
            (b'\\', [escaped, tail @ ..]) => {
                bytes.push(*escaped);
                tail
            }
            _ => {
                bytes.push(*first);
                tail
            }
        };
    }
    bytes
}

/// Returns the value of a digit; Postgres prints nothing else where one must stand.
fn digit(character: u8, radix: u32) -> u8 {
    char::from(character).to_digit(radix).and_then(|value| u8::try_from(value).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_survive_hexadecimal_form(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), bytes);
        }
    }

    #[test]
    fn escape_form_is_read() {
        assert_eq!(decode(br"a\\x\000\377z"), b"a\\x\x00\xffz");
        assert_eq!(decode(b""), b"");
    }
}
