//! Content types: which a bucket's list may name, which uploads it admits, and how objects are served.
//!
//! Browsers read `Content-Type` more leniently than any sender may write it: of a list they take the last type that
//! they know. So a stored value is served only if it is exactly one media type by RFC 9110, and only types of a list
//! are served without the policy that keeps scripts from running (decision 66).

use crate::error::Error;

/// The type of an object for which the request names none.
pub(crate) const DEFAULT_TYPE: &str = "application/octet-stream";

/// Characters that an entry of a bucket's list may have.
const MAX_ENTRY_LENGTH: usize = 1000;

/// Checks an entry of a bucket's list: `type/subtype`, also with a charset, or what ends in `*`.
///
/// Errors: [`Error::InvalidMimeType`].
pub(crate) fn check_entry(entry: &str) -> Result<(), Error> {
    let is_allowed = entry.len() <= MAX_ENTRY_LENGTH && (entry.ends_with('*') || is_type(entry));
    if is_allowed { Ok(()) } else { Err(Error::InvalidMimeType(entry.to_owned())) }
}

fn is_type(entry: &str) -> bool {
    let (essence, parameter) = entry.split_once(';').map_or((entry, None), |(e, p)| (e, Some(p)));
    let is_name = |text: &str, marks: &[u8]| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
    };
    let is_essence = essence
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_name(kind, b"-+.") && is_name(subtype, b"-+."));
    let is_charset = parameter.is_none_or(|parameter| {
        parameter.trim_start().strip_prefix("charset=").is_some_and(|name| is_name(name, b"-"))
    });
    is_essence && is_charset
}

/// A media type with its parameters, as RFC 9110 has it in section 8.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MediaType<'a> {
    essence: &'a str,
    kind: &'a str,
    subtype: &'a str,
    /// Whether no reader can take its parameters for a list of types or for their end.
    is_plain: bool,
}

impl<'a> MediaType<'a> {
    /// Parses `text`, which is one media type and nothing else.
    ///
    /// One deviation: the value of `codecs` may be a list without quotes, because browsers write it so themselves
    /// (`video/webm;codecs=vp9,opus`, the type of a recording).
    fn parse(text: &'a str) -> Option<Self> {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        let (essence, mut rest) = text.split_at(end);
        let (kind, subtype) = essence.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        let mut is_plain = true;
        while !rest.is_empty() {
            let is_space = |character| matches!(character, ' ' | '\t');
            rest = rest.trim_start_matches(is_space).strip_prefix(';')?.trim_start_matches(is_space);
            let (name, after) = split_while(rest, is_mark);
            if name.is_empty() {
                continue;
            }
            let (value, after) = split_value(name, after.strip_prefix('=')?)?;
            is_plain &= !value.contains([',', '\\']);
            rest = after;
        }
        Some(Self { essence, kind, subtype, is_plain })
    }

    fn is(&self, essence: &str) -> bool {
        self.essence.eq_ignore_ascii_case(essence)
    }

    /// Reports whether browsers only show or play such a file, or save it: scripts in it never run.
    ///
    /// Of the families, documents in XML are excluded: browsers run scripts in every type that ends in `+xml`. Source:
    /// HTML standard, "Navigation", "load a document"; MIME Sniffing standard, "XML MIME type".
    fn is_inert(&self) -> bool {
        let is_family = FAMILIES.iter().any(|family| self.kind.eq_ignore_ascii_case(family));
        let subtype = self.subtype.to_ascii_lowercase();
        let may_be_document = ["svg", "xml", "html"].iter().any(|part| subtype.contains(part));
        (is_family && !may_be_document) || INERT.iter().any(|inert| self.is(inert))
    }
}

/// Families of which all types but documents are inert.
const FAMILIES: [&str; 4] = ["image", "audio", "video", "font"];
/// Other inert types that browsers show, or that are common enough to be served without a policy. A browser's viewer of
/// PDF runs in an origin of its own, and shows nothing if the policy of the response has a sandbox.
const INERT: [&str; 10] = [
    "application/gzip",
    "application/json",
    "application/octet-stream",
    "application/pdf",
    "application/zip",
    "text/calendar",
    "text/csv",
    "text/markdown",
    "text/plain",
    "text/vtt",
];

