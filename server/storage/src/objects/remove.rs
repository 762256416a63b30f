//! Removing objects: the rows as the caller, then the bytes that no row names any more. A bucket that keeps versions
//! gets delete markers in place of that.

use std::collections::HashSet;

use uuid::Uuid;

use crate::caller::Caller;
use crate::error::Error;
use crate::row::{self, names, text, times};
use crate::store::{Rows, Store};

use super::versions::{self, IS_CURRENT, Removed};
use crate::version_id::VersionId;

/// Names that one transaction removes. Source: upstream's `MAX_OBJECTS_PER_DELETE_BATCH`.
const BATCH: usize = 500;

/// Removes object `key` of `bucket` as `caller`. Returns the delete marker if the bucket keeps versions.
///
/// Errors: [`Error::NoSuchKey`]; [`Error::AccessDenied`] when row-level security keeps the object.
pub(crate) async fn one(
    store: &Store,
    caller: &Caller,
    (bucket, key): (&str, &str),
    operation: &'static str,
) -> Result<Option<Removed>, Error> {
    let sql = format!(
        "delete from storage.objects o where o.bucket_id = $1 and o.name collate \"C\" = $2 and {IS_CURRENT} \
         and (select storage.refuse_versioned($1)) returning o.version"
    );
    let removal = caller.transaction(operation).statement(sql, vec![text(bucket), text(key)]);
    match store.rows.change(&removal).await {
        Ok(reply) => {
            if let Some(row) = reply.row() {
                store.blobs.retire(row::uuid(row, 0).as_slice()).await;
                return Ok(None);
            }
        }
        Err(error) if versions::is_versioned(&error) => {
            let marker = versions::mark(store, caller, bucket, &[key], operation).await?.pop();
            if marker.is_some() {
                return Ok(marker);
            }
        }
        Err(error) => return Err(caller.refusal(error)),
    }
    let sql = format!(
        "select from storage.objects o where o.bucket_id = $1 and o.name collate \"C\" = $2 and {IS_CURRENT}"
    );
    let reply = store.rows.look_up(sql, vec![text(bucket), text(key)]).await?;
    let exists = reply.row().is_some();
    Err(if exists { Error::AccessDenied("Access denied".to_owned()) } else { Error::NoSuchKey })
}

/// What a request to remove many names: an object, or one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) version: Option<VersionId>,
}

/// Removes what `entries` name of `bucket`, as far as `caller` may, and returns the rows as JSON documents: those that
/// were removed, and those of the delete markers of a bucket that keeps versions.
pub(crate) async fn entries(
    store: &Store,
    caller: &Caller,
    bucket: &str,
    entries: &[Entry],
    operation: &'static str,
) -> Result<Vec<String>, Error> {
    let mut rows = Vec::new();
    for entry in entries {
        let Some(version) = entry.version else { continue };
        match versions::remove(store, caller, (bucket, &entry.key), version, operation).await {
            Ok(removed) => rows.push(removed.row),
            Err(Error::NoSuchKey | Error::AccessDenied(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let keys: Vec<&str> =
        entries.iter().filter(|entry| entry.version.is_none()).map(|entry| &*entry.key).collect();
    rows.extend(many(store, caller, bucket, &keys, operation).await?.into_iter().map(|removed| removed.row));
    Ok(rows)
}

/// Removes the objects of `bucket` that `keys` name, as far as `caller` may. Returns the rows as JSON documents, with
/// the delete markers of a bucket that keeps versions.
pub(crate) async fn many(
    store: &Store,
    caller: &Caller,
    bucket: &str,
    keys: &[&str],
    operation: &'static str,
) -> Result<Vec<Removed>, Error> {
    const DELETE: &str = concat!(
        "with removed as (delete from storage.objects o where o.bucket_id = $1 \
         and o.archived_at is null and not o.is_delete_marker and (select storage.refuse_versioned($1)) \
         and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb)) returning *) \
         select row_to_json(r), r.version, r.name from (select name, bucket_id, owner, owner_id, version, id, ",
        times!(),
        ", metadata, user_metadata from removed) r"
    );
    let mut removed = Vec::new();
    for batch in keys.chunks(BATCH) {
        let parameters = vec![text(bucket), names(batch.iter().copied())];
        let removal = caller.transaction(operation).statement(DELETE, parameters);
        let reply = match store.rows.change(&removal).await {
            Err(error) if versions::is_versioned(&error) => {
                removed.extend(versions::mark(store, caller, bucket, batch, operation).await?);
                continue;
            }
            reply => reply.map_err(|error| caller.refusal(error))?,
        };
        let rows = reply.rows();
        let freed: Vec<Uuid> = rows.iter().filter_map(|row| row::uuid(row, 1)).collect();
        store.blobs.retire(&freed).await;
        removed.extend(rows.iter().filter_map(|row| {
            let (json, key) = (row.text(0)?.to_owned(), row.text(2)?.to_owned());
            Some(Removed { key, row: json, id: None, is_delete_marker: false })
        }));
    }
    Ok(removed)
}

/// Returns those of `keys` that current versions of objects of `bucket` have, whether or not the caller may see them.
pub(crate) async fn existing(rows: &Rows, bucket: &str, keys: &[&str]) -> Result<HashSet<String>, Error> {
    let sql = format!(
        "select o.name from storage.objects o where o.bucket_id = $1 and {IS_CURRENT} \
         and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb))"
    );
    let reply = rows.look_up(sql, vec![text(bucket), names(keys.iter().copied())]).await?;
    Ok(reply.rows().iter().filter_map(|row| row.text(0)).map(str::to_owned).collect())
}
