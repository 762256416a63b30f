//! Messages in parts that NATS takes: a server's limit is 1 MiB, unless it was changed.
//!
//! Each part says which message of its node it belongs to. Messages are numbered, so that a gap shows.

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::ids::NodeId;

/// Bytes of a part, without its head.
const SIZE: usize = 512 << 10;
/// Bytes of a message at most: a batch of rows, of which Postgres allows one to have a gigabyte.
const MAX_MESSAGE: usize = 2 << 30;
/// Bytes of a part's head: the node, the message's number, the part's index, and whether another one follows.
const HEAD: usize = 8 + 8 + 4 + 1;

/// Splits message `number` of `node` into parts.
pub(crate) fn split(node: NodeId, number: u64, message: &[u8]) -> impl Iterator<Item = Bytes> {
    let count = message.len().div_ceil(SIZE).max(1);
    (0..count).map(move |index| {
        let bytes = &message[index * SIZE..message.len().min((index + 1) * SIZE)];
        let mut part = BytesMut::with_capacity(HEAD + bytes.len());
        part.put_u64(node.0);
        part.put_u64(number);
        // Messages have less than 2³² parts.
        part.put_u32(index as u32);
        part.put_u8(u8::from(index + 1 < count));
        part.extend_from_slice(bytes);
        part.freeze()
    })
}

/// A part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) node: NodeId,
    number: u64,
    index: u32,
    has_next: bool,
    bytes: Bytes,
}

impl Part {
    /// Parses a part; `None` if it is too short.
    pub(crate) fn parse(part: &Bytes) -> Option<Self> {
        let (head, _) = part.split_at_checked(HEAD)?;
        let number = |at: usize| Some(u64::from_be_bytes(head.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            node: NodeId(number(0)?),
            number: number(8)?,
            index: u32::from_be_bytes(head.get(16..20)?.try_into().ok()?),
            has_next: head.get(20) == Some(&1),
            bytes: part.slice(HEAD..),
        })
    }
}

/// The assembly of one node's messages from their parts.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// The part that comes next, by message and index; `None` before the first.
    next: Option<(u64, u32)>,
    begun: BytesMut,
}

impl Assembly {
    /// Adds a part. Returns the message that it completes, and whether parts before it are missing. A part that comes
    /// again is passed over: somebody has recorded it.
    pub(crate) fn add(&mut self, part: Part) -> (Option<Bytes>, bool) {
        let place = (part.number, part.index);
        if self.next.is_some_and(|next| place < next) {
            return (None, false);
        }
        let is_next = self.next.is_none_or(|next| next == place) && (part.index == 0 || self.next.is_some());
        let has_missed = self.next.is_some() && !is_next;
        self.next = Some(if part.has_next {
            (part.number, part.index.saturating_add(1))
        } else {
            (part.number.saturating_add(1), 0)
        });
        if part.index == 0 {
            self.begun.clear();
        } else if !is_next || self.begun.len() + part.bytes.len() > MAX_MESSAGE {
            // The rest of a message is useless without its beginning.
            self.begun.clear();
            self.next = Some((part.number.saturating_add(1), 0));
            return (None, has_missed);
        }
        if part.index == 0 && !part.has_next {
            return (Some(part.bytes), has_missed);
        }
        self.begun.extend_from_slice(&part.bytes);
        let whole = (!part.has_next).then(|| std::mem::take(&mut self.begun).freeze());
        (whole, has_missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(number: u64, message: &[u8]) -> Vec<Part> {
        split(NodeId(1), number, message).map(|part| Part::parse(&part).unwrap()).collect()
    }

    #[test]
    fn messages_are_put_together() {
        let (mut assembly, long) = (Assembly::default(), vec![7; SIZE * 2 + 3]);
        for (number, message) in [(5, &long[..]), (6, b"short"), (7, b"")] {
            let mut parts = parts(number, message);
            let last = parts.pop().unwrap();
            for part in parts {
                assert_eq!(assembly.add(part), (None, false));
            }
            assert_eq!(assembly.add(last), (Some(Bytes::copy_from_slice(message)), false));
        }
        assert_eq!(Part::parse(&Bytes::from_static(b"short")), None);
    }

    #[test]
    fn what_comes_again_is_passed_over() {
        let (mut assembly, long) = (Assembly::default(), vec![7; SIZE * 2 + 3]);
        let recorded = parts(2, b"b").remove(0);
        assert_eq!(assembly.add(recorded.clone()), (Some(Bytes::from_static(b"b")), false));
        let mut begun = parts(3, &long);
        let last = begun.pop().unwrap();
        for part in begun {
            assert_eq!(assembly.add(part.clone()), (None, false));
            assert_eq!(assembly.add(part), (None, false));
            assert_eq!(assembly.add(recorded.clone()), (None, false));
        }
        assert_eq!(assembly.add(last), (Some(Bytes::from(long)), false));
        let end = Part { number: u64::MAX, index: u32::MAX, ..recorded };
        assert_eq!(assembly.add(end.clone()), (None, true));
        assert_eq!(assembly.add(end), (None, true), "the numbers end, and nothing else does");
    }

    #[test]
    fn what_was_missed_shows() {
        let (mut assembly, long) = (Assembly::default(), vec![7; SIZE * 2 + 3]);
        assert_eq!(assembly.add(parts(1, b"a").remove(0)), (Some(Bytes::from_static(b"a")), false));
        assert_eq!(assembly.add(parts(3, b"c").remove(0)), (Some(Bytes::from_static(b"c")), true));
        let mut cut = parts(4, &long);
        cut.remove(1);
        assert_eq!(assembly.add(cut.remove(0)), (None, false));
        assert_eq!(assembly.add(cut.remove(0)), (None, true));
        assert_eq!(assembly.add(parts(5, b"e").remove(0)), (Some(Bytes::from_static(b"e")), false));
        // One that joins in the middle of a message begins with the next.
        let mut late = Assembly::default();
        assert_eq!(late.add(parts(4, &long).remove(1)), (None, false));
        assert_eq!(late.add(parts(5, b"e").remove(0)), (Some(Bytes::from_static(b"e")), false));
    }
}
