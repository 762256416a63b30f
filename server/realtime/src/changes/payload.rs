//! A row change as JSON for clients.

use std::fmt::Write as _;

use postgres::iso_milliseconds;
use time::OffsetDateTime;

use super::table::Table;
use crate::protocol::quote;
use crate::row::Kind;

/// Bytes of JSON that a change may have.
const MAX_SIZE: usize = 1 << 20;
/// Bytes of JSON up to which a value stays in a change that is too large.
const MAX_SIZE_OF_KEPT_VALUE: usize = 64;

/// The reason why clients get a change without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowError {
    /// The table has no primary key.
    NoKey,
    /// The role may not select all of the primary key.
    Unauthorized,
}

impl RowError {
    const fn message(self) -> &'static str {
        match self {
            Self::NoKey => "Error 400: Bad Request, no primary key",
            Self::Unauthorized => "Error 401: Unauthorized",
        }
    }
}

/// A value of a row: the index of its column in the table, and JSON.
pub(super) type Field<'a> = (usize, &'a str);

/// A change whose rows are known.
pub(super) struct Change<'a> {
    pub(super) kind: Kind,
    pub(super) table: &'a Table,
    pub(super) committed_at: OffsetDateTime,
    /// The row after an insert or an update.
    pub(super) record: Option<Vec<Field<'a>>>,
    /// The row before an update or a deletion, as far as it is known.
    pub(super) old_record: Option<Vec<Field<'a>>>,
}

impl Change<'_> {
    /// Returns the change as JSON, with the columns of the table for which `shows` is true.
    pub(super) fn to_json(&self, shows: impl Fn(usize) -> bool) -> String {
        let whole = self.write(&shows, usize::MAX, None);
        if whole.len() <= MAX_SIZE {
            return whole;
        }
        self.write(&shows, MAX_SIZE_OF_KEPT_VALUE, Some("Error 413: Payload Too Large"))
    }

    /// Returns the change as JSON without its rows.
    pub(super) fn to_error(&self, error: RowError) -> String {
        let old_record = if self.kind == Kind::Update { "\"old_record\":{}," } else { "" };
        let Table { schema, name, .. } = self.table;
        format!(
            "{{\"schema\":{},\"table\":{},\"commit_timestamp\":null,\"type\":\"{}\",\"columns\":[],\"record\":{{}},\
             {old_record}\"errors\":[{}]}}",
            quote(schema),
            quote(name),
            self.kind.name(),
            quote(error.message()),
        )
    }

    /// Returns the JSON with the values of up to `max_value` bytes, and `error`.
    fn write(&self, shows: &impl Fn(usize) -> bool, max_value: usize, error: Option<&str>) -> String {
        let Table { schema, name, columns, .. } = self.table;
        let mut json = format!(
            "{{\"schema\":{},\"table\":{},\"commit_timestamp\":\"{}\",\"type\":\"{}\",\"columns\":[",
            quote(schema),
            quote(name),
            iso_milliseconds(self.committed_at),
            self.kind.name(),
        );
        for (_, column) in columns.iter().enumerate().filter(|(index, _)| shows(*index)) {
            if !json.ends_with('[') {
                json.push(',');
            }
            let _ =
                write!(json, "{{\"name\":{},\"type\":{}}}", quote(&column.name), quote(&column.type_name));
        }
        json.push(']');
        for (key, row) in [("record", &self.record), ("old_record", &self.old_record)] {
            let Some(row) = row else { continue };
            let _ = write!(json, ",\"{key}\":{{");
            for (index, value) in
                row.iter().filter(|(index, value)| shows(*index) && value.len() <= max_value)
            {
                if !json.ends_with('{') {
                    json.push(',');
                }
                let _ = write!(json, "{}:{value}", quote(&columns[*index].name));
            }
            json.push('}');
        }
        let error = error.map_or_else(|| "null".to_owned(), |error| format!("[{}]", quote(error)));
        let _ = write!(json, ",\"errors\":{error}}}");
        json
    }
}
