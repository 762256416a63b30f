//! Logical replication: committed changes of rows, in the order of their commits, from a replication slot.
//!
//! A slot ([`slot`]) is a position in the server's write-ahead log (WAL). A [`ReplicationStream`] sends the changes
//! that were committed after this position, and moves it when its user confirms changes. Unconfirmed changes are
//! sent again with the next stream: each change is sent at least once, and none is lost.
//!
//! Decision 56 says why no crate is used for this.

mod event;
mod frame;
mod pgoutput;
pub mod slot;
mod stream;

use std::time::Duration;

use postgres::conninfo::Conninfo;
use postgres::quote_identifier;
use time::OffsetDateTime;
use time::macros::datetime;

pub use event::{Event, OldTuple, Relation, RelationColumn, ReplicaIdentity, Tuple, Value, Values};
pub use postgres::Lsn;
pub use stream::ReplicationStream;

/// The epoch of Postgres' times.
const POSTGRES_EPOCH: OffsetDateTime = datetime!(2000-01-01 00:00 UTC);

/// Settings of a [`ReplicationStream`].
#[derive(Debug, Clone)]
pub struct ReplicationSettings {
    /// The slot, which must exist: see [`slot::ensure`].
    pub slot: String,
    /// The publications whose tables are streamed. They must be older than the changes: otherwise Postgres refuses the
    /// stream.
    pub publications: Vec<String>,
    /// The server to connect to in place of the pools' server, for example if that is a PgBouncer, which does not relay
    /// replication.
    pub server: Option<Conninfo>,
    /// How often the confirmed position is sent to the server.
    pub status_interval: Duration,
    /// The time without a message from the server after which the connection counts as broken; after half of it, the
    /// server is asked to reply. The server gets the same limit. At least a second.
    pub silence_limit: Duration,
    /// The end of an earlier stream of the same slot. A server that crashed may have lost confirmations since its last
    /// checkpoint; the stream still does not begin before this point.
    pub resume: Option<ResumePoint>,
}

/// The confirmed position on a server: see [`ReplicationStream::resume_point`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumePoint {
    /// The server's identity, which its physical standbys share.
    pub system: u64,
    /// The number that changes when a standby is promoted. Positions of another timeline are meaningless: the new
    /// primary may lack changes that the old one had sent, and have other changes at the same positions.
    pub timeline: u32,
    /// The confirmed position.
    pub position: Lsn,
}

impl ReplicationSettings {
    /// Returns settings with the defaults: the pools' server, a status every second, silence of at most 60 s.
    pub fn new(slot: impl Into<String>, publications: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            slot: slot.into(),
            publications: publications.into_iter().map(Into::into).collect(),
            server: None,
            status_interval: Duration::from_secs(1),
            silence_limit: Duration::from_secs(60),
            resume: None,
        }
    }

    /// Returns the command that begins the stream at `start` or the slot's confirmed position, whichever is later.
    ///
    /// Source: PostgreSQL documentation, sections 55.4 (`START_REPLICATION`) and 55.5.1 (options of pgoutput).
    fn start_command(&self, start: Lsn) -> String {
        let names: Vec<String> = self.publications.iter().map(|name| quote_identifier(name)).collect();
        // The grammar of these commands does not have escape strings (`E'…'`), and a backslash is an ordinary
        // character.
        let names = names.join(",").replace('\'', "''");
        let slot = quote_identifier(&self.slot);
        format!(
            "START_REPLICATION SLOT {slot} LOGICAL {start} (proto_version '1', publication_names '{names}')"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_the_commands_of_replication() {
        let settings = ReplicationSettings::new("s", ["a", "B \"c\"", "it's\\"]);
        assert_eq!(
            settings.start_command(Lsn(0x1_0000_00A0)),
            "START_REPLICATION SLOT \"s\" LOGICAL 1/A0 \
             (proto_version '1', publication_names '\"a\",\"B \"\"c\"\"\",\"it''s\\\"')"
        );
    }
}
