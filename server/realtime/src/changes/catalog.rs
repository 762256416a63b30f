//! A cache of the catalog.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use postgres::{Database, Error};
use replication::Relation;

use super::generated::{self, Generated};
use super::policy::{self, Requirement};
use super::queries;
use super::table::{self, RoleRights, Table};

/// Users that are judged in one statement.
const GROUP_SIZE: usize = 128;

/// The cache of tables and rights.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    cache: Mutex<CatalogCache>,
}

#[derive(Debug, Default)]
struct CatalogCache {
    /// By OID, with the relation that the stream had then: another one means that the table may have changed.
    tables: HashMap<u32, (Arc<Relation>, Option<Known>)>,
    rights: HashMap<(u32, Box<str>), Arc<RoleRights>>,
    /// What policies require of a role, if anything is understood.
    requirements: HashMap<(u32, Box<str>), Option<Arc<Requirement>>>,
    /// The maximum number of users that are judged together, if it is not the usual one.
    group_size: Option<usize>,
}

/// A table, and the columns that have to be computed, if there are any.
type Known = (Arc<Table>, Option<Arc<Generated>>);

impl Catalog {
    /// Returns the table of `relation`, as transaction `xid` left it or later; `None` if it is gone.
    ///
    /// Errors: those of the database.
    pub(crate) async fn table(
        &self,
        database: &Database,
        relation: &Arc<Relation>,
        xid: u32,
    ) -> Result<Option<Known>, Error> {
        if let Some((seen, known)) = self.cache.lock().tables.get(&relation.oid)
            && Arc::ptr_eq(seen, relation)
        {
            return Ok(known.clone());
        }
        // Changes of rights and row-level security by the transaction apply to its own rows, too.
        queries::await_visibility(database, &HashSet::from([xid])).await?;
        let known = match table::load(database, relation.oid).await? {
            Some(table) => {
                let generated = generated::load(database, &table, relation).await?.map(Arc::new);
                Some((Arc::new(table), generated))
            }
            None => None,
        };
        let mut cache = self.cache.lock();
        cache.rights.retain(|(oid, _), _| *oid != relation.oid);
        cache.requirements.retain(|(oid, _), _| *oid != relation.oid);
        cache.tables.insert(relation.oid, (Arc::clone(relation), known.clone()));
        Ok(known)
    }

    /// Returns what `role` may see of a table.
    ///
    /// Errors: those of the database.
    pub(crate) async fn rights(
        &self,
        database: &Database,
        role: &str,
        table: u32,
    ) -> Result<Arc<RoleRights>, Error> {
        let key = (table, Box::from(role));
        if let Some(rights) = self.cache.lock().rights.get(&key) {
            return Ok(Arc::clone(rights));
        }
        let rights = table::rights(database, role, table).await?;
        let rights = Arc::new(rights);
        self.cache.lock().rights.insert(key, Arc::clone(&rights));
        Ok(rights)
    }

    /// Returns what the policies of `table` require of users of `role`; `None` if nothing is understood.
    ///
    /// Errors: those of the database.
    pub(super) async fn requirement(
        &self,
        database: &Database,
        role: &str,
        table: &Table,
    ) -> Result<Option<Arc<Requirement>>, Error> {
        let key = (table.oid, Box::from(role));
        if let Some(requirement) = self.cache.lock().requirements.get(&key) {
            return Ok(requirement.clone());
        }
        let requirement = policy::load(database, role, table).await?.map(Arc::new);
        self.cache.lock().requirements.insert(key, requirement.clone());
        Ok(requirement)
    }

    /// Requires nothing of users of a table any more, until the cache is cleared: what its policies require took too
    /// long to find out.
    pub(super) fn require_nothing(&self, table: u32) {
        let requirements = &mut self.cache.lock().requirements;
        for (_, requirement) in requirements.iter_mut().filter(|((oid, _), _)| *oid == table) {
            *requirement = None;
        }
    }

    /// Returns how many users may be judged together.
    pub(super) fn group_size(&self) -> usize {
        self.cache.lock().group_size.unwrap_or(GROUP_SIZE)
    }

    /// Lowers how many users may be judged together, until the cache is cleared.
    pub(super) fn limit_group_size(&self, size: usize) {
        let group_size = &mut self.cache.lock().group_size;
        *group_size = Some(size.clamp(1, group_size.unwrap_or(GROUP_SIZE)));
    }

    /// Clears the cache, since the catalog may have changed.
    pub(crate) fn forget(&self) {
        *self.cache.lock() = CatalogCache::default();
    }
}
