//! Parameters for Postgres and values from its rows.

use std::borrow::Cow;

use postgres::Row;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

pub(crate) use postgres::{Parameter, iso_milliseconds, text};

/// Returns `value` as a parameter that may be NULL.
pub(crate) fn optional(value: Option<&str>) -> Parameter<'_> {
    value.and_then(text)
}

/// Returns `value`'s text as a parameter: a number, a truth value, a JSON document, a UUID.
pub(crate) fn display(value: impl std::fmt::Display) -> Parameter<'static> {
    Some(Cow::Owned(value.to_string().into_bytes()))
}

/// Returns `names` as a JSON array, which statements read with `jsonb_array_elements_text`.
pub(crate) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> Parameter<'static> {
    display(serde_json::Value::from(names.into_iter().collect::<Vec<_>>()))
}

/// Returns the UUID in column `index`, or `None` for NULL and for what users' SQL wrote in place of one.
pub(crate) fn uuid(row: &Row, index: usize) -> Option<Uuid> {
    row.text(index).and_then(|text| Uuid::try_parse(text).ok())
}

/// Reads a `timestamptz` of Postgres' text format, `2026-01-31 12:00:00.5+00`, whose zone may lack minutes.
pub(crate) fn timestamp(text: &str) -> Option<OffsetDateTime> {
    let mut iso = text.replacen(' ', "T", 1);
    let zone = iso.rfind(['+', '-'])?;
    if iso.len() - zone == 3 {
        iso.push_str(":00");
    }
    OffsetDateTime::parse(&iso, &Rfc3339).ok()
}

/// Returns a JSON array of the documents in the first column of `rows`.
pub(crate) fn json_array(rows: &[Row]) -> String {
    let documents: Vec<&str> = rows.iter().filter_map(|row| row.text(0)).collect();
    format!("[{}]", documents.join(","))
}

/// The SQL that turns a column of type `timestamptz` into text as [`iso_milliseconds`] has it.
macro_rules! iso {
    ($column:literal) => {
        concat!("to_char(", $column, " at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
}
pub(crate) use iso;

/// The SQL of the columns with the times of an object.
macro_rules! times {
    () => {
        concat!(
            $crate::row::iso!("updated_at"),
            " as updated_at, ",
            $crate::row::iso!("created_at"),
            " as created_at, ",
            $crate::row::iso!("last_accessed_at"),
            " as last_accessed_at"
        )
    };
}
pub(crate) use times;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_postgres_are_understood() {
        let expected = time::macros::datetime!(2026-01-31 12:00:00.5 UTC);
        assert_eq!(timestamp("2026-01-31 12:00:00.5+00"), Some(expected));
        assert_eq!(timestamp("2026-01-31 17:30:00.5+05:30"), Some(expected));
        assert_eq!(timestamp("yesterday"), None);
    }

    #[test]
    fn times_have_milliseconds() {
        let time = time::macros::datetime!(2026-01-31 12:00:00.123456 UTC);
        assert_eq!(iso_milliseconds(time), "2026-01-31T12:00:00.123Z");
        let elsewhere = time::macros::datetime!(2026-01-31 12:00:00 +2);
        assert_eq!(iso_milliseconds(elsewhere), "2026-01-31T10:00:00.000Z");
    }
}
