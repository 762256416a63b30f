//! `Range` and conditional headers. Source: RFC 9110, sections 13 and 14.

use std::ops::Range;
use std::time::SystemTime;

use poem::http::header::{IF_RANGE, RANGE};
use poem::http::{HeaderMap, HeaderName};
use poem::web::headers::{
    ETag, Header as _, HeaderMapExt as _, IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince,
};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::error::Error;
use crate::object_row::Object;

/// The form of dates in headers. Not [`LastModified`](poem::web::headers::LastModified), which panics for a date before
/// 1970 or after 9999: users' SQL may have written one.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Returns the part of `object` that a request with these headers asks for; `None` is all of it.
///
/// A `Range` that cannot be obeyed is ignored: one of another unit, by another grammar, with several ranges, or in a
/// header that is there twice; and one whose `If-Range` names another state of the object (RFC 9110, sections 14.2 and
/// 13.1.5).
///
/// Errors: [`Error::InvalidRange`] for a part that begins behind the object's end.
pub(crate) fn requested(headers: &HeaderMap, object: &Object) -> Result<Option<Range<u64>>, Error> {
    match only(headers, &RANGE).and_then(ByteRange::parse) {
        Some(range) if is_range_current(headers, object) => {
            range.within(object.size).map(Some).ok_or(Error::InvalidRange(object.size))
        }
        _ => Ok(None),
    }
}

/// Returns the value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(str::trim)
}

/// Reports whether `If-Range` lets the range apply: its tag is the object's, compared strongly, or its date is the
/// object's. Without the header it does.
fn is_range_current(headers: &HeaderMap, object: &Object) -> bool {
    if !headers.contains_key(IF_RANGE) {
        return true;
    }
    let Some(validator) = only(headers, &IF_RANGE) else { return false };
    if validator.starts_with('"') {
        return object.metadata.etag.as_deref() == Some(validator);
    }
    // What is no date, such as a weak tag, names no state.
    let date = IfUnmodifiedSince::decode(&mut headers.get(IF_RANGE).into_iter());
    let date = date.ok().map(|date| OffsetDateTime::from(SystemTime::from(date)).unix_timestamp());
    date.is_some() && date == object.metadata.last_modified.map(OffsetDateTime::unix_timestamp)
}

/// A range of bytes, by the grammar of RFC 9110, section 14.1.2.
///
/// Not the typed header of `headers` 0.4: it refuses a suffix that is longer than the object and a number beyond 64
/// bits, which are to be clamped, and reads `+1` as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteRange {
    /// From the first of these bytes to the second.
    Between(u64, u64),
    From(u64),
    /// So many bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Parses a header that asks for one range.
    fn parse(header: &str) -> Option<Self> {
        let (unit, set) = header.split_once('=')?;
        // Elements of a list may be empty (RFC 9110, section 5.6.1.2).
        let mut specs = set.split(',').map(str::trim).filter(|spec| !spec.is_empty());
        let (first, last) = specs.next().filter(|_| specs.next().is_none())?.split_once('-')?;
        let number = |digits: &str| -> Option<u64> {
            let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| digits.parse().unwrap_or(u64::MAX))
        };
        let range = match (first, last) {
            ("", suffix) => Self::Last(number(suffix)?),
            (first, "") => Self::From(number(first)?),
            (first, last) => Self::Between(number(first)?, number(last)?),
        };
        let is_valid = match range {
            Self::Between(first, last) => first <= last,
            Self::From(_) | Self::Last(_) => true,
        };
        (is_valid && unit.eq_ignore_ascii_case("bytes")).then_some(range)
    }

    /// Returns its bytes that an object of `size` has; `None` if there are none.
    fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::Between(first, last) => first..last.saturating_add(1).min(size),
            Self::From(first) => first..size,
            Self::Last(count) => size.saturating_sub(count)..size,
        };
        (range.start < range.end).then_some(range)
    }
}

/// Reports whether the client's copy is still current: `If-None-Match` decides if present, else `If-Modified-Since`.
pub(crate) fn is_fresh(headers: &HeaderMap, etag: &str, modified: Option<OffsetDateTime>) -> bool {
    if let Some(condition) = headers.typed_get::<IfNoneMatch>() {
        return match etag.parse::<ETag>() {
            Ok(etag) => !condition.precondition_passes(&etag),
            Err(_) => condition == IfNoneMatch::any(),
        };
    }
    match (headers.typed_get::<IfModifiedSince>(), modified) {
        // The header has whole seconds only.
        (Some(since), Some(modified)) => {
            OffsetDateTime::from(SystemTime::from(since)).unix_timestamp() >= modified.unix_timestamp()
        }
        _ => false,
    }
}

/// Reports whether a precondition of the request excludes this state of the object: `If-Match` decides if present, else
/// `If-Unmodified-Since`.
pub(crate) fn is_precondition_unmet(
    headers: &HeaderMap,
    etag: &str,
    modified: Option<OffsetDateTime>,
) -> bool {
    if let Some(condition) = headers.typed_get::<IfMatch>() {
        return match etag.parse::<ETag>() {
            Ok(etag) => !condition.precondition_passes(&etag),
            Err(_) => condition != IfMatch::any(),
        };
    }
    match (headers.typed_get::<IfUnmodifiedSince>(), modified) {
        (Some(since), Some(modified)) => {
            OffsetDateTime::from(SystemTime::from(since)).unix_timestamp() < modified.unix_timestamp()
        }
        _ => false,
    }
}

/// Returns `time` in the form of HTTP's date headers.
pub(crate) fn http_date(time: OffsetDateTime) -> Option<String> {
    time.to_offset(time::UtcOffset::UTC).format(HTTP_DATE).ok()
}

