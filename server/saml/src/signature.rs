//! The verification of signatures in responses.
//!
//! A signature only covers the element that contains it, as SAML requires (Core, section 5.4): it refers to that
//! element by its id, and to nothing else. Its description is checked before it is verified, so that a forged one
//! cannot make this service run transforms, read files or use algorithms that no identity provider uses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra::core::algorithm;
use bergshamra::dsig::verify::verify_all_document_with_source;
use bergshamra::{DsigContext, KeysManager, VerifyResult, keys};
use time::OffsetDateTime;
use uppsala::Document;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::xml::{Element, ns};

/// The algorithms that upstream accepts: RSA and ECDSA with SHA-1 and SHA-2. Keyed hashes are not accepted, since an
/// identity provider would have to publish the key.
const METHODS: [&str; 8] = [
    algorithm::RSA_SHA1,
    algorithm::RSA_SHA256,
    algorithm::RSA_SHA384,
    algorithm::RSA_SHA512,
    algorithm::ECDSA_SHA1,
    algorithm::ECDSA_SHA256,
    algorithm::ECDSA_SHA384,
    algorithm::ECDSA_SHA512,
];
const DIGESTS: [&str; 4] = [algorithm::SHA1, algorithm::SHA256, algorithm::SHA384, algorithm::SHA512];
const CANONICAL_FORMS: [&str; 6] = [
    algorithm::EXC_C14N,
    algorithm::EXC_C14N_WITH_COMMENTS,
    algorithm::C14N,
    algorithm::C14N_WITH_COMMENTS,
    algorithm::C14N11,
    algorithm::C14N11_WITH_COMMENTS,
];
/// The enveloped signature and a canonical form (Core, section 5.4.4).
const MOST_TRANSFORMS: usize = 2;

/// The keys that an identity provider signs with.
pub(super) struct TrustedKeys(DsigContext);

impl TrustedKeys {
    /// Returns the keys of `certificates`, DER in base64, that are valid at `now`.
    ///
    /// Errors: a sentence for the log if there is none.
    pub(super) fn new(certificates: &[String], now: OffsetDateTime) -> Result<Self, String> {
        let mut manager = KeysManager::new();
        let mut reasons = Vec::new();
        for certificate in certificates {
            match key(certificate, now) {
                Ok(key) => manager.add_key(key),
                Err(reason) => reasons.push(reason),
            }
        }
        if manager.is_empty() {
            let reasons = reasons.join(", ");
            return Err(format!("the provider's metadata has no certificate that counts now ({reasons})"));
        }
        // Only keys of the manager, and strict checks of what is signed: the library's default, on which this module
        // relies.
        let context = DsigContext::new(manager).with_trusted_keys_only(true).with_strict_verification(true);
        Ok(Self(context))
    }

    /// Verifies all signatures in `document`, which was parsed from `text`: each must belong to one of `elements`,
    /// which need not be signed. Returns for each element whether it is signed.
    ///
    /// Errors: a sentence for the log, if a signature is not valid, is in another place, or covers anything else.
    pub(super) fn verify(
        &self,
        text: &str,
        document: &Document<'_>,
        root: Element<'_>,
        elements: &[Element<'_>],
    ) -> Result<Vec<bool>, String> {
        let mut expected = Vec::new();
        for element in elements {
            let signature = of(*element)?;
            if let Some(signature) = signature {
                check_form(*element, signature)?;
            }
            expected.push(signature);
        }
        let signed = expected.iter().flatten().count();
        if root.count(ns::DSIG, "Signature") != signed {
            return Err("there is a signature where none belongs".to_owned());
        }
        if signed > 0 {
            let results = verify_all_document_with_source(&self.0, document, Some(text));
            let results = results.map_err(|error| format!("signatures cannot be verified: {error}"))?;
            for (element, signature) in elements.iter().zip(&expected) {
                if let Some(signature) = signature {
                    covers(&results, *element, *signature)?;
                }
            }
        }
        Ok(expected.iter().map(Option::is_some).collect())
    }
}

/// Returns the key of a certificate that is valid at `now`.
fn key(certificate: &str, now: OffsetDateTime) -> Result<bergshamra::Key, String> {
    let der = STANDARD.decode(certificate).map_err(|error| format!("one is no base64: {error}"))?;
    let parsed = Certificate::from_der(&der).map_err(|error| format!("one cannot be read: {error}"))?;
    let validity = parsed.tbs_certificate.validity;
    let moment = |time: x509_cert::time::Time| i128::from(time.to_unix_duration().as_secs());
    let now = i128::from(now.unix_timestamp());
    if now < moment(validity.not_before) || now > moment(validity.not_after) {
        return Err(format!("one is valid from {} to {}", validity.not_before, validity.not_after));
    }
    keys::loader::load_x509_cert_der(&der).map_err(|error| format!("the key of one cannot be used: {error}"))
}

/// Returns the signature of `element` itself, if it has one.
fn of<'d>(element: Element<'d>) -> Result<Option<Element<'d>>, String> {
    let mut signatures = element.children_named(ns::DSIG, "Signature");
    let first = signatures.next();
    if signatures.next().is_some() {
        return Err("an element has several signatures".to_owned());
    }
    Ok(first)
}

