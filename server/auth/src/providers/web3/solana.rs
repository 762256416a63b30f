//! Signatures of Solana wallets.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};

use super::message::Message;

/// Parses a signature: 64 bytes in either base64 alphabet, with or without padding.
pub(super) fn signature(text: &str) -> Result<Vec<u8>, String> {
    if text.len() != 86 && text.len() != 88 {
        return Err("signature must be 64 bytes encoded as base64 with or without padding".to_owned());
    }
    let unpadded = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    let bytes = URL_SAFE_NO_PAD.decode(unpadded);
    bytes.map_err(|_| "signature does not contain valid base64 characters".to_owned())
}

/// Returns whether the message's address, which is a public key, signed either the text or the text in the envelope
/// that hardware wallets wrap it in.
pub(super) fn verify(message: &Message<'_>, signature: &[u8]) -> bool {
    let Some((key, bytes)) = key(message.address) else { return false };
    let Ok(signature) = Signature::from_slice(signature) else { return false };
    if key.verify_strict(message.raw.as_bytes(), &signature).is_ok() {
        return true;
    }
    envelope(message, &bytes).is_some_and(|text| key.verify_strict(&text, &signature).is_ok())
}

fn key(address: &str) -> Option<(VerifyingKey, [u8; 32])> {
    let bytes: [u8; 32] = bs58::decode(address).into_vec().ok()?.try_into().ok()?;
    Some((VerifyingKey::from_bytes(&bytes).ok()?, bytes))
}

/// Returns Solana's off-chain message, version 0: signing domain, version, application domain, format (ASCII), number
/// of signers, signer, length, text. `None` if the text is too long for it.
fn envelope(message: &Message<'_>, key: &[u8; 32]) -> Option<Vec<u8>> {
    let mut domain = [0; 32];
    for (place, byte) in domain.iter_mut().zip(message.domain.bytes()) {
        *place = byte;
    }
    let length = u16::try_from(message.raw.len()).ok()?.to_le_bytes();
    Some([b"\xffsolana offchain\0", &domain[..], b"\0\x01", key, &length, message.raw.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;
    use crate::providers::web3::Chain;

    fn text(key: &SigningKey) -> String {
        format!(
            "example.com wants you to sign in with your Solana account:\n{}\n\n\
             URI: https://example.com/\nVersion: 1\nIssued At: 2026-01-02T03:04:05Z",
            bs58::encode(key.verifying_key().as_bytes()).into_string()
        )
    }

    #[test]
    fn the_owner_of_the_address_has_signed() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let text = text(&key);
        let message = Message::parse(&text, Chain::Solana).unwrap();
        let signature = key.sign(text.as_bytes()).to_bytes();
        assert!(verify(&message, &signature));
        let wrapped = envelope(&message, key.verifying_key().as_bytes()).unwrap();
        assert!(verify(&message, &key.sign(&wrapped).to_bytes()));
        let other = SigningKey::from_bytes(&[8; 32]);
        assert!(!verify(&message, &other.sign(text.as_bytes()).to_bytes()));
        assert!(!verify(&message, &signature[..63]));
        assert!(!verify(&message, &[0; 64]));
    }

    #[test]
    fn an_address_that_is_no_key_has_signed_nothing() {
        let text = text(&SigningKey::from_bytes(&[7; 32]));
        let line = text.lines().nth(1).unwrap();
        let odd = text.replace(line, &"1".repeat(44));
        let message = Message::parse(&odd, Chain::Solana).unwrap();
        assert!(!verify(&message, &[0; 64]));
    }

    #[test]
    fn both_alphabets_are_read() {
        let bytes: Vec<u8> = (192..=255).collect();
        let padded = base64::engine::general_purpose::STANDARD.encode(&bytes);
        assert_eq!(signature(&padded).unwrap(), bytes);
        assert_eq!(signature(&URL_SAFE_NO_PAD.encode(&bytes)).unwrap(), bytes);
        assert!(signature(&padded[..80]).is_err());
        assert!(signature(&"!".repeat(88)).is_err());
    }
}
