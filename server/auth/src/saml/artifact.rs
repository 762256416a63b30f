//! References to responses, which are resolved at the identity provider (SAML 2.0 Bindings, section 3.6).

use bergshamra::core::algorithm;
use time::OffsetDateTime;

use super::metadata::IdentityProvider;
use super::remote::Remote;
use super::request::{ENTITY, new_id};
use super::xml::{escape, ns};
use super::{Inner, ServiceProvider, moment};

pub(super) const HTTP_ARTIFACT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact";

impl ServiceProvider {
    /// Asks `provider` for what `artifact` refers to. Answers with the id of the message, which the answer has to name,
    /// and with the answer, of which nothing is checked yet.
    ///
    /// Errors: a sentence for the log.
    pub(crate) async fn resolve(
        &self,
        remote: &Remote,
        provider: &IdentityProvider,
        artifact: &str,
    ) -> Result<(String, String), String> {
        let location = provider.artifact_location();
        if location.is_empty() {
            return Err("the provider's metadata has no ArtifactResolutionService for SOAP".to_owned());
        }
        let id = new_id();
        let message = message(&self.inner, &id, artifact, OffsetDateTime::now_utc());
        let message = self.inner.key.sign_document(&message).map_err(|error| error.to_string())?;
        let answer = remote.call(location, message).await;
        answer.map(|answer| (id, answer)).map_err(|error| format!("the artifact was not resolved: {error}"))
    }
}

/// The message, with the outline of its signature.
fn message(inner: &Inner, id: &str, artifact: &str, now: OffsetDateTime) -> String {
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
        entity = escape(&inner.entity_id()),
        canonical = algorithm::EXC_C14N,
        enveloped = algorithm::ENVELOPED_SIGNATURE,
        method = algorithm::RSA_SHA256,
        digest = algorithm::SHA256,
        artifact = escape(artifact),
    )
}
