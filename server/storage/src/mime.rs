//! Content types: which a bucket's list may name, and which uploads it admits.

use crate::Error;

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

/// Reports whether a header `Content-Type` names a type; its parameters are not checked. Source: RFC 9110, section
/// 8.3.1.
pub(crate) fn is_media_type(header: &str) -> bool {
    let is_token = |text: &str| {
        let is_mark = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
    };
    let essence = header.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Checks the content type that an upload declares against a bucket's list; an empty list admits every type.
///
/// The whole declared text counts, as upstream has it: `text/plain;charset=UTF-8` is not `text/plain`.
///
/// Errors: [`Error::InvalidMimeType`].
pub(crate) fn admit(declared: &str, allowed: &[String]) -> Result<(), Error> {
    let Some((kind, subtype)) = declared.split_once('/') else {
        return if allowed.is_empty() { Ok(()) } else { Err(Error::InvalidMimeType(declared.to_owned())) };
    };
    let is_admitted = allowed.is_empty()
        || allowed.iter().filter_map(|entry| entry.split_once('/')).any(|(allowed_kind, allowed_subtype)| {
            allowed_kind == kind && (allowed_subtype == "*" || allowed_subtype == subtype)
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
    fn uploads_are_compared_as_they_declare_themselves() {
        let allowed = ["image/*".to_owned(), "text/plain".to_owned()];
        assert!(admit("image/png", &allowed).is_ok());
        assert!(admit("text/plain", &allowed).is_ok());
        for declared in ["text/plain;charset=UTF-8", "text/html", "image", ""] {
            assert!(admit(declared, &allowed).is_err(), "{declared}");
            assert!(admit(declared, &[]).is_ok(), "{declared}");
        }
    }
}
