//! The position up to which each caller has written, so that no caller's read goes to a replica that lacks the caller's
//! own writes.
//!
//! A write is known by the position of the write-ahead log that follows it. A client may carry it from node to node, in
//! the header or the cookie [`POSITION`]; for other clients, the nodes notify each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gateway::Nodes;
use poem::http::HeaderMap;
use poem::http::header::COOKIE;
use postgres::Lsn;

/// The header of a response to a write, and the header or cookie of a request that has to see it: a position in the
/// write-ahead log, as Postgres writes it.
pub const POSITION: &str = "basalt-wal-position";

/// The subject of the notes to the other nodes.
const SUBJECT: &str = "writes";

/// The number of slots for authors. Authors that share a slot briefly keep each other off the replicas: the primary
/// gets a few more reads, but all callers still see their own writes.
const SLOTS: u16 = 4096;

/// The positions up to which authors ([`crate::caller::Identity::author`]) have written. The size does not depend on
/// their number.
pub(crate) struct WritePositions {
    positions: Box<[AtomicU64]>,
    nodes: OnceLock<Nodes>,
}

/// The message of a node to the others about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WriteNote {
    slot: u16,
    position: Lsn,
}

impl Default for WritePositions {
    fn default() -> Self {
        let positions = std::iter::repeat_with(AtomicU64::default).take(SLOTS.into()).collect();
        Self { positions, nodes: OnceLock::new() }
    }
}

impl WritePositions {
    /// Records that `author` has written up to `position`, and notifies the other nodes.
    pub(crate) fn note(&self, author: u64, position: Lsn) {
        let note = WriteNote { slot: slot(author), position };
        self.take(note);
        if let Some(nodes) = self.nodes.get() {
            nodes.send(SUBJECT, &note.to_bytes());
        }
    }

    /// Takes a note of another node.
    fn take(&self, note: WriteNote) {
        if let Some(position) = self.positions.get(usize::from(note.slot)) {
            position.fetch_max(note.position.0, Ordering::Relaxed);
        }
    }

    /// Returns the position up to which reads of `author` have to see: that of the author's own writes, or a later one
    /// that the request carries.
    pub(crate) fn of(&self, author: u64, headers: &HeaderMap) -> Lsn {
        let noted = Lsn(self.positions[usize::from(slot(author))].load(Ordering::Relaxed));
        noted.max(carried_position(headers).unwrap_or_default())
    }

    /// Notifies `nodes` of writes from now on, and receives theirs. Only the first call has an effect.
    pub(crate) fn share_with(self: &Arc<Self>, nodes: &Nodes) {
        if self.nodes.set(nodes.clone()).is_ok() {
            let positions = Arc::clone(self);
            nodes.listen(SUBJECT, move |note| {
                if let Some(note) = WriteNote::from_bytes(note) {
                    positions.take(note);
                }
            });
        }
    }
}

impl WriteNote {
    /// Returns the note as bytes.
    fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&self.slot.to_be_bytes());
        bytes[2..].copy_from_slice(&self.position.0.to_be_bytes());
        bytes
    }

    /// Reads what [`Self::to_bytes`] has written; `None` if it is something else.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (slot, position) = bytes.split_first_chunk()?;
        let position = Lsn(u64::from_be_bytes(position.try_into().ok()?));
        Some(Self { slot: u16::from_be_bytes(*slot), position })
    }
}

/// Returns an author's slot.
fn slot(author: u64) -> u16 {
    // The remainder is below `SLOTS`.
    (author % u64::from(SLOTS)) as u16
}

/// Returns the position that a request carries in its header, else in its cookie.
fn carried_position(headers: &HeaderMap) -> Option<Lsn> {
    let header = headers.get(POSITION).and_then(|value| value.to_str().ok());
    let cookie = || {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|list| list.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| name.trim() == POSITION).map(|(_, value)| value.trim())
    };
    header.or_else(cookie)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    const ADA: u64 = 1 << 40;

    #[test]
    fn authors_see_their_own_writes_and_not_those_of_others() {
        let positions = WritePositions::default();
        positions.note(ADA, Lsn(7));
        positions.note(ADA, Lsn(5));
        let headers = HeaderMap::new();
        assert_eq!(positions.of(ADA, &headers), Lsn(7));
        assert_eq!(positions.of(ADA + 1, &headers), Lsn(0));
    }

    #[test]
    fn requests_carry_positions_from_node_to_node() {
        let of = |name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))]);
            WritePositions::default().of(ADA, &headers)
        };
        assert_eq!(of(POSITION, "1/A0"), Lsn(0x1_0000_00A0));
        assert_eq!(of("cookie", "a=b; basalt-wal-position=0/9;c=d"), Lsn(9));
        assert_eq!(of("cookie", "basalt-wal-position=rubbish"), Lsn(0));
        assert_eq!(of(POSITION, "rubbish"), Lsn(0));
    }

    #[test]
    fn positions_from_another_node_are_adopted() {
        let (one, another) = (Arc::new(WritePositions::default()), Arc::new(WritePositions::default()));
        let (nodes, other_nodes) = (Nodes::default(), Nodes::default());
        one.share_with(&nodes);
        another.share_with(&other_nodes);
        let mut carried = nodes.outgoing().unwrap();
        one.note(ADA, Lsn(7));
        other_nodes.receive(&carried.try_recv().unwrap());
        assert_eq!(another.of(ADA, &HeaderMap::new()), Lsn(7));
        assert_eq!(WriteNote::from_bytes(b"short"), None);
        another.take(WriteNote { slot: u16::MAX, position: Lsn(1) });
    }
}
