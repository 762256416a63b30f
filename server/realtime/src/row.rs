//! Changes of rows, as they are read from the replication stream.

use std::sync::Arc;

use replication::{Lsn, OldTuple, Relation, Tuple};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// A change of a row.
#[derive(Debug, Clone)]
pub(crate) struct RowChange {
    pub(crate) relation: Arc<Relation>,
    pub(crate) kind: Kind,
    pub(crate) new: Option<Tuple>,
    pub(crate) old: Option<OldTuple>,
    pub(crate) committed_at: OffsetDateTime,
    /// The transaction's number.
    pub(crate) xid: u32,
    pub(crate) position: Position,
}

/// A position in the stream: a transaction, and the number of a row in it, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) commit: Lsn,
    pub(crate) row: u64,
}

::settings::words! {
    /// Kinds of row changes, by their names in events.
    #[derive(Hash, Serialize, Deserialize)]
    pub(crate) enum Kind {
        Insert = "INSERT",
        Update = "UPDATE",
        Delete = "DELETE",
    }
}

impl Kind {
    /// Returns the kind of this name, whatever its case; `None` stands for every kind.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}
