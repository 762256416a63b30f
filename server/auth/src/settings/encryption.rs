use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// Secrets at rest: TOTP secrets, codes that were sent, hashes of passwords.
#[derive(Debug, Clone, Default)]
pub struct EncryptionSettings {
    /// Name and key that encrypt from now on (`SECURITY_DB_ENCRYPTION_ENCRYPT`, `…_ENCRYPTION_KEY_ID`,
    /// `…_ENCRYPTION_KEY`). Default none: secrets are stored as they are.
    pub current: Option<(String, EncryptionKey)>,
    /// All keys that secrets may have been encrypted with, by name (`SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS`).
    pub keys: BTreeMap<String, EncryptionKey>,
}

/// A key of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    /// Reads base64url without padding. None unless that is 32 bytes.
    pub fn parse(text: &str) -> Option<EncryptionKey> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(EncryptionKey(bytes.try_into().ok()?))
    }

    /// The key itself.
    pub(crate) const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(…)")
    }
}