fn is_mark(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

/// Reports whether `text` is a token of a header (RFC 9110, section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_mark)
}

fn split_while(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !is_part(character)).unwrap_or(text.len()))
}

/// Returns the value of parameter `name`, without its quotes, and what follows it.
fn split_value<'a>(name: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return split_quoted(quoted);
    }
    let is_list = name.eq_ignore_ascii_case("codecs");
    Some(split_while(text, |part| is_mark(part) || (is_list && part == ',')))
        .filter(|(value, _)| !value.is_empty())
}

/// Returns what is before the quote that ends a quoted string, and what follows the quote.
fn split_quoted(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'\t' | b' '..=b'~' if is_escaped => is_escaped = false,
            b'"' => return Some((&text[..index], &text[index + 1..])),
            b'\\' => is_escaped = true,
            b'\t' | b' '..=b'~' => {}
            // Other bytes are obsolete in headers, or forbidden.
            _ => return None,
        }
    }
    None
}

/// Returns the type that an object is served as whose row says `stored`: itself, without parameters in which a browser
/// could see a list, or [`DEFAULT_TYPE`] if it is no media type.
pub(crate) fn served(stored: &str) -> &str {
    match MediaType::parse(stored) {
        Some(parsed) if parsed.is_plain => stored,
        Some(parsed) => parsed.essence,
        None => DEFAULT_TYPE,
    }
}

/// Reports whether `content_type` is that of a page.
pub(crate) fn is_page(content_type: &str) -> bool {
    MediaType::parse(content_type).is_some_and(|parsed| parsed.is("text/html"))
}

/// Reports whether a response of type `content_type` needs no policy against scripts.
pub(crate) fn is_inert(content_type: &str) -> bool {
    MediaType::parse(content_type).is_some_and(|parsed| parsed.is_plain && parsed.is_inert())
}

