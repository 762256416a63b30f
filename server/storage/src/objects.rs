//! Objects: their rows, under row-level security.

pub(crate) mod list;
pub(crate) mod list_versions;
pub(crate) mod relocate;
pub(crate) mod remove;
pub(crate) mod versions;

use std::sync::Arc;

use postgres::{Parameter, Reply, Row, Transaction};
use serde_json::Value;
use uuid::Uuid;

use crate::caller::{Caller, SERVICE_ROLE, owner_uuid};
use crate::error::Error;
use crate::object_row::{Metadata, Object};
use crate::row::{self, optional, text, timestamp};
use crate::store::{Rows, Store};
use crate::version_id::VersionId;

use versions::{IS_CURRENT, IS_NAMED};

/// The columns of an [`Object`].
const COLUMNS: &str = "o.version, o.metadata, o.updated_at, o.created_at, o.id, o.user_metadata, \
     o.archived_at, o.is_versioned, o.is_delete_marker";

/// Whether the triggers are in place and on that notify changes of public objects: their owner may have switched them
/// off.
const ARE_CHANGES_NOTIFIED: &str = "(select count(*) = 4 from pg_catalog.pg_trigger \
     where tgrelid in ('storage.objects'::regclass, 'storage.buckets'::regclass) \
     and tgname like 'basalt\\_notify%' and tgenabled in ('O', 'A'))";

/// The rights that decide whether an object may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// None: only objects of public buckets are found.
    Public,
    /// The caller's, unless the bucket is public.
    Caller,
    /// The service's, since a signed URL names the object.
    Signature,
}

/// Finds object `key` of `bucket`, in its current version unless one is named. `operation` is what
/// `storage.operation()` tells policies.
///
/// Whether a bucket is public is not a secret that row-level security keeps, so the service looks at it.
///
/// Errors: [`Error::NoSuchBucket`] for a missing bucket and for a private one with [`Access::Public`];
/// [`Error::NoSuchKey`] for a missing object and for one that row-level security hides; [`Error::MethodNotAllowed`] for
/// a version that is a delete marker.
pub(crate) async fn find(
    store: &Store,
    caller: &Caller,
    (bucket, key): (&str, &str),
    version: Option<VersionId>,
    access: Access,
    operation: &'static str,
) -> Result<Arc<Object>, Error> {
    let before = store.rows.public_objects().revision();
    let (condition, parameters) = selection((bucket, key), version);
    let sql = format!(
        "select b.public, {COLUMNS}, {ARE_CHANGES_NOTIFIED} from storage.buckets b \
         left join storage.objects o on o.bucket_id = b.id and o.name collate \"C\" = $2 and {condition} \
         where b.id = $1"
    );
    let reply = store.rows.look_up(sql, parameters).await?;
    let row = reply.row();
    let is_public = row.is_some_and(|row| row.get(0) == Some(b"t"));
    match row {
        Some(row) if is_public && access != Access::Signature && is_old_null(row, version) => {
            if access == Access::Public || !caller.is_authenticated() {
                return Err(Error::NoSuchKey);
            }
            find_visible(store, caller, (bucket, key), version, operation).await
        }
        Some(row) if is_public || access == Access::Signature => {
            let object = Arc::new(object(store, row).await?);
            let are_notified = row.get(10) == Some(b"t");
            if let Some(before) = before.filter(|_| is_public && are_notified && version.is_none()) {
                store.rows.public_objects().keep(bucket, key, &object, before);
            }
            Ok(object)
        }
        None if access == Access::Signature => Err(Error::NoSuchKey),
        None => Err(Error::NoSuchBucket),
        Some(_) if access == Access::Public || !caller.is_authenticated() => Err(Error::NoSuchBucket),
        Some(_) => find_visible(store, caller, (bucket, key), version, operation).await,
    }
}

/// Reports whether what is asked for is a version that is not the current one, by a name that everybody can guess: that
/// a bucket is public lets those read an older version who know its id.
fn is_old_null(row: &Row, version: Option<VersionId>) -> bool {
    version == Some(VersionId::Null) && row.get(7).is_some()
}

/// Returns the condition of the version of an object that is asked for, and the parameters of a statement with it.
fn selection<'a>(
    (bucket, key): (&'a str, &'a str),
    version: Option<VersionId>,
) -> (&'static str, Vec<Parameter<'a>>) {
    let mut parameters = vec![text(bucket), text(key)];
    parameters.extend(version.map(row::display));
    (if version.is_some() { IS_NAMED } else { IS_CURRENT }, parameters)
}

