//! Responses of identity providers: from the form that a browser posts to a verified assertion.
//!
//! The conditions are those of SAML's Web Browser SSO Profile (section 4.1.4), with upstream's time limits.

use time::{Duration, OffsetDateTime};

use super::assertion::Assertion;
use super::key_pair::KeyPair;
use super::metadata::IdentityProvider;
use super::signature::TrustedKeys;
use super::xml::{self, Element, ns};
use super::{encryption, moment};

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/// How old a response may be when it arrives.
const MAX_AGE: Duration = Duration::seconds(90);
/// The accepted difference of clocks.
const MAX_SKEW: Duration = Duration::seconds(180);
/// How long a used assertion has to be remembered: no assertion is valid for longer.
pub const LONGEST_USE: std::time::Duration = std::time::Duration::from_secs(90 + 180 + 60);

/// The expected values that a response is compared with.
pub(super) struct ValidationContext<'a> {
    pub(super) provider: &'a IdentityProvider,
    /// The id of the request that it responds to; `None` if the identity provider has started the sign-in.
    pub(super) request_id: Option<&'a str>,
    /// The id of the message that requested it; `None` if a browser posts it.
    pub(super) resolve_id: Option<&'a str>,
    /// The URL that responses are posted to.
    pub(super) consumer: &'a str,
    /// The id of this service.
    pub(super) audience: &'a str,
    /// The keys that assertions may be encrypted for; empty if encryption is not allowed.
    pub(super) keys: Vec<&'a KeyPair>,
    pub(super) now: OffsetDateTime,
}

/// Why a response is not valid or could not be fetched: a sentence for the log. It may quote the response.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub(super) String);

/// Returns the issuer that the response `text` names, before anything in it is verified; empty if it names none, and
/// `None` if `text` is not a response.
pub fn issuer(text: &str) -> Option<String> {
    let document = xml::parse(text).ok()?;
    let root = Element::root(&document).filter(|root| root.is(ns::PROTOCOL, "Response"))?;
    Some(root.child(ns::ASSERTION, "Issuer").map(Element::text).unwrap_or_default())
}

/// Returns the assertion in a valid response: signed itself, or inside a signed response, with one of the provider's
/// keys, for this service, this time, and the request that it responds to.
///
/// A response with more than one assertion is refused, and so is one with an assertion or a signature in an unexpected
/// place: forged responses have that form (signature wrapping), and no provider sends such responses.
pub(super) fn accept(text: &str, context: &ValidationContext<'_>) -> Result<Assertion, String> {
    let document = xml::parse(text)?;
    let root = Element::root(&document).ok_or("an empty document")?;
    let around = context.resolve_id.map(|id| artifact_response(root, id, context)).transpose()?;
    let response = around.map_or(Some(root), |around| around.only(ns::PROTOCOL, "Response"));
    let response = response.filter(|response| response.is(ns::PROTOCOL, "Response"));
    let response = response.ok_or("the document is no samlp:Response")?;
    let plain = root.count(ns::ASSERTION, "Assertion");
    let encrypted = root.count(ns::ASSERTION, "EncryptedAssertion");
    if plain + encrypted != 1 || root.count(ns::PROTOCOL, "Response") != 1 {
        return Err(format!("expected one assertion, found {plain} and {encrypted} encrypted ones"));
    }
    let trusted = TrustedKeys::new(context.provider.certificates(), context.now)?;
    let assertion = response.only(ns::ASSERTION, "Assertion");
    // From the inside out: a signature covers everything in its element.
    let elements: Vec<_> = assertion.into_iter().chain([response]).chain(around).collect();
    let signed = trusted.verify(text, &document, root, &elements)?;
    let is_response = |(element, signed): (&Element<'_>, &bool)| element.node() == response.node() && *signed;
    check_response(response, elements.iter().zip(&signed).any(is_response), context)?;
    let any_signed = signed.contains(&true);
    if let Some(element) = assertion {
        if !any_signed {
            return Err("neither the response nor the assertion is signed".to_owned());
        }
        check_assertion(element, context)?;
        return Ok(Assertion::read(element));
    }
    let element = response.only(ns::ASSERTION, "EncryptedAssertion");
    let element = element.ok_or("the assertion is not directly within the response")?;
    accept_encrypted(element, any_signed, &trusted, context)
}

/// Returns the server's response to message `id`, from its envelope.
fn artifact_response<'d>(
    root: Element<'d>,
    id: &str,
    context: &ValidationContext<'_>,
) -> Result<Element<'d>, String> {
    let envelope = Some(root).filter(|root| root.is(ns::SOAP, "Envelope"));
    let body = envelope.and_then(|envelope| envelope.only(ns::SOAP, "Body"));
    let response = body.and_then(|body| body.only(ns::PROTOCOL, "ArtifactResponse"));
    let response = response.ok_or("the answer is no SOAP envelope with an ArtifactResponse")?;
    if response.attribute("InResponseTo") != Some(id) {
        return Err("the answer's InResponseTo is not the message that it answers".to_owned());
    }
    check_common(response, "answer", context)?;
    Ok(response)
}

