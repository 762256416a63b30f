//! The metadata that an identity provider publishes (SAML 2.0 Metadata).

use std::time::Duration;

use time::OffsetDateTime;

use super::moment;
use super::xml::{self, Element, ns};

const SOAP: &str = "urn:oasis:names:tc:SAML:2.0:bindings:SOAP";
const HTTP_REDIRECT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";

/// How long metadata is valid if it does not contain a time limit.
const USUAL_LIFE: Duration = Duration::from_secs(24 * 3600);

/// Why a document is not the metadata of one identity provider.
#[derive(Debug, thiserror::Error)]
#[error("SAML Metadata {0}")]
pub struct InvalidMetadata(String);

/// An identity provider.
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    entity_id: String,
    /// When the metadata expires.
    valid_until: Option<OffsetDateTime>,
    /// How long the metadata may be kept.
    cache_duration: Option<Duration>,
    /// The URL that users are redirected to; empty if redirects are not supported.
    location: String,
    /// The URL where references to responses are resolved; empty if there is none.
    artifact_location: String,
    /// The certificates that signatures are verified with, DER in base64.
    certificates: Vec<String>,
}

impl IdentityProvider {
    /// Reads a document: an `EntityDescriptor`, or the first one of an identity provider within an
    /// `EntitiesDescriptor`.
    ///
    /// Errors: [`InvalidMetadata`].
    pub fn parse(text: &str) -> Result<Self, InvalidMetadata> {
        let document = xml::parse(text).map_err(|cause| invalid(format!("is {cause}")))?;
        let root = Element::root(&document).ok_or_else(|| invalid("is empty"))?;
        let entity = entity(root)?;
        let entity_id = entity.attribute("entityID").unwrap_or_default();
        if entity_id.is_empty() {
            return Err(invalid("does not contain an EntityID"));
        }
        let mut roles = entity.children_named(ns::METADATA, "IDPSSODescriptor");
        let role = roles.next().ok_or_else(|| invalid("does not contain any IDPSSODescriptor"))?;
        if roles.next().is_some() {
            return Err(invalid("contains multiple IDPSSODescriptors"));
        }
        let valid_until = entity.attribute("validUntil").map(|text| {
            moment::parse(text).ok_or_else(|| invalid("has a validUntil that is no date and time"))
        });
        let cache_duration = entity.attribute("cacheDuration").map(|text| {
            moment::duration(text).ok_or_else(|| invalid("has a cacheDuration that is no duration"))
        });
        Ok(Self {
            entity_id: entity_id.to_owned(),
            valid_until: valid_until.transpose()?,
            cache_duration: cache_duration.transpose()?.filter(|duration| !duration.is_zero()),
            location: location(role, "SingleSignOnService", HTTP_REDIRECT).to_owned(),
            artifact_location: location(role, "ArtifactResolutionService", SOAP).to_owned(),
            certificates: certificates(role),
        })
    }

    /// Returns its id (`entityID`).
    pub fn entity_id(&self) -> &str {
        &self.entity_id
    }

    /// Returns the URL that users are redirected to; empty if there is none.
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// Returns the URL where references to responses are resolved; empty if there is none.
    pub(super) fn artifact_location(&self) -> &str {
        &self.artifact_location
    }

    /// Returns the certificates that assertions may be signed with, DER in base64.
    pub(super) fn certificates(&self) -> &[String] {
        &self.certificates
    }

    /// Returns whether metadata that was stored `age` ago should be fetched again at `now`: when its own time limits
    /// are reached, or without any after 24 hours.
    pub fn is_stale(&self, age: Duration, now: OffsetDateTime) -> bool {
        let over = self.valid_until.is_some_and(|end| now > end);
        let longest = match (self.cache_duration, self.valid_until) {
            (Some(duration), _) => Some(duration),
            (None, Some(_)) => None,
            (None, None) => Some(USUAL_LIFE),
        };
        over || longest.is_some_and(|longest| age > longest)
    }

    /// Returns the time from `now` until the metadata expires; negative if it has expired.
    pub fn remaining(&self, now: OffsetDateTime) -> Option<time::Duration> {
        self.valid_until.map(|end| end - now)
    }
}

fn invalid(what: impl std::fmt::Display) -> InvalidMetadata {
    InvalidMetadata(what.to_string())
}

