//! What is remembered of the catalog, until it changes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use database::replication::Relation;
use database::{Database, Error};

use super::questions;
use super::table::{self, RoleRights, Table};
use crate::lock;

/// Tables and rights that were looked up.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By OID, with the description in the stream then: another one means that the table may have changed.
    tables: HashMap<u32, (Arc<Relation>, Option<Arc<Table>>)>,
    rights: HashMap<(u32, Box<str>), Arc<RoleRights>>,
}

impl Catalog {
    /// Returns what the catalog says about the table of `relation`, as transaction `xid` left it or later; `None` if it is
    /// gone.
    ///
    /// Errors: those of the database.
    pub(crate) async fn table(
        &self,
        database: &Database,
        relation: &Arc<Relation>,
        xid: u32,
    ) -> Result<Option<Arc<Table>>, Error> {
        if let Some((seen, table)) = lock(&self.known).tables.get(&relation.oid)
            && Arc::ptr_eq(seen, relation)
        {
            return Ok(table.clone());
        }
        // What the transaction has changed of rights and row-level security holds for its own rows, too.
        questions::await_visibility(database, &HashSet::from([xid])).await?;
        let table = table::load(database, relation.oid).await?.map(Arc::new);
        let mut known = lock(&self.known);
        known.rights.retain(|(oid, _), _| *oid != relation.oid);
        known.tables.insert(relation.oid, (Arc::clone(relation), table.clone()));
        Ok(table)
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
        if let Some(rights) = lock(&self.known).rights.get(&key) {
            return Ok(Arc::clone(rights));
        }
        let rights = table::rights(database, role, table).await?;
        let rights = Arc::new(rights);
        lock(&self.known).rights.insert(key, Arc::clone(&rights));
        Ok(rights)
    }

    /// Forgets everything, since the catalog may have changed.
    pub(crate) fn forget(&self) {
        *lock(&self.known) = Known::default();
    }
}
