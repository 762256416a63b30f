//! Versions of objects in buckets that keep them: writing a version, marking objects as removed, removing a version.
//!
//! The current version of an object keeps the object's id, whatever is written: the row that stops being current gets
//! another, in the same statement, so that users' foreign keys go on to refer to the object. Statements that serve
//! buckets without versions call `storage.refuse_versioned`, and are repeated in the form of this file if it refuses
//! (decision 81).

use postgres::{Reply, Transaction};
use uuid::Uuid;

use super::LOCK;
use crate::caller::{Caller, owner_uuid};
use crate::error::Error;
use crate::row::{self, Parameter, iso, names, optional, text, times};
use crate::store::{Rows, Store};
use crate::version_id::VersionId;

/// The columns of objects that the statements of this file pass on.
macro_rules! entry {
    () => {
        "name, bucket_id, owner, owner_id, version, id, updated_at, created_at, last_accessed_at, metadata, \
         user_metadata, archived_at, is_delete_marker, is_versioned"
    };
}

/// The columns of rows that responses show.
macro_rules! shown {
    () => {
        concat!(
            "name, bucket_id, owner, owner_id, version, id, ",
            times!(),
            ", metadata, user_metadata, ",
            iso!("archived_at"),
            " as archived_at, is_delete_marker, is_versioned"
        )
    };
}

/// The condition of the current version of an object, unless the object has been removed.
pub(crate) const IS_CURRENT: &str = "o.archived_at is null and not o.is_delete_marker";
/// The condition of the version whose id is parameter 3.
pub(crate) const IS_NAMED: &str = "($3 = 'null' and not o.is_versioned or o.version = $3)";
/// The SQLSTATE of `storage.refuse_versioned`.
const VERSIONED: &str = "BV001";
/// The SQLSTATE of `storage.require_version`.
const REPLACED: &str = "BV002";

/// Reports whether a statement was refused because the bucket keeps versions.
pub(super) fn is_versioned(error: &postgres::Error) -> bool {
    error.server().is_some_and(|server| server.code == VERSIONED)
}

/// Reports whether a move was refused because the version that it moves has been replaced or removed meanwhile.
pub(super) fn is_replaced(error: &Error) -> bool {
    matches!(error, Error::Database(error) if error.server().is_some_and(|server| server.code == REPLACED))
}

/// Writes a version over the current one. Parameters: those of a row to be written, and whether an object is replaced.
/// [`REPLACE`] may follow, and [`WRITTEN`] has to.
///
/// The current version is archived if it is to be kept; what is not to be kept is removed, or replaced in place, and
/// returned. A clause reads those whose effects it needs, so that they come before it. Times are those of the
/// statement, which has waited for the lock of the name, not of the transaction's start: they order the versions.
pub(super) const WRITE: &str = "with bucket as (select versioning_status as status from storage.buckets where id = $1), \
     moment as (select clock_timestamp() as at), \
     current as (select o.* from storage.objects o \
       where o.bucket_id = $1 and o.name collate \"C\" = $2 and o.archived_at is null), \
     removed as (delete from storage.objects o using bucket b \
       where o.bucket_id = $1 and o.name collate \"C\" = $2 and b.status <> 'ENABLED' and not o.is_versioned \
         and o.archived_at is not null \
       returning o.version, o.is_delete_marker), \
     archived as (update storage.objects o set archived_at = m.at, id = gen_random_uuid() \
       from current c, bucket b, moment m \
       where o.id = c.id and (b.status = 'ENABLED' or o.is_versioned) and ($8::boolean or o.is_delete_marker) \
       returning c.id), \
     unmarked as (update storage.objects o set owner = coalesce($3::uuid, o.owner), \
         owner_id = coalesce($4, o.owner_id), version = $5, metadata = $6::jsonb, user_metadata = $7::jsonb, \
         is_delete_marker = false, created_at = m.at from current c, bucket b, moment m \
       where o.id = c.id and b.status <> 'ENABLED' and o.is_delete_marker and not o.is_versioned \
       returning o.id, o.is_versioned), \
     freed as (select version from removed where not is_delete_marker union all \
       select c.version from current c, bucket b \
       where b.status <> 'ENABLED' and not c.is_versioned and not c.is_delete_marker), \
     inserted as (insert into storage.objects (id, bucket_id, name, owner, owner_id, version, metadata, user_metadata, \
         is_versioned, created_at, updated_at) \
       select coalesce((select id from archived), gen_random_uuid()), \
         $1, $2, coalesce($3::uuid, (select owner from current)), coalesce($4, (select owner_id from current)), \
         $5, $6::jsonb, $7::jsonb, b.status = 'ENABLED', m.at, m.at from bucket b, moment m \
       where (select count(*) from removed) + (select count(*) from archived) >= 0 \
         and not exists (select from unmarked)";

