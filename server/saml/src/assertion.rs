//! The assertions of an identity provider about a user.

use time::OffsetDateTime;

use super::moment;
use super::xml::{Element, ns};

/// The attribute that identifies a user permanently (SAML V2.0 Subject Identifier Attributes Profile, section 3.3).
const SUBJECT_ID: &str = "urn:oasis:names:tc:SAML:attribute:subject-id";

/// Attributes that are used as the e-mail address if no mapping names one, the best one first.
const EMAILS: [&str; 6] = [
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "http://schemas.xmlsoap.org/claims/EmailAddress",
    "mail",
    "Mail",
    "email",
];

/// Formats of names (SAML 2.0 Core, section 8.3).
pub mod name_id_format {
    /// An e-mail address.
    pub const EMAIL: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
    /// An opaque name that stays the same for one user and one service.
    pub const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
    /// A name for one session.
    pub const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
    /// A name of any kind.
    pub const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
}

/// A verified assertion.
#[derive(Debug, Clone)]
pub struct Assertion {
    id: String,
    name: Option<Name>,
    attributes: Vec<Attribute>,
    session_end: Option<OffsetDateTime>,
}

/// `NameID`.
#[derive(Debug, Clone)]
struct Name {
    format: String,
    value: String,
}

#[derive(Debug, Clone)]
struct Attribute {
    name: String,
    friendly_name: String,
    values: Vec<String>,
}

impl Assertion {
    /// Reads the user's name and attributes from `element`.
    pub(super) fn read(element: Element<'_>) -> Self {
        let name = element.child(ns::ASSERTION, "Subject").and_then(|subject| {
            let name = subject.child(ns::ASSERTION, "NameID")?;
            let format = name.attribute("Format").unwrap_or_default().to_owned();
            Some(Name { format, value: name.text() })
        });
        let attributes = element
            .children_named(ns::ASSERTION, "AttributeStatement")
            .flat_map(|statement| statement.children_named(ns::ASSERTION, "Attribute"));
        let attributes = attributes.map(|attribute| Attribute {
            name: attribute.attribute("Name").unwrap_or_default().to_owned(),
            friendly_name: attribute.attribute("FriendlyName").unwrap_or_default().to_owned(),
            values: attribute.children_named(ns::ASSERTION, "AttributeValue").map(Element::text).collect(),
        });
        let mut statements = element.children_named(ns::ASSERTION, "AuthnStatement");
        Self {
            id: element.attribute("ID").unwrap_or_default().to_owned(),
            name,
            attributes: attributes.collect(),
            session_end: statements
                .find_map(|statement| moment::parse(statement.attribute("SessionNotOnOrAfter")?)),
        }
    }

    /// Returns the provider's id of this assertion, which it uses only once.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns all values of the attribute whose name or friendly name is `name`, without regard to upper and lower
    /// case.
    pub fn values(&self, name: &str) -> Vec<&str> {
        let name = name.to_lowercase();
        let is_named = |attribute: &&Attribute| {
            attribute.name.to_lowercase() == name || attribute.friendly_name.to_lowercase() == name
        };
        self.attributes.iter().filter(is_named).flat_map(|found| &found.values).map(String::as_str).collect()
    }

    /// Returns the permanent identifier of the user at the provider; empty if there is none.
    pub fn user_id(&self) -> String {
        if let Some(subject) = self.values(SUBJECT_ID).first() {
            return (*subject).to_owned();
        }
        match &self.name {
            Some(Name { format, value }) if format == name_id_format::EMAIL => value.trim().to_lowercase(),
            Some(Name { format, value }) if format != name_id_format::TRANSIENT => value.clone(),
            _ => String::new(),
        }
    }

    /// Returns the attribute that is most likely the user's e-mail address; empty if there is none.
    pub fn email(&self) -> &str {
        let attributes = EMAILS.iter().flat_map(|name| self.values(name));
        let name = self
            .name
            .iter()
            .filter(|name| name.format == name_id_format::EMAIL)
            .map(|name| name.value.trim());
        attributes.chain(name).find(|address| !address.is_empty()).unwrap_or_default()
    }

    /// Returns when the user's session ends at the latest, if the provider says so (`SessionNotOnOrAfter`).
    pub fn session_end(&self) -> Option<String> {
        self.session_end.map(moment::format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml;

    fn assertion(content: &str) -> Assertion {
        let text = format!("<Assertion xmlns='{}' ID='a'>{content}</Assertion>", ns::ASSERTION);
        let document = xml::parse(&text).unwrap();
        Assertion::read(Element::root(&document).unwrap())
    }

    fn attributes(list: &[(&str, &str, &str)]) -> String {
        let attributes = list.iter().map(|(name, friendly, value)| {
            format!(
                "<Attribute Name='{name}' FriendlyName='{friendly}'><AttributeValue>{value}</AttributeValue></Attribute>"
            )
        });
        format!("<AttributeStatement>{}</AttributeStatement>", attributes.collect::<String>())
    }

    fn named(format: &str, value: &str) -> String {
        format!("<Subject><NameID Format='{format}'>{value}</NameID></Subject>")
    }

    #[test]
    fn users_are_identified_by_permanent_identifiers() {
        let subject = attributes(&[("URN:oasis:names:tc:SAML:attribute:subject-id", "", "42@idp")]);
        for (content, expected) in [
            (named(name_id_format::PERSISTENT, "p-1"), "p-1"),
            (named(name_id_format::UNSPECIFIED, " u "), " u "),
            (named("", "u"), "u"),
            (named(name_id_format::EMAIL, " Ada@Example.com "), "ada@example.com"),
            (named(name_id_format::TRANSIENT, "t"), ""),
            (format!("{}{subject}", named(name_id_format::TRANSIENT, "t")), "42@idp"),
            (String::new(), ""),
        ] {
            assert_eq!(assertion(&content).user_id(), expected, "{content}");
        }
    }

    #[test]
    fn addresses_are_found_in_the_attributes_of_providers() {
        let email = |content: &str| assertion(content).email().to_owned();
        assert_eq!(
            email(&attributes(&[("x", "MAIL", ""), ("y", "email", "b@x"), ("z", "mail", "a@x")])),
            "a@x"
        );
        let claim = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress";
        assert_eq!(email(&attributes(&[(claim, "", "c@x"), ("mail", "", "a@x")])), "c@x");
        assert_eq!(email(&named(name_id_format::EMAIL, "d@x")), "d@x");
        assert_eq!(email(&named(name_id_format::PERSISTENT, "d@x")), "");
    }

    #[test]
    fn the_first_session_that_ends_counts() {
        let content = "<AuthnStatement/><AuthnStatement SessionNotOnOrAfter='2026-01-01T00:00:00.5Z'/>";
        assert_eq!(assertion(content).session_end().as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(assertion("<AuthnStatement/>").session_end(), None);
    }
}
