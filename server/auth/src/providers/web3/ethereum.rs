//! Signatures of Ethereum wallets (ERC-191).

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

use super::message::Message;

/// Parses a signature: r, s and the recovery byte, 65 bytes.
pub(super) fn signature(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.len() != 130 {
        return Err(
            "signature must be 65 bytes long, encoded as a 130 character-long hexadecimal string".to_owned()
        );
    }
    // Invalid digits and a missing prefix count as an invalid signature.
    let digits = text.strip_prefix("0x").unwrap_or_default();
    Ok(HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap_or_default())
}

/// Returns whether the key that signed (by `personal_sign`, ERC-191) belongs to the message's address.
pub(super) fn verify(message: &Message<'_>, signature: &[u8]) -> bool {
    recover(message.raw, signature).is_some_and(|address| address.eq_ignore_ascii_case(message.address))
}

fn recover(text: &str, signature: &[u8]) -> Option<String> {
    let (numbers, recovery) = signature.split_at_checked(64)?;
    let &[recovery] = recovery else { return None };
    // Wallets write 27 and 28 where the curve has 0 and 1.
    let recovery = if recovery >= 27 { recovery - 27 } else { recovery };
    let recovery = RecoveryId::from_byte(recovery).filter(|id| !id.is_x_reduced())?;
    let numbers = Signature::from_slice(numbers).ok()?;
    let digest = Keccak256::new()
        .chain_update(format!("\x19Ethereum Signed Message:\n{}", text.len()))
        .chain_update(text)
        .finalize();
    let key = VerifyingKey::recover_from_prehash(&digest, &numbers, recovery).ok()?;
    let point = key.to_sec1_point(false);
    let hash = Keccak256::digest(point.as_bytes().get(1..)?);
    Some(format!("0x{}", HEXLOWER.encode(hash.get(12..)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signed by the key that every Ethereum test network begins with, published with its address.
    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

    fn sign(text: &str) -> Vec<u8> {
        let key = k256::ecdsa::SigningKey::from_slice(&HEXLOWER.decode(KEY.as_bytes()).unwrap()).unwrap();
        let digest = Keccak256::new()
            .chain_update(format!("\x19Ethereum Signed Message:\n{}", text.len()))
            .chain_update(text)
            .finalize();
        let (numbers, recovery) = key.sign_prehash_recoverable(&digest);
        [numbers.to_bytes().as_slice(), &[recovery.to_byte() + 27]].concat()
    }

    #[test]
    fn the_signer_is_recovered() {
        let signature = sign("Zusätzlich: ✓");
        let address = recover("Zusätzlich: ✓", &signature).unwrap();
        assert!(address.eq_ignore_ascii_case(ADDRESS));
        assert_ne!(recover("something else", &signature).as_ref(), Some(&address));
        let mut plain = signature;
        plain[64] -= 27;
        assert_eq!(recover("Zusätzlich: ✓", &plain), Some(address));
    }

    #[test]
    fn nonsense_recovers_nobody() {
        let signature = sign("text");
        for byte in [2, 3, 4, 26, 29, 255] {
            let mut odd = signature.clone();
            odd[64] = byte;
            assert_eq!(recover("text", &odd), None, "{byte}");
        }
        assert_eq!(recover("text", &[0; 65]), None);
        assert_eq!(recover("text", &[0xff; 65]), None);
        assert_eq!(recover("text", &signature[..64]), None);
        assert_eq!(recover("text", &[]), None);
    }

    #[test]
    fn only_the_length_is_checked_before_the_message() {
        assert!(signature(&"0".repeat(129)).is_err());
        assert_eq!(signature(&format!("0x{}", "ab".repeat(65))).unwrap(), vec![0xab; 65]);
        assert!(signature(&"ab".repeat(65)).unwrap().is_empty());
        assert!(signature(&format!("0x{}", "zz".repeat(65))).unwrap().is_empty());
        assert!(signature(&format!("0x{}", "+a".repeat(65))).unwrap().is_empty());
    }
}
