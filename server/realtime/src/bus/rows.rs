//! The encoding of batches of row changes as messages: a head that describes the rows, and the bytes of their values.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use replication::{OldTuple, Relation, Tuple};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::row::{Kind, Position, RowChange};

/// A server and its timeline: positions in the write-ahead log can only be compared within one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalTimeline {
    pub(crate) system: u64,
    pub(crate) timeline: u32,
}

/// The batches that a leader can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchRange {
    /// The random number of the leader's current run.
    pub(crate) run: u64,
    /// The number of the first batch that the leader has.
    pub(crate) first: u64,
    /// The number of the next batch.
    pub(crate) next: u64,
}

/// The head of a batch, before the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchHead {
    pub(crate) run: u64,
    pub(crate) number: u64,
    #[serde(rename = "line")]
    pub(crate) timeline: WalTimeline,
    relations: Vec<Relation>,
    rows: Vec<RowHead>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RowHead {
    /// The index of its relation.
    relation: usize,
    kind: Kind,
    new: Option<TupleHead>,
    old: Option<TupleHead>,
    /// Whether `old` is the whole row, and not only the key.
    is_full: bool,
    /// Microseconds since 1970.
    committed_at: i64,
    xid: u32,
    position: Position,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TupleHead {
    count: u16,
    length: usize,
}

/// Encodes `rows` as a batch: its head, and the bytes.
pub(crate) fn encode(run: u64, number: u64, timeline: WalTimeline, rows: &[RowChange]) -> (BatchHead, Bytes) {
    let (mut relations, mut indices) = (Vec::new(), HashMap::new());
    let (mut heads, mut body) = (Vec::with_capacity(rows.len()), BytesMut::new());
    let mut append = |tuple: &Tuple| {
        body.extend_from_slice(tuple.as_bytes());
        // Postgres has at most 1600 columns.
        TupleHead { count: tuple.len() as u16, length: tuple.as_bytes().len() }
    };
    for row in rows {
        let relation = *indices.entry(Arc::as_ptr(&row.relation)).or_insert_with(|| {
            relations.push(Relation::clone(&row.relation));
            relations.len() - 1
        });
        heads.push(RowHead {
            relation,
            kind: row.kind,
            new: row.new.as_ref().map(&mut append),
            old: row.old.as_ref().map(|old| append(old.tuple())),
            is_full: matches!(row.old, Some(OldTuple::Full(_))),
            committed_at: (row.committed_at.unix_timestamp_nanos() / 1000) as i64,
            xid: row.xid,
            position: row.position,
        });
    }
    (BatchHead { run, number, timeline, relations, rows: heads }, body.freeze())
}

/// The relations that the leader has sent. One that has not changed stays the same value.
#[derive(Debug, Default)]
pub(crate) struct RelationCache(HashMap<u32, Arc<Relation>>);

impl RelationCache {
    /// Returns the cached value that equals `relation`, or caches it.
    fn intern(&mut self, relation: &Relation) -> Arc<Relation> {
        match self.0.get(&relation.oid) {
            Some(cached) if **cached == *relation => Arc::clone(cached),
            _ => {
                let new = Arc::new(relation.clone());
                self.0.insert(relation.oid, Arc::clone(&new));
                new
            }
        }
    }

    /// Decodes the rows of a batch; `None` if they are malformed.
    pub(crate) fn decode(&mut self, head: &BatchHead, body: &Bytes) -> Option<Vec<RowChange>> {
        let relations: Vec<Arc<Relation>> =
            head.relations.iter().map(|relation| self.intern(relation)).collect();
        let mut rest = body.clone();
        let mut take = |head: &TupleHead| {
            if head.length > rest.len() {
                return None;
            }
            Tuple::from_bytes(head.count, &rest.split_to(head.length))
        };
        let mut rows = Vec::with_capacity(head.rows.len());
        for row in &head.rows {
            let new = match &row.new {
                Some(head) => Some(take(head)?),
                None => None,
            };
            let old = match &row.old {
                Some(head) if row.is_full => Some(OldTuple::Full(take(head)?)),
                Some(head) => Some(OldTuple::Key(take(head)?)),
                None => None,
            };
            let nanoseconds = i128::from(row.committed_at) * 1000;
            let committed_at = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok()?;
            let relation = Arc::clone(relations.get(row.relation)?);
            let (kind, xid, position) = (row.kind, row.xid, row.position);
            rows.push(RowChange { relation, kind, new, old, committed_at, xid, position });
        }
        Some(rows)
    }
}
