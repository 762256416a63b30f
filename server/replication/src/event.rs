//! The events of a replication stream: transactions, changed rows, and their tables.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::Lsn;

/// An event of a [`super::ReplicationStream`]. Transactions are complete and follow one another in the order of their
/// commits.
#[derive(Debug, Clone)]
pub enum Event {
    /// A transaction begins.
    Begin {
        /// The position of its commit.
        final_position: Lsn,
        /// When it was committed, to the microsecond.
        committed_at: OffsetDateTime,
        /// Its number.
        xid: u32,
    },
    /// The transaction ends.
    Commit {
        /// The position of its commit: the `final_position` of its beginning.
        position: Lsn,
        /// The position after it, for [`super::ReplicationStream::confirm`].
        end: Lsn,
        /// When it was committed, to the microsecond.
        committed_at: OffsetDateTime,
    },
    /// A row was inserted.
    Insert {
        /// Its table.
        relation: Arc<Relation>,
        /// Its values.
        new: Tuple,
    },
    /// A row was updated.
    Update {
        /// Its table.
        relation: Arc<Relation>,
        /// What is known of the row before the update; `None` if its replica identity is a key that has not changed.
        old: Option<OldTuple>,
        /// Its values.
        new: Tuple,
    },
    /// A row was deleted.
    Delete {
        /// Its table.
        relation: Arc<Relation>,
        /// What is known of it.
        old: OldTuple,
    },
    /// Tables were truncated.
    Truncate {
        /// The tables, as far as they are published.
        relations: Vec<Arc<Relation>>,
    },
    /// Nothing that is published has changed up to `end` since the last event. Never occurs within a transaction, so
    /// `end` may be confirmed as soon as all earlier events have been handled.
    Keepalive {
        /// The position up to which the server has read its WAL.
        end: Lsn,
    },
}

/// A published table at the time of its rows' changes. After a change of the table, later rows have another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The columns of old rows that the stream has.
    pub replica_identity: ReplicaIdentity,
    /// Its published columns in their order, which is that of the values in a [`Tuple`].
    pub columns: Vec<RelationColumn>,
}

/// The columns of the old row that the stream has at an update or a deletion. Source: PostgreSQL documentation, `ALTER
/// TABLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaIdentity {
    /// The columns of the primary key.
    Default,
    /// Nothing, so that updates and deletions are refused while they are published.
    Nothing,
    /// All columns.
    Full,
    /// The columns of a unique index.
    Index,
}

/// A column of a [`Relation`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// The OID of its type in `pg_type`.
    pub type_oid: u32,
    /// The type's modifier (`atttypmod`), such as a length; -1 without one.
    pub type_modifier: i32,
    /// Whether it is part of the replica identity. With [`ReplicaIdentity::Full`] all columns are.
    pub is_key: bool,
}

/// What is known of a row before its change.
#[derive(Debug, Clone)]
pub enum OldTuple {
    /// The columns of the replica identity; the others are [`Value::Null`].
    Key(Tuple),
    /// All columns.
    Full(Tuple),
}

impl OldTuple {
    /// Returns the values.
    pub const fn tuple(&self) -> &Tuple {
        match self {
            Self::Key(tuple) | Self::Full(tuple) => tuple,
        }
    }
}

/// The values of a row, one for each column of its [`Relation`]. They are in the buffer that was read from the
/// connection and are not copied, so a tuple that is kept for long keeps up to 64 KiB.
#[derive(Debug, Clone)]
pub struct Tuple {
    /// The number of values.
    count: u16,
    /// The values as pgoutput writes them, checked.
    body: Bytes,
}

/// A value in a [`Tuple`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A large value that the update left as it was and that the WAL does not contain (TOAST).
    Unchanged,
    /// The text form of the value, in UTF-8 unless the database's encoding is `SQL_ASCII`.
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the text; `None` if there is none or it is not UTF-8.
    pub const fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Some(text),
                Err(_) => None,
            },
            Self::Null | Self::Unchanged => None,
        }
    }
}

impl Tuple {
    /// Parses the first `count` values of `body`. Returns the tuple and its length; `None` if there are fewer values,
    /// or one is not in text format.
    pub(super) fn parse(count: u16, body: &Bytes) -> Option<(Self, usize)> {
        let mut values = Values { left: count, rest: body };
        for _ in 0..count {
            values.next()?;
        }
        let length = body.len() - values.rest.len();
        Some((Self { count, body: body.slice(..length) }, length))
    }

    /// Returns a tuple of `count` values from the bytes that [`Self::as_bytes`] returned; `None` for other bytes.
    pub fn from_bytes(count: u16, bytes: &Bytes) -> Option<Self> {
        Self::parse(count, bytes).filter(|(_, length)| *length == bytes.len()).map(|(tuple, _)| tuple)
    }

    /// Returns all values in the format of pgoutput, which does not include their number.
    pub const fn as_bytes(&self) -> &Bytes {
        &self.body
    }

    /// Returns the number of values.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Reports whether there are no values, as in a table without columns.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the values in the order of the relation's columns.
    pub fn values(&self) -> Values<'_> {
        Values { left: self.count, rest: &self.body }
    }

    /// Returns the value of column `index` (from 0), in time proportional to `index`; `None` beyond the last column.
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        self.values().nth(index)
    }

    /// Returns the text of column `index` (from 0) as a part of the tuple's buffer; `None` if there is none.
    pub fn bytes(&self, index: usize) -> Option<Bytes> {
        match self.get(index)? {
            Value::Text(text) => Some(self.body.slice_ref(text)),
            Value::Null | Value::Unchanged => None,
        }
    }

    /// Returns a tuple with the values of this one, and `more` after them.
    #[must_use]
    pub fn extended(&self, more: &[Value<'_>]) -> Self {
        let mut body = BytesMut::from(&*self.body);
        for value in more {
            match value {
                Value::Null => body.put_u8(b'n'),
                Value::Unchanged => body.put_u8(b'u'),
                Value::Text(text) => {
                    body.put_u8(b't');
                    body.put_u32(text.len() as u32);
                    body.put_slice(text);
                }
            }
        }
        Self { count: self.count + more.len() as u16, body: body.freeze() }
    }

    /// Returns the size of the values in bytes, including the header of each value.
    pub const fn size(&self) -> usize {
        self.body.len()
    }
}

/// An iterator over the values of a [`Tuple`].
#[derive(Debug, Clone)]
pub struct Values<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (kind, rest) = self.rest.split_first()?;
        let (value, rest) = match kind {
            b'n' => (Value::Null, rest),
            b'u' => (Value::Unchanged, rest),
            b't' => {
                let (length, rest) = rest.split_first_chunk()?;
                let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
                let (text, rest) = rest.split_at_checked(length)?;
                (Value::Text(text), rest)
            }
            _ => return None,
        };
        self.rest = rest;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Values<'_> {}