/// Finds object `key` of `bucket` if row-level security lets `caller` see it, in its current version unless one is
/// named.
///
/// Errors: [`Error::NoSuchKey`]; [`Error::MethodNotAllowed`] for a version that is a delete marker.
pub(crate) async fn find_visible(
    store: &Store,
    caller: &Caller,
    (bucket, key): (&str, &str),
    version: Option<VersionId>,
    operation: &'static str,
) -> Result<Arc<Object>, Error> {
    let (condition, parameters) = selection((bucket, key), version);
    let sql = format!(
        "select true, {COLUMNS} from storage.objects o \
         where o.bucket_id = $1 and o.name collate \"C\" = $2 and {condition}"
    );
    let reply = store.rows.look_up_as(caller, operation, sql, parameters).await?;
    let row = reply.row().ok_or(Error::NoSuchKey)?;
    Ok(Arc::new(object(store, row).await?))
}

async fn object(store: &Store, row: &Row) -> Result<Object, Error> {
    // Users' SQL may have written any version, but only a UUID is one of stored bytes.
    let version = row::uuid(row, 1).ok_or(Error::NoSuchKey)?;
    if row.get(9) == Some(b"t") {
        return Err(Error::MethodNotAllowed);
    }
    let mut metadata: Metadata =
        row.get(2).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
    let updated_at = row.text(3).and_then(timestamp);
    metadata.last_modified = metadata.last_modified.or(updated_at);
    let size = match metadata.size {
        Some(size) => size,
        None => store.blobs.backend.size(version).await?,
    };
    Ok(Object {
        version,
        size,
        metadata,
        id: row::uuid(row, 5),
        user_metadata: row.get(6).and_then(|json| serde_json::from_slice(json).ok()),
        created_at: row.text(4).and_then(timestamp),
        updated_at,
        archived_at: row.text(7).and_then(timestamp),
        is_versioned: row.get(8) == Some(b"t"),
    })
}

/// A row of `storage.objects` that is to be written.
#[derive(Debug, Clone)]
pub(crate) struct NewRow<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) owner: Option<&'a str>,
    pub(crate) version: Uuid,
    pub(crate) metadata: &'a Value,
    pub(crate) user_metadata: &'a Value,
    /// Whether an object of that name is replaced; else it is an error.
    pub(crate) replaces: bool,
}

/// Serializes writers of one name, also those that replace nothing. The lock is a separate statement, so that the
/// snapshot of the next one sees what another writer has committed.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))";

/// How often the trial of a write that may replace an object is repeated, because another writer has just created it.
const REPETITIONS: usize = 2;

/// The condition of a write that is refused in a bucket that keeps versions.
const UNVERSIONED: &str = " where (select storage.refuse_versioned($1))";

/// A row that has been written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) id: Uuid,
    /// The id of the version, if the bucket keeps versions or has kept them.
    pub(crate) version: Option<VersionId>,
}

