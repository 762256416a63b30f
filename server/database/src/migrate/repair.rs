//! Creates what is missing of the platform again: after a tool has dropped its schemas, or after somebody has.
//!
//! Which objects a complete platform has is recorded in `schema/platform/objects.txt`. What the missing objects held is
//! lost; the files create them empty. A single column or constraint of a table that is there is not created again, since its
//! rows may contradict it, but reported.

use std::collections::BTreeSet;

use tokio_postgres::{Client, GenericClient, Transaction};

use super::apply::{self, Limits};
use super::error::Error;
use super::file::File;
use super::holds;
use super::ledger::{self, Record};
use super::platform::{FILES, PlatformFile};
use super::split::Statement;

/// The objects of a complete platform: one description a line, as [`OBJECTS`] returns them.
const COMPLETE: &str = include_str!("../../../../schema/platform/objects.txt");

/// The beginning of the descriptions that only a superuser's objects have.
const OF_SUPERUSERS: &str = "event trigger ";

/// Returns the descriptions of the objects of the platform that a database has: those of its schemas and its event
/// triggers, without what belongs to an extension, another table or another column, and without the daily partitions.
const OBJECTS: &str = "
with of_platform as (
  select oid, nspname from pg_catalog.pg_namespace
   where nspname in ('auth', 'basalt', 'extensions', 'graphql', 'graphql_public', 'realtime', 'storage', 'storage_vectors',
                     'supabase_functions')
), dependent as (
  select classid, objid from pg_catalog.pg_depend
   where deptype in ('e', 'a', 'i') and refclassid <> 'pg_namespace'::regclass and refobjid <> objid
)
select 'schema ' || nspname from of_platform
union all
select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || n.nspname || '.' || c.relname
  from pg_catalog.pg_class c join of_platform n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p', 'v', 'S') and not c.relispartition
   and not exists (select from dependent d where d.classid = 'pg_class'::regclass and d.objid = c.oid)
union all
select 'column ' || n.nspname || '.' || c.relname || '.' || a.attname
  from pg_catalog.pg_class c
  join of_platform n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
 where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
   and not exists (select from dependent d where d.classid = 'pg_class'::regclass and d.objid = c.oid)
union all
select 'constraint ' || o.conname || ' on ' || n.nspname || '.' || c.relname
  from pg_catalog.pg_constraint o
  join pg_catalog.pg_class c on c.oid = o.conrelid
  join of_platform n on n.oid = c.relnamespace
 where o.contype in ('c', 'f', 'p', 'u') and not c.relispartition
union all
select 'function ' || n.nspname || '.' || p.proname || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')'
  from pg_catalog.pg_proc p join of_platform n on n.oid = p.pronamespace
 where not exists (select from dependent d where d.classid = 'pg_proc'::regclass and d.objid = p.oid)
union all
select 'type ' || n.nspname || '.' || t.typname
  from pg_catalog.pg_type t join of_platform n on n.oid = t.typnamespace
 where t.typtype in ('e', 'd')
    or t.typtype = 'c' and (select relkind = 'c' from pg_catalog.pg_class where oid = t.typrelid)
union all
select 'trigger ' || g.tgname || ' on ' || n.nspname || '.' || c.relname
  from pg_catalog.pg_trigger g
  join pg_catalog.pg_class c on c.oid = g.tgrelid
  join of_platform n on n.oid = c.relnamespace
 where not g.tgisinternal and not c.relispartition
union all
select 'event trigger ' || evtname from pg_catalog.pg_event_trigger
union all
select 'publication ' || pubname from pg_catalog.pg_publication
union all
select 'table ' || n.nspname || '.' || c.relname || ' in publication ' || p.pubname
  from pg_catalog.pg_publication_rel r
  join pg_catalog.pg_publication p on p.oid = r.prpubid
  join pg_catalog.pg_class c on c.oid = r.prrelid
  join of_platform n on n.oid = c.relnamespace";

/// SQLSTATEs of a statement that creates what is there: schema, table, object, function, column, a primary key, a function
/// with another result, and a row; and of the exception by which a file refuses tables that it has not created.
const EXISTS_ALREADY: [&str; 9] =
    ["42P06", "42P07", "42710", "42723", "42701", "42P16", "42P13", "23505", "P0001"];

