//! The outcome of a request, from the results of its statements.

use bytes::Bytes;
use postgres::Lsn;
use postgres::{JsonArray, Row};

use super::results::Results;
use crate::bytea;
use crate::error::Error;
use crate::plan::{Body, Plan};
use crate::request::Count;
use crate::statement::{ResponseColumn, ResultColumn};

/// The OID of `bytea`. Source: PostgreSQL's `pg_type.dat`, where the OIDs of base types are fixed.
const BYTEA: u32 = 17;

/// The outcome of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// How many rows there are in all, where counted or estimated.
    pub(crate) total: Option<i64>,
    /// How many rows are returned or were changed.
    pub(crate) rows: i64,
    /// The body, as Postgres wrote it or would have written it.
    pub(crate) body: Bytes,
    /// `response.headers`.
    pub(crate) headers: Option<String>,
    /// `response.status`.
    pub(crate) status: Option<String>,
    /// How many rows an upsert inserted.
    pub(crate) inserted: Option<i64>,
    /// The texts of the new row's primary key.
    pub(crate) location: Vec<Option<String>>,
    /// The position in the write-ahead log after a write, where reads may go to replicas.
    pub(crate) written_to: Option<Lsn>,
}

impl Outcome {
    /// Returns the outcome of a main statement that gives a row with the columns of [`ResultColumn`].
    ///
    /// Errors: `PGRST001` where it gave none.
    pub(super) fn of_page(results: &Results<'_>) -> Result<Self, Error> {
        let row = results.page()?;
        let text = |column: ResultColumn| row.text(column as usize);
        let number = |column| text(column).and_then(|digits| digits.parse().ok());
        let location = text(ResultColumn::Location).and_then(|json| serde_json::from_str(json).ok());
        let body = row.bytes(ResultColumn::Body as usize).unwrap_or_default();
        let body_column = results.main.columns().get(ResultColumn::Body as usize);
        let is_binary = body_column.is_some_and(|column| column.type_oid == BYTEA);
        Ok(Self {
            total: number(ResultColumn::Total),
            rows: number(ResultColumn::Rows).unwrap_or(0),
            body: if is_binary { bytea::decode(&body).into() } else { body },
            headers: setting(row, ResultColumn::Headers as usize),
            status: setting(row, ResultColumn::Status as usize),
            inserted: number(ResultColumn::Inserted),
            location: location.unwrap_or_default(),
            written_to: None,
        })
    }

    /// Returns the outcome of plain rows, which the server has written as `list`. If rows are counted, plain rows are
    /// planned only if all of them are returned.
    pub(super) fn of_rows(
        list: &JsonArray,
        results: &Results<'_>,
        plan: &Plan,
        count: Option<Count>,
    ) -> Self {
        let rows = i64::try_from(list.rows).unwrap_or(i64::MAX);
        let is_object = plan.body().is_some_and(Body::must_be_single);
        // Rows of changes are never counted in all.
        let is_counted =
            !matches!(plan, Plan::Mutate(_)) && matches!(count, Some(Count::Exact | Count::Estimated));
        let body = match list.text.len() {
            // Any other number of rows is refused.
            length if is_object && rows == 1 => list.text.slice(1..length - 1),
            _ => list.text.clone(),
        };
        Self { total: is_counted.then_some(rows), rows, body, ..Self::of_response(results) }
    }

    /// Returns the outcome of a change that returns no rows. Its command tag ends with the number of rows.
    pub(super) fn of_count(results: &Results<'_>) -> Self {
        let rows = results.main.tag().rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0);
        let inserted = results.response.and_then(|row| row.text(ResponseColumn::Inserted as usize));
        let inserted = inserted.and_then(|digits| digits.parse().ok());
        Self { rows, inserted, ..Self::of_response(results) }
    }

    /// Returns the outcome of an `EXPLAIN`: its lines as the body.
    pub(super) fn of_explanation(results: &Results<'_>) -> Self {
        let mut text = Vec::new();
        for row in results.main {
            text.extend_from_slice(row.get(0).unwrap_or_default());
            text.push(b'\n');
        }
        Self { body: text.into(), ..Self::default() }
    }

    /// Returns what the database set for the response, if a separate statement reads that.
    fn of_response(results: &Results<'_>) -> Self {
        let setting = |column: ResponseColumn| results.response.and_then(|row| setting(row, column as usize));
        Self {
            headers: setting(ResponseColumn::Headers),
            status: setting(ResponseColumn::Status),
            ..Self::default()
        }
    }
}

/// Returns a setting's value in this column; `None` unless it was set. One that a transaction has set is empty after
/// that.
fn setting(row: &Row, column: usize) -> Option<String> {
    row.text(column).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Returns the number of rows that `EXPLAIN (FORMAT JSON)` estimates.
pub(super) fn plan_rows(explained: &[u8]) -> Option<i64> {
    let document: serde_json::Value = serde_json::from_slice(explained).ok()?;
    let rows = document.get(0)?.get("Plan")?.get("Plan Rows")?;
    // Very large estimates are printed as floating-point numbers.
    rows.as_i64().or_else(|| rows.as_f64().map(|rows| rows as i64))
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
