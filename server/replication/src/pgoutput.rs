//! Decodes the messages of pgoutput, the output plugin that comes with Postgres, in its protocol version 1.
//!
//! Source: PostgreSQL documentation, section 55.9. Version 1 sends a whole transaction after its commit. Later versions
//! can also send transactions that are still running and may be rolled back: the server would need less disk for huge
//! ones, but the reader would have to keep them until their commits.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use foldhash::fast::RandomState;
use time::OffsetDateTime;

use super::event::{Event, OldTuple, Relation, RelationColumn, ReplicaIdentity, Tuple};
use super::{Lsn, POSTGRES_EPOCH};
use postgres::Error;

/// The flag of a column that is part of the replica identity.
const KEY_FLAG: u8 = 1;

/// The decoder of one stream's messages.
#[derive(Default)]
pub(super) struct Decoder {
    /// The tables that the server has described.
    relations: HashMap<u32, Arc<Relation>, RandomState>,
    is_in_transaction: bool,
}

impl Decoder {
    /// Reports whether a transaction has begun and not ended.
    pub(super) const fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    /// Decodes `message`; returns `None` for one that is not an event.
    ///
    /// Errors: [`Error::Protocol`] for anything that version 1 does not contain; later messages cannot be decoded then.
    pub(super) fn decode(&mut self, message: Bytes) -> Result<Option<Event>, Error> {
        let mut reader = Reader(message);
        let kind = reader.u8()?;
        let event = match kind {
            b'I' | b'U' | b'D' => Some(self.row(kind, &mut reader)?),
            b'B' => Some(self.begin(&mut reader)?),
            b'C' => Some(self.commit(&mut reader)?),
            b'T' => Some(self.truncate(&mut reader)?),
            b'R' => {
                self.describe(reader.relation()?);
                None
            }
            // The name of a type, the origin of a transaction, and a message of pg_logical_emit_message: none is an
            // event.
            b'Y' | b'O' | b'M' => return Ok(None),
            _ => {
                return Err(Error::protocol(format!(
                    "a message of kind {kind:#x} in the replication stream"
                )));
            }
        };
        if reader.0.has_remaining() {
            return Err(Error::protocol(format!("a message {:?} that is too long", char::from(kind))));
        }
        Ok(event)
    }

    fn begin(&mut self, reader: &mut Reader) -> Result<Event, Error> {
        let (final_position, committed_at, xid) = (Lsn(reader.u64()?), reader.time()?, reader.u32()?);
        self.is_in_transaction = true;
        Ok(Event::Begin { final_position, committed_at, xid })
    }

    fn commit(&mut self, reader: &mut Reader) -> Result<Event, Error> {
        let _flags = reader.u8()?;
        let (position, end, committed_at) = (Lsn(reader.u64()?), Lsn(reader.u64()?), reader.time()?);
        self.is_in_transaction = false;
        Ok(Event::Commit { position, end, committed_at })
    }

    fn row(&self, kind: u8, reader: &mut Reader) -> Result<Event, Error> {
        let relation = self.relation(reader.u32()?)?;
        let mut part = reader.u8()?;
        let mut old = None;
        if kind != b'I' && matches!(part, b'K' | b'O') {
            let tuple = reader.tuple(&relation)?;
            old = Some(if part == b'K' { OldTuple::Key(tuple) } else { OldTuple::Full(tuple) });
            if kind == b'U' {
                part = reader.u8()?;
            }
        }
        match (kind, part, old) {
            (b'I', b'N', _) => Ok(Event::Insert { new: reader.tuple(&relation)?, relation }),
            (b'U', b'N', old) => Ok(Event::Update { new: reader.tuple(&relation)?, old, relation }),
            (b'D', _, Some(old)) => Ok(Event::Delete { old, relation }),
            _ => Err(Error::protocol(format!("a changed row with a part of kind {part:#x}"))),
        }
    }

    fn truncate(&self, reader: &mut Reader) -> Result<Event, Error> {
        let count = reader.u32()?;
        let _options = reader.u8()?;
        let relations: Result<_, Error> = (0..count).map(|_| self.relation(reader.u32()?)).collect();
        Ok(Event::Truncate { relations: relations? })
    }

    fn relation(&self, oid: u32) -> Result<Arc<Relation>, Error> {
        let relation = self.relations.get(&oid).cloned();
        relation
            .ok_or_else(|| Error::protocol(format!("a change of the table {oid}, which was not described")))
    }

    /// Stores a table's description. The server sends it again whenever the table may have changed, also in rights or
    /// row-level security, which the description does not contain. A caller notices this by the new pointer.
    fn describe(&mut self, relation: Relation) {
        self.relations.insert(relation.oid, Arc::new(relation));
    }
}

/// The reader of a message's fields.
pub(super) struct Reader(pub(super) Bytes);

impl Reader {
    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.0.try_get_u8().map_err(|_| truncated())
    }

    fn u16(&mut self) -> Result<u16, Error> {
        self.0.try_get_u16().map_err(|_| truncated())
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.0.try_get_u32().map_err(|_| truncated())
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.0.try_get_u64().map_err(|_| truncated())
    }

    /// Reads a time: microseconds since 2000.
    pub(super) fn time(&mut self) -> Result<OffsetDateTime, Error> {
        let microseconds = self.0.try_get_i64().map_err(|_| truncated())?;
        let since_2000 = time::Duration::microseconds(microseconds);
        let time = POSTGRES_EPOCH.checked_add(since_2000);
        time.ok_or_else(|| Error::protocol("a time that is out of range"))
    }

    /// Reads a text that ends with a NUL. A name that is not UTF-8 can only occur in a database of `SQL_ASCII`.
    fn text(&mut self) -> Result<String, Error> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or_else(truncated)?;
        let text = String::from_utf8_lossy(&self.0[..length]).into_owned();
        self.0.advance(length + 1);
        Ok(text)
    }

    fn tuple(&mut self, relation: &Relation) -> Result<Tuple, Error> {
        let count = self.u16()?;
        if usize::from(count) != relation.columns.len() {
            return Err(Error::protocol(format!(
                "a row of {count} values in {}.{}, which has {} columns",
                relation.schema,
                relation.name,
                relation.columns.len()
            )));
        }
        let (tuple, length) = Tuple::parse(count, &self.0).ok_or_else(truncated)?;
        self.0.advance(length);
        Ok(tuple)
    }

    fn relation(&mut self) -> Result<Relation, Error> {
        let oid = self.u32()?;
        let schema = Some(self.text()?).filter(|schema| !schema.is_empty());
        let name = self.text()?;
        let replica_identity = match self.u8()? {
            b'd' => ReplicaIdentity::Default,
            b'n' => ReplicaIdentity::Nothing,
            b'f' => ReplicaIdentity::Full,
            b'i' => ReplicaIdentity::Index,
            other => return Err(Error::protocol(format!("a replica identity of kind {other:#x}"))),
        };
        let count = self.u16()?;
        let columns: Result<_, Error> = (0..count).map(|_| self.column()).collect();
        let schema = schema.unwrap_or_else(|| "pg_catalog".to_owned());
        Ok(Relation { oid, schema, name, replica_identity, columns: columns? })
    }

    fn column(&mut self) -> Result<RelationColumn, Error> {
        let is_key = self.u8()? & KEY_FLAG != 0;
        let (name, type_oid) = (self.text()?, self.u32()?);
        Ok(RelationColumn { name, type_oid, type_modifier: self.u32()?.cast_signed(), is_key })
    }
}

fn truncated() -> Error {
    Error::protocol("a message of the replication stream is cut off or garbled")
}

#[cfg(test)]
mod tests;