/// Decrypts and verifies an assertion. `response_signed` says whether the response around it is signed.
fn accept_encrypted(
    element: Element<'_>,
    response_signed: bool,
    trusted: &TrustedKeys,
    context: &ValidationContext<'_>,
) -> Result<Assertion, String> {
    let mut reason =
        "the assertion is encrypted, and GOTRUE_SAML_ALLOW_ENCRYPTED_ASSERTIONS is off".to_owned();
    let decrypted = context
        .keys
        .iter()
        .find_map(|key| encryption::decrypt(element, key.private_key()).map_err(|error| reason = error).ok());
    let text = decrypted.ok_or(reason)?;
    let document = xml::parse(&text)?;
    let root = Element::root(&document).filter(|root| root.is(ns::ASSERTION, "Assertion"));
    let root = root.ok_or("what was encrypted is no assertion")?;
    if root.count(ns::ASSERTION, "Assertion") != 1 {
        return Err("the encrypted assertion holds another one".to_owned());
    }
    let signed = trusted.verify(&text, &document, root, &[root])?;
    if !response_signed && !signed.contains(&true) {
        return Err("neither the response nor the encrypted assertion is signed".to_owned());
    }
    check_assertion(root, context)?;
    Ok(Assertion::read(root))
}

fn check_response(root: Element<'_>, signed: bool, context: &ValidationContext<'_>) -> Result<(), String> {
    let destination = root.attribute("Destination").unwrap_or_default();
    // A signed response must name its recipient.
    if (signed || !destination.is_empty()) && destination != context.consumer {
        return Err(format!("expected Destination {:?}, found {destination:?}", context.consumer));
    }
    if let Some(request) = context.request_id
        && root.attribute("InResponseTo") != Some(request)
    {
        return Err("the response's InResponseTo is not the request that it came back for".to_owned());
    }
    check_common(root, "response", context)
}

/// Checks the parts that responses of all kinds have in common.
fn check_common(element: Element<'_>, what: &str, context: &ValidationContext<'_>) -> Result<(), String> {
    check_age(element, what, context.now)?;
    if let Some(issuer) = element.child(ns::ASSERTION, "Issuer") {
        check_issuer(issuer, context)?;
    }
    let status =
        element.child(ns::PROTOCOL, "Status").and_then(|status| status.child(ns::PROTOCOL, "StatusCode"));
    match status.and_then(|status| status.attribute("Value")) {
        Some(SUCCESS) => Ok(()),
        other => Err(format!("the identity provider has answered with status {other:?}")),
    }
}

fn check_assertion(element: Element<'_>, context: &ValidationContext<'_>) -> Result<(), String> {
    if element.attribute("ID").unwrap_or_default().is_empty() {
        return Err("an assertion without an ID".to_owned());
    }
    check_age(element, "assertion", context.now)?;
    let issuer = element.only(ns::ASSERTION, "Issuer").ok_or("an assertion without an Issuer")?;
    check_issuer(issuer, context)?;
    let subject = element.only(ns::ASSERTION, "Subject").ok_or("an assertion without exactly one Subject")?;
    let mut bearers = 0;
    for confirmation in subject.children_named(ns::ASSERTION, "SubjectConfirmation") {
        check_confirmation(confirmation, context)?;
        bearers += usize::from(confirmation.attribute("Method") == Some(BEARER));
    }
    if bearers == 0 {
        return Err("an assertion without a bearer's SubjectConfirmation".to_owned());
    }
    let conditions = element.only(ns::ASSERTION, "Conditions").ok_or("an assertion without Conditions")?;
    check_conditions(conditions, context)
}