/// What a written version replaces in place: the one that was written while the bucket kept none.
pub(super) const REPLACE: &str = " on conflict (bucket_id, name) where archived_at is null do update \
     set owner = excluded.owner, owner_id = excluded.owner_id, version = excluded.version, metadata = excluded.metadata, \
     user_metadata = excluded.user_metadata, created_at = excluded.created_at, updated_at = excluded.updated_at";

/// What ends [`WRITE`]. It returns the id, the versions whose bytes nothing needs, whether the version is one of many.
pub(super) const WRITTEN: &str = " returning id, is_versioned) \
     select id, (select json_agg(version) from freed where version is not null), is_versioned \
     from (table inserted union all table unmarked) written";

/// Makes writers of the names in parameter 2, a JSON array, take turns, as single writers do.
pub(crate) const LOCK_MANY: &str = "select pg_advisory_xact_lock(hashtextextended($1 || '/' || name, 0)) \
     from (select distinct name collate \"C\" as name from jsonb_array_elements_text($2::jsonb) n (name) order by name) names";

/// Puts delete markers over the current versions of the objects that parameter 2 names, if they have version parameter
/// 5 or it is null, and returns their rows, and the versions whose bytes nothing needs. Does nothing in a bucket
/// without versions.
const MARK: &str = concat!(
    "with bucket as (select versioning_status as status from storage.buckets \
       where id = $1 and versioning_status <> 'DISABLED'), \
     moment as (select clock_timestamp() as at), \
     current as (select o.* from storage.objects o, bucket where o.bucket_id = $1 \
       and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb)) \
       and o.archived_at is null and not o.is_delete_marker and ($5::text is null or o.version = $5)), \
     removed as (delete from storage.objects o using bucket b, current c \
       where o.bucket_id = $1 and o.name collate \"C\" = c.name and b.status <> 'ENABLED' \
         and not o.is_versioned and o.archived_at is not null returning o.version, o.is_delete_marker), \
     archived as (update storage.objects o set archived_at = m.at, id = gen_random_uuid() \
       from current c, bucket b, moment m \
       where o.id = c.id and (b.status = 'ENABLED' or o.is_versioned) returning c.*), \
     marked as (update storage.objects o set version = gen_random_uuid()::text, metadata = null, \
         user_metadata = null, is_delete_marker = true, created_at = m.at from current c, bucket b, moment m \
       where o.id = c.id and b.status <> 'ENABLED' and not c.is_versioned returning o.*, c.version as freed), \
     inserted as (insert into storage.objects \
         (id, bucket_id, name, owner, owner_id, version, is_versioned, is_delete_marker, created_at, updated_at) \
       select a.id, a.bucket_id, a.name, coalesce($3::uuid, a.owner), coalesce($4, a.owner_id), \
         gen_random_uuid()::text, b.status = 'ENABLED', true, m.at, m.at from archived a, bucket b, moment m \
       where (select count(*) from removed) >= 0 returning *), \
     markers as (select ",
    entry!(),
    ", freed from marked union all select ",
    entry!(),
    ", null::text from inserted) \
     select row_to_json(r), freed, r.version, r.is_versioned, r.name from (select ",
    shown!(),
    " from markers) r join markers using (id) \
     union all select null, version, null, null, null from removed where not is_delete_marker"
);

/// Makes the version before the current one current again if parameter 3 names the current one: it takes the id of the
/// object, so that the removal which follows is not one of the row that users' foreign keys refer to.
const STEP_BACK: &str = "with current as (select o.id from storage.objects o where o.bucket_id = $1 \
       and o.name collate \"C\" = $2 and o.archived_at is null \
       and ($3 = 'null' and not o.is_versioned or o.version = $3)), \
     latest as (select o.id from storage.objects o where o.bucket_id = $1 and o.name collate \"C\" = $2 \
       and o.archived_at is not null and exists (select from current) \
       order by o.archived_at desc, o.created_at desc limit 1), \
     archived as (update storage.objects o set archived_at = clock_timestamp(), id = gen_random_uuid() \
       from current c, latest where o.id = c.id returning c.id) \
     update storage.objects o set archived_at = null, id = a.id from latest, archived a where o.id = latest.id";

