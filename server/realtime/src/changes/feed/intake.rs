//! The rows that have been read from the stream and are not delivered yet.

use std::sync::Arc;

use replication::{Event, Lsn, OldTuple, Relation, Tuple};
use time::OffsetDateTime;

use super::FeedContext;
use crate::changes::exchange::Exchange;
use crate::changes::subscriptions::Changes;
use crate::metrics::Metrics;
use crate::row::{Kind, Position, RowChange};

/// Rows in one batch.
const MAX_ROWS: usize = 512;
/// Approximate bytes in one batch.
const MAX_BYTES: usize = 4 << 20;

/// The collector of rows that clients may want.
pub(super) struct Intake {
    changes: Arc<Changes>,
    exchange: Arc<Exchange>,
    metrics: Metrics,
    /// The position up to which rows were delivered before.
    delivered: Position,
    /// The position of the row that was read last.
    pub(super) current: Position,
    pub(super) committed_at: OffsetDateTime,
    xid: u32,
    pub(super) rows: Vec<RowChange>,
    /// The size of the rows.
    bytes: usize,
    /// The end of the last complete transaction.
    pub(super) confirmable: Option<Lsn>,
}

impl Intake {
    /// Returns an intake that skips rows up to `delivered`.
    pub(super) fn new(context: &FeedContext, delivered: Position) -> Self {
        Self {
            changes: Arc::clone(&context.changes),
            exchange: Arc::clone(&context.exchange),
            metrics: context.metrics.clone(),
            delivered,
            current: Position::default(),
            committed_at: OffsetDateTime::UNIX_EPOCH,
            xid: 0,
            rows: Vec::new(),
            bytes: 0,
            confirmable: None,
        }
    }

    /// Reports whether there is a whole batch.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    /// Removes the rows, which have been delivered.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.bytes = 0;
    }

    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Begin { final_position, committed_at, xid } => {
                self.current = Position { commit: final_position, row: 0 };
                (self.committed_at, self.xid) = (committed_at, xid);
            }
            Event::Commit { end, .. } | Event::Keepalive { end } => self.confirmable = Some(end),
            Event::Insert { relation, new } => self.take_row(relation, Kind::Insert, Some(new), None),
            Event::Update { relation, old, new } => self.take_row(relation, Kind::Update, Some(new), old),
            Event::Delete { relation, old } => self.take_row(relation, Kind::Delete, None, Some(old)),
            Event::Truncate { .. } => {}
        }
    }

    fn take_row(&mut self, relation: Arc<Relation>, kind: Kind, new: Option<Tuple>, old: Option<OldTuple>) {
        self.current.row += 1;
        if self.current <= self.delivered {
            return;
        }
        let is_message = is_messages(&relation);
        if !is_message {
            self.metrics.row_changes.inc();
        }
        let is_wanted = if is_message {
            kind == Kind::Insert
        } else {
            self.exchange.has_peers() || self.changes.audiences.of(relation.oid).is_some()
        };
        if is_wanted {
            self.bytes +=
                new.as_ref().map_or(0, Tuple::size) + old.as_ref().map_or(0, |old| old.tuple().size());
            let (committed_at, xid, position) = (self.committed_at, self.xid, self.current);
            self.rows.push(RowChange { relation, kind, new, old, committed_at, xid, position });
        }
    }
}

/// Reports whether `relation` is `realtime.messages` or a partition of it.
pub(super) fn is_messages(relation: &Relation) -> bool {
    relation.schema == "realtime" && (relation.name == "messages" || relation.name.starts_with("messages_"))
}
