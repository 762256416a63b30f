//! The part of XML that SAML needs: a parser that refuses the constructs of known attacks, a view of elements, and the
//! escaping of text.

use uppsala::{Document, NodeId, Parser};

/// Namespaces of elements (SAML 2.0 Core, section 1.2; Metadata, section 1.1).
pub(super) mod ns {
    pub(crate) const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
    pub(crate) const METADATA: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
    pub(crate) const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
    pub(crate) const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
    pub(crate) use bergshamra::core::ns::{DSIG, ENC, ENC11};
}

/// The maximum nesting of elements; those of SAML need about a dozen levels.
const MAX_DEPTH: u32 = 64;

/// Parses a document. Document type declarations are refused (SAML needs none), so there are no entities to expand and
/// no files to read.
///
/// Errors: a sentence for the log.
pub(super) fn parse(text: &str) -> Result<Document<'_>, String> {
    let parser = Parser::new().with_max_depth(MAX_DEPTH).with_forbid_dtd(true);
    parser.parse(text).map_err(|error| format!("not well-formed XML, or with a document type: {error}"))
}

/// An element of a document.
#[derive(Clone, Copy)]
pub(super) struct Element<'d> {
    document: &'d Document<'d>,
    node: NodeId,
}

impl<'d> Element<'d> {
    /// Returns the outermost element.
    pub(super) fn root(document: &'d Document<'d>) -> Option<Self> {
        document.document_element().map(|node| Element { document, node })
    }

    pub(super) fn node(self) -> NodeId {
        self.node
    }

    pub(super) fn is(self, namespace: &str, name: &str) -> bool {
        self.document.element(self.node).is_some_and(|element| element.matches_name_ns(namespace, name))
    }

    /// Returns an attribute without a namespace, as all of SAML's are.
    pub(super) fn attribute(self, name: &str) -> Option<&'d str> {
        let attributes = &self.document.element(self.node)?.attributes;
        let plain = |namespace: Option<&str>| namespace.unwrap_or_default().is_empty();
        attributes
            .iter()
            .find(|known| *known.name.local_name == *name && plain(known.name.namespace_uri.as_deref()))
            .map(|known| &*known.value)
    }

    /// Returns the elements directly within this one.
    pub(super) fn children(self) -> impl Iterator<Item = Element<'d>> {
        let document = self.document;
        let nodes = document.children_iter(self.node);
        nodes.filter(|node| document.element(*node).is_some()).map(move |node| Element { document, node })
    }

    /// Returns the children of this name.
    pub(super) fn children_named(
        self,
        namespace: &'d str,
        name: &'d str,
    ) -> impl Iterator<Item = Element<'d>> {
        self.children().filter(move |child| child.is(namespace, name))
    }

    /// Returns the first child of this name.
    pub(super) fn child(self, namespace: &'d str, name: &'d str) -> Option<Self> {
        self.children_named(namespace, name).next()
    }

    /// Returns the child of this name, if there is exactly one.
    pub(super) fn only(self, namespace: &'d str, name: &'d str) -> Option<Self> {
        let mut found = self.children_named(namespace, name);
        found.next().filter(|_| found.next().is_none())
    }

    /// Returns how many elements of this name there are in it, at any depth, itself included.
    pub(super) fn count(self, namespace: &str, name: &str) -> usize {
        let descendants = self.document.descendants(self.node).into_iter();
        let own = std::iter::once(self.node).chain(descendants.filter(|node| *node != self.node));
        own.filter(|node| Element { document: self.document, node: *node }.is(namespace, name)).count()
    }

    /// Returns all text in it. A comment does not divide the text: comments are not signed, so anyone could insert one
    /// into a name.
    pub(super) fn text(self) -> String {
        self.document.text_content_deep(self.node)
    }

    /// Returns the text without any white space, as the decoder of base64 needs it.
    pub(super) fn compact_text(self) -> String {
        let mut text = self.text();
        text.retain(|character| !character.is_whitespace());
        text
    }
}

/// Escapes `text` for element content or an attribute in double quotes of an XML document. Unlike HTML, XML needs
/// references for tabs and line breaks: parsers replace them in an attribute's value by spaces (XML 1.0, section
/// 3.3.3).
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' => escaped.push_str("&#x9;"),
            '\n' => escaped.push_str("&#xA;"),
            '\r' => escaped.push_str("&#xD;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_entities_and_endless_nesting_are_refused() {
        assert!(parse("<a/>").is_ok());
        for text in [
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
            "<a>&x;</a>",
            "<a><b></a></b>",
            "<a b='1' b='2'/>",
            "<p:a/>",
            "<a/><a/>",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn a_comment_does_not_shorten_a_name() {
        let text = "<a>user@example.com<!-- x -->.evil.example<![CDATA[!]]></a>";
        let document = parse(text).unwrap();
        assert_eq!(Element::root(&document).unwrap().text(), "user@example.com.evil.example!");
    }

    #[test]
    fn an_attribute_of_another_namespace_is_another_attribute() {
        let document = parse("<a xmlns:x='urn:x' x:ID='1' ID='2'/>").unwrap();
        assert_eq!(Element::root(&document).unwrap().attribute("ID"), Some("2"));
    }

    #[test]
    fn escaped_text_is_read_unchanged() {
        let text = "a<b>&\"c'\t\n\r";
        let written = format!("<a b=\"{}\"/>", escape(text));
        let document = parse(&written).unwrap();
        assert_eq!(Element::root(&document).unwrap().attribute("b"), Some(text));
    }
}