fn check_confirmation(confirmation: Element<'_>, context: &ValidationContext<'_>) -> Result<(), String> {
    let data = confirmation.only(ns::ASSERTION, "SubjectConfirmationData");
    let data = data.ok_or("a SubjectConfirmation without data")?;
    if let Some(request) = context.request_id
        && data.attribute("InResponseTo") != Some(request)
    {
        return Err("the assertion's InResponseTo is not the request that it came back for".to_owned());
    }
    let recipient = data.attribute("Recipient").unwrap_or_default();
    if recipient != context.consumer {
        return Err(format!("expected Recipient {:?}, found {recipient:?}", context.consumer));
    }
    check_end(data, "SubjectConfirmationData", context.now)
}

fn check_conditions(conditions: Element<'_>, context: &ValidationContext<'_>) -> Result<(), String> {
    if let Some(text) = conditions.attribute("NotBefore") {
        let begin = moment::parse(text).ok_or("Conditions with a NotBefore that is no time")?;
        if begin.saturating_sub(MAX_SKEW) > context.now {
            return Err(format!("the assertion is not valid before {text}"));
        }
    }
    check_end(conditions, "Conditions", context.now)?;
    for restriction in conditions.children_named(ns::ASSERTION, "AudienceRestriction") {
        let mut audiences = restriction.children_named(ns::ASSERTION, "Audience").map(Element::text);
        if !audiences.any(|audience| audience == context.audience) {
            return Err(format!("the assertion is not for audience {:?}", context.audience));
        }
    }
    Ok(())
}

fn check_issuer(issuer: Element<'_>, context: &ValidationContext<'_>) -> Result<(), String> {
    let (found, entity) = (issuer.text(), context.provider.entity_id());
    if found == entity { Ok(()) } else { Err(format!("expected Issuer {entity:?}, found {found:?}")) }
}

fn check_age(element: Element<'_>, what: &str, now: OffsetDateTime) -> Result<(), String> {
    let text = element.attribute("IssueInstant").unwrap_or_default();
    let issued = moment::parse(text).ok_or_else(|| format!("the {what} has no IssueInstant"))?;
    if issued.saturating_add(MAX_AGE) < now || issued.saturating_sub(MAX_SKEW) > now {
        return Err(format!("the {what} was issued at {text}, which is too long ago or yet to come"));
    }
    Ok(())
}

