//! The text forms of Postgres' `bytea`.
//!
//! Source: PostgreSQL documentation, "Binary Data Types".

use data_encoding::HEXLOWER;

/// Returns the bytes in hexadecimal form.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = "\\x".to_owned();
    HEXLOWER.encode_append(bytes, &mut text);
    text
}

/// Returns the bytes of what Postgres printed, in hexadecimal form or, where a role has `bytea_output` so, in escape
/// form.
pub(crate) fn decode(text: &[u8]) -> Vec<u8> {
    match text.strip_prefix(b"\\x") {
        // Postgres prints two digits for each byte, and nothing else.
        Some(digits) => HEXLOWER.decode(digits).unwrap_or_default(),
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
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_survive_hexadecimal_form(bytes: Vec<u8>) {
            prop_assert_eq!(decode(encode(&bytes).as_bytes()), bytes);
        }
    }

    #[test]
    fn escape_form_is_read() {
        assert_eq!(decode(br"a\\x\000\377z"), b"a\\x\x00\xffz");
        assert_eq!(decode(b""), b"");
    }
}
