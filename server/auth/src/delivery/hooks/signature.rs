//! Signatures of calls, after the specification of Standard Webhooks 1.0.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::Secret;

/// What a secret for symmetric signatures begins with.
const PREFIX: &str = "v1,whsec_";

/// Returns the value of `webhook-signature` for `payload`: one signature per secret, separated by blanks. The receiver
/// needs to know one of the secrets, so that they can be changed one after the other.
///
/// Errors: a sentence for a secret that is not `v1,whsec_<base64>`. It does not repeat the secret.
pub(super) fn header(secrets: &[Secret], id: &str, timestamp: i64, payload: &[u8]) -> Result<String, String> {
    let signatures: Result<Vec<String>, String> =
        secrets.iter().map(|secret| sign(&key(secret)?, id, timestamp, payload)).collect();
    Ok(signatures?.join(" "))
}

/// Returns the key in `secret`. Errors: a sentence.
pub(super) fn key(secret: &Secret) -> Result<Vec<u8>, String> {
    let text = secret.expose().trim().strip_prefix(PREFIX);
    let key = text.and_then(|text| STANDARD.decode(text).ok()).filter(|key| !key.is_empty());
    key.ok_or_else(|| format!("expected a secret of the form {PREFIX}<base64>, found something else"))
}

fn sign(key: &[u8], id: &str, timestamp: i64, payload: &[u8]) -> Result<String, String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|error| error.to_string())?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(payload);
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_example_is_signed_as_it_says() {
        let secret = Secret::from("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let payload = br#"{"test": 2432232314}"#;
        let signed = header(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, payload).unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_secret_signs() {
        let secrets = [Secret::from("v1,whsec_YQ=="), Secret::from("v1,whsec_Yg==")];
        assert_eq!(header(&secrets, "id", 1, b"{}").unwrap().split(' ').count(), 2);
    }

    #[test]
    fn a_secret_of_another_form_is_refused_without_being_repeated() {
        for secret in ["hunter2", "v1,whsec_", "v1,whsec_!!!", "v1a,whpk_x:whsk_x", "whsec_YQ=="] {
            let error = header(&[Secret::from(secret)], "id", 1, b"{}").unwrap_err();
            assert!(!error.contains("hunter2") && error.contains("whsec_<base64>"), "{error}");
        }
    }
}
