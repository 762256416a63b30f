//! Requests with which users are sent to an identity provider (SAML 2.0 Bindings, section 3.4).

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

use super::assertion::name_id_format;
use super::metadata::IdentityProvider;
use super::xml::{escape, ns};
use super::{ServiceProvider, moment};

pub(super) const HTTP_POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
pub(super) const ENTITY: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity";

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The provider has no URL that users can be redirected to.
    #[error("The identity provider's metadata has no SingleSignOnService for HTTP-Redirect")]
    NoLocation,
    /// The request could not be written or signed.
    #[error("{0}")]
    Unsigned(String),
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub struct AuthnRequest {
    /// The id of the request, which the response must refer to.
    pub id: String,
    /// The URL that the user is sent to.
    pub url: String,
}

impl ServiceProvider {
    /// Returns a signed request to `provider`, which sends the user back with `relay_state`. `name_format` is the
    /// requested kind of name; a persistent one if it is `None`.
    ///
    /// Errors: [`RequestError`].
    pub fn request(
        &self,
        provider: &IdentityProvider,
        name_format: Option<&str>,
        relay_state: &str,
        now: OffsetDateTime,
    ) -> Result<AuthnRequest, RequestError> {
        let mut url =
            Url::parse(provider.location()).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let url = url.as_mut().ok_or(RequestError::NoLocation)?;
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
            consumer = escape(&self.consumer_url),
            entity = escape(&self.entity_id),
            format = escape(name_format.unwrap_or(name_id_format::PERSISTENT)),
        );
        let unsigned = |error: &dyn std::fmt::Display| RequestError::Unsigned(error.to_string());
        let deflated = deflate(&document).map_err(|error| unsigned(&error))?;
        // The parameters are signed in this order.
        let signed = Serializer::new(String::new())
            .append_pair("SAMLRequest", &STANDARD.encode(deflated))
            .append_pair("RelayState", relay_state)
            .append_pair("SigAlg", algorithm::RSA_SHA256)
            .finish();
        let signature = self.key.sign(signed.as_bytes()).map_err(|error| unsigned(&error))?;
        let signature =
            Serializer::new(String::new()).append_pair("Signature", &STANDARD.encode(signature)).finish();
        let own = url.query().filter(|query| !query.is_empty()).map(|query| format!("{query}&"));
        url.set_query(Some(&format!("{}{signed}&{signature}", own.unwrap_or_default())));
        url.set_fragment(None);
        Ok(AuthnRequest { id, url: url.to_string() })
    }
}

/// Returns an unpredictable id for a message of this service.
pub(super) fn new_id() -> String {
    let bytes: [u8; 20] = rand::random();
    format!("id-{}", HEXLOWER.encode(&bytes))
}

fn deflate(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