/// Checks that `signature` covers only `element`, and uses only the usual algorithms.
fn check_form(element: Element<'_>, signature: Element<'_>) -> Result<(), String> {
    let one = |parent: Element<'_>, name: &'static str| {
        parent
            .only(ns::DSIG, name)
            .map(Element::node)
            .ok_or(format!("a signature without exactly one {name}"))
    };
    one(signature, "SignedInfo")?;
    one(signature, "SignatureValue")?;
    if signature.children().any(|child| child.is(ns::DSIG, "Object")) {
        return Err("a signature with objects of its own".to_owned());
    }
    let info = signature.only(ns::DSIG, "SignedInfo").ok_or("a signature without SignedInfo")?;
    require_algorithm(info, "CanonicalizationMethod", &CANONICAL_FORMS)?;
    require_algorithm(info, "SignatureMethod", &METHODS)?;
    let reference = info.only(ns::DSIG, "Reference").ok_or("a signature without exactly one Reference")?;
    let id = element.attribute("ID").filter(|id| !id.is_empty()).ok_or("a signed element without an ID")?;
    if reference.attribute("URI").and_then(|uri| uri.strip_prefix('#')) != Some(id) {
        return Err("a signature that refers to something else than what it stands in".to_owned());
    }
    require_algorithm(reference, "DigestMethod", &DIGESTS)?;
    one(reference, "DigestValue")?;
    let transforms: Vec<_> =
        reference.children_named(ns::DSIG, "Transforms").flat_map(Element::children).collect();
    let usual = |transform: &Element<'_>| {
        let name = transform.attribute("Algorithm").unwrap_or_default();
        transform.is(ns::DSIG, "Transform")
            && (name == algorithm::ENVELOPED_SIGNATURE || CANONICAL_FORMS.contains(&name))
    };
    if transforms.len() > MOST_TRANSFORMS || !transforms.iter().all(usual) {
        return Err("a signature with transforms that SAML does not use".to_owned());
    }
    Ok(())
}

fn require_algorithm(parent: Element<'_>, name: &'static str, known: &[&str]) -> Result<(), String> {
    let method = parent.only(ns::DSIG, name).ok_or(format!("a signature without exactly one {name}"))?;
    let algorithm = method.attribute("Algorithm").unwrap_or_default();
    if known.contains(&algorithm) {
        return Ok(());
    }
    Err(format!("a signature with {name} {algorithm:?}, which is not taken"))
}

/// Checks that `signature` was found valid, for `element` and nothing else.
fn covers(results: &[VerifyResult], element: Element<'_>, signature: Element<'_>) -> Result<(), String> {
    let mut reasons = Vec::new();
    for result in results {
        match result {
            VerifyResult::Valid { signature_node, references, .. } if *signature_node == signature.node() => {
                let own = |reference: &bergshamra::VerifiedReference| {
                    reference.digest_verified && reference.resolved_node == Some(element.node())
                };
                if references.len() == 1 && references.iter().all(own) {
                    return Ok(());
                }
                reasons.push("it covers something else".to_owned());
            }
            VerifyResult::Valid { .. } => {}
            VerifyResult::Invalid { reason } => reasons.push(reason.clone()),
        }
    }
    Err(format!("a signature is not valid: {}", reasons.join(", ")))
}