/// Returns the [descriptions](OBJECTS) of the database's objects.
pub(super) async fn objects(client: &impl GenericClient) -> Result<Vec<String>, Error> {
    let rows = client.query_typed(OBJECTS, &[]).await;
    let rows = rows.map_err(Error::database("list the objects of the platform"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Reports whether Basalt has set up the database, but its records of this have been dropped. They were in schema `basalt`;
/// functions of these names are in `extensions`, which tools leave alone, and are only Basalt's.
pub(super) async fn has_lost_records(client: &impl GenericClient) -> Result<bool, Error> {
    if ledger::has_platform_table(client).await? {
        return Ok(false);
    }
    let condition = "to_regproc('extensions.publication_watch') is not null or to_regproc('extensions.rights_watch') is not null";
    holds(client, condition, &[], "look for what Basalt has created").await
}

/// Drops what tells Basalt of changes to the catalog, so that the files create it again.
pub(super) async fn remove_watches(client: &impl GenericClient) -> Result<(), Error> {
    let sql = "drop function if exists extensions.publication_watch(), extensions.rights_watch(), \
               extensions.pgrst_ddl_watch(), extensions.pgrst_drop_watch() cascade";
    client.batch_execute(sql).await.map_err(Error::database("drop what Basalt had created"))
}

/// Returns the descriptions of the objects of the platform that are missing in the database. Of a database that has the
/// platform of hosted Supabase, in parts or as a whole, nothing is known to be missing.
pub(super) async fn missing(client: &impl GenericClient) -> Result<Vec<&'static str>, Error> {
    let doing = "look for what is missing of the platform";
    let records = ledger::platform(client).await?;
    let is_own = FILES.iter().all(|file| records.get(file.version()).is_some_and(|record| !record.adopted));
    if !is_own {
        return Ok(Vec::new());
    }
    let is_superuser = "(select rolsuper from pg_catalog.pg_roles where rolname = current_user)";
    let is_superuser = holds(client, is_superuser, &[], doing).await?;
    let present: BTreeSet<String> = objects(client).await?.into_iter().collect();
    let lines = COMPLETE.lines().filter(|line| is_superuser || !line.starts_with(OF_SUPERUSERS));
    let missing: Vec<&str> = lines.filter(|line| !present.contains(*line)).collect();
    let tables: BTreeSet<&str> = missing.iter().filter_map(|object| object.strip_prefix("table ")).collect();
    Ok(missing
        .iter()
        .copied()
        .filter(|object| table_of(object).is_none_or(|table| !tables.contains(table)))
        .collect())
}

/// Returns the table whose column, constraint or trigger `object` describes.
fn table_of(object: &str) -> Option<&str> {
    match object.strip_prefix("column ") {
        Some(column) => column.rsplit_once('.').map(|(table, _)| table),
        None => object.split_once(" on ").map(|(_, table)| table),
    }
}

/// Runs all statements of `file`, which the database may have recorded, except those that create what is there.
///
/// A condition under which the file is skipped is not considered: it mostly says that one of several objects is there.
/// Only what the database had before Basalt came, and still has, is left as it is.
pub(super) async fn apply_again(
    client: &mut Client,
    limits: &Limits,
    file: &PlatformFile,
) -> Result<(), Error> {
    let parsed = File::parse(file.file, file.sql)?;
    let transaction = apply::begin(client, limits).await?;
    let records = ledger::platform(&transaction).await?;
    let record = records.get(file.version());
    if let Some(condition) = file.skip_condition().filter(|_| record.is_some_and(|record| record.adopted))
        && holds(
            &transaction,
            condition,
            &[],
            "check whether the database has a part of the platform already",
        )
        .await?
    {
        return Ok(());
    }
    let mut found_something = false;
    for statement in &parsed.statements {
        // It has no name by which Postgres could find it.
        if found_something && is_unnamed_index(statement) {
            continue;
        }
        found_something |= !is_created(&transaction, &parsed, statement).await?;
    }
    apply::restore_session(&transaction).await?;
    if record.is_none() {
        let record = Record { name: file.name().to_owned(), checksum: Some(file.checksum()), adopted: false };
        ledger::record_platform(&transaction, file.version(), &record).await?;
    }
    transaction.commit().await.map_err(Error::database("commit a migration"))
}

/// Runs a statement of `file`. Reports whether what it creates was not there already.
async fn is_created(
    transaction: &Transaction<'_>,
    file: &File<'_>,
    statement: &Statement<'_>,
) -> Result<bool, Error> {
    let doing = "create a part of the platform again";
    transaction.batch_execute("savepoint before_statement").await.map_err(Error::database(doing))?;
    let is_created = match file.run(transaction, std::slice::from_ref(statement), &mut Vec::new()).await {
        Ok(()) => true,
        Err(Error::Statement(refused)) if EXISTS_ALREADY.contains(&refused.code.as_str()) => false,
        Err(error) => return Err(error),
    };
    let end = if is_created {
        "release before_statement"
    } else {
        "rollback to before_statement; release before_statement"
    };
    transaction.batch_execute(end).await.map_err(Error::database(doing))?;
    Ok(is_created)
}

/// Reports whether Postgres chooses the name of the index that the statement creates, so that it can be created twice.
fn is_unnamed_index(statement: &Statement<'_>) -> bool {
    let words: Vec<&str> = statement.words.iter().take(4).map(String::as_str).collect();
    matches!(words.as_slice(), ["CREATE", "INDEX", "ON", ..] | ["CREATE", "UNIQUE", "INDEX", "ON"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_without_a_name_are_recognized() {
        let is_unnamed = |sql| is_unnamed_index(&super::super::split::split(sql).unwrap()[0]);
        assert!(is_unnamed("create index on a (b)") && is_unnamed("create unique index on a (b)"));
        assert!(!is_unnamed("create index a_b on a (b)") && !is_unnamed("create table a (b int)"));
    }
}
