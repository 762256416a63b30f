//! Public keys of authenticators as the database holds them: in the JSON form of upstream's WebAuthn library, so that
//! keys registered on either side go on working on the other.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use uuid::Uuid;

/// A credential record (WebAuthn Level 3, section 4).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Credential {
    #[serde(with = "base64_bytes")]
    pub(crate) id: Vec<u8>,
    /// A COSE key (RFC 9052, section 7).
    #[serde(with = "base64_bytes")]
    pub(crate) public_key: Vec<u8>,
    /// How the authenticator proved its make: mostly `none`.
    #[serde(default)]
    pub(crate) attestation_type: String,
    /// How clients reach it: `usb`, `nfc`, `ble`, `internal`, `hybrid`.
    #[serde(default, rename = "transport", deserialize_with = "or_none")]
    pub(crate) transports: Vec<String>,
    pub(crate) flags: Flags,
    pub(crate) authenticator: Authenticator,
}

/// What the authenticator said about its user and itself.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Flags {
    #[serde(default)]
    pub(crate) user_present: bool,
    #[serde(default)]
    pub(crate) user_verified: bool,
    /// Whether the key may be copied to other devices; never changes.
    #[serde(default)]
    pub(crate) backup_eligible: bool,
    /// Whether it has been.
    #[serde(default)]
    pub(crate) backup_state: bool,
}

/// The device or program that holds the private key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authenticator {
    /// Its model; nil if it does not report one.
    #[serde(rename = "AAGUID", with = "base64_uuid")]
    pub(crate) aaguid: Uuid,
    /// How often it has signed, if it counts.
    #[serde(default)]
    pub(crate) sign_count: u32,
}

impl Credential {
    /// Returns how options name it (WebAuthn Level 3, section 5.8.3).
    pub(crate) fn descriptor(&self) -> Value {
        let id = BASE64_URL_SAFE_NO_PAD.encode(&self.id);
        if self.transports.is_empty() {
            return json!({ "type": "public-key", "id": id });
        }
        json!({ "type": "public-key", "id": id, "transports": self.transports })
    }
}

fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::<Vec<String>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

mod base64_bytes {
    use super::*;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

mod base64_uuid {
    use super::*;

    pub(super) fn serialize<S: Serializer>(id: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(id))
    }

    /// Reads an AAGUID; nil for what is not 16 bytes: some authenticators have none.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
        let bytes = BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(Uuid::from_slice(&bytes).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_records_are_read() {
        let record = json!({
            "id": "AQID", "publicKey": "pQECAyYgASFYIA==", "attestationType": "none", "attestationFormat": "none",
            "transport": null,
            "flags": { "userPresent": true, "userVerified": true, "backupEligible": false, "backupState": false },
            "authenticator": {
                "AAGUID": "AAAAAAAAAAAAAAAAAAAAAA==", "signCount": 7, "cloneWarning": false, "attachment": "platform"
            },
            "attestation": { "clientDataJSON": "e30=", "object": "oA==", "publicKeyAlgorithm": -7 }
        });
        let credential: Credential = serde_json::from_value(record).unwrap();
        assert_eq!((credential.id.as_slice(), credential.authenticator.sign_count), (&[1, 2, 3][..], 7));
        assert_eq!(credential.descriptor(), json!({ "type": "public-key", "id": "AQID" }));
        let written = serde_json::to_value(&credential).unwrap();
        assert_eq!(written["publicKey"], "pQECAyYgASFYIA==");
        assert_eq!(written["authenticator"]["AAGUID"], "AAAAAAAAAAAAAAAAAAAAAA==");
    }
}