/// Removes the version of an object that parameter 3 names. Returns the row, the version, and whether it was a delete
/// marker.
const REMOVE: &str = concat!(
    "with gone as (delete from storage.objects o where o.bucket_id = $1 and o.name collate \"C\" = $2 \
       and ($3 = 'null' and not o.is_versioned or o.version = $3) returning o.*) \
     select row_to_json(r), r.version, r.is_delete_marker, r.is_versioned from (select ",
    shown!(),
    " from gone) r"
);

/// What was removed: an object, a version, or by a delete marker the object.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) key: String,
    /// The row of what was removed, or of the new marker, as a JSON document.
    pub(crate) row: String,
    /// The id of the version or of the new marker; `None` in a bucket without versions.
    pub(crate) id: Option<VersionId>,
    /// Whether it is a delete marker.
    pub(crate) is_delete_marker: bool,
}

/// Puts delete markers over the objects of `bucket` that `keys` name, as far as `caller` may remove them.
///
/// Errors: the refusal of a policy, what a trigger raises.
pub(super) async fn mark(
    store: &Store,
    caller: &Caller,
    bucket: &str,
    keys: &[&str],
    operation: &'static str,
) -> Result<Vec<Removed>, Error> {
    let removable = removable(&store.rows, caller, bucket, keys, operation).await?;
    if removable.is_empty() {
        return Ok(Vec::new());
    }
    let keys = names(removable.iter().map(String::as_str));
    let marking = caller
        .service_transaction(operation)
        .statement(LOCK_MANY, vec![text(bucket), keys.clone()])
        .statement(MARK, mark_parameters(caller, bucket, keys, None));
    let reply = store.rows.change(&marking).await?;
    let freed: Vec<Uuid> = reply.rows().iter().filter_map(|row| row::uuid(row, 1)).collect();
    store.blobs.retire(&freed).await;
    Ok(reply
        .rows()
        .iter()
        .filter_map(|row| {
            let id = VersionId::of(row::uuid(row, 2)?, row.get(3) == Some(b"t"));
            let (json, key) = (row.text(0)?.to_owned(), row.text(4)?.to_owned());
            Some(Removed { key, row: json, id: Some(id), is_delete_marker: true })
        })
        .collect())
}

/// Returns those of `keys` whose objects `caller` may remove.
async fn removable(
    rows: &Rows,
    caller: &Caller,
    bucket: &str,
    keys: &[&str],
    operation: &'static str,
) -> Result<Vec<String>, Error> {
    let trial = |keys: &[&str]| {
        let sql = format!(
            "delete from storage.objects o where o.bucket_id = $1 and {IS_CURRENT} \
             and o.name collate \"C\" in (select jsonb_array_elements_text($2::jsonb)) returning o.name"
        );
        let parameters = vec![text(bucket), names(keys.iter().copied())];
        caller.transaction(operation).statement(sql, parameters).rollback()
    };
    let names_of = |reply: &Reply| {
        let names = reply.rows().iter().filter_map(|row| row.text(0));
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    match rows.run(&trial(keys)).await {
        Ok(reply) => return Ok(names_of(&reply)),
        Err(error) if is_reference(&error) => {}
        Err(error) => return Err(caller.refusal(error)),
    }
    // A table of the users refers to one of them, which ends the trial of all.
    let mut removable = Vec::new();
    for key in keys {
        match rows.run(&trial(&[*key])).await {
            Ok(reply) => removable.extend(names_of(&reply)),
            Err(error) if is_reference(&error) => removable.push((*key).to_owned()),
            Err(error) => return Err(caller.refusal(error)),
        }
    }
    Ok(removable)
}

/// Reports whether a trial to remove rows failed because another table refers to one: the caller may remove it then,
/// and what is done in the place of the trial leaves a row with that id.
fn is_reference(error: &postgres::Error) -> bool {
    error.server().is_some_and(|server| server.code == "23503")
}

/// Lets `transaction`, one of the service that moves a version away, take it from where it was: the object gets a
/// delete marker if the version is the current one of a bucket that keeps versions. The transaction fails if the
/// version is not what it was any more ([`is_replaced`]).
pub(super) fn leave<'a>(
    transaction: Transaction<'a>,
    caller: &'a Caller,
    (bucket, key): (&'a str, &'a str),
    version: Uuid,
    is_current: bool,
) -> Transaction<'a> {
    const REQUIRE: &str = "select storage.require_version($1, $2, $3, $4::boolean)";
    const REMOVE_UNVERSIONED: &str = "delete from storage.objects o using storage.buckets b \
         where b.id = o.bucket_id and o.bucket_id = $1 and o.name collate \"C\" = $2 and o.version = $3 \
           and b.versioning_status = 'DISABLED'";
    const REMOVE_ARCHIVED: &str = "delete from storage.objects o where o.bucket_id = $1 \
         and o.name collate \"C\" = $2 and o.version = $3 and o.archived_at is not null";
    let named = vec![text(bucket), text(key), row::display(version.hyphenated())];
    let mut required = named.clone();
    required.push(row::display(is_current));
    let transaction = transaction.statement(REQUIRE, required);
    if is_current {
        transaction
            .statement(REMOVE_UNVERSIONED, named)
            .statement(MARK, mark_parameters(caller, bucket, names([key]), Some(version)))
    } else {
        transaction.statement(REMOVE_ARCHIVED, named)
    }
}

