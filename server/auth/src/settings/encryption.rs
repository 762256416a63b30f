//! Keys that encrypt the secrets in the database.

use std::collections::BTreeMap;
use std::fmt;

use ::settings::{Invalid, Reader, Secret};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// Encryption of secrets that are stored in the database: TOTP secrets, codes that were sent, hashes of passwords.
#[derive(Debug, Clone, Default)]
pub struct EncryptionSettings {
    /// The name and the key that encrypt from now on. `None`: secrets are stored without encryption.
    pub current: Option<(String, EncryptionKey)>,
    /// All keys with which stored secrets may be encrypted, by name.
    pub keys: BTreeMap<String, EncryptionKey>,
}

::settings::settings! {
    /// [`EncryptionSettings`] as operators write them. The first name of each is in upstream's documentation, the
    /// second follows from upstream's code.
    pub(super) struct KeySettings {
        /// Whether secrets are stored encrypted in the database: TOTP secrets, codes that were sent, hashes of
        /// passwords.
        #[setting(variables = ["GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT", "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPT"])]
        encrypts: bool = false,
        /// The name of the key that encrypts.
        #[setting(variables = [
            "GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID",
            "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY_ID"
        ])]
        id: Option<String> = None,
        /// The key that encrypts: 256 bits in base64url without padding.
        #[setting(variables = [
            "GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY",
            "GOTRUE_SECURITY_DATABASE_ENCRYPTION_ENCRYPTION_KEY"
        ])]
        key: Secret = Secret::default(),
        /// All keys with which stored secrets may be encrypted, by name. The key that encrypts must be one of them.
        #[setting(variables = [
            "GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS",
            "GOTRUE_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS"
        ])]
        keys: BTreeMap<String, String> = BTreeMap::new(),
    }
}

impl EncryptionSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Invalid> {
        let written: KeySettings = reader.read()?;
        let refused = |part: &str, expected: &str, found: &str| {
            Invalid::new(&format!("GOTRUE_SECURITY_DB_ENCRYPTION_{part}"), expected, &found)
        };
        let parse = |part: &str, text: &str| {
            let expected = "256 bits in base64url without padding";
            EncryptionKey::parse(text).ok_or_else(|| refused(part, expected, "something else"))
        };
        let mut keys = BTreeMap::new();
        for (id, text) in written.keys {
            keys.insert(id, parse("DECRYPTION_KEYS", &text)?);
        }
        if !written.encrypts {
            return Ok(Self { current: None, keys });
        }
        let missing = || refused("ENCRYPTION_KEY_ID", "the name of the key that encrypts", "none");
        let id = written.id.ok_or_else(missing)?;
        let key = parse("ENCRYPTION_KEY", written.key.expose())?;
        if keys.get(&id) != Some(&key) {
            let expected = "the key that encrypts among those that decrypt, under the same name";
            return Err(refused("DECRYPTION_KEYS", expected, "another or none"));
        }
        Ok(Self { current: Some((id, key)), keys })
    }
}

/// A key of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    /// Reads base64url without padding. Returns `None` if it is not 32 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the key itself.
    pub(crate) const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(…)")
    }
}
