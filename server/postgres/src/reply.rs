//! The reply to a transaction: the results of its statements.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::DataRowBody;

use crate::column::Column;
use crate::json::JsonArray;

/// The reply to a [`crate::transaction::Transaction`]: one [`Rows`] for each of its statements, in their order.
#[derive(Debug)]
pub struct Reply {
    pub(crate) statements: Vec<Rows>,
}

impl Reply {
    /// Returns one [`Rows`] for each statement.
    pub fn statements(&self) -> &[Rows] {
        &self.statements
    }

    /// Returns what the last statement returned, which is the only one in most transactions.
    pub fn last(&self) -> Option<&Rows> {
        self.statements.last()
    }

    /// Returns the rows of the last statement.
    pub fn rows(&self) -> &[Row] {
        self.last().map_or(&[], |last| &last.rows)
    }

    /// Returns the rows of the last statement as values of their own.
    pub fn into_rows(mut self) -> Vec<Row> {
        self.statements.pop().map(|last| last.rows).unwrap_or_default()
    }

    /// Returns the first row of the last statement.
    pub fn row(&self) -> Option<&Row> {
        self.rows().first()
    }
}

/// The rows that one statement returned, in Postgres' text format.
#[derive(Debug)]
pub struct Rows {
    pub(crate) columns: Arc<[Column]>,
    pub(crate) rows: Vec<Row>,
    pub(crate) tag: String,
    pub(crate) json: Option<JsonArray>,
}

impl Rows {
    /// Returns the result's columns; empty for a statement that returns no rows.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reports whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns an iterator over the rows, in the server's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Row> {
        self.rows.iter()
    }

    /// Returns the first row.
    pub fn first(&self) -> Option<&Row> {
        self.rows.first()
    }

    /// Returns the rows of a [`crate::transaction::Transaction::json_statement`]; the other methods return none of
    /// them. `None` if only Postgres can write the JSON, because of a column's type or of `DateStyle`.
    pub fn json(&self) -> Option<&JsonArray> {
        self.json.as_ref()
    }

    /// Returns the command tag, for example `INSERT 0 1`.
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = &'a Row;
    type IntoIter = std::slice::Iter<'a, Row>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One row. Values are in the buffer that was read from the connection and are not copied.
pub struct Row(DataRowBody);

impl Row {
    /// Wraps `body` after checking its field lengths. Errors: [`io::Error`] if they exceed it.
    pub fn new(body: DataRowBody) -> io::Result<Self> {
        let mut ranges = body.ranges();
        while ranges.next()?.is_some() {}
        Ok(Self(body))
    }

    /// Returns the value of column `index` (from 0) in text format; `None` for NULL and beyond the last column.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.range(index).map(|range| &self.0.buffer()[range])
    }

    /// Returns the same value as [`Row::get`], as text; `None` also if it is not UTF-8.
    pub fn text(&self, index: usize) -> Option<&str> {
        self.get(index).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Returns the same value as [`Row::get`], sharing the row's buffer instead of borrowing it.
    pub fn bytes(&self, index: usize) -> Option<Bytes> {
        self.range(index).map(|range| self.0.buffer_bytes().slice(range))
    }

    /// Returns all values in the order of the columns.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut ranges = self.0.ranges();
        std::iter::from_fn(move || ranges.next().ok().flatten())
            .map(|range| range.map(|range| &self.0.buffer()[range]))
    }

    fn range(&self, index: usize) -> Option<Range<usize>> {
        self.0.ranges().nth(index).ok().flatten().flatten()
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values().map(|v| v.map(String::from_utf8_lossy))).finish()
    }
}