#[cfg(test)]
mod tests {
    use poem::http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};

    use super::*;
    use crate::object_row::Metadata;

    fn object(size: u64) -> Object {
        let metadata = Metadata {
            etag: Some("\"a\"".to_owned()),
            last_modified: Some(time::macros::datetime!(2026-01-31 12:00:00.9 UTC)),
            ..Metadata::default()
        };
        Object {
            version: uuid::Uuid::nil(),
            size,
            metadata,
            id: None,
            user_metadata: None,
            created_at: None,
            updated_at: None,
            archived_at: None,
            is_versioned: false,
        }
    }

    fn part(size: u64, headers: &[(HeaderName, &str)]) -> Result<Option<Range<u64>>, u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().unwrap());
        }
        requested(&map, &object(size)).map_err(|error| match error {
            Error::InvalidRange(size) => size,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn single_ranges_are_clamped_to_the_object() {
        for (header, expected) in [
            ("bytes=0-3", 0..4),
            ("bytes=4-", 4..10),
            ("bytes=-3", 7..10),
            ("bytes=-30", 0..10),
            ("bytes=5-500", 5..10),
            ("bytes=0-99999999999999999999999", 0..10),
            ("Bytes=0-3", 0..4),
            ("bytes= 0-3 ,, ", 0..4),
        ] {
            assert_eq!(part(10, &[(RANGE, header)]), Ok(Some(expected)), "{header}");
        }
        assert_eq!(part(10, &[]), Ok(None));
    }

    #[test]
    fn what_is_not_understood_is_ignored() {
        for header in [
            "bytes=0-1,3-4",
            "bytes=90-91,93-94",
            "items=0-1",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=x",
            "bytes=a-b",
            "bytes=3-1",
            "bytes=+1-2",
            "bytes=--1",
            "bytes=-",
            "bytes=0 -1",
            "bytes 0-1",
        ] {
            assert_eq!(part(10, &[(RANGE, header)]), Ok(None), "{header}");
        }
        assert_eq!(part(10, &[(RANGE, "bytes=0-1"), (RANGE, "bytes=0-1")]), Ok(None));
    }

    #[test]
    fn what_is_beyond_the_object_is_refused() {
        for (header, size) in
            [("bytes=10-", 10), ("bytes=10-12", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=-1", 0)]
        {
            assert_eq!(part(size, &[(RANGE, header)]), Err(size), "{header}");
        }
    }

    #[test]
    fn a_range_applies_to_the_state_that_the_client_knows() {
        for (validator, applies) in [
            ("\"a\"", true),
            ("\"b\"", false),
            ("W/\"a\"", false),
            ("a", false),
            ("*", false),
            ("Sat, 31 Jan 2026 12:00:00 GMT", true),
            ("Saturday, 31-Jan-26 12:00:00 GMT", true),
            ("Sat, 31 Jan 2026 12:00:01 GMT", false),
            ("Sat, 31 Jan 2026 11:59:59 GMT", false),
        ] {
            let found = part(10, &[(RANGE, "bytes=0-3"), (IF_RANGE, validator)]);
            assert_eq!(found, Ok(applies.then_some(0..4)), "{validator}");
        }
        let beyond = [(RANGE, "bytes=10-"), (IF_RANGE, "\"b\"")];
        assert_eq!(part(10, &beyond), Ok(None), "of another state all is sent");
        let repeated = [(RANGE, "bytes=0-3"), (IF_RANGE, "\"a\""), (IF_RANGE, "\"a\"")];
        assert_eq!(part(10, &repeated), Ok(None));
    }

    #[test]
    fn conditions_compare_tags_weakly_and_dates_by_the_second() {
        let modified = time::macros::datetime!(2026-01-31 12:00:00.9 UTC);
        let fresh = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            is_fresh(&headers, "\"a\"", Some(modified))
        };
        assert!(fresh(IF_NONE_MATCH, "\"a\""));
        assert!(fresh(IF_NONE_MATCH, "\"b\", W/\"a\""));
        assert!(fresh(IF_NONE_MATCH, "*"));
        assert!(!fresh(IF_NONE_MATCH, "\"b\""));
        assert!(!fresh(IF_NONE_MATCH, "\"b,\"a\",c\""), "one tag with commas in it is no list");
        assert!(fresh(IF_MODIFIED_SINCE, "Sat, 31 Jan 2026 12:00:00 GMT"));
        assert!(!fresh(IF_MODIFIED_SINCE, "Sat, 31 Jan 2026 11:59:59 GMT"));
        assert!(fresh(IF_MODIFIED_SINCE, "Saturday, 31-Jan-26 12:00:00 GMT"), "RFC 9110, section 5.6.7");
        assert!(!fresh(IF_MODIFIED_SINCE, "tomorrow"));
        assert_eq!(http_date(modified).unwrap(), "Sat, 31 Jan 2026 12:00:00 GMT");
    }

    #[test]
    fn a_precondition_names_the_state_that_is_wanted() {
        let modified = time::macros::datetime!(2026-01-31 12:00:00.9 UTC);
        let unmet = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            is_precondition_unmet(&headers, "\"a\"", Some(modified))
        };
        assert!(!unmet(IF_MATCH, "\"a\""));
        assert!(!unmet(IF_MATCH, "*"));
        assert!(unmet(IF_MATCH, "\"b\""));
        assert!(!unmet(IF_UNMODIFIED_SINCE, "Sat, 31 Jan 2026 12:00:00 GMT"));
        assert!(unmet(IF_UNMODIFIED_SINCE, "Sat, 31 Jan 2026 11:59:59 GMT"));
    }
}
