//! The prepared statements of one connection.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use foldhash::fast::RandomState;
use sha2::{Digest as _, Sha256};

use crate::column::Column;
use crate::json::Format;

/// Returns the name of a statement on the server: a digest of the role and the text.
///
/// A connection pooler may share one server connection among clients. Numbered names would then mean different
/// statements for different clients; a digest means the same for all.
pub(crate) fn name(role: &str, sql: &str) -> Arc<str> {
    let digest = Sha256::new().chain_update(role).chain_update([0]).chain_update(sql).finalize();
    format!("b{}", HEXLOWER.encode(&digest[..16])).into()
}

/// A prepared statement of a connection.
#[derive(Debug, Clone)]
pub(crate) struct PreparedStatement {
    /// Its name on the server.
    pub(crate) name: Arc<str>,
    /// The columns of its rows.
    pub(crate) columns: Arc<[Column]>,
    /// How its rows are written as JSON; `None` until that is needed.
    pub(crate) json: Option<Arc<Format>>,
}

struct Entry {
    role: Box<str>,
    sql: Box<str>,
    prepared: PreparedStatement,
    last_used: u64,
}

/// A bounded map from role and SQL text to prepared statements. The least recently used one is evicted.
///
/// The role is part of the key because Postgres plans a statement on a table with row-level security again whenever
/// another role executes it.
pub(crate) struct StatementCache {
    entries: HashMap<u64, Entry, RandomState>,
    hasher: RandomState,
    capacity: usize,
    clock: u64,
}

impl StatementCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::default(), hasher: RandomState::default(), capacity, clock: 0 }
    }

    /// Returns the hash of role and text. Two statements with the same hash evict each other, which only costs another
    /// preparation.
    fn key(&self, role: &str, sql: &str) -> u64 {
        self.hasher.hash_one((role, sql))
    }

    pub(crate) fn get(&mut self, role: &str, sql: &str) -> Option<PreparedStatement> {
        let key = self.key(role, sql);
        self.clock += 1;
        let entry = self.entries.get_mut(&key).filter(|entry| *entry.role == *role && *entry.sql == *sql)?;
        entry.last_used = self.clock;
        Some(entry.prepared.clone())
    }

    /// Removes the statement of this role and text and returns its name, if there is one.
    pub(crate) fn remove(&mut self, role: &str, sql: &str) -> Option<Arc<str>> {
        let key = self.key(role, sql);
        let is_same = self.entries.get(&key).is_some_and(|entry| *entry.role == *role && *entry.sql == *sql);
        let removed = if is_same { self.entries.remove(&key) } else { None };
        removed.map(|entry| entry.prepared.name)
    }

    /// Adds `prepared` and returns the name of the evicted statement, if any, which has to be closed.
    pub(crate) fn insert(&mut self, role: &str, sql: &str, prepared: PreparedStatement) -> Option<Arc<str>> {
        let key = self.key(role, sql);
        self.clock += 1;
        let mut evicted = None;
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used).map(|(key, _)| *key);
            evicted = oldest.and_then(|key| self.entries.remove(&key));
        }
        let entry = Entry { role: role.into(), sql: sql.into(), prepared, last_used: self.clock };
        // Of two statements with the same hash, the newer one is kept and the older one is closed.
        evicted = self.entries.insert(key, entry).or(evicted);
        evicted.map(|entry| entry.prepared.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(name: &str) -> PreparedStatement {
        PreparedStatement { name: name.into(), columns: Arc::new([]), json: None }
    }

    #[test]
    fn one_text_of_two_roles_is_two_statements() {
        let mut cache = StatementCache::new(8);
        assert_eq!(cache.insert("anon", "select 1", prepared("s0")), None);
        assert!(cache.get("authenticated", "select 1").is_none());
        assert_eq!(&*cache.get("anon", "select 1").unwrap().name, "s0");
    }

    #[test]
    fn names_differ_by_role_and_text_and_fit_an_identifier() {
        let names =
            [name("anon", "select 1"), name("anonselect", " 1"), name("anon", "select 2"), name("", "")];
        for (index, one) in names.iter().enumerate() {
            assert!(one.len() < 64);
            assert!(names[index + 1..].iter().all(|other| other != one));
        }
        assert_eq!(name("anon", "select 1"), name("anon", "select 1"));
    }

    #[test]
    fn the_least_recently_used_one_is_evicted() {
        let mut cache = StatementCache::new(2);
        cache.insert("anon", "a", prepared("s0"));
        cache.insert("anon", "b", prepared("s1"));
        cache.get("anon", "a");
        assert_eq!(cache.insert("anon", "c", prepared("s2")).as_deref(), Some("s1"));
        assert!(cache.get("anon", "a").is_some());
    }
}
