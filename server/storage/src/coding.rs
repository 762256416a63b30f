//! `Content-Encoding` of objects: codings that the sender of the bytes has applied. Objects are stored and served as
//! they came; the client that reads one decodes it. Source: RFC 9110, section 8.4.

use crate::error::Error;
use crate::mime;

/// Characters that the codings of an object may have together.
const MAX_LENGTH: usize = 255;
/// Not codings of the object: the first is one of the request's body, the second none at all.
const NOT_STORED: [&str; 2] = ["aws-chunked", "identity"];

/// Returns the codings that an upload names in `header`, in the form in which they are stored; `None` if there is none.
pub(crate) fn stored(header: &str) -> Option<String> {
    let is_stored =
        |coding: &&str| !coding.is_empty() && !NOT_STORED.iter().any(|not| coding.eq_ignore_ascii_case(not));
    let codings: Vec<&str> = header.split(',').map(str::trim).filter(is_stored).collect();
    (!codings.is_empty()).then(|| codings.join(", "))
}

/// Checks codings in the form in which they are stored.
///
/// Errors: [`Error::InvalidRequest`].
pub(crate) fn check(codings: &str) -> Result<(), Error> {
    let is_valid = codings.len() <= MAX_LENGTH && codings.split(", ").all(mime::is_token);
    if is_valid { Ok(()) } else { Err(Error::InvalidRequest("Invalid Content-Encoding header".to_owned())) }
}

/// Returns the header of an object whose row says `stored`, which users' SQL may have written.
pub(crate) fn served(stored: Option<&str>) -> Option<&str> {
    stored.filter(|codings| check(codings).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_of_the_object_are_stored() {
        for (header, expected) in [
            ("gzip", Some("gzip")),
            ("aws-chunked", None),
            ("aws-chunked,gzip", Some("gzip")),
            (" br ,, GZIP ", Some("br, GZIP")),
            ("Identity", None),
            ("", None),
        ] {
            assert_eq!(stored(header).as_deref(), expected, "{header}");
        }
    }

    #[test]
    fn only_lists_of_codings_are_served() {
        assert!(check("gzip").is_ok() && check("br, gzip").is_ok());
        for codings in ["", "a b", "gzip;q=1", "gzip\r\nX: 1", "ä", &"a".repeat(256)] {
            assert!(check(codings).is_err(), "{codings}");
            assert_eq!(served(Some(codings)), None);
        }
        assert_eq!(served(Some("gzip")), Some("gzip"));
        assert_eq!(served(None), None);
    }
}
