//! The stored state of a WebAuthn ceremony, which its end is verified against. It has the JSON form of upstream's
//! WebAuthn library, so that a ceremony that began on one server can end on the other.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::credential::Credential;

/// A ceremony that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ceremony {
    /// Base64url.
    challenge: String,
    #[serde(rename = "rpId")]
    rp_id: String,
    /// Base64 of the user's handle; `None` if the user is not known yet.
    user_id: Option<String>,
    /// Base64 of the credentials that may answer; empty if any may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed_credentials: Vec<String>,
    /// The expiry that upstream's library checks. Year 1 means none: the row of the challenge has its own expiry.
    #[serde(default = "never")]
    expires: String,
    #[serde(rename = "userVerification", default)]
    user_verification: String,
    /// What was offered in a registration.
    #[serde(rename = "credParams", default, skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Parameter>,
}

/// A kind of key (WebAuthn Level 3, section 5.3).
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parameter {
    #[serde(rename = "type")]
    kind: String,
    /// A COSE algorithm.
    alg: i128,
}

fn never() -> String {
    "0001-01-01T00:00:00Z".to_owned()
}

impl Ceremony {
    /// Makes a ceremony with user verification preferred, like all here. `user` is the handle that authenticators know,
    /// if it is known; `algorithms` is what a registration offers.
    pub(crate) fn new(
        challenge: &[u8],
        rp_id: &str,
        user: Option<&str>,
        allowed: &[Credential],
        algorithms: &[i128],
    ) -> Self {
        let kind = || "public-key".to_owned();
        Self {
            challenge: BASE64_URL_SAFE_NO_PAD.encode(challenge),
            rp_id: rp_id.to_owned(),
            user_id: user.map(|user| BASE64_STANDARD.encode(user)),
            allowed_credentials: allowed.iter().map(|one| BASE64_STANDARD.encode(&one.id)).collect(),
            expires: never(),
            user_verification: "preferred".to_owned(),
            parameters: algorithms.iter().map(|alg| Parameter { kind: kind(), alg: *alg }).collect(),
        }
    }

    /// Returns the challenge in the form of options: base64url.
    pub(crate) fn challenge(&self) -> &str {
        &self.challenge
    }

    /// Returns whether `challenge`, as a browser has signed it, is this ceremony's.
    pub(crate) fn has_challenge(&self, challenge: &[u8]) -> bool {
        !challenge.is_empty() && BASE64_URL_SAFE_NO_PAD.encode(challenge) == self.challenge
    }

    /// Returns whether the credential `id` may answer.
    pub(crate) fn allows(&self, id: &[u8]) -> bool {
        let allowed = &self.allowed_credentials;
        allowed.is_empty() || allowed.contains(&BASE64_STANDARD.encode(id))
    }

    /// Returns whether the authenticator has to recognize its user.
    pub(crate) fn demands_verification(&self) -> bool {
        self.user_verification == "required"
    }

    /// Returns the COSE algorithms that were offered.
    pub(crate) fn algorithms(&self) -> impl Iterator<Item = i128> {
        self.parameters.iter().map(|parameter| parameter.alg)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn upstreams_ceremonies_are_read_and_ours_have_their_form() {
        let theirs = json!({
            "challenge": "AQIDBAUGBwgJCgsMDQ4PEA", "rpId": "example.com", "user_id": null,
            "allowed_credentials": ["AQID"], "expires": "0001-01-01T00:00:00Z", "userVerification": "",
            "credParams": [{ "type": "public-key", "alg": -8 }, { "type": "public-key", "alg": -257 }]
        });
        let read: Ceremony = serde_json::from_value(theirs).unwrap();
        assert!(
            read.has_challenge(&(1..=16).collect::<Vec<u8>>())
                && !read.has_challenge(&[])
                && !read.has_challenge(&[1])
        );
        assert!(read.allows(&[1, 2, 3]) && !read.allows(&[3]) && !read.demands_verification());
        assert_eq!(read.algorithms().collect::<Vec<_>>(), [-8, -257]);
        let ours = Ceremony::new(&[1; 4], "example.com", Some("ada"), &[], &[-7]);
        assert_eq!(
            serde_json::to_value(ours).unwrap(),
            json!({
                "challenge": "AQEBAQ", "rpId": "example.com", "user_id": "YWRh", "expires": "0001-01-01T00:00:00Z",
                "userVerification": "preferred", "credParams": [{ "type": "public-key", "alg": -7 }]
            })
        );
    }
}
