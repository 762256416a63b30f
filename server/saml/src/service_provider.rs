//! The service provider: its URLs and keys, and the verification of a response.

use time::OffsetDateTime;

use super::assertion::Assertion;
use super::key_pair::KeyPair;
use super::metadata::IdentityProvider;
use super::response::{self, Refusal, ValidationContext};

/// A service provider.
pub struct ServiceProvider {
    /// The id of this service, by convention the URL of its metadata.
    pub entity_id: String,
    /// The URL that responses are posted to (`AssertionConsumerService`).
    pub consumer_url: String,
    /// The key that requests are signed with.
    pub key: KeyPair,
    /// The key that will replace it, published in advance.
    pub next_key: Option<KeyPair>,
    /// Whether assertions may be encrypted.
    pub allow_encrypted_assertions: bool,
}

/// A response that a browser or an identity provider's server has delivered.
#[derive(Debug)]
pub struct Response {
    /// The document.
    pub xml: String,
    /// The id of the message to which the server has responded with it; `None` if a browser posts it.
    pub resolve_id: Option<String>,
    /// The identity provider that it should come from.
    pub provider: IdentityProvider,
    /// The id of the request that it should respond to; `None` if the identity provider has started the sign-in.
    pub request_id: Option<String>,
}

impl ServiceProvider {
    /// Returns the assertion in `response` if it is valid at `now`. Verifying signatures and decryption take some
    /// milliseconds of processor time.
    ///
    /// Errors: [`Refusal`] for a response that is not valid according to [SAML's Web Browser SSO Profile].
    ///
    /// [SAML's Web Browser SSO Profile]: https://docs.oasis-open.org/security/saml/v2.0/saml-profiles-2.0-os.pdf
    pub fn accept(&self, response: &Response, now: OffsetDateTime) -> Result<Assertion, Refusal> {
        let keys = if self.allow_encrypted_assertions { self.keys().collect() } else { Vec::new() };
        let context = ValidationContext {
            provider: &response.provider,
            request_id: response.request_id.as_deref(),
            resolve_id: response.resolve_id.as_deref(),
            consumer: &self.consumer_url,
            audience: &self.entity_id,
            keys,
            now,
        };
        response::accept(&response.xml, &context).map_err(Refusal)
    }

    /// Returns the key and the one that will replace it.
    pub(super) fn keys(&self) -> impl Iterator<Item = &KeyPair> {
        std::iter::once(&self.key).chain(&self.next_key)
    }
}
