//! Base64 as clients send it: of either alphabet, padded or not.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Returns the bytes that `text` stands for, or `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    ENGINE.decode(text.replace('-', "+").replace('_', "/")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_taken_and_padding_may_be_left_out() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(decode(text).as_deref(), Some(&[0xfb, 0xff][..]), "{text}");
        }
        assert_eq!(decode("+/8!"), None);
    }
}
