//! A statement of a batch, from its encoding to the end of its reply.

use std::sync::Arc;

use crate::column::Column;
use crate::json;
use crate::statement_cache::PreparedStatement;

/// A statement of a batch whose reply has not been read completely.
pub(super) struct PendingStatement<'t> {
    pub(super) role: &'t str,
    pub(super) sql: &'t str,
    /// Whether an earlier batch had prepared it.
    pub(super) was_cached: bool,
    /// The name under which this batch prepares it; `None` for a cached statement.
    pub(super) new_name: Option<Arc<str>>,
    pub(super) columns: Option<Arc<[Column]>>,
    /// Whether to write the rows as JSON.
    pub(super) as_json: bool,
    /// The writer of the rows as JSON; set once the columns are known.
    pub(super) json: Option<json::Writer>,
    /// Whether it is a statement of the caller rather than of this module.
    pub(super) is_callers: bool,
}

impl PendingStatement<'_> {
    /// Stores the columns of the rows.
    pub(super) fn describe(&mut self, prepared: PreparedStatement) {
        if self.as_json {
            // It may have been prepared by a transaction that did not need JSON.
            let format = prepared.json.unwrap_or_else(|| Arc::new(json::Format::new(&prepared.columns)));
            self.json = Some(json::Writer::new(format));
        }
        self.columns = Some(prepared.columns);
    }
}
