//! `Range` and conditional headers. Source: RFC 9110, sections 13 and 14.

use std::ops::Range;
use std::time::SystemTime;

use poem::http::HeaderMap;
use poem::web::headers::{ETag, HeaderMapExt as _, IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// The form of dates in headers. Not [`LastModified`](poem::web::headers::LastModified), which panics for a date before
/// 1970 or after 9999: users' SQL may have written one.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Returns the one range of bytes that `header` asks for in an object of `size` bytes.
///
/// `None` is a range that cannot be served: another unit, several ranges, nonsense, nothing within the object.
/// Upstream refuses all of these, where RFC 9110 would let a server ignore them.
///
/// Not the typed header of `headers` 0.4: it refuses a suffix that is longer than the object and a number beyond 64 bits,
/// which are to be clamped, and reads `+1` as a number.
pub(crate) fn parse(header: &str, size: u64) -> Option<Range<u64>> {
    let spec = header.trim().strip_prefix("bytes=")?.trim();
    let (first, last) = spec.split_once('-')?;
    let number = |digits: &str| -> Option<u64> {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    let range = match (first, last) {
        ("", suffix) => size.saturating_sub(number(suffix)?)..size,
        (first, "") => number(first)?..size,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| first..last.saturating_add(1).min(size))?
        }
    };
    (range.start < range.end).then_some(range)
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
    use poem::http::HeaderName;
    use poem::http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};

    use super::*;

    #[test]
    fn single_ranges_are_clamped_to_the_object() {
        assert_eq!(parse("bytes=0-3", 10), Some(0..4));
        assert_eq!(parse("bytes=4-", 10), Some(4..10));
        assert_eq!(parse("bytes=-3", 10), Some(7..10));
        assert_eq!(parse("bytes=-30", 10), Some(0..10));
        assert_eq!(parse("bytes=5-500", 10), Some(5..10));
        assert_eq!(parse("bytes=0-99999999999999999999999", 10), Some(0..10));
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        for header in [
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes",
            "bytes=",
            "bytes=a-b",
            "bytes=-0",
            "bytes=10-",
            "bytes=3-1",
            "bytes=+1-2",
            "bytes=--1",
        ] {
            assert_eq!(parse(header, 10), None, "{header}");
        }
        assert_eq!(parse("bytes=0-", 0), None);
        assert_eq!(parse("bytes=-1", 0), None);
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
