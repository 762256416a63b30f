//! Requests that users are sent to an identity provider with (SAML 2.0 Bindings, section 3.4).

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::core::algorithm;
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use time::OffsetDateTime;
use url::Url;
use url::form_urlencoded::Serializer;
use uuid::Uuid;

use super::assertion::format;
use super::metadata::IdentityProvider;
use super::xml::{escape, ns};
use super::{ServiceProvider, moment};
use crate::Error;

pub(super) const HTTP_POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
pub(super) const ENTITY: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity";

/// A request that is ready to be sent.
pub(crate) struct AuthnRequest {
    /// What the response will refer to.
    pub(crate) id: String,
    /// Where the user is sent.
    pub(crate) url: String,
}

impl ServiceProvider {
    /// A signed request to `provider`, from which the user comes back with `relay_state`. `name_format` is the kind of
    /// name that is asked for; a persistent one if it is None.
    ///
    /// Errors: `validation_failed` for a provider that users cannot be sent to.
    pub(crate) fn request(
        &self,
        provider: &IdentityProvider,
        name_format: Option<&str>,
        relay_state: Uuid,
        now: OffsetDateTime,
    ) -> Result<AuthnRequest, Error> {
        let inner = &self.inner;
        let mut url =
            Url::parse(provider.location()).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let url = url.as_mut().ok_or_else(|| {
            Error::validation("The identity provider's metadata has no SingleSignOnService for HTTP-Redirect")
        })?;
        let id = new_id();
        let document = format!(
            "<samlp:AuthnRequest xmlns:saml=\"{assertion}\" xmlns:samlp=\"{protocol}\" ID=\"{id}\" Version=\"2.0\" \
             IssueInstant=\"{instant}\" Destination=\"{destination}\" AssertionConsumerServiceURL=\"{consumer}\" \
             ProtocolBinding=\"{HTTP_POST}\"><saml:Issuer Format=\"{ENTITY}\">{entity}</saml:Issuer>\
             <samlp:NameIDPolicy Format=\"{format}\" AllowCreate=\"true\"/></samlp:AuthnRequest>",
            assertion = ns::ASSERTION,
            protocol = ns::PROTOCOL,
            instant = moment::format(now),
            destination = escape(provider.location()),
            consumer = escape(&inner.consumer()),
            entity = escape(&inner.entity_id()),
            format = escape(name_format.unwrap_or(format::PERSISTENT)),
        );
        let internal = |error: &dyn std::fmt::Display| Error::Internal(error.to_string());
        let deflated = deflate(&document).map_err(|error| internal(&error))?;
        // The order is the one that is signed.
        let signed = Serializer::new(String::new())
            .append_pair("SAMLRequest", &STANDARD.encode(deflated))
            .append_pair("RelayState", &relay_state.to_string())
            .append_pair("SigAlg", algorithm::RSA_SHA256)
            .finish();
        let signature = inner.key.sign(signed.as_bytes()).map_err(|error| internal(&error))?;
        let signature =
            Serializer::new(String::new()).append_pair("Signature", &STANDARD.encode(signature)).finish();
        let own = url.query().filter(|query| !query.is_empty()).map(|query| format!("{query}&"));
        url.set_query(Some(&format!("{}{signed}&{signature}", own.unwrap_or_default())));
        url.set_fragment(None);
        Ok(AuthnRequest { id, url: url.to_string() })
    }
}

/// An id that nobody guesses, for a message of this service.
pub(super) fn new_id() -> String {
    let bytes: [u8; 20] = rand::random();
    format!("id-{}", HEXLOWER.encode(&bytes))
}

fn deflate(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
