//! Pages of long lists, by number or by cursor, and the links from one page to another (RFC 8288).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use poem::Request;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::form_urlencoded;
use uuid::Uuid;

use crate::Error;

/// The number of elements on a page, unless the request sets it.
const SIZE: u64 = 50;
/// The maximum number of elements on a page by cursor.
const LONGEST: u64 = 1000;

/// A page by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    /// From 1.
    number: u64,
    size: u64,
}

impl Page {
    /// Returns the page of query parameters `page` and `per_page`; empty ones count as missing.
    ///
    /// Errors: `validation_failed` for text that is not a whole number, and for pages without elements.
    pub(super) fn parse(number: Option<&str>, size: Option<&str>) -> Result<Self, Error> {
        let number = whole_number("page", number)?.unwrap_or(1).max(1);
        Ok(Self { number, size: positive("per_page", size)?.unwrap_or(SIZE) })
    }

    pub(super) fn limit(self) -> i64 {
        i64::try_from(self.size).unwrap_or(i64::MAX)
    }

    pub(super) fn offset(self) -> i64 {
        i64::try_from((self.number - 1).saturating_mul(self.size)).unwrap_or(i64::MAX)
    }

    /// Returns the header `Link` of the page if the list has `total` elements: with links to the next page, if there is
    /// one, and to the last page.
    pub(super) fn links(self, request: &Request, total: u64) -> String {
        let last = total.div_ceil(self.size);
        let page = |number: u64| with_parameter(request, "page", &number.to_string());
        let to_last = format!("<{}>; rel=\"last\"", page(last));
        if last > self.number {
            format!("<{}>; rel=\"next\", {to_last}", page(self.number + 1))
        } else {
            to_last
        }
    }
}

/// The end of a page: the element after which the next page begins. For clients, it is opaque text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// RFC 3339, or `-infinity` for an element without a time.
    created_at: String,
    id: Uuid,
}

impl Cursor {
    pub(super) fn new(created_at: Option<&str>, id: Uuid) -> Self {
        Self { created_at: created_at.unwrap_or("-infinity").to_owned(), id }
    }

    /// Parses a cursor.
    ///
    /// Errors: `validation_failed` for text that was not created by [`encode`](Self::encode).
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let cursor = URL_SAFE_NO_PAD.decode(text).ok().and_then(|json| serde_json::from_slice(&json).ok());
        let is_time = |text: &str| text == "-infinity" || OffsetDateTime::parse(text, &Rfc3339).is_ok();
        cursor
            .filter(|cursor: &Self| !cursor.id.is_nil() && is_time(&cursor.created_at))
            .ok_or_else(|| bad("cursor must be one that the page before has answered"))
    }

    pub(super) fn encode(&self) -> Result<String, Error> {
        let json = serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(json))
    }

    /// Returns the time at which the element was created, and its id.
    pub(super) fn position(&self) -> (&str, Uuid) {
        (&self.created_at, self.id)
    }
}

/// Parses query parameter `limit`, the number of elements on a page by cursor; at most a thousand.
///
/// Errors: `validation_failed` for text that is not a whole number above zero.
pub(super) fn cursor_limit(limit: Option<&str>) -> Result<usize, Error> {
    let limit = positive("limit", limit)?.unwrap_or(SIZE).min(LONGEST);
    usize::try_from(limit).map_err(|error| Error::Internal(error.to_string()))
}

/// Returns the header `Link` to the page that begins after `cursor`.
pub(super) fn cursor_link(request: &Request, cursor: &str) -> String {
    format!("<{}>; rel=\"next\"", with_parameter(request, "cursor", cursor))
}

/// Returns the text of a query parameter, `None` if it is missing or empty.
pub(super) fn non_empty(parameter: &Option<String>) -> Option<&str> {
    parameter.as_deref().filter(|text| !text.is_empty())
}

/// Returns path and query of `request` with this value of the parameter `name`; parameters are sorted by name.
fn with_parameter(request: &Request, name: &str, value: &str) -> String {
    let uri = request.uri();
    let query = uri.query().unwrap_or_default();
    let mut pairs: Vec<_> = form_urlencoded::parse(query.as_bytes())
        .filter(|(other, _)| other != name)
        .chain([(name.into(), value.into())])
        .collect();
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{}?{query}", uri.path())
}

fn bad(message: impl std::fmt::Display) -> Error {
    Error::validation(format!("Bad Pagination Parameters: {message}"))
}

fn whole_number(name: &str, text: Option<&str>) -> Result<Option<u64>, Error> {
    let text = text.filter(|text| !text.is_empty());
    let number = text.map(|text| {
        text.parse().map_err(|_| bad(format_args!("{name} must be a whole number, found {text:?}")))
    });
    number.transpose()
}

fn positive(name: &str, text: Option<&str>) -> Result<Option<u64>, Error> {
    match whole_number(name, text)? {
        Some(0) => Err(bad(format_args!("{name} must be greater than 0"))),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(uri: &'static str) -> Request {
        Request::builder().uri_str(uri).finish()
    }

    #[test]
    fn pages_have_numbers_and_sizes() {
        let page = Page::parse(Some("3"), Some("20")).unwrap();
        assert_eq!((page.limit(), page.offset()), (20, 40));
        assert_eq!(Page::parse(None, Some("")).unwrap(), Page { number: 1, size: 50 });
        assert_eq!(Page::parse(Some("0"), None).unwrap().offset(), 0);
        let far = Page::parse(Some("18446744073709551615"), Some("18446744073709551615")).unwrap();
        assert_eq!((far.limit(), far.offset()), (i64::MAX, i64::MAX));
        for (number, size) in [("-1", "1"), ("x", "1"), ("1.5", "1"), ("1", "0"), ("1", "many")] {
            assert!(Page::parse(Some(number), Some(size)).is_err(), "{number} {size}");
        }
    }

    #[test]
    fn links_lead_to_the_next_and_the_last_page() {
        let page = Page::parse(None, Some("2")).unwrap();
        assert_eq!(
            page.links(&request("/admin/users?per_page=2&filter=a%20b"), 5),
            "</admin/users?filter=a+b&page=2&per_page=2>; rel=\"next\", \
             </admin/users?filter=a+b&page=3&per_page=2>; rel=\"last\""
        );
        let last = Page::parse(Some("3"), Some("2")).unwrap();
        assert_eq!(last.links(&request("/a?page=3"), 5), "</a?page=3>; rel=\"last\"");
    }

    #[test]
    fn cursors_come_back_as_they_went() {
        let id = Uuid::from_u128(7);
        for time in [Some("2026-01-02T03:04:05.678901Z"), None] {
            let cursor = Cursor::new(time, id);
            assert_eq!(Cursor::parse(&cursor.encode().unwrap()).unwrap(), cursor);
        }
        let nobody = Cursor::new(None, Uuid::nil()).encode().unwrap();
        let never = Cursor::new(Some("yesterday"), id).encode().unwrap();
        for text in ["", "abc", "{}", "e30", nobody.as_str(), never.as_str()] {
            assert!(Cursor::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            cursor_link(&request("/admin/users?limit=2&cursor=old"), "new"),
            "</admin/users?cursor=new&limit=2>; rel=\"next\""
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_cursor_or_refused(text in "\\PC{0,40}") {
            let _ = Cursor::parse(&text);
        }
    }
}