/// Returns the parameters of [`MARK`] for `keys`, a JSON array, whose version has to be `version` if that is known.
fn mark_parameters<'a>(
    caller: &'a Caller,
    bucket: &'a str,
    keys: Parameter<'a>,
    version: Option<Uuid>,
) -> Vec<Parameter<'a>> {
    let owner = caller.subject();
    let version = version.and_then(|version| row::display(version.hyphenated()));
    vec![text(bucket), keys, optional(owner_uuid(owner)), optional(owner), version]
}

/// Returns where version `id` of object `key` of `bucket` is in a list, if `caller` may see it: when it was made, and
/// its version.
pub(crate) async fn place(
    rows: &Rows,
    caller: &Caller,
    (bucket, key): (&str, &str),
    id: VersionId,
    operation: &'static str,
) -> Result<Option<(String, String)>, Error> {
    let sql = format!(
        "select to_char(o.created_at at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), o.version \
         from storage.objects o where o.bucket_id = $1 and o.name collate \"C\" = $2 and {IS_NAMED}"
    );
    let parameters = vec![text(bucket), text(key), row::display(id)];
    let reply = rows.look_up_as(caller, operation, sql, parameters).await?;
    let row = reply.row();
    Ok(row.and_then(|row| Some((row.text(0)?.to_owned(), row.text(1)?.to_owned()))))
}

/// Removes version `id` of object `key` of `bucket` as `caller`, with its bytes.
///
/// Errors: [`Error::NoSuchKey`]; [`Error::AccessDenied`] when row-level security keeps the version.
pub(crate) async fn remove(
    store: &Store,
    caller: &Caller,
    (bucket, key): (&str, &str),
    id: VersionId,
    operation: &'static str,
) -> Result<Removed, Error> {
    let parameters = || vec![text(bucket), text(key), row::display(id)];
    let condition = format!("o.bucket_id = $1 and o.name collate \"C\" = $2 and {IS_NAMED}");
    let sql = format!("delete from storage.objects o where {condition} returning o.id");
    let trial = caller.transaction(operation).statement(sql, parameters()).rollback();
    let may_remove = match store.rows.run(&trial).await {
        Ok(reply) => reply.row().is_some(),
        Err(error) if is_reference(&error) => true,
        Err(error) => return Err(caller.refusal(error)),
    };
    if !may_remove {
        let sql = format!("select from storage.objects o where {condition}");
        let exists = store.rows.look_up(sql, parameters()).await?.row().is_some();
        return Err(if exists { Error::AccessDenied("Access denied".to_owned()) } else { Error::NoSuchKey });
    }
    let removal = caller
        .service_transaction(operation)
        .statement(LOCK, vec![text(bucket), text(key)])
        .statement(STEP_BACK, parameters())
        .statement(REMOVE, parameters());
    let reply = store.rows.change(&removal).await?;
    let row = reply.row().ok_or(Error::NoSuchKey)?;
    let version = row::uuid(row, 1).ok_or(Error::NoSuchKey)?;
    let is_delete_marker = row.get(2) == Some(b"t");
    if !is_delete_marker {
        store.blobs.retire(&[version]).await;
    }
    let id = VersionId::of(version, row.get(3) == Some(b"t"));
    let json = row.text(0).unwrap_or_default().to_owned();
    Ok(Removed { key: key.to_owned(), row: json, id: Some(id), is_delete_marker })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_versions_are_null_or_uuids() {
        let id = "0e5a1f0c-52d4-4c0f-9a3c-2a4d5b6c7d8e";
        assert_eq!(VersionId::parse(id).unwrap().to_string(), id);
        assert_eq!(VersionId::parse("null").unwrap(), VersionId::Null);
        assert_eq!(VersionId::of(Uuid::nil(), false).to_string(), "null");
        for other in ["", "1", "NULL", "null "] {
            assert!(matches!(VersionId::parse(other), Err(Error::NoSuchKey)), "{other}");
        }
    }
}
