//! The requested range of rows: `limit`, `offset`, and the `Range` header.

use crate::error::{Error, RangeError};

/// Rows from `offset` on, at most `limit` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// How many rows to skip; never negative.
    pub offset: i64,
    /// How many rows to give at most, never negative; `None` is all.
    pub limit: Option<i64>,
}

impl Range {
    /// All rows.
    pub const ALL: Self = Self { offset: 0, limit: None };

    /// Returns the row after the last one of the range, if it has a last one.
    fn end(self) -> Option<i64> {
        self.limit.map(|limit| self.offset.saturating_add(limit))
    }

    /// Returns the rows that are in both; `None` when there are none, though `limit=0` of `self` is kept.
    fn intersection(self, other: Self) -> Option<Self> {
        if self.limit == Some(0) {
            return Some(self);
        }
        let offset = self.offset.max(other.offset);
        match [self.end(), other.end()].into_iter().flatten().min() {
            Some(end) if end <= offset => None,
            end => Some(Self { offset, limit: end.map(|end| end - offset) }),
        }
    }

    /// Returns the same rows, but at most `rows` of them (`db-max-rows`).
    #[must_use]
    pub(crate) fn at_most(self, rows: Option<i64>) -> Self {
        Self { limit: [self.limit, rows].into_iter().flatten().min(), ..self }
    }
}

/// Returns the value of `limit=`; what is no number sets none.
///
/// Errors: `PGRST103` for a negative limit.
pub(super) fn parse_limit(text: &str) -> Result<Option<i64>, Error> {
    match parse_saturating(text) {
        Some(limit) if limit < 0 => Err(Error::InvalidRange(RangeError::NegativeLimit)),
        limit => Ok(limit),
    }
}

/// Returns the value of `offset=`; what is no number skips nothing.
pub(super) fn parse_offset(text: &str) -> i64 {
    parse_saturating(text).unwrap_or(0).max(0)
}

/// Returns a decimal number. One that is too large for Postgres' `bigint` means as much as the largest.
fn parse_saturating(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(i64::MAX);
    Some(if digits.len() == text.len() { magnitude } else { -magnitude })
}

/// Returns the intersection of the query string's `range` and the range in `header`, the value of `Range`.
///
/// The header is `first-last`, both from 0 and inclusive, or `first-`; anything else is ignored.
///
/// Errors: `PGRST103` when they have no row in common, the header ends before it begins, or zero rows are requested
/// with an offset.
pub(super) fn combine(range: Range, header: Option<&str>) -> Result<Range, Error> {
    if range.limit == Some(0) && range.offset > 0 {
        return Err(Error::InvalidRange(RangeError::NegativeLimit));
    }
    let Some((first, last)) = header.and_then(|header| header.trim().split_once('-')) else {
        return Ok(range);
    };
    let (Some(first), last) = (parse_saturating(first), parse_saturating(last)) else { return Ok(range) };
    let is_backwards = last.is_some_and(|last| last < first);
    if is_backwards && range.limit != Some(0) {
        return Err(Error::InvalidRange(RangeError::LowerAboveUpper));
    }
    let requested =
        Range { offset: first, limit: last.map(|last| last.saturating_sub(first).saturating_add(1)) };
    range.intersection(requested).ok_or(Error::InvalidRange(RangeError::NegativeLimit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_query_are_intersected() {
        let range = Range { offset: 5, limit: Some(10) };
        assert_eq!(combine(range, None).unwrap(), range);
        assert_eq!(combine(range, Some("0-9")).unwrap(), Range { offset: 5, limit: Some(5) });
        assert_eq!(combine(Range::ALL, Some("3-")).unwrap(), Range { offset: 3, limit: None });
        assert_eq!(combine(Range::ALL, Some("items=1")).unwrap(), Range::ALL);
        assert_eq!(combine(range, Some("100-200")).unwrap_err().code(), "PGRST103");
        assert_eq!(combine(Range::ALL, Some("9-3")).unwrap_err().code(), "PGRST103");
        let none = Range { offset: 0, limit: Some(0) };
        assert_eq!(combine(none, Some("0-9")).unwrap(), none);
        let nowhere = Range { offset: 1, limit: Some(0) };
        assert_eq!(combine(nowhere, None).unwrap_err().code(), "PGRST103");
    }

    #[test]
    fn numbers_saturate() {
        assert_eq!(parse_limit("99999999999999999999").unwrap(), Some(i64::MAX));
        assert_eq!(parse_limit("ten").unwrap(), None);
        assert_eq!(parse_limit("-1").unwrap_err().code(), "PGRST103");
        assert_eq!(parse_offset("-7"), 0);
        let huge = Range { offset: i64::MAX, limit: Some(i64::MAX) };
        assert!(combine(huge, Some("0-99999999999999999999")).is_err());
    }
}
