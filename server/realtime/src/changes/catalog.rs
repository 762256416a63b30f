//! A cache of the catalog.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use postgres::{Database, Error};
use replication::Relation;

use super::generated::{self, Generated};
use super::queries;
use super::table::{self, RoleRights, Table};

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

    /// Clears the cache, since the catalog may have changed.
    pub(crate) fn forget(&self) {
        *self.cache.lock() = CatalogCache::default();
    }
}