impl NewRow<'_> {
    const REPLACED: &'static str = "with replaced as (select version from storage.objects \
         where bucket_id = $1 and name collate \"C\" = $2 and archived_at is null) ";

    const INSERT: &'static str = "insert into storage.objects \
         (bucket_id, name, owner, owner_id, version, metadata, user_metadata) \
         select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb";

    /// The service has no subject, and leaves an object its owner.
    const REPLACE: &'static str = " on conflict (bucket_id, name) where archived_at is null do update \
         set owner = coalesce(excluded.owner, objects.owner), \
         owner_id = coalesce(excluded.owner_id, objects.owner_id), version = excluded.version, metadata = excluded.metadata, \
         user_metadata = excluded.user_metadata, updated_at = now()";

    /// Returns the statement that writes the row, which `condition` may follow.
    fn insert(&self, condition: &str) -> String {
        format!("{}{condition}{}", Self::INSERT, if self.replaces { Self::REPLACE } else { "" })
    }

    /// Returns the parameters of every statement of the row.
    fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            text(self.bucket),
            text(self.key),
            optional(owner_uuid(self.owner)),
            optional(self.owner),
            row::display(self.version.hyphenated()),
            row::display(self.metadata),
            row::display(self.user_metadata),
        ]
    }

    /// Writes the row as `caller` and rolls back, so that row-level security refuses it before any bytes are received.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], [`Error::RelatedResource`], the refusal of a policy.
    pub(crate) async fn rehearse(
        &self,
        rows: &Rows,
        caller: &Caller,
        operation: &'static str,
    ) -> Result<(), Error> {
        let condition = if self.replaces { "" } else { UNVERSIONED };
        let trial =
            caller.transaction(operation).statement(self.insert(condition), self.parameters()).rollback();
        let mut outcome = rows.run(&trial).await;
        // An object that another writer creates in this moment collides in an index that the clause does not name.
        for _ in 0..REPETITIONS {
            if !self.replaces || outcome.as_ref().err().is_none_or(|error| !is_taken(error)) {
                break;
            }
            outcome = rows.run(&trial).await;
        }
        match outcome {
            Err(error) if versions::is_versioned(&error) => {
                self.rehearse_version(rows, caller, operation).await
            }
            outcome => outcome.map(drop).map_err(|error| conflict(caller.refusal(error))),
        }
    }

    /// Does what [`Self::rehearse`] does for a row that replaces none, in a bucket that keeps versions: a delete marker
    /// that has the name is put aside first, as the service.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], the refusal of a policy.
    async fn rehearse_version(
        &self,
        rows: &Rows,
        caller: &Caller,
        operation: &'static str,
    ) -> Result<(), Error> {
        const BECOME: &str = "select set_config('role', $1, true)";
        const PUT_ASIDE: &str = "update storage.objects set archived_at = now(), is_versioned = true \
             where bucket_id = $1 and name collate \"C\" = $2 and is_delete_marker and archived_at is null";
        // It is tried as one of many, so that an older version without an id is not in its way.
        const INSERT: &str = "insert into storage.objects \
             (bucket_id, name, owner, owner_id, version, metadata, user_metadata, is_versioned) \
             values ($1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb, true)";
        let trial = caller
            .transaction(operation)
            .statement(BECOME, vec![text(SERVICE_ROLE)])
            .statement(PUT_ASIDE, vec![text(self.bucket), text(self.key)])
            .statement(BECOME, vec![text(caller.role())])
            .statement(INSERT, self.parameters())
            .rollback();
        rows.run(&trial).await.map(drop).map_err(|error| conflict(caller.refusal(error)))
    }

    /// Writes the row in `transaction`, one of the service. Removes the bytes that it replaces, unless the bucket keeps
    /// them; those of the object itself if the row cannot be written.
    ///
    /// Errors: [`Error::KeyAlreadyExists`], [`Error::RelatedResource`], what a trigger raises.
    pub(crate) async fn write(&self, store: &Store, transaction: Transaction<'_>) -> Result<Written, Error> {
        let lock = vec![text(self.bucket), text(self.key)];
        let transaction = transaction.statement(LOCK, lock);
        let outcome = match self.run_insert(&store.rows, transaction.clone()).await {
            Err(error) if versions::is_versioned(&error) => {
                self.run_versioned(&store.rows, transaction).await
            }
            outcome => outcome,
        };
        match outcome.map_err(|error| conflict(error.into())).and_then(|reply| self.written(&reply)) {
            Ok((written, freed)) => {
                store.blobs.retire(&freed).await;
                Ok(written)
            }
            Err(error) => {
                store.blobs.discard_after(&error, self.version).await;
                Err(error)
            }
        }
    }

    /// Writes the row if the bucket keeps no versions, and returns the object's id and the versions that it replaces.
    async fn run_insert(&self, rows: &Rows, transaction: Transaction<'_>) -> Result<Reply, postgres::Error> {
        let insert = self.insert(UNVERSIONED);
        if self.replaces {
            let sql =
                format!("{}{insert} returning id, (select json_agg(version) from replaced)", Self::REPLACED);
            rows.change(&transaction.statement(sql, self.parameters())).await
        } else {
            let sql = format!("{insert} returning id");
            rows.run(&transaction.statement(sql, self.parameters())).await
        }
    }

    /// Writes the row as a version of the object, and returns the object's id, the versions that are not kept, and what
    /// the version is called.
    async fn run_versioned(
        &self,
        rows: &Rows,
        transaction: Transaction<'_>,
    ) -> Result<Reply, postgres::Error> {
        let replace = if self.replaces { versions::REPLACE } else { "" };
        let sql = format!("{}{replace}{}", versions::WRITE, versions::WRITTEN);
        let mut parameters = self.parameters();
        parameters.push(row::display(self.replaces));
        rows.change(&transaction.statement(sql, parameters)).await
    }

    /// Returns what was written, and the versions whose bytes nothing needs any more.
    fn written(&self, reply: &Reply) -> Result<(Written, Vec<Uuid>), Error> {
        let row = reply.row();
        // A trigger of the users may have suppressed the row.
        let (row, id) = row
            .and_then(|row| Some((row, row::uuid(row, 0)?)))
            .ok_or_else(|| Error::Backend("a trigger kept the object's row from being written".to_owned()))?;
        let freed: Vec<Option<Uuid>> =
            row.get(1).and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
        let version = row.get(2).map(|is_versioned| VersionId::of(self.version, is_versioned == b"t"));
        Ok((Written { id, version }, freed.into_iter().flatten().collect()))
    }
}

/// Reports whether a name is that of another object.
fn is_taken(error: &postgres::Error) -> bool {
    error.server().is_some_and(|server| server.code == "23505")
}

/// Returns the error of an upload for `error`, if that is about a constraint of the table.
fn conflict(error: Error) -> Error {
    match &error {
        Error::Database(postgres::Error::Postgres(server)) => match &*server.code {
            "23505" => Error::KeyAlreadyExists,
            "23503" => Error::RelatedResource,
            _ => error,
        },
        _ => error,
    }
}
