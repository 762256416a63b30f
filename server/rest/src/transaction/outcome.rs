//! What the results of a request's statements come to.

use bytes::Bytes;
use database::{Row, Rows};

use crate::bytea;
use crate::statement::{ResponseColumn, ResultColumn};

/// The OID of `bytea`. Source: PostgreSQL's `pg_type.dat`, where the OIDs of base types are fixed.
const BYTEA: u32 = 17;

/// What a transaction gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// How many rows there are in all, where counted or estimated.
    pub total: Option<i64>,
    /// How many rows are shown or were changed.
    pub rows: i64,
    /// The body, as Postgres wrote it or would have written it.
    pub body: Bytes,
    /// `response.headers`.
    pub headers: Option<String>,
    /// `response.status`.
    pub status: Option<String>,
    /// How many rows an upsert inserted.
    pub inserted: Option<i64>,
    /// The texts of the new row's primary key.
    pub location: Vec<Option<String>>,
}

/// The row estimate of `EXPLAIN (FORMAT JSON)`.
pub(super) fn plan_rows(explained: &[u8]) -> Option<i64> {
    let document: serde_json::Value = serde_json::from_slice(explained).ok()?;
    let rows = document.get(0)?.get("Plan")?.get("Plan Rows")?;
    // Very large estimates are printed as floating-point numbers.
    rows.as_i64().or_else(|| rows.as_f64().map(|rows| rows as i64))
}

/// The lines of a plan.
pub(super) fn explanation(rows: &Rows) -> Bytes {
    let mut text = Vec::new();
    for row in rows {
        text.extend_from_slice(row.get(0).unwrap_or_default());
        text.push(b'\n');
    }
    text.into()
}

/// A setting's value in this column; `None` unless it was set. One that a transaction has set is empty after that.
fn setting(row: &Row, column: usize) -> Option<String> {
    row.text(column).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// What the database set for the response, as it `told` if it was asked.
pub(super) fn set(told: Option<&Row>) -> Outcome {
    let setting = |column| told.and_then(|row| setting(row, column as usize));
    Outcome {
        headers: setting(ResponseColumn::Headers),
        status: setting(ResponseColumn::Status),
        ..Outcome::default()
    }
}

/// The outcome of a change whose command tag, which ends with the number of rows, is `tag`.
pub(super) fn changed(tag: &str, told: Option<&Row>) -> Outcome {
    let rows = tag.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0);
    let inserted = told.and_then(|row| row.text(ResponseColumn::Inserted as usize));
    Outcome { rows, inserted: inserted.and_then(|digits| digits.parse().ok()), ..set(told) }
}

pub(super) fn outcome(rows: &Rows, row: &Row) -> Outcome {
    let text = |column: ResultColumn| row.text(column as usize);
    let number = |column| text(column).and_then(|digits| digits.parse().ok());
    let location = text(ResultColumn::Location).and_then(|json| serde_json::from_str(json).ok());
    let body = row.bytes(ResultColumn::Body as usize).unwrap_or_default();
    let is_binary =
        rows.columns().get(ResultColumn::Body as usize).is_some_and(|column| column.type_oid == BYTEA);
    Outcome {
        total: number(ResultColumn::Total),
        rows: number(ResultColumn::Rows).unwrap_or(0),
        body: if is_binary { bytea::decode(&body).into() } else { body },
        headers: setting(row, ResultColumn::Headers as usize),
        status: setting(row, ResultColumn::Status as usize),
        inserted: number(ResultColumn::Inserted),
        location: location.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_read_from_the_explanation() {
        assert_eq!(plan_rows(br#"[{"Plan":{"Node Type":"Seq Scan","Plan Rows":2550}}]"#), Some(2550));
        assert_eq!(plan_rows(b"[]"), None);
    }
}