fn entity(root: Element<'_>) -> Result<Element<'_>, InvalidMetadata> {
    if root.is(ns::METADATA, "EntityDescriptor") {
        return Ok(root);
    }
    if !root.is(ns::METADATA, "EntitiesDescriptor") {
        return Err(invalid("is neither an EntityDescriptor nor an EntitiesDescriptor"));
    }
    let mut entities = root.children_named(ns::METADATA, "EntityDescriptor");
    let found = entities.find(|entity| entity.child(ns::METADATA, "IDPSSODescriptor").is_some());
    found.ok_or_else(|| invalid("does not contain any entity with an IDPSSODescriptor"))
}

/// Returns the URL of the first service of this name with the binding `binding`; empty if there is none.
fn location<'d>(role: Element<'d>, name: &'d str, binding: &str) -> &'d str {
    let mut services = role.children_named(ns::METADATA, name);
    let found = services.find(|service| service.attribute("Binding") == Some(binding));
    found.and_then(|service| service.attribute("Location")).unwrap_or_default()
}

/// Returns the certificates for signatures, and those for all uses.
fn certificates(role: Element<'_>) -> Vec<String> {
    role.children_named(ns::METADATA, "KeyDescriptor")
        .filter(|key| matches!(key.attribute("use").unwrap_or_default(), "" | "signing"))
        .filter_map(|key| key.child(ns::DSIG, "KeyInfo"))
        .flat_map(|info| info.children_named(ns::DSIG, "X509Data"))
        .flat_map(|data| data.children_named(ns::DSIG, "X509Certificate"))
        .map(Element::compact_text)
        .filter(|certificate| !certificate.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn entity(attributes: &str, roles: &str) -> String {
        format!(
            "<EntityDescriptor xmlns='{}' xmlns:ds='{}' {attributes}>{roles}</EntityDescriptor>",
            ns::METADATA,
            ns::DSIG
        )
    }

    const ROLE: &str = "<IDPSSODescriptor>
        <KeyDescriptor use='encryption'><ds:KeyInfo><ds:X509Data><ds:X509Certificate>eHg=</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
        <KeyDescriptor use='signing'><ds:KeyInfo><ds:X509Data><ds:X509Certificate>
          YW
          E=
        </ds:X509Certificate><ds:X509Certificate>YmI=</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
        <KeyDescriptor><ds:KeyInfo><ds:X509Data><ds:X509Certificate>Y2M=</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
        <SingleSignOnService Binding='urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST' Location='https://idp.example/post'/>
        <SingleSignOnService Binding='urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect' Location='https://idp.example/redirect'/>
      </IDPSSODescriptor>";

    #[test]
    fn a_provider_is_read() {
        let parsed = IdentityProvider::parse(&entity("entityID='https://idp.example'", ROLE)).unwrap();
        assert_eq!(parsed.entity_id(), "https://idp.example");
        assert_eq!(parsed.location(), "https://idp.example/redirect");
        assert_eq!(parsed.certificates(), ["YWE=", "YmI=", "Y2M="]);
        let other = entity("entityID='https://sp.example'", "<SPSSODescriptor/>");
        let mine = entity("entityID='https://idp.example'", ROLE);
        let several =
            format!("<EntitiesDescriptor xmlns='{}'>{other}{mine}</EntitiesDescriptor>", ns::METADATA);
        assert_eq!(IdentityProvider::parse(&several).unwrap().entity_id(), "https://idp.example");
    }

    #[test]
    fn invalid_providers_are_refused() {
        let id = "entityID='https://idp.example'";
        for text in [
            "not XML".to_owned(),
            "<a/>".to_owned(),
            format!("<!DOCTYPE x>{}", entity(id, ROLE)),
            entity("", ROLE),
            entity(id, ""),
            entity(id, &format!("{ROLE}{ROLE}")),
            entity(&format!("{id} validUntil='soon'"), ROLE),
            entity(&format!("{id} cacheDuration='long'"), ROLE),
            format!("<EntitiesDescriptor xmlns='{}'>{}</EntitiesDescriptor>", ns::METADATA, entity(id, "")),
            entity(id, ROLE).replace(ns::METADATA, "urn:x"),
        ] {
            assert!(IdentityProvider::parse(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn metadata_becomes_stale_by_its_own_limits_or_after_a_day() {
        let now = moment::parse("2026-01-02T00:00:00Z").unwrap();
        let stale = |attributes: &str, age: Duration| {
            let text = entity(&format!("entityID='x' {attributes}"), ROLE);
            IdentityProvider::parse(&text).unwrap().is_stale(age, now)
        };
        assert!(!stale("", DAY) && stale("", DAY * 2));
        assert!(
            !stale("cacheDuration='PT1H'", Duration::from_secs(3600)) && stale("cacheDuration='PT1H'", DAY)
        );
        assert!(!stale("validUntil='2026-01-03T00:00:00Z'", DAY * 9));
        assert!(stale("validUntil='2026-01-01T00:00:00Z'", Duration::ZERO));
    }
}
