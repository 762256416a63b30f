//! What has been taken from the stream and is not delivered yet.

use std::sync::Arc;

use database::replication::{Event, Lsn, OldTuple, Relation, Tuple};
use time::OffsetDateTime;

use crate::Realtime;
use crate::changes::Kind;
use crate::changes::batch::{Position, RowChange};

/// Rows of one batch.
const MAX_ROWS: usize = 512;
/// Bytes of one batch, about.
const MAX_BYTES: usize = 4 << 20;

/// Takes events, and keeps the rows that somebody may want.
pub(super) struct Intake {
    realtime: Realtime,
    /// What was delivered before.
    delivered: Position,
    /// The row that was read last, and its transaction.
    pub(super) current: Position,
    pub(super) committed_at: OffsetDateTime,
    xid: u32,
    pub(super) rows: Vec<RowChange>,
    /// The size of the rows.
    bytes: usize,
    /// The end of the last transaction that has been taken wholly.
    pub(super) confirmable: Option<Lsn>,
}

impl Intake {
    /// Returns an intake that passes over what was delivered before.
    pub(super) fn new(realtime: Realtime, delivered: Position) -> Self {
        Self {
            realtime,
            delivered,
            current: Position::default(),
            committed_at: OffsetDateTime::UNIX_EPOCH,
            xid: 0,
            rows: Vec::new(),
            bytes: 0,
            confirmable: None,
        }
    }

    /// Reports whether it holds a whole batch.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    /// Forgets the rows, which have been delivered.
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
            self.realtime.metrics().row_changes.inc();
        }
        let changes = self.realtime.changes();
        let is_wanted = if is_message {
            kind == Kind::Insert
        } else {
            changes.exchange.has_peers() || changes.audiences.of(relation.oid).is_some()
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