fn check_end(element: Element<'_>, what: &str, now: OffsetDateTime) -> Result<(), String> {
    let text = element.attribute("NotOnOrAfter").unwrap_or_default();
    let end = moment::parse(text).ok_or_else(|| format!("{what} without NotOnOrAfter"))?;
    if end.saturating_add(MAX_SKEW) <= now { Err(format!("{what} ended at {text}")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use bergshamra::core::algorithm;
    use proptest::prelude::*;

    use super::*;

    const CONSUMER: &str = "https://project.example/acs";
    const AUDIENCE: &str = "https://project.example/metadata";
    const NOW: &str = "2026-01-01T00:00:00Z";

    /// The key of an identity provider.
    static PAIR: LazyLock<KeyPair> = LazyLock::new(|| {
        let key = include_str!("../tests/service_provider.b64");
        KeyPair::new(key, "idp.example", false).unwrap()
    });
    static PROVIDER: LazyLock<IdentityProvider> = LazyLock::new(|| {
        let metadata = format!(
            "<EntityDescriptor xmlns='{}' entityID='idp'><IDPSSODescriptor><KeyDescriptor><KeyInfo xmlns='{}'><X509Data>\
             <X509Certificate>{}</X509Certificate></X509Data></KeyInfo></KeyDescriptor></IDPSSODescriptor>\
             </EntityDescriptor>",
            ns::METADATA,
            ns::DSIG,
            PAIR.certificate()
        );
        IdentityProvider::parse(&metadata).unwrap()
    });
    /// A valid response, signed as a whole.
    static RESPONSE: LazyLock<String> = LazyLock::new(|| {
        let template = format!(
            "<p:Response xmlns:p='{protocol}' xmlns='{assertion}' ID='r' IssueInstant='{NOW}' Destination='{CONSUMER}' \
             InResponseTo='q'><Issuer>idp</Issuer><Signature xmlns='{dsig}'><SignedInfo><CanonicalizationMethod \
             Algorithm='{canonical}'/><SignatureMethod Algorithm='{method}'/><Reference URI='#r'><Transforms><Transform \
             Algorithm='{enveloped}'/><Transform Algorithm='{canonical}'/></Transforms><DigestMethod Algorithm='{digest}'/>\
             <DigestValue></DigestValue></Reference></SignedInfo><SignatureValue></SignatureValue></Signature><p:Status>\
             <p:StatusCode Value='{SUCCESS}'/></p:Status><Assertion ID='a' IssueInstant='{NOW}'><Issuer>idp</Issuer>\
             <Subject><NameID>user-1</NameID><SubjectConfirmation Method='{BEARER}'><SubjectConfirmationData \
             InResponseTo='q' Recipient='{CONSUMER}' NotOnOrAfter='2026-01-01T00:01:00Z'/></SubjectConfirmation></Subject>\
             <Conditions NotOnOrAfter='2026-01-01T00:01:00Z'><AudienceRestriction><Audience>{AUDIENCE}</Audience>\
             </AudienceRestriction></Conditions><AttributeStatement><Attribute Name='mail'><AttributeValue>ada@example.com\
             </AttributeValue></Attribute></AttributeStatement></Assertion></p:Response>",
            protocol = ns::PROTOCOL,
            assertion = ns::ASSERTION,
            dsig = ns::DSIG,
            canonical = algorithm::EXC_C14N,
            method = algorithm::RSA_SHA256,
            enveloped = algorithm::ENVELOPED_SIGNATURE,
            digest = algorithm::SHA256,
        );
        PAIR.sign_document(&template).unwrap()
    });

    /// Returns the id of the assertion, the user and the address in `text`, if it is valid.
    fn judge(text: &str) -> Result<(String, String, String), String> {
        let context = ValidationContext {
            provider: &PROVIDER,
            request_id: Some("q"),
            resolve_id: None,
            consumer: CONSUMER,
            audience: AUDIENCE,
            keys: Vec::new(),
            now: moment::parse(NOW).unwrap(),
        };
        let assertion = accept(text, &context)?;
        Ok((assertion.id().to_owned(), assertion.user_id(), assertion.email().to_owned()))
    }

    fn genuine() -> (String, String, String) {
        ("a".to_owned(), "user-1".to_owned(), "ada@example.com".to_owned())
    }

    #[test]
    fn a_response_that_the_provider_has_signed_is_valid() {
        assert_eq!(judge(&RESPONSE), Ok(genuine()));
    }

    proptest! {
        #[test]
        fn changed_responses_are_refused_or_have_the_same_content(place in any::<prop::sample::Index>(), new in "[ -~\\n]{0,3}", cut in 0usize..4) {
            let text = RESPONSE.as_str();
            let start = place.index(text.len());
            let end = (start + cut).min(text.len());
            let changed = format!("{}{new}{}", &text[..start], &text[end..]);
            if let Ok(accepted) = judge(&changed) {
                prop_assert_eq!(accepted, genuine());
            }
        }

        #[test]
        fn arbitrary_posted_text_is_refused_without_a_panic(text in "(<(/?[a-z:]{1,3}|[!?]{1,2})( [a-zA-Z:]{1,5}=['\"][^<]{0,5}['\"])?/?>|[^\\x00]{0,5}){0,12}") {
            let _ = issuer(&text);
            let _ = IdentityProvider::parse(&text);
            prop_assert!(judge(&text).is_err());
        }
    }
}
