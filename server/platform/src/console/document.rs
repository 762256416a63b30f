//! Rows as a document of JSON.
//!
//! It is written as text at once: as values in memory, small rows would take a hundred times the space that they have
//! in it.

use std::collections::HashMap;
use std::io::{self, Write};

use postgres::Rows;

use super::value;

/// A text with a greatest length. Writing more is an error.
pub(super) struct Text {
    bytes: Vec<u8>,
    most: usize,
}

impl Text {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes back all but the first `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// Returns what was written. Errors: it is not UTF-8.
    pub(super) fn into_string(self) -> Result<String, postgres::Error> {
        String::from_utf8(self.bytes).map_err(|error| postgres::Error::protocol(error.to_string()))
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the rows of the last result that has any, as an array of objects by the names of their columns.
///
/// Errors: [`postgres::Error::TooLarge`] if the text has more than `most` bytes.
pub(super) fn of(results: Vec<Rows>, most: usize) -> Result<String, postgres::Error> {
    let Some(last) = results.into_iter().rev().find(|rows| !rows.is_empty()) else {
        return Ok("[]".to_owned());
    };
    let mut text = Text::new(most);
    write(&last, &mut text).map_err(|_| postgres::Error::TooLarge(most))?;
    text.into_string()
}

fn write(rows: &Rows, out: &mut Text) -> io::Result<()> {
    let members = members(rows)?;
    let mut between_rows: &[u8] = b"[";
    for row in rows {
        let values: Vec<_> = row.values().collect();
        out.write_all(between_rows)?;
        let mut before: &[u8] = b"{";
        for (name, index) in &members {
            out.write_all(before)?;
            out.write_all(name)?;
            let oid = rows.columns().get(*index).map_or(0, |column| column.type_oid);
            value::write(oid, values.get(*index).copied().flatten(), out)?;
            before = b",";
        }
        out.write_all(if members.is_empty() { b"{}" } else { b"}" })?;
        between_rows = b",";
    }
    out.write_all(b"]")
}

/// Returns the members of each object: the name as JSON, with a colon, and the index of the column. Of several columns
/// with one name, the last has the value, in the place of the first.
fn members(rows: &Rows) -> io::Result<Vec<(Vec<u8>, usize)>> {
    let mut members: Vec<(Vec<u8>, usize)> = Vec::new();
    let mut places = HashMap::new();
    for (index, column) in rows.columns().iter().enumerate() {
        let place = *places.entry(&*column.name).or_insert(members.len());
        match members.get_mut(place) {
            Some(member) => member.1 = index,
            None => {
                let mut name = serde_json::to_vec(&column.name)?;
                name.push(b':');
                members.push((name, index));
            }
        }
    }
    Ok(members)
}
