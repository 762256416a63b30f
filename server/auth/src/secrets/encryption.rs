//! Secrets at rest, in upstream's format: AES-256-GCM under a key that HKDF-SHA256 derives from the project's key and
//! the id of the row, so that a secret that was moved to another row cannot be read there.

use std::borrow::Cow;

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;

use crate::{EncryptionKey, EncryptionSettings, Error};

const ALGORITHM: &str = "aes-gcm-hkdf";

/// An encrypted secret in the format of a column.
#[derive(Serialize, Deserialize)]
struct EncryptedSecret {
    key_id: String,
    alg: String,
    data: String,
    nonce: String,
}

/// A decrypted secret.
#[derive(Debug)]
pub(crate) struct DecryptedSecret<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Whether it should be stored again: it is not encrypted with the key that new secrets get.
    pub(crate) is_stale: bool,
}

impl EncryptionSettings {
    /// Returns `secret` as the row `id` stores it: encrypted if there is a key for that.
    pub(crate) fn seal(&self, id: Uuid, secret: &str) -> Result<String, Error> {
        let Some((key_id, key)) = &self.current else { return Ok(secret.to_owned()) };
        let nonce: [u8; 12] = rand::random();
        let data = cipher(id, key)?.encrypt(&Nonce::from(nonce), secret.as_bytes());
        let data = data.map_err(|error| Error::Internal(format!("a secret cannot be encrypted: {error}")))?;
        let sealed = EncryptedSecret {
            key_id: key_id.clone(),
            alg: ALGORITHM.to_owned(),
            data: BASE64_STANDARD.encode(data),
            nonce: BASE64_STANDARD.encode(nonce),
        };
        serde_json::to_string(&sealed).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Returns what [`seal`](Self::seal) has made for the row `id`; text that was never encrypted as it is.
    ///
    /// Errors: `unexpected_failure` for a secret whose key is not among the settings or that was changed.
    pub(crate) fn open<'a>(&self, id: Uuid, stored: &'a str) -> Result<DecryptedSecret<'a>, Error> {
        let Some((sealed, nonce, data)) = parse(stored) else {
            return Ok(DecryptedSecret { text: Cow::Borrowed(stored), is_stale: self.current.is_some() });
        };
        let current = self.current.as_ref().filter(|(name, _)| *name == sealed.key_id);
        let key = self.keys.get(&sealed.key_id).or(current.map(|(_, key)| key)).ok_or_else(|| {
            Error::Internal(format!(
                "a secret is encrypted with key {:?}, which the settings do not have; add it to \
                 GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS",
                sealed.key_id
            ))
        })?;
        let text = cipher(id, key)?.decrypt(&Nonce::from(nonce), data.as_slice());
        let text = text.ok().and_then(|text| String::from_utf8(text).ok()).ok_or_else(|| {
            Error::Internal(format!("the secret of row {id} does not match key {:?}", sealed.key_id))
        })?;
        Ok(DecryptedSecret { text: Cow::Owned(text), is_stale: self.current.is_some() && current.is_none() })
    }
}

fn cipher(id: Uuid, key: &EncryptionKey) -> Result<Aes256Gcm, Error> {
    let mut derived = [0; 32];
    let expanded = Hkdf::<Sha256>::new(None, key.expose()).expand(id.to_string().as_bytes(), &mut derived);
    expanded.map_err(|error| Error::Internal(format!("a key cannot be derived: {error}")))?;
    Ok(Aes256Gcm::new(&derived.into()))
}

/// Returns the parts of an encrypted secret; `None` for text that is not one.
fn parse(stored: &str) -> Option<(EncryptedSecret, [u8; 12], Vec<u8>)> {
    if !stored.starts_with('{') {
        return None;
    }
    let sealed: EncryptedSecret = serde_json::from_str(stored).ok()?;
    let nonce = BASE64_STANDARD.decode(&sealed.nonce).ok()?.try_into().ok()?;
    let data = BASE64_STANDARD.decode(&sealed.data).ok()?;
    let is_sealed = sealed.alg == ALGORITHM && !sealed.key_id.is_empty() && !data.is_empty();
    is_sealed.then_some((sealed, nonce, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(current: Option<&str>) -> EncryptionSettings {
        let key =
            |byte: u8| EncryptionKey::parse(&base64::prelude::BASE64_URL_SAFE_NO_PAD.encode([byte; 32]));
        let keys = [("old".to_owned(), key(1).unwrap()), ("new".to_owned(), key(2).unwrap())];
        let current = keys.iter().find(|(name, _)| Some(name.as_str()) == current).cloned();
        EncryptionSettings { current, keys: keys.into() }
    }

    #[test]
    fn without_a_key_secrets_stay_as_they_are() {
        let sealed = settings(None).seal(Uuid::nil(), "JBSWY3DP").unwrap();
        assert_eq!(sealed, "JBSWY3DP");
        let opened = settings(None).open(Uuid::nil(), "JBSWY3DP").unwrap();
        assert_eq!((&*opened.text, opened.is_stale), ("JBSWY3DP", false));
    }

    #[test]
    fn encrypted_secrets_are_bound_to_their_row() {
        let (row, other) = (Uuid::new_v4(), Uuid::new_v4());
        let sealed = settings(Some("old")).seal(row, "JBSWY3DP").unwrap();
        assert!(
            !sealed.contains("JBSWY3DP") && sealed.starts_with(r#"{"key_id":"old","alg":"aes-gcm-hkdf""#)
        );
        let opened = settings(Some("old")).open(row, &sealed).unwrap();
        assert_eq!((&*opened.text, opened.is_stale), ("JBSWY3DP", false));
        assert!(settings(Some("old")).open(other, &sealed).is_err());
    }

    #[test]
    fn secrets_under_an_older_key_or_none_are_stale() {
        let row = Uuid::new_v4();
        let sealed = settings(Some("old")).seal(row, "JBSWY3DP").unwrap();
        assert!(settings(Some("new")).open(row, &sealed).unwrap().is_stale);
        assert!(settings(Some("new")).open(row, "JBSWY3DP").unwrap().is_stale);
        assert!(!settings(None).open(row, &sealed).unwrap().is_stale);
    }

    #[test]
    fn a_missing_key_is_named() {
        let row = Uuid::new_v4();
        let sealed = settings(Some("old")).seal(row, "JBSWY3DP").unwrap();
        let error = EncryptionSettings::default().open(row, &sealed).unwrap_err();
        assert!(matches!(error, Error::Internal(cause) if cause.contains("\"old\"")));
    }

    #[test]
    fn text_that_only_looks_encrypted_is_text() {
        let text = r#"{"key_id":"old","alg":"rot13","data":"AAAA","nonce":"AAAA"}"#;
        assert_eq!(settings(None).open(Uuid::nil(), text).unwrap().text, text);
    }
}