/// Reports whether a header `Content-Type` names a type; its parameters are not checked. Source: RFC 9110, section
/// 8.3.1.
pub(crate) fn is_media_type(header: &str) -> bool {
    let essence = header.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Checks the content type that an upload declares against a bucket's list; an empty list admits every type.
///
/// The whole declared text counts, as upstream has it: `text/plain;charset=UTF-8` is not `text/plain`. Letters count in
/// either case, as media types have it (RFC 9110, section 8.3.1). What is no media type is in no list: `image/*` would
/// admit it by its beginning.
///
/// Errors: [`Error::InvalidMimeType`].
pub(crate) fn admit(declared: &str, allowed: &[String]) -> Result<(), Error> {
    let is_admitted = allowed.is_empty()
        || MediaType::parse(declared).is_some()
            && declared.split_once('/').is_some_and(|(kind, subtype)| {
                allowed.iter().filter_map(|entry| entry.split_once('/')).any(
                    |(allowed_kind, allowed_subtype)| {
                        allowed_kind.eq_ignore_ascii_case(kind)
                            && (allowed_subtype == "*" || allowed_subtype.eq_ignore_ascii_case(subtype))
                    },
                )
            });
    if is_admitted { Ok(()) } else { Err(Error::InvalidMimeType(declared.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_types_and_families() {
        for entry in ["image/png", "image/*", "text/plain; charset=utf-8", "application/vnd.api+json", "*"] {
            assert!(check_entry(entry).is_ok(), "{entry}");
        }
        for entry in ["image", "image/", "/png", "image/png; q=1", "im age/png", &"a".repeat(1001)] {
            assert!(check_entry(entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_header_names_a_type() {
        for header in ["image/png", "text/plain;charset=utf-8", " application/vnd.api+json ; q", "a/b;"] {
            assert!(is_media_type(header), "{header}");
        }
        for header in ["", "text", "text/", "/plain", ";;;", "te xt/plain", "a/b/c"] {
            assert!(!is_media_type(header), "{header}");
        }
    }

    #[test]
    fn only_what_is_one_media_type_is_served() {
        for stored in [
            "image/png",
            "Text/HTML; charset=utf-8",
            "text/plain;charset=UTF-8",
            "text/plain; charset=\"utf-8\" ; a=b",
            "a/b;",
            "multipart/form-data; boundary=\"x; y\"",
        ] {
            assert_eq!(served(stored), stored);
        }
        for stored in [
            "",
            "image",
            "image/png;a=b, image/svg+xml",
            "image/svg+xml, */*",
            "image/png, text/html",
            "image/png text/html",
            " text/html",
            "text/html ",
            "text/html\t",
            "text/html\n",
            "text/html\0",
            "text/html;a",
            "text/html;a=",
            "text/html;a=b c=d",
            "text/html;a=\"b",
            "text/html;a=\"b\"c",
            "text/html;a=\"\u{7f}\"",
            "text/html;a=ä",
            "video/webm;codecs=vp9,image/svg+xml",
            "video/webm;codecs=vp9, opus",
            "a/b/c",
            "*/*, text/html",
        ] {
            assert_eq!(served(stored), DEFAULT_TYPE, "{stored:?}");
        }
        for (stored, expected) in [
            ("image/png;a=\", image/svg+xml\"", "image/png"),
            ("image/png;a=\"\\\", image/svg+xml;b=\"", "image/png"),
            ("video/webm;codecs=vp9,opus", "video/webm"),
            ("video/mp4; codecs=\"avc1.42E01E, mp4a.40.2\"", "video/mp4"),
        ] {
            assert_eq!(served(stored), expected);
        }
    }

    #[test]
    fn types_that_run_scripts_are_not_inert() {
        for inert in [
            "image/png",
            "IMAGE/JPEG",
            "video/mp4; a=b",
            "audio/mpeg",
            "font/woff2",
            "text/plain;charset=UTF-8",
            "application/pdf",
            "application/json; charset=utf-8",
        ] {
            assert!(is_inert(inert), "{inert}");
        }
        for active in [
            "image/svg+xml",
            "image/SVG+XML; a=b",
            "image/x+xml",
            "video/x+xml",
            "text/html",
            "text/HTML;charset=utf-8",
            "application/xhtml+xml",
            "text/xml",
            "application/xml",
            "text/xsl",
            "application/mathml+xml",
            "application/rss+xml",
            "multipart/x-mixed-replace; boundary=a",
            "multipart/related",
            "message/rfc822",
            "text/css",
            "text/javascript",
            "application/javascript",
            "application/wasm",
            "application/x-shockwave-flash",
            "image/png;a=\", image/svg+xml\"",
            "image/png, image/svg+xml",
            "",
        ] {
            assert!(!is_inert(active), "{active}");
        }
        assert!(is_page("Text/HTML; charset=utf-8") && !is_page("application/xhtml+xml"));
    }

    #[test]
    fn uploads_are_compared_as_they_declare_themselves() {
        let allowed = ["image/*".to_owned(), "text/plain".to_owned()];
        assert!(admit("image/png", &allowed).is_ok());
        assert!(admit("text/plain", &allowed).is_ok());
        assert!(admit("IMAGE/PNG", &allowed).is_ok() && admit("Text/Plain", &allowed).is_ok());
        let capitals = ["Image/*".to_owned(), "TEXT/plain;charset=utf-8".to_owned()];
        assert!(admit("image/png", &capitals).is_ok());
        assert!(admit("text/plain;charset=UTF-8", &capitals).is_ok());
        for declared in ["text/plain;charset=UTF-8", "text/html", "image", ""] {
            assert!(admit(declared, &allowed).is_err(), "{declared}");
            assert!(admit(declared, &[]).is_ok(), "{declared}");
        }
        for declared in
            ["image/png;a=b, image/svg+xml", "image/svg+xml, */*", "image/png\n", "image/", "image/a b"]
        {
            assert!(admit(declared, &allowed).is_err(), "{declared:?}");
        }
    }
}
