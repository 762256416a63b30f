//! References to responses, which are resolved at the identity provider (SAML 2.0 Bindings, section 3.6).

use bergshamra::core::algorithm;
use time::OffsetDateTime;

use super::metadata::IdentityProvider;
use super::request::{ENTITY, new_id};
use super::response::Refusal;
use super::xml::{escape, ns};
use super::{ServiceProvider, moment};

pub(super) const HTTP_ARTIFACT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact";

/// A signed message that requests a response from an identity provider's server.
#[derive(Debug)]
pub struct ArtifactResolve {
    /// The id of the message, which the response must contain.
    pub id: String,
    /// The URL that the message is posted to.
    pub url: String,
    /// The message, in a SOAP envelope (SAML 2.0 Bindings, section 3.2).
    pub message: String,
}

impl ServiceProvider {
    /// Writes the message that requests from `provider` the response that `artifact` refers to.
    ///
    /// Errors: [`Refusal`] for a provider that does not resolve artifacts.
    pub fn artifact_resolve(
        &self,
        provider: &IdentityProvider,
        artifact: &str,
        now: OffsetDateTime,
    ) -> Result<ArtifactResolve, Refusal> {
        let url = provider.artifact_location();
        if url.is_empty() {
            let reason = "the provider's metadata has no ArtifactResolutionService for SOAP";
            return Err(Refusal(reason.to_owned()));
        }
        let id = new_id();
        let message = message(self, &id, artifact, now);
        let message = self.key.sign_document(&message).map_err(|error| Refusal(error.to_string()))?;
        Ok(ArtifactResolve { id, url: url.to_owned(), message })
    }
}

/// Returns the message, with the template of its signature.
fn message(service: &ServiceProvider, id: &str, artifact: &str, now: OffsetDateTime) -> String {
    format!(
        "<soapenv:Envelope xmlns:soapenv=\"{soap}\"><soapenv:Body><samlp:ArtifactResolve xmlns:saml=\"{assertion}\" \
         xmlns:samlp=\"{protocol}\" ID=\"{id}\" Version=\"2.0\" IssueInstant=\"{instant}\">\
         <saml:Issuer Format=\"{ENTITY}\">{entity}</saml:Issuer><ds:Signature xmlns:ds=\"{dsig}\"><ds:SignedInfo>\
         <ds:CanonicalizationMethod Algorithm=\"{canonical}\"/><ds:SignatureMethod Algorithm=\"{method}\"/>\
         <ds:Reference URI=\"#{id}\"><ds:Transforms><ds:Transform Algorithm=\"{enveloped}\"/>\
         <ds:Transform Algorithm=\"{canonical}\"/></ds:Transforms><ds:DigestMethod Algorithm=\"{digest}\"/>\
         <ds:DigestValue></ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue></ds:SignatureValue>\
         </ds:Signature><samlp:Artifact>{artifact}</samlp:Artifact></samlp:ArtifactResolve></soapenv:Body>\
         </soapenv:Envelope>",
        soap = ns::SOAP,
        assertion = ns::ASSERTION,
        protocol = ns::PROTOCOL,
        dsig = ns::DSIG,
        instant = moment::format(now),
        entity = escape(&service.entity_id),
        canonical = algorithm::EXC_C14N,
        enveloped = algorithm::ENVELOPED_SIGNATURE,
        method = algorithm::RSA_SHA256,
        digest = algorithm::SHA256,
        artifact = escape(artifact),
    )
}
